// The composition root, the only place that knows every module: turns settings into a daemon or a scanner.

import AccessControl
import HTTPServer
import ImageService
import LibraryCatalogue
import LibraryFiles
import LibraryFolder
import Logging
import OriginalDownloads
import PhotoAPI
import PhotoModel
import SharedDerivatives
import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

struct Composition: Sendable {
  let settings: Settings
  private let addresses: [ListenAddress]
  private let proxies: PeerSet
  let library: LibraryLocation
  let dataFolder: String
  private let logLevel: LogLevel
  private let logFormat: LogFormat

  /// Validates addresses, proxies and paths in the settings. Throws ``CommandFailure`` with what to change.
  init(_ settings: Settings) throws {
    self.settings = settings
    addresses = try settings.listenAddresses()
    proxies = try settings.proxies()
    library = try settings.libraryLocation()
    dataFolder = try settings.dataFolder()
    // For SQLite's temporary files, before it opens a database: this folder is writable and has room, while the
    // system's may be in memory, or read-only in a container.
    setenv("SQLITE_TMPDIR", dataFolder, 0)
    let logLevel = LogLevel(settings.logLevel)
    self.logLevel = logLevel
    let logFormat = settings.logFormat.format
    self.logFormat = logFormat
    LoggingSystem.bootstrap { LineLogHandler(label: $0, format: logFormat, level: logLevel) }
  }

  /// - Parameter load: reads the settings again, on SIGHUP.
  func daemon(reloading load: @escaping @Sendable () throws -> Settings) throws -> Daemon {
    let sockets = try sockets()
    let access = try AccessRegistry(
      database: AccessDatabase(dataFolder: dataFolder, limits: settings.access), logger: Logger(label: "tokens"))
    try requireCredentials(access, at: sockets.addresses)
    var limits = settings.http.server
    var uploads = settings.uploads.limits
    try DescriptorLimit.fit(&limits, &uploads, settings, logger: Logger(label: "photod"))
    let services = try services(access)
    let api = try api(services, uploads)
    let server = Server(
      handler: api, limits: limits, proxies: proxies,
      loopCount: settings.http.eventLoops == 0 ? UsableCores.count : settings.http.eventLoops,
      accessLog: settings.accessLog
        ? .toStandardError(limitBytes: settings.http.server.accessLogBufferBytes, format: logFormat) : nil,
      logger: Logger(label: "http"))
    let (scans, metrics) = (services.scans, services.metrics)
    MetricsSetup.register(server, limits: limits, in: metrics)
    MetricsSetup.register(scans: { [weak scans] in scans?.scanCounts ?? (0, 0) }, in: metrics)
    MetricsSetup.register(watching: { [weak scans] in scans?.watchStatistics }, in: metrics)
    scans.scan(every: settings.scan.intervalSeconds)
    return Daemon(
      server: server, sockets: sockets, library: library.name, scans: scans,
      maintenance: maintenance(services, api), images: services.images, streams: services.streams,
      reloader: reloader(of: scans, services.origins, load),
      heartbeat: Heartbeat(
        catalogue: services.catalogue,
        parts: Self.watchdogParts(
          server, ["lookup": services.queues.lookups, "fetch": services.queues.fetches])),
      stop: services.stop)
  }

  /// The sockets of a service manager, otherwise the addresses of the settings.
  private func sockets() throws -> Daemon.Sockets {
    let inherited = Systemd.inheritedSockets()
    let sockets: Daemon.Sockets
    do {
      let passed = try inherited.map(Server.address(ofInherited:))
      sockets = inherited.isEmpty ? .bind(addresses) : .inherited(inherited, passed)
    } catch {
      throw CommandFailure(description: "\(error)")
    }
    guard !sockets.addresses.isEmpty else {
      throw CommandFailure(description: "listen is empty; set it to an address such as 127.0.0.1:8080")
    }
    return sockets
  }

  /// Refuses to listen beyond loopback while no credential is required, unless `allowAnonymous` is set.
  private func requireCredentials(_ access: AccessRegistry, at addresses: [ListenAddress]) throws {
    if let open = addresses.first(where: { !$0.isLoopback }), !settings.allowAnonymous, !access.requiresCredential {
      throw CommandFailure(
        description: "\(open.text) can be reached from other machines, but no token exists to authenticate callers. "
          + "Make one with photod token create, listen on 127.0.0.1, or start with --allow-anonymous to serve "
          + "requests without a token.")
    }
  }

