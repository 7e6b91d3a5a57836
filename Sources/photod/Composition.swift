// The composition root, the only place that knows every module: turns settings into a daemon or a scanner.

import AccessControl
import CPhotodSystem
import Foundation
import HTTPServer
import ImageService
import LibraryCatalogue
import LibraryFiles
import LibraryFolder
import LibraryImport
import LibraryScan
import Logging
import ObjectStores
import OriginalDownloads
import PhotoAPI
import PhotoModel
import RemoteScan
import SharedDerivatives
import Telemetry

struct Composition: Sendable {
  private let settings: Settings
  private let addresses: [ListenAddress]
  private let proxies: PeerSet
  private let library: LibraryLocation
  private let dataFolder: String
  private let logLevel: LogLevel
  private let logFormat: LogFormat

  /// Validates addresses, proxies and paths in the settings. Throws ``CommandFailure`` with what to change.
  init(_ settings: Settings) throws {
    self.settings = settings
    addresses = try settings.listenAddresses()
    proxies = try settings.proxies()
    library = try settings.libraryLocation()
    dataFolder = try settings.dataFolder()
    let logLevel = LogLevel(settings.logLevel)
    self.logLevel = logLevel
    let logFormat = settings.logFormat.format
    self.logFormat = logFormat
    LoggingSystem.bootstrap { LineLogHandler(label: $0, format: logFormat, level: logLevel) }
  }

  func scanner() throws -> AnyLibraryScanner {
    switch library {
    case .folder(let path):
      let catalogue = try Catalogue(dataFolder: dataFolder)
      // A scan would take files that are in the trash for files that are gone.
      if try catalogue.hasUncheckedTrash() {
        let files = try LibraryFiles(
          catalogue: catalogue, directory: path, timeZone: settings.timeZone, limits: settings.codec,
          options: settings.files, logger: Logger(label: "files"))
        try files.reconcileTrash()
      }
      return .folder(try scanner(of: path, catalogue))
    case .remote(let location):
      // Credentials before the data folder is made.
      let store = try location.store()
      let catalogue = try Catalogue(dataFolder: dataFolder)
      let heads = try RemoteLibrary.heads(in: dataFolder, limitBytes: settings.remote.headBytes)
      return .remote(try scanner(of: store, heads, catalogue))
    }
  }

  func check() throws -> CatalogueCheck {
    CatalogueCheck(catalogue: try Catalogue(reading: dataFolder), directory: try settings.libraryPath())
  }

  func repair() -> CatalogueRepair {
    CatalogueRepair(dataFolder: dataFolder, removing: RemovalLimit(percent: settings.scan.maximumRemovalPercent))
  }

  /// - Parameters:
  ///   - folder: the folder of an export.
  ///   - isDryRun: the catalogue is opened read-only.
  func importer(of folder: String, isDryRun: Bool, _ report: ImportReport) throws -> LibraryImporter {
    let libraryPath = try settings.libraryPath()
    let catalogue = try isDryRun ? Catalogue(reading: dataFolder) : Catalogue(dataFolder: dataFolder)
    var options = settings.files
    // These limits are for clients. An import stages one file at a time, and the disk's reserve holds for it too.
    (options.stagedBytes, options.stagedPerCaller) = (.max, .max)
    let files = try LibraryFiles(
      catalogue: catalogue, directory: libraryPath, timeZone: settings.timeZone, limits: settings.codec,
      options: options, logger: Logger(label: "files"))
    return try LibraryImporter(
      catalogue: catalogue, files: files, folder: folder, libraryPath: libraryPath, timeZone: try timeZone(),
      limits: settings.codec, isDryRun: isDryRun, report: report)
  }

  /// The zone of dates without an offset.
  func timeZone() throws -> TimeZone {
    guard let zone = TimeZone(identifier: settings.timeZone) else {
      throw LibraryError.unknownTimeZone(settings.timeZone)
    }
    return zone
  }

