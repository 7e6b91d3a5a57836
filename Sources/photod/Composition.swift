// The one place that knows every module: settings go in, a daemon or a scanner comes out.

import AccessControl
import AssetLibrary
import CPhotodSystem
import Crypto
import Foundation
import HTTPServer
import ImageService
import LibraryFolder
import Logging
import OriginalStore
import PhotoAPI
import PhotoModel
import Telemetry

struct Composition: Sendable {
  private let settings: Settings
  private let addresses: [ListenAddress]
  private let proxies: PeerSet
  private let libraryPath: String
  private let dataFolder: String

  /// Checks what the settings name. Throws ``CommandFailure`` with what to change.
  init(_ settings: Settings) throws {
    self.settings = settings
    addresses = try settings.listen.map { text in
      guard let address = ListenAddress(text) else {
        throw CommandFailure(description: "\(text) is no address to listen at; write ADDRESS:PORT or unix:PATH")
      }
      return address
    }
    do {
      proxies = try PeerSet(settings.proxies)
    } catch {
      throw CommandFailure(description: "proxies: \(error)")
    }
    libraryPath = try Self.libraryPath(settings)
    dataFolder = try Self.dataFolder(settings)
    let level = settings.logLevel
    LoggingSystem.bootstrap { LogfmtHandler(label: $0, level: level) }
  }

  func scanner() throws -> LibraryScanner {
    try scanner(Catalogue(dataFolder: dataFolder))
  }

  func check() throws -> CatalogueCheck {
    CatalogueCheck(catalogue: try Catalogue(reading: dataFolder), directory: libraryPath)
  }

  /// Where the catalogue is; the library need not be here where it is named.
  static func dataFolder(_ settings: Settings) throws -> String {
    settings.data.isEmpty ? try standardDataFolder(for: libraryPath(settings)) : settings.data
  }

