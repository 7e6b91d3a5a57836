// Runs the scans of the library: at start, at intervals, on request, and of changed paths while the library is watched.
// Before each full scan, file changes that failed are completed or reverted; after it, expired files in the trash are
// deleted. Scans that change the catalogue start background work, as uploads do.
//
// Everything here runs on the serial queue photod.scan, except that the watcher receives events on its own queue.

import Dispatch
import ImageService
import LibraryCatalogue
import LibraryFiles
import LibraryScan
import Logging
import PhotoModel
import Primitives
import Synchronization

final class ScanScheduler: Sendable {
  private let scanner: AnyLibraryScanner
  private let files: LibraryFiles
  private let background: BackgroundRunner
  private let stop: StopFlag
  private let logger = Logger(label: "photod")
  private let queue = DispatchQueue(label: "photod.scan", qos: .utility)
  /// The seconds between full scans, 0 for none, and the timer.
  private let interval = Mutex<(seconds: Int, timer: DispatchSources?)>((0, nil))
  /// `nil`: the library is not watched, only scanned.
  private let watcher = Mutex<LibraryWatcher?>(nil)
  /// Full scans by result.
  private let completedScans = Atomic<Int>(0)
  private let failedScans = Atomic<Int>(0)
  /// True while a requested scan waits.
  private let isScanWaiting = Atomic<Bool>(false)

  /// - Parameters:
  ///   - background: is started after scans.
  ///   - stop: stops a running scan; no scan starts after it is raised.
  init(
    scanner: AnyLibraryScanner, files: LibraryFiles, background: BackgroundRunner, stop: StopFlag
  ) {
    self.scanner = scanner
    self.files = files
    self.background = background
    self.stop = stop
  }

  /// The watcher's statistics; `nil` if the library is not watched.
  var watchStatistics: WatchStatistics? { watcher.withLock { $0 }?.statistics }

  /// The number of full scans since the start, without those that `stop` ended.
  var scanCounts: (completed: Int, failed: Int) {
    (completedScans.load(ordering: .relaxed), failedScans.load(ordering: .relaxed))
  }

  /// Also watches the library, from the first scan on, if it is in a folder. Call before `start`.
  func watch(_ options: LibraryWatcher.Options) {
    guard case .folder(let scanner) = scanner else { return }
    do {
      let made = try LibraryWatcher(
        scanner: scanner, scanQueue: queue, options: options, stop: stop, logger: Logger(label: "watch"),
        scanned: { [weak self] in self?.scanned($0, "scanned changed paths") },
        requestFullScan: { [weak self] in self?.scan() })
      watcher.withLock { $0 = made }
      files.setWatcher(made)
    } catch {
      logger.warning(
        "library watch failed; changes are found by interval scans only", metadata: ["error": "\(error)"])
    }
  }

  /// Starts the first scan.
  func start() {
    queue.async { [self] in
      recover()
      scan()
    }
  }

  /// Starts a full scan at intervals, the first one an interval from now. Does nothing if the interval is the same as
  /// before. Not called by two threads at a time.
  ///
  /// - Parameter seconds: 0 for no scans at intervals.
  func scan(every seconds: Int) {
    guard interval.withLock({ $0.seconds }) != seconds else { return }
    var timer: DispatchSources?
    if seconds > 0 {
      let sources = DispatchSources()
      sources.repeatEvery(seconds, after: seconds, leeway: .seconds(1), on: queue) { [weak self] in self?.scan() }
      timer = sources
    }
    // The previous timer is released after the lock.
    let previous = interval.withLock { interval in
      defer { interval = (seconds, timer) }
      return interval.timer
    }
    withExtendedLifetime(previous) {}
  }

  /// Starts a full scan as soon as the running one ends. Requests before that start only one.
  func requestScan() {
    guard !isScanWaiting.exchange(true, ordering: .acquiringAndReleasing) else { return }
    queue.async { [self] in
      isScanWaiting.store(false, ordering: .releasing)
      scan()
    }
  }

  /// Ends watching, and waits until a running scan has finished its writes. Raise `stop` first.
  ///
  /// - Returns: false if the scan has not ended after `limit`, as when it waits for a disk that does not answer.
  func finish(within limit: Duration) async -> Bool {
    watcher.withLock { $0.take() }?.end()
    return await ends(within: limit) { done in queue.async(execute: done) }
  }

  private func scan() {
    guard !stop.isRaised else { return }
    recoverUnfinished()
    defer { purge() }
    do {
      let progress =
        if let watcher = watcher.withLock({ $0 }) {
          try watcher.runFullScan()
        } else {
          try scanner.scan(stop: stop)
        }
      // The scan is incomplete. The first one after the next start does the rest.
      if stop.isRaised { return }
      // The first scan may find nothing new while background work of an earlier run is still unfinished.
      let previous = completedScans.wrappingAdd(1, ordering: .relaxed).oldValue
      scanned(progress, "scanned", startsBackground: previous == 0)
    } catch {
      if !stop.isRaised { failedScans.wrappingAdd(1, ordering: .relaxed) }
      logger.error("scan failed", metadata: ["error": "\(error)"])
    }
  }

  private func scanned(_ progress: ScanProgress, _ what: Logger.Message, startsBackground: Bool = false) {
    let hasNews = progress.probed + progress.moved + progress.removed + progress.unreadable > 0
    if hasNews || startsBackground { background.start() }
    var metadata: Logger.Metadata = [
      "files": "\(progress.files)", "probed": "\(progress.probed)", "moved": "\(progress.moved)",
      "removed": "\(progress.removed)", "notIndexed": "\(progress.unreadable)",
    ]
    if progress.refused > 0 { metadata["refused"] = "\(progress.refused)" }
    logger.log(level: hasNews ? .info : .debug, what, metadata: metadata)
  }

  /// Completes or reverts what an earlier process left unfinished.
  private func recover() {
    do throws(LibraryFilesError) {
      try files.recover(stop: stop)
    } catch {
      // The daemon is stopping; the next start recovers the rest.
      if error == .busy { return }
      logger.error("file recovery failed", metadata: ["error": "\(error)"])
    }
  }

  /// Completes or reverts file changes that failed.
  private func recoverUnfinished() {
    do throws(LibraryFilesError) {
      try files.recoverUnfinished(until: stop)
    } catch {
      // The daemon is stopping, or it was logged at start that the library is read-only.
      if error == .busy || error == .readOnly { return }
      logger.error("file recovery failed", metadata: ["error": "\(error)"])
    }
  }

  /// Deletes expired files in the trash.
  private func purge() {
    guard !stop.isRaised else { return }
    do throws(LibraryFilesError) {
      try files.purge(stop: stop)
    } catch {
      if error == .busy { return }
      logger.error("trash purge failed", metadata: ["error": "\(error)"])
    }
  }
}
