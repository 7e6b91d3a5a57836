import HTTPServer
import Logging
import PhotoAPI

#if canImport(Glibc)
  import Glibc
#endif

/// The limit of open file descriptors (RLIMIT_NOFILE), and the parts of it that connections and held files may take.
/// Without the rest, clients that have a connection would get errors instead of pictures.
enum DescriptorLimit {
  /// The soft limit is raised to this, if the system allows it.
  private static let standard = 65_536
  /// The descriptors of four connections: their sockets, and a file that one of them sends. Most connections wait, or
  /// send from memory. A request whose file finds no descriptor gets 503.
  private static let perFourConnections = 5
  /// The descriptors of a held file, which is a file of a form with a digest: the file and, if it has a temporary name,
  /// its folder.
  private static let perHeldFile = 2
  /// Held files may take 1/8 of the descriptors that are not reserved.
  private static let heldFilesDivisor = 8
  /// With fewer connections the daemon does not start.
  private static let minimumConnections = 8
  /// The descriptors that do not depend on settings: standard streams, databases and their journals, locks, watches,
  /// decoder programs, folders of a scan, and files that stay open for the next range.
  private static let fixed = 160

  /// Raises the soft limit, and lowers the numbers of connections and of held files to what it has room for.
  ///
  /// - Throws: ``CommandFailure`` if it has room for only a few connections.
  static func fit(_ server: inout ServerLimits, _ uploads: inout UploadLimits, _ settings: Settings, logger: Logger)
    throws
  {
    let (wanted, held) = (server.connections, perHeldFile * uploads.heldFiles)
    let reserve = reserve(settings)
    guard let limit = raise(to: max(standard, reserve + needed(for: wanted) + held)) else { return }
    let free = limit - reserve
    uploads.heldFiles = min(uploads.heldFiles, max(1, free / heldFilesDivisor / perHeldFile))
    let room = (free - perHeldFile * uploads.heldFiles) * 4 / perFourConnections
    if room >= wanted { return }
    guard room >= minimumConnections else {
      throw CommandFailure(
        description: "the limit of \(limit) open files is too low: with these settings photod needs at least "
          + "\(reserve + needed(for: minimumConnections) + perHeldFile). Raise it with LimitNOFILE in the systemd "
          + "unit, or with ulimit -n.")
    }
    logger.warning(
      "the limit of open files allows fewer connections than http.connections",
      metadata: ["limit": "\(limit)", "connections": "\(room)", "setting": "\(wanted)"])
    server.connections = room
  }

  private static func needed(for connections: Int) -> Int { (connections * perFourConnections + 3) / 4 }

  /// The descriptors that neither connections nor held files may take.
  private static func reserve(_ settings: Settings) -> Int {
    func workers(_ setting: Int) -> Int { setting == 0 ? UsableCores.count : setting }
    // An original, its sidecar, a derivative or a cached frame.
    let renders = 4 * workers(settings.render.workers)
    // Channels and shared memory, of decoders and encoders.
    let decoders = 8 * workers(settings.decoders.workers)
    // The epoll descriptor and the inbox of each loop.
    let loops = 2 * workers(settings.http.eventLoops)
    // The incoming file and its folder; a staged upload opens one file more.
    let uploads = 3 * settings.uploads.limits.concurrent
    let archives = 2 * settings.archives.concurrent
    let store = RemoteLocation.isRemote(settings.library) ? 2 * settings.remote.limits.transfers.connections : 0
    return fixed + renders + decoders + loops + uploads + archives + store
  }

  /// Raises the soft limit as far as the system allows, and never lowers it. Returns the limit in force; `nil` if it is
  /// not known.
  private static func raise(to wanted: Int) -> Int? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
    let before = limit.rlim_cur
    limit.rlim_cur = max(before, min(limit.rlim_max, rlim_t(wanted)))
    let isRaised = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    return Int(clamping: isRaised ? limit.rlim_cur : before)
  }
}
