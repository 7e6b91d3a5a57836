// The life cycle of the daemon: start, serve, run scans and periodic maintenance in the background, and drain on
// SIGTERM or SIGINT.

import AccessControl
import AssetLibrary
import Dispatch
import HTTPServer
import ImageService
import Logging
import PhotoAPI
import PhotoModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

final class Daemon: Sendable {
  /// The listening sockets: addresses to bind, or sockets inherited from a service manager.
  enum Sockets {
    case bind([ListenAddress])
    case inherited([Int32], [ListenAddress])
  }

  private let server: Server
  private let sockets: Sockets
  private let catalogue: Catalogue
  private let scanner: LibraryScanner
  private let scanInterval: Int
  private let drainTimeout: Duration
  private let libraryPath: String
  private let images: ImageServices
  private let results: FetchResultStore
  private let streams: ChangeStreams
  private let history: HistoryLimits
  private let access: AccessRegistry
  private let caching: CachingManagerRegistry
  private let files: LibraryFiles
  private let logger = Logger(label: "photod")
  private let scanQueue = DispatchQueue(label: "photod.scan", qos: .utility)
  /// `nil`: the library is not watched, only scanned.
  private let watcher = Mutex<LibraryWatcher?>(nil)
  private let stopScanning = StopFlag()
  private let hasScanned = Atomic<Bool>(false)
  /// Keeps the dispatch sources alive.
  private let sources = Mutex<[Source]>([])

  init(
    server: Server, sockets: Sockets, catalogue: Catalogue, scanner: LibraryScanner, scanInterval: Int,
    drainTimeout: Duration, libraryPath: String, images: ImageServices, results: FetchResultStore,
    access: AccessRegistry, caching: CachingManagerRegistry, streams: ChangeStreams, history: HistoryLimits,
    files: LibraryFiles
  ) {
    self.server = server
    self.sockets = sockets
    self.catalogue = catalogue
    self.scanner = scanner
    self.scanInterval = scanInterval
    self.drainTimeout = drainTimeout
    self.libraryPath = libraryPath
    self.images = images
    self.results = results
    self.streams = streams
    self.history = history
    self.access = access
    self.caching = caching
    self.files = files
  }

  /// Serves until SIGTERM or SIGINT, then drains.
  func run() async throws {
    Self.raiseDescriptorLimit()
    // Before READY is announced: an early signal must not run the default action.
    let endings = signals([SIGTERM, SIGINT])
    on(SIGHUP) { [self] in scanQueue.async { [self] in scan() } }
    let bound: [ListenAddress]
    do {
      switch sockets {
      case .bind(let addresses): bound = try server.start(at: addresses)
      case .inherited(let descriptors, let addresses):
        server.start(on: descriptors)
        bound = addresses
      }
    } catch {
      throw CommandFailure(description: "\(error)")
    }
    for address in bound {
      logger.info("listening", metadata: ["url": "\(address.url)", "library": "\(libraryPath)"])
      print("photod serves \(libraryPath) at \(address.url)")
    }
    fflush(nil)
    Systemd.notify("READY=1")
    tick()
    scanQueue.async { [self] in
      // Before the first scan: a file in the middle of a move to or from the trash would look deleted or new.
      recover()
      scan()
    }
    scheduleHistoryPruning()
    scheduleLimitedLibraryCleanup()
    if scanInterval > 0 { scheduleScans() }
    let name = await endings.first { _ in true } ?? SIGTERM
    logger.info("draining", metadata: ["signal": "\(name)"])
    Systemd.notify("STOPPING=1")
    stopScanning.raise()
    images.background.cancel()
    streams.end()
    await withCheckedContinuation { continuation in
      server.drain(deadline: drainTimeout) { continuation.resume() }
    }
    watcher.withLock { $0.take() }?.end()
    // Wait for a running scan to finish its writes.
    await withCheckedContinuation { continuation in scanQueue.async { continuation.resume() } }
    await images.close()
    logger.info("stopped")
  }

  /// `@unchecked Sendable` because a dispatch source may be used from any thread; it is only not declared so.
  private struct Source: @unchecked Sendable {
    let source: any DispatchSourceProtocol

    init(_ source: any DispatchSourceProtocol) { self.source = source }
  }

  private func keep(_ source: Source) { sources.withLock { $0.append(source) } }

  /// Completes or undoes file moves that an earlier process left unfinished.
  private func recover() {
    do {
      try files.recover()
    } catch {
      logger.error("file recovery failed", metadata: ["error": "\(error)"])
    }
  }

  /// Deletes files whose time in the trash is over.
  private func purge() {
    do {
      try files.purge(stop: stopScanning)
    } catch {
      logger.error("trash purge failed", metadata: ["error": "\(error)"])
    }
  }