  /// One library has one name, however it is written.
  private static func libraryPath(_ settings: Settings) throws -> String {
    guard !settings.library.isEmpty else {
      throw CommandFailure(description: "no library: name the folder with --library or PHOTOD_LIBRARY")
    }
    guard let resolved = realpath(settings.library, nil) else {
      throw CommandFailure(description: "the library \(settings.library): \(SystemError(code: errno))")
    }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  func daemon() throws -> Daemon {
    let inherited = ServiceManager.inheritedSockets()
    let listened: [ListenAddress]
    do {
      listened = inherited.isEmpty ? addresses : try inherited.map(Server.address(ofInherited:))
    } catch {
      throw CommandFailure(description: "\(error)")
    }
    let access = try accessRegistry()
    if let open = listened.first(where: { !$0.isLoopback }), !settings.allowAnonymous, !access.isGuarded {
      throw CommandFailure(
        description: "\(open.text) can be reached from other machines, and there are no tokens that would tell who is "
          + "calling. Make one with photod token create, listen on 127.0.0.1, or start with --allow-anonymous to serve "
          + "anybody.")
    }
    photod_tame_malloc()
    let folder: LibraryFolder
    do {
      folder = try LibraryFolder(path: libraryPath)
    } catch {
      throw CommandFailure(description: "the library \(libraryPath): \(error)")
    }
    let catalogue = try Catalogue(dataFolder: dataFolder)
    let cores = ProcessInfo.processInfo.activeProcessorCount
    // One answer for each 8 KiB of frames: they take a fraction of what the frames do, whoever asks in whatever ways.
    let answers = FrameAnswers(capacity: settings.frameCacheBytes >> 13)
    let cache = FrameCache(
      capacityBytes: settings.frameCacheBytes, pinnedCapacityBytes: settings.pinnedBytes,
      evicted: answers.framesWereEvicted)
    let metrics = MetricsRegistry()
    ProcessMetrics.register(in: metrics, version: Photod.version)
    let originals = OriginalStore(folder: folder)
    let images = ImageWing(
      settings, dataFolder: dataFolder, originals: originals, cache: cache, catalogue: catalogue,
      metrics: metrics)
    let results = FetchResults(limits: settings.fetchResults)
    let lookups = WorkQueue(
      label: "photod.lookup", workers: cores, limit: max(64, settings.renderQueue * 4), qos: .userInitiated)
    // One after the other: each may take a core for as long as its deadline lets it.
    let fetches = WorkQueue(label: "photod.fetch", workers: 1, limit: 64, qos: .userInitiated)
    let caching = CachingManagers(
      library: catalogue, images: images.manager, cache: cache, lookups: lookups, fetches: fetches,
      limits: settings.caching, metrics: CachingMetrics(metrics), width: max(2, cores),
      logger: Logger(label: "caching"))
    MetricsSetup.register(caching, in: metrics)
    catalogue.feed.observe(caching)
    let streams = ChangeStreams(limits: settings.streams)
    catalogue.feed.observe(streams)
    let files = try LibraryFiles(
      catalogue: catalogue, directory: libraryPath, timeZone: settings.timeZone, limits: settings.codec,
      options: settings.files, logger: Logger(label: "files"))
    let changing = Changing(
      catalogue: catalogue,
      lists: ChangeLists(
        catalogue: catalogue, files: files, timeZone: settings.timeZone, limits: settings.changes),
      streams: streams,
      // One writer at a time; scans' transactions come in between.
      queue: WorkQueue(label: "photod.change", workers: 1, limit: settings.changeQueue, qos: .userInitiated))
    let api = PhotoAPI(
      library: catalogue, changing: changing, access: access, results: results, originals: originals,
      images: images.manager,
      caching: caching, lookups: lookups, fetches: fetches,
      batches: WorkQueue(label: "photod.batch", workers: cores, limit: .max, qos: .userInitiated),
      answers: answers, metrics: metrics,
      // One scrape after the other, ahead of renders; more than a few waiting are of no use to anybody.
      scrapes: WorkQueue(label: "photod.metrics", workers: 1, limit: 16, qos: .userInitiated),
      files: files,
      // As many at once as there may be, and no more: each waits for a disk.
      uploads: WorkQueue(
        label: "photod.upload", workers: min(settings.uploads.concurrent, 2 * cores),
        limit: settings.uploads.concurrent, qos: .userInitiated),
      options: PhotoAPI.Options(
        allowedHosts: settings.allowedHosts, proxies: proxies, corsOrigins: settings.corsOrigins,
        maximumRanges: settings.maximumRanges, allowsAnonymous: settings.allowAnonymous,
        allowsPublic: settings.cachePublic, codec: settings.codec,
        fetchDeadline: .milliseconds(settings.fetchDeadlineMilliseconds), uploads: settings.uploads),
      logger: Logger(label: "api"))
    let server = Server(
      handler: api, limits: settings.server, proxies: proxies,
      loopCount: settings.loops == 0 ? Int(photod_usable_cores()) : settings.loops,
      accessLog: settings.accessLog ? .toStandardError(limitBytes: settings.server.accessLogBytes) : nil,
      logger: Logger(label: "http"))
    MetricsSetup.register(server, limits: settings.server, in: metrics)
    let daemon = Daemon(
      server: server,
      sockets: inherited.isEmpty ? .bind(addresses) : .inherited(inherited, listened), catalogue: catalogue,
      scanner: try scanner(catalogue), scanInterval: settings.scanInterval,
      drainDeadline: .seconds(settings.drainSeconds), libraryPath: libraryPath,
      images: images, results: results, access: access, caching: caching, streams: streams,
      history: settings.history, files: files)
    if settings.watchesLibrary { daemon.watch(settings.watch) }
    MetricsSetup.register(watching: { [weak daemon] in daemon?.watchStatistics }, in: metrics)
    return daemon
  }

  /// Who may come in.
  func accessDatabase() throws -> AccessDatabase {
    try AccessDatabase(dataFolder: dataFolder, limits: settings.access)
  }

  func accessRegistry() throws -> AccessRegistry {
    try AccessRegistry(database: accessDatabase(), logger: Logger(label: "tokens"))
  }

  private func scanner(_ catalogue: Catalogue) throws -> LibraryScanner {
    try LibraryScanner(
      catalogue: catalogue, directory: libraryPath, timeZone: settings.timeZone,
      maximumRemovalPercent: settings.scanMaximumRemovalPercent,
      quiet: .seconds(settings.scanQuietSeconds), limits: settings.codec,
      logger: Logger(label: "scan"))
  }

  /// A folder of its own for each library: two libraries must never share a catalogue by accident.
  private static func standardDataFolder(for library: String) throws -> String {
    let environment = ProcessInfo.processInfo.environment
    let base: String
    if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
      base = data
    } else if let home = environment["HOME"], home.hasPrefix("/") {
      base = home + "/.local/share"
    } else {
      throw CommandFailure(description: "no place for the catalogue: name one with --data or PHOTOD_DATA")
    }
    let digest = SHA256.hash(data: Data(library.utf8)).prefix(4).map {
      String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
    }
    let name = library.split(separator: "/").last.map(String.init) ?? "root"
    return "\(base)/photod/\(name)-\(digest.joined())"
  }
}
