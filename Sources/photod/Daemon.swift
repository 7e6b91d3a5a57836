// The daemon's life: start, scan in the background again and again, and end when a signal says so.

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
  /// What is listened at: addresses of our own, or sockets that a service manager opened.
  enum Sockets {
    case bind([ListenAddress])
    case inherited([Int32], [ListenAddress])
  }

  private let server: Server
  private let sockets: Sockets
  private let catalogue: Catalogue
  private let scanner: LibraryScanner
  private let scanInterval: Int
  private let drainDeadline: Duration
  private let libraryPath: String
  private let images: ImageWing
  private let results: FetchResults
  private let streams: ChangeStreams
  private let history: HistoryLimits
  private let access: AccessRegistry
  private let caching: CachingManagers
  private let files: LibraryFiles
  private let logger = Logger(label: "photod")
  private let scanQueue = DispatchQueue(label: "photod.scan", qos: .utility)
  /// `nil`: the library is only scanned.
  private let watcher = Mutex<LibraryWatcher?>(nil)
  private let stopScanning = StopFlag()
  private let hasScanned = Atomic<Bool>(false)
  /// Sources live as long as they are held.
  private let sources = Mutex<[Source]>([])

  init(
    server: Server, sockets: Sockets, catalogue: Catalogue, scanner: LibraryScanner, scanInterval: Int,
    drainDeadline: Duration, libraryPath: String, images: ImageWing, results: FetchResults,
    access: AccessRegistry, caching: CachingManagers, streams: ChangeStreams, history: HistoryLimits,
    files: LibraryFiles
  ) {
    self.server = server
    self.sockets = sockets
    self.catalogue = catalogue
    self.scanner = scanner
    self.scanInterval = scanInterval
    self.drainDeadline = drainDeadline
    self.libraryPath = libraryPath
    self.images = images
    self.results = results
    self.streams = streams
    self.history = history
    self.access = access
    self.caching = caching
    self.files = files
  }

  /// Serves until SIGTERM or SIGINT, then finishes what is under way.
  func run() async throws {
    Self.raiseDescriptorLimit()
    // Before anybody is told that we are here: a signal that comes early must not find the default action.
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
    ServiceManager.notify("READY=1")
    tick()
    scanQueue.async { [self] in
      // Before the first scan: what is on its way to the trash or back would look as if it were gone, or new.
      recover()
      scan()
    }
    pruneRegularly()
    tidyHourly()
    if scanInterval > 0 { scanRegularly() }
    let name = await endings.first { _ in true } ?? SIGTERM
    logger.info("draining", metadata: ["signal": "\(name)"])
    ServiceManager.notify("STOPPING=1")
    stopScanning.raise()
    images.background.end()
    streams.end()
    await withCheckedContinuation { continuation in
      server.drain(deadline: drainDeadline) { continuation.resume() }
    }
    watcher.withLock { $0.take() }?.end()
    // What a scan has begun to write, it finishes.
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

  /// Puts right what a process before this one left half way.
  private func recover() {
    do {
      try files.recover()
    } catch {
      logger.error("files that were being moved could not be put right", metadata: ["error": "\(error)"])
    }
  }

  /// What is in the trash for too long goes.
  private func purge() {
    do {
      try files.purge(stop: stopScanning)
    } catch {
      logger.error("the trash could not be purged", metadata: ["error": "\(error)"])
    }
  }

  /// How the watcher stands; `nil` where nothing is watched.
  var watchStatistics: WatchStatistics? { watcher.withLock { $0 }?.statistics }

  /// Watches the library too, from its first scan on. To be called before `run`.
  func watch(_ options: LibraryWatcher.Options) {
    do {
      let made = try LibraryWatcher(
        scanner: scanner, scanQueue: scanQueue, options: options, stop: stopScanning, logger: Logger(label: "watch"),
        scanned: { [weak self] in self?.scanned($0, "scanned what changed") },
        wantsEverything: { [weak self] in self?.scan() })
      watcher.withLock { $0 = made }
    } catch {
      logger.warning(
        "the library is not watched; changes are found by the scans at intervals", metadata: ["error": "\(error)"])
    }
  }

  private func scan() {
    guard !stopScanning.isRaised else { return }
    defer { purge() }
    do {
      let progress =
        if let watcher = watcher.withLock({ $0 }) {
          try watcher.scanEverything()
        } else {
          try scanner.scan(stop: stopScanning)
        }
      // The first scan of this run may find nothing new, and what was begun before it still be undone.
      let isFirst = !hasScanned.exchange(true, ordering: .relaxed)
      scanned(progress, "scanned", startsBackground: isFirst)
    } catch {
      logger.error("the scan failed", metadata: ["error": "\(error)"])
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

  /// What is looked at once a second: `photod scan` may change the catalogue while we serve from it and `photod token` who
  /// may come in, and requests may have taken longer than they may.
  private func tick() {
    let timer = DispatchSource.makeTimerSource(queue: .global(qos: .userInitiated))
    timer.setEventHandler { [catalogue, streams, images, results, access, caching] in
      access.refresh()
      catalogue.noticeOtherWriters()
      streams.tick()
      images.manager.expire()
      results.expire()
      caching.tick()
    }
    timer.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(200))
    timer.activate()
    keep(Source(timer))
  }

  /// Removes what is older than the history goes back, a little at a time.
  private func pruneRegularly() {
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "photod.history", qos: .utility))
    timer.setEventHandler { [self] in
      do {
        let needed = results.oldestChangeToken(catalogue.tokens)
        while try !stopScanning.isRaised && catalogue.pruneHistory(history, needed: needed) {}
      } catch {
        logger.error("the history could not be shortened", metadata: ["error": "\(error)"])
      }
    }
    timer.schedule(deadline: .now() + Self.pruneInterval, repeating: Self.pruneInterval, leeway: .seconds(10))
    timer.activate()
    keep(Source(timer))
  }

  /// Limited libraries that nobody uses any more go.
  private func tidyHourly() {
    let timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
    timer.setEventHandler { [catalogue, logger] in
      do {
        try catalogue.tidyLimitedLibraries()
      } catch {
        logger.error("limited libraries can't be tidied up", metadata: ["error": "\(error)"])
      }
    }
    timer.schedule(deadline: .now() + 60, repeating: 3600, leeway: .seconds(60))
    timer.activate()
    keep(Source(timer))
  }

  /// In seconds.
  private static let pruneInterval = 300.0

  private func scanRegularly() {
    let timer = DispatchSource.makeTimerSource(queue: scanQueue)
    timer.setEventHandler { [self] in scan() }
    timer.schedule(
      deadline: .now() + .seconds(scanInterval), repeating: .seconds(scanInterval), leeway: .seconds(1))
    timer.activate()
    keep(Source(timer))
  }

  private func on(_ number: Int32, _ handler: @escaping @Sendable () -> Void) {
    // The default action would end the process before Dispatch hears of the signal.
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler(handler: handler)
    source.activate()
    keep(Source(source))
  }

  /// These signals as they come, from now on.
  private func signals(_ numbers: [Int32]) -> AsyncStream<Int32> {
    let (signals, continuation) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingOldest(1))
    for number in numbers { on(number) { continuation.yield(number) } }
    return signals
  }

  /// Connections, files and SQLite all want descriptors; the soft limit of 1,024 is a default from another time.
  private static func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