  /// The watcher's statistics; `nil` if the library is not watched.
  var watchStatistics: WatchStatistics? { watcher.withLock { $0 }?.statistics }

  /// Also watches the library, from the first scan on. Call before `run`.
  func watch(_ options: LibraryWatcher.Options) {
    do {
      let made = try LibraryWatcher(
        scanner: scanner, scanQueue: scanQueue, options: options, stop: stopScanning, logger: Logger(label: "watch"),
        scanned: { [weak self] in self?.scanned($0, "scanned changed paths") },
        requestFullScan: { [weak self] in self?.scan() })
      watcher.withLock { $0 = made }
    } catch {
      logger.warning(
        "library watch failed; changes are found by interval scans only", metadata: ["error": "\(error)"])
    }
  }

  private func scan() {
    guard !stopScanning.isRaised else { return }
    defer { purge() }
    do {
      let progress =
        if let watcher = watcher.withLock({ $0 }) {
          try watcher.runFullScan()
        } else {
          try scanner.scan(stop: stopScanning)
        }
      // The first scan may find nothing new while background work of an earlier run is still unfinished.
      let isFirst = !hasScanned.exchange(true, ordering: .relaxed)
      scanned(progress, "scanned", startsBackground: isFirst)
    } catch {
      logger.error("scan failed", metadata: ["error": "\(error)"])
    }
  }

  private func scanned(_ progress: ScanProgress, _ what: Logger.Message, startsBackground: Bool = false) {
    let hasNews = progress.probed + progress.moved + progress.removed + progress.unreadable > 0
    if hasNews || startsBackground { images.background.start() }
    logger.log(
      level: hasNews ? .info : .debug, what,
      metadata: [
        "files": "\(progress.files)", "read": "\(progress.probed)", "moved": "\(progress.moved)",
        "gone": "\(progress.removed)", "notIndexed": "\(progress.unreadable)",
      ])
  }

  /// Once a second: picks up changes by other processes (`photod scan` changes the catalogue, `photod token` the
  /// tokens), sends stream heartbeats, and ends expired requests and leases.
  private func tick() {
    let timer = DispatchSource.makeTimerSource(queue: .global(qos: .userInitiated))
    timer.setEventHandler { [catalogue, streams, images, results, access, caching] in
      access.refresh()
      catalogue.checkForExternalChanges()
      streams.tick()
      images.manager.expire()
      results.expire()
      caching.tick()
    }
    timer.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(200))
    timer.activate()
    keep(Source(timer))
  }

  /// Removes history older than the configured retention, in small steps.
  private func scheduleHistoryPruning() {
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "photod.history", qos: .utility))
    timer.setEventHandler { [self] in
      do {
        let needed = results.oldestChangeToken(catalogue.tokens)
        while try !stopScanning.isRaised && catalogue.pruneHistory(history, needed: needed) {}
      } catch {
        logger.error("history pruning failed", metadata: ["error": "\(error)"])
      }
    }
    timer.schedule(
      deadline: .now() + Self.historyPruneSeconds, repeating: Self.historyPruneSeconds, leeway: .seconds(10))
    timer.activate()
    keep(Source(timer))
  }

  /// Removes limited libraries that are no longer used.
  private func scheduleLimitedLibraryCleanup() {
    let timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
    timer.setEventHandler { [catalogue, logger] in
      do {
        try catalogue.pruneLimitedLibraries()
      } catch {
        logger.error("limited library cleanup failed", metadata: ["error": "\(error)"])
      }
    }
    timer.schedule(deadline: .now() + 60, repeating: 3600, leeway: .seconds(60))
    timer.activate()
    keep(Source(timer))
  }

  private static let historyPruneSeconds = 300.0

  private func scheduleScans() {
    let timer = DispatchSource.makeTimerSource(queue: scanQueue)
    timer.setEventHandler { [self] in scan() }
    timer.schedule(
      deadline: .now() + .seconds(scanInterval), repeating: .seconds(scanInterval), leeway: .seconds(1))
    timer.activate()
    keep(Source(timer))
  }

  private func on(_ number: Int32, _ handler: @escaping @Sendable () -> Void) {
    // Otherwise the default action would end the process before Dispatch sees the signal.
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler(handler: handler)
    source.activate()
    keep(Source(source))
  }

  /// A stream of these signals, from now on.
  private func signals(_ numbers: [Int32]) -> AsyncStream<Int32> {
    let (signals, continuation) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingOldest(1))
    for number in numbers { on(number) { continuation.yield(number) } }
    return signals
  }

  /// Raises the soft limit of file descriptors: connections, files and SQLite need more than the usual 1,024.
  private static func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