  /// Services that the API and the daemon share.
  private struct Services {
    let access: AccessRegistry
    let catalogue: Catalogue
    let originals: OriginalStore
    let files: LibraryFiles
    let scans: ScanScheduler
    let images: ImageServices
    let frameResponses: FrameResponses
    let fullSizeRenders: FullSizeRenderStore
    let upgrades: EncodingUpgrades
    let listedFormats: ListedFormats
    let caching: CachingManagerRegistry
    let results: FetchResultStore
    let streams: ChangeStreams
    let origins: OriginRules
    let queues: APIQueues
    let metrics: MetricsRegistry
    let stop: StopFlag
  }

  private func services(_ access: AccessRegistry) throws -> Services {
    let shared = try SharedDerivatives(settings, logger: Logger(label: "derivatives"))
    // Start the decoder zygotes first: before any socket is open, and while this process is small.
    let decoders = Decoders(settings)
    let isNew = !hasCatalogue
    let catalogue = try openCatalogue(renderableTypes: decoders.start())
    try DataFolderLock.forServing(of: dataFolder).holdUntilExit()
    if isNew {
      Logger(label: "photod").notice(
        "created a catalogue",
        metadata: [
          "folder": "\(dataFolder)",
          "remedy": "if the library had one, stop photod, and restore a backup or start with the former data folder",
        ])
    }
    let content = try content(catalogue)
    let queues = APIQueues(settings)
    let frameResponses = FrameResponses(capacity: settings.cache.frameBytes / FrameResponses.frameBytesPerResponse)
    let cache = FrameCache(
      capacityBytes: settings.cache.frameBytes, pinnedCapacityBytes: settings.cache.pinnedBytes,
      onEvict: frameResponses.removeResponses(madeFrom:))
    let metrics = MetricsRegistry()
    ProcessMetrics.register(in: metrics, version: Photod.version)
    decoders.register(in: metrics)
    MetricsSetup.register(content.remote?.downloads, capacityBytes: settings.originals.diskBytes, in: metrics)
    let kept = content.remote.map { keptOriginals($0.downloads, catalogue) }
    MetricsSetup.register(kept, in: metrics)
    let images = ImageServices(
      settings, dataFolder: dataFolder, originals: content.originals, cache: cache, catalogue: catalogue,
      shared: shared, workers: decoders.pictures, metrics: metrics)
    let upgrades = EncodingUpgrades(images.manager, formats: decoders.encodedFormats, limits: settings.render.upgrades)
    MetricsSetup.register(upgrades, in: metrics)
    let listedFormats = ListedFormats()
    let caching = CachingManagerRegistry(
      library: catalogue, images: images.manager, cache: cache, upgrades: upgrades, listedFormats: listedFormats,
      lookups: queues.lookups, fetches: queues.fetches, limits: settings.caching, metrics: CachingMetrics(metrics),
      maximumPreparations: max(2, UsableCores.count), logger: Logger(label: "caching"))
    MetricsSetup.register(caching, in: metrics)
    MetricsSetup.registerMemory(in: metrics)
    catalogue.feed.observe(caching)
    let streams = ChangeStreams(limits: settings.changes.streams)
    catalogue.feed.observe(streams)
    let files = try LibraryFiles(
      catalogue: catalogue, directory: content.folder, bucket: content.remote?.writableBucket(catalogue),
      timeZone: settings.timeZone, limits: settings.codec, options: content.fileOptions, logger: Logger(label: "files"))
    let stop = StopFlag()
    let scans = ScanScheduler(scanner: content.scanner, files: files, background: images.background, stop: stop)
    if settings.watch.isEnabled { scans.watch(settings.watch.options) }
    return Services(
      access: access, catalogue: catalogue, originals: content.originals, files: files, scans: scans, images: images,
      frameResponses: frameResponses,
      fullSizeRenders: FullSizeRenderStore(
        folder: dataFolder + "/renders", limits: settings.cache.fullSizeRenders, logger: Logger(label: "renders")),
      upgrades: upgrades, listedFormats: listedFormats, caching: caching,
      results: FetchResultStore(limits: settings.fetch.results), streams: streams,
      origins: OriginRules(
        allowedHosts: settings.allowedHosts, readers: settings.corsOrigins, writers: settings.corsWriteOrigins),
      queues: queues, metrics: metrics, stop: stop)
  }