  /// - Parameter load: reads the settings again, on SIGHUP.
  func daemon(reloading load: @escaping @Sendable () throws -> Settings) throws -> Daemon {
    let inherited = Systemd.inheritedSockets()
    let listenAddresses: [ListenAddress]
    do {
      listenAddresses = inherited.isEmpty ? addresses : try inherited.map(Server.address(ofInherited:))
    } catch {
      throw CommandFailure(description: "\(error)")
    }
    guard !listenAddresses.isEmpty else {
      throw CommandFailure(description: "listen is empty; set it to an address such as 127.0.0.1:8080")
    }
    let access = try accessRegistry()
    if let open = listenAddresses.first(where: { !$0.isLoopback }), !settings.allowAnonymous, !access.requiresCredential
    {
      throw CommandFailure(
        description: "\(open.text) can be reached from other machines, but no token exists to authenticate callers. "
          + "Make one with photod token create, listen on 127.0.0.1, or start with --allow-anonymous to serve "
          + "requests without a token.")
    }
    var serverLimits = settings.http.server
    serverLimits.connections = try DescriptorLimit.connections(settings, logger: Logger(label: "photod"))
    let shared = try SharedDerivatives(settings, logger: Logger(label: "derivatives"))
    // Before any socket is opened, and while this process is small.
    let decoders = Decoders(settings)
    let catalogue = try Catalogue(dataFolder: dataFolder, renderableTypes: decoders.start())
    let content = try content(catalogue)
    let cores = ProcessInfo.processInfo.activeProcessorCount
    // One prepared response per 8 KiB of frame cache, so that responses take a small part of the memory of the frames.
    let frameResponses = FrameResponses(capacity: settings.cache.frameBytes >> 13)
    let cache = FrameCache(
      capacityBytes: settings.cache.frameBytes, pinnedCapacityBytes: settings.cache.pinnedBytes,
      onEvict: frameResponses.framesWereEvicted)
    let metrics = MetricsRegistry()
    ProcessMetrics.register(in: metrics, version: Photod.version)
    decoders.register(in: metrics)
    let originals = content.originals
    MetricsSetup.register(content.remote?.downloads, capacityBytes: settings.originals.diskBytes, in: metrics)
    let kept = content.remote.map { keptOriginals($0.downloads, catalogue) }
    MetricsSetup.register(kept, in: metrics)
    let images = ImageServices(
      settings, dataFolder: dataFolder, originals: originals, cache: cache, catalogue: catalogue,
      shared: shared, workers: decoders.pictures, metrics: metrics)
    let upgrades = EncodingUpgrades(images.manager, formats: decoders.encodedFormats, limits: settings.render.upgrades)
    MetricsSetup.register(upgrades, in: metrics)
    let results = FetchResultStore(limits: settings.fetch.results)
    let lookups = WorkQueue(
      label: "photod.lookup", workers: cores, limit: max(64, settings.render.queueLength * 4), qos: .userInitiated)
    // Serial: each fetch may use a core until its deadline.
    let fetches = WorkQueue(label: "photod.fetch", workers: 1, limit: 64, qos: .userInitiated)
    let caching = CachingManagerRegistry(
      library: catalogue, images: images.manager, cache: cache, upgrades: upgrades, lookups: lookups,
      fetches: fetches, limits: settings.caching, metrics: CachingMetrics(metrics), maximumPreparations: max(2, cores),
      logger: Logger(label: "caching"))
    MetricsSetup.register(caching, in: metrics)
    MetricsSetup.registerMemory(in: metrics)
    catalogue.feed.observe(caching)
    let streams = ChangeStreams(limits: settings.changes.streams)
    catalogue.feed.observe(streams)
    let files = try LibraryFiles(
      catalogue: catalogue, directory: content.folder, bucket: content.remote?.writableBucket(catalogue),
      timeZone: settings.timeZone, limits: settings.codec, options: content.fileOptions, logger: Logger(label: "files"))
    let changeServices = ChangeServices(
      catalogue: catalogue,
      lists: ChangeListExecutor(
        catalogue: catalogue, files: files, limits: settings.changes.lists),
      streams: streams,
      // One change list at a time; scan transactions run in between.
      queue: WorkQueue(label: "photod.change", workers: 1, limit: settings.changes.queueLength, qos: .userInitiated))
    let stop = StopFlag()
    let scans = ScanScheduler(
      scanner: content.scanner, files: files, background: images.background, stop: stop)
    if settings.watch.isEnabled { scans.watch(settings.watch.options) }
    let origins = OriginRules(
      allowedHosts: settings.allowedHosts, readers: settings.corsOrigins, writers: settings.corsWriteOrigins)
    let renders = RenderFiles(
      folder: dataFolder + "/renders", limits: settings.cache.renders, logger: Logger(label: "renders"))
    let api = PhotoAPI(
      library: catalogue, changeServices: changeServices, access: access, origins: origins, results: results,
      originals: originals, images: images.manager, previews: images.previews,
      renders: renders, upgrades: upgrades, caching: caching, lookups: lookups, fetches: fetches,
      batches: WorkQueue(label: "photod.batch", workers: cores, limit: .max, qos: .userInitiated),
      frameResponses: frameResponses, metrics: metrics,
      // Serial, with a higher priority than renders. A longer queue of scrapes would be useless.
      scrapes: WorkQueue(label: "photod.metrics", workers: 1, limit: 16, qos: .userInitiated),
      files: files,
      // Workers up to the allowed concurrent uploads, but at most two per core: each one waits for the disk. Without a
      // limit, because each piece of a body is work of its own: an upload that was admitted is never refused halfway.
      // Each connection has at most one piece or request in it.
      uploads: WorkQueue(
        label: "photod.upload", workers: min(settings.uploads.limits.concurrent, 2 * cores), limit: .max,
        qos: .userInitiated),
      // Each one may wait for the disk; a few disk reads at a time are enough to keep a disk busy. A part of an archive may
      // need the checksum of a whole file, so archives alone can't take all workers.
      fileReads: WorkQueue(
        label: "photod.file", workers: max(4, 2 * cores) + settings.archives.concurrent, limit: .max,
        qos: .userInitiated),
      // Opens all files of an archive; one plan at a time leaves the disk to others.
      archivePlans: WorkQueue(label: "photod.archive", workers: 1, limit: settings.archives.concurrent, qos: .utility),
      requestScan: { scans.requestScan() }, picturesAdded: { images.background.start() },
      picturesEdited: { images.background.picturesEdited() },
      options: PhotoAPI.Options(
        proxies: proxies, maximumRanges: settings.http.maximumRanges,
        allowsPublicCaching: settings.cache.allowsPublicCaching, allowsAnonymous: settings.allowAnonymous,
        namesNeedScope: settings.namesNeedScope,
        codec: settings.codec, fetchDeadline: settings.fetch.deadline, uploads: settings.uploads.limits,
        presets: try ImagePresets(settings.presets), archives: settings.archives),
      logger: Logger(label: "api"))
    let server = Server(
      handler: api, limits: serverLimits, proxies: proxies,
      loopCount: settings.http.eventLoops == 0 ? Int(photod_usable_cores()) : settings.http.eventLoops,
      accessLog: settings.accessLog
        ? .toStandardError(limitBytes: settings.http.server.accessLogBufferBytes, format: logFormat) : nil,
      logger: Logger(label: "http"))
    MetricsSetup.register(server, limits: serverLimits, in: metrics)
    MetricsSetup.register(scans: { [weak scans] in scans?.scanCounts ?? (0, 0) }, in: metrics)
    MetricsSetup.register(watching: { [weak scans] in scans?.watchStatistics }, in: metrics)
    scans.scan(every: settings.scan.intervalSeconds)
    return Daemon(
      server: server, sockets: inherited.isEmpty ? .bind(addresses) : .inherited(inherited, listenAddresses),
      library: library.name, scans: scans,
      maintenance: Maintenance(
        catalogue: catalogue, images: images.manager, results: results, streams: streams, access: access,
        caching: caching, history: settings.changes.history, files: files,
        formerPictures: FormerPictures(
          catalogue: catalogue, frames: images.frames, renders: renders, stop: stop,
          deadline: settings.render.limits.deadline),
        api: api, stop: stop),
      images: images, streams: streams,
      reloader: reloader(of: scans, origins, load),
      heartbeat: Heartbeat(
        catalogue: catalogue, parts: Self.livingParts(server, ["lookup": lookups, "fetch": fetches])),
      stop: stop)
  }

  /// What must answer for the daemon to be alive: the event loops, and the queues whose work has a deadline and reads
  /// only the catalogue. Queues that read or write the library are left out: a slow or missing disk of the library must
  /// not restart the daemon, which would then find no library at all.
  private static func livingParts(_ server: Server, _ queues: KeyValuePairs<String, WorkQueue>) -> [Liveness.Part] {
    (0..<server.loopCount).map { index in Liveness.Part("loop.\(index)") { server.probe(loop: index, $0) } }
      + queues.map { name, queue in Liveness.Part(name) { queue.probe($0) } }
  }

  /// Applies the settings whose rows in the table are reloadable. The time for draining is read when it is needed.
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

  /// The database of tokens and keys.
  func accessDatabase() throws -> AccessDatabase {
    try AccessDatabase(dataFolder: dataFolder, limits: settings.access)
  }

  func accessRegistry() throws -> AccessRegistry {
    try AccessRegistry(database: accessDatabase(), logger: Logger(label: "tokens"))
  }

  /// What depends on where the library is.
  private struct Content {
    let originals: OriginalStore
    let scanner: AnyLibraryScanner
    /// The folder that uploads and the trash write to; of a remote library, the one for uploads on their way.
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
      limits.windowDownloads = settings.caching.fetches
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
    limits.downloads = settings.caching.fetches
    let kept = KeptOriginals(
      downloads, diskBytes: settings.originals.diskBytes, limits: limits, logger: Logger(label: "originals")
    ) { try catalogue.keptOriginals(limitBytes: $0, limit: $1) }
    kept.update()
    catalogue.feed.observe(kept)
    return kept
  }

  private func scanner(
    of store: any ObjectStore, _ heads: OriginalHeads, _ catalogue: Catalogue
  ) throws -> RemoteScanner {
    guard let zone = TimeZone(identifier: settings.timeZone) else {
      throw LibraryError.unknownTimeZone(settings.timeZone)
    }
    var options = RemoteScanner.Options()
    options.maximumRemovalPercent = settings.scan.maximumRemovalPercent
    options.keepHead = { heads.store($2, of: $0, $1) }
    return RemoteScanner(
      store: store, catalogue: catalogue, probe: MediaProbe(limits: settings.codec, timeZone: zone), timeZone: zone,
      options: options, logger: Logger(label: "scan"))
  }

  private func scanner(of folder: String, _ catalogue: Catalogue) throws -> LibraryScanner {
    try LibraryScanner(
      catalogue: catalogue, directory: folder, timeZone: settings.timeZone,
      maximumRemovalPercent: settings.scan.maximumRemovalPercent,
      settleTime: settings.scan.settleTime, limits: settings.codec,
      logger: Logger(label: "scan"))
  }
}