  private func api(_ services: Services, _ uploads: UploadLimits) throws -> PhotoAPI {
    let (catalogue, files) = (services.catalogue, services.files)
    let (scans, background) = (services.scans, services.images.background)
    return PhotoAPI(
      library: catalogue,
      changeServices: ChangeServices(
        catalogue: catalogue,
        lists: ChangeListExecutor(catalogue: catalogue, files: files, limits: settings.changes.lists),
        streams: services.streams),
      access: services.access, origins: services.origins, results: services.results, originals: services.originals,
      images: services.images.manager, previews: services.images.previews, fullSizeRenders: services.fullSizeRenders,
      upgrades: services.upgrades, listedFormats: services.listedFormats, caching: services.caching,
      frameResponses: services.frameResponses, metrics: services.metrics, files: files, queues: services.queues,
      requestScan: { scans.requestScan() }, onAssetsAdded: { background.start() },
      onPicturesEdited: { background.picturesEdited() },
      options: PhotoAPI.Options(
        proxies: proxies, maximumRanges: settings.http.maximumRanges,
        allowsPublicCaching: settings.cache.allowsPublicCaching, allowsAnonymous: settings.allowAnonymous,
        namesNeedScope: settings.namesNeedScope, timeZone: settings.timeZone, codec: settings.codec,
        fetchDeadline: settings.fetch.deadline,
        uploads: uploads, presets: try ImagePresets(settings.presets), archives: settings.archives),
      logger: Logger(label: "api"))
  }

  private func maintenance(_ services: Services, _ api: PhotoAPI) -> Maintenance {
    Maintenance(
      catalogue: services.catalogue, images: services.images.manager, frames: services.images.frames,
      background: services.images.background, results: services.results, streams: services.streams,
      access: services.access, caching: services.caching, history: settings.changes.history, files: services.files,
      formerPictures: FormerPictures(
        catalogue: services.catalogue, frames: services.images.frames, fullSizeRenders: services.fullSizeRenders,
        stop: services.stop, deadline: settings.render.limits.deadline),
      api: api, stop: services.stop)
  }

  /// The parts that the watchdog checks: the event loops, and the queues whose work has a deadline and reads only the
  /// catalogue. Queues that read or write the library are left out: a slow or missing disk of the library must not
  /// restart the daemon, which would then find no library at all.
  private static func watchdogParts(_ server: Server, _ queues: KeyValuePairs<String, WorkQueue>) -> [Liveness.Part] {
    (0..<server.loopCount).map { index in Liveness.Part("loop.\(index)") { server.probe(loop: index, $0) } }
      + queues.map { name, queue in Liveness.Part(name) { queue.probe($0) } }
  }

  /// Applies the reloadable settings, except the timeout for draining, which the daemon reads when it drains.
  private func reloader(
    of scans: ScanScheduler, _ origins: OriginRules, _ load: @escaping @Sendable () throws -> Settings
  ) -> SettingsReloader {
    SettingsReloader(settings, logger: Logger(label: "photod"), load: load) { [logLevel] settings in
      logLevel.level = settings.logLevel
      origins.replace(
        allowedHosts: settings.allowedHosts, readers: settings.corsOrigins, writers: settings.corsWriteOrigins)
      scans.scan(every: settings.scan.intervalSeconds)
    }
  }

  /// The parts that differ between a local and a remote library.
  private struct Content {
    let originals: OriginalStore
    let scanner: AnyLibraryScanner
    /// The folder that uploads and the trash write to; for a remote library, a local folder for uploads in progress.
    let folder: String
    let fileOptions: LibraryFiles.Options
    /// `nil` for a library in a folder.
    let remote: RemoteLibrary?
  }

  private func content(_ catalogue: Catalogue) throws -> Content {
    try catalogue.setImportsTones(settings.scan.importsTones)
    switch library {
    case .folder(let path):
      let folder: LibraryFolder
      do {
        folder = try LibraryFolder(path: path)
      } catch {
        throw CommandFailure(description: "the library \(path): \(error)")
      }
      return Content(
        originals: OriginalStore(folder: folder), scanner: .folder(try scanner(of: path, catalogue)), folder: path,
        fileOptions: settings.files, remote: nil)
    case .remote(let location):
      var limits = settings.originals
      limits.windowDownloads = settings.caching.windowDownloads
      let remote = try RemoteLibrary(
        location, dataFolder: dataFolder, limits: limits, headBytes: settings.remote.headBytes)
      var options = settings.files
      options.isReadOnly = options.isReadOnly || !remote.isBucket
      return Content(
        originals: remote.originals, scanner: .remote(try scanner(of: remote.store, remote.heads, catalogue)),
        folder: remote.uploadFolder, fileOptions: options, remote: remote)
    }
  }

  /// The originals to keep are pinned before any request can evict one.
  private func keptOriginals(_ downloads: OriginalDownloads, _ catalogue: Catalogue) -> KeptOriginals {
    var limits = settings.kept
    limits.downloads = settings.caching.windowDownloads
    let kept = KeptOriginals(
      downloads, diskBytes: settings.originals.diskBytes, limits: limits, logger: Logger(label: "originals")
    ) { try catalogue.keptOriginals(limitBytes: $0, limit: $1) }
    kept.update()
    catalogue.feed.observe(kept)
    return kept
  }
}
