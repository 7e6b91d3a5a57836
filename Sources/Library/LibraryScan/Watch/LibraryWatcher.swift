// Watches the library folder and scans the paths that change, a moment after each change.
//
//     inotify -> WatchState: current path of each event -> EventDebouncer: quiet for watch.debounceMilliseconds
//       -> on photod.scan: ScanScope -> LibraryScanner, the same code as for a full scan -> catalogue
//     overflow, unmounting, the root replaced -> full scan
//
// A scan adds the watch of a folder before it reads the folder's names. A change after the listing therefore raises an
// event, and the listing shows every change before it. Watches are added only in this way, so every full scan also
// repairs the set of watches. Some changes raise no events: those on network file systems, in folders beyond the watch
// limit, and by truncate(2). The next full scan finds them.

import Dispatch
import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel
import Primitives
import Synchronization

package final class LibraryWatcher: Sendable {
  package struct Options: Sendable, Hashable {
    /// Maximum number of watched folders; 0: nine tenths of the kernel's limit for this user.
    package var folders = 0
    /// Debounce: a path is scanned after this time without further events, or after five times this time at most.
    package var delay = Duration.milliseconds(100)
    /// Maximum number of pending paths; with more, a full scan replaces them.
    package var paths = 32_768

    package init() {}
  }

  /// The pause after a full scan, before the watcher requests the next one: as long as the scan took, but within these
  /// limits.
  private static let minimumFullScanPauseNanoseconds: Int64 = 1_000_000_000
  private static let maximumFullScanPauseNanoseconds: Int64 = 60_000_000_000

  let scanner: LibraryScanner
  /// The serial queue that scans run on.
  let scanQueue: DispatchQueue
  /// Events are read here.
  let queue = DispatchQueue(label: "photod.watch", qos: .userInitiated)
  let events: FolderEvents
  let clock: WatchClock
  let stop: StopFlag
  let scanned: @Sendable (ScanProgress) -> Void
  let requestFullScan: @Sendable () -> Void
  let logger: Logger
  let warnings: DistinctWarnings
  let state: Mutex<WatchState>
  let wakeUps: WatchWakeUps

  /// Starts to read events. The first full scan adds the watches.
  ///
  /// - Parameters:
  ///   - scanQueue: the serial queue that scans run on.
  ///   - stop: no further scan starts after it is raised.
  ///   - scanned: called on the scan queue with the progress of each scan of changed paths.
  ///   - requestFullScan: called on the scan queue when a full scan is needed; the receiver calls `runFullScan`.
  /// - Throws: ``SystemError`` if no folder can be watched.
  package init(
    scanner: LibraryScanner, scanQueue: DispatchQueue, options: Options = Options(), clock: WatchClock = .system,
    stop: StopFlag = StopFlag(), logger: Logger, scanned: @escaping @Sendable (ScanProgress) -> Void,
    requestFullScan: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    events = try FolderEvents()
    self.scanner = scanner
    self.scanQueue = scanQueue
    self.clock = clock
    self.stop = stop
    self.logger = logger
    warnings = DistinctWarnings(logger: logger)
    self.scanned = scanned
    self.requestFullScan = requestFullScan
    var limits = EventDebouncer.Limits()
    limits.delayNanoseconds = options.delay.wholeNanoseconds
    limits.paths = options.paths
    let folders = options.folders > 0 ? options.folders : (FolderEvents.userLimit ?? 8192) / 10 * 9
    state = Mutex(WatchState(events: events, folderLimit: folders, debouncer: limits))
    wakeUps = WatchWakeUps(of: events, on: queue)
    wakeUps.activate(
      eventsArrived: { [weak self] in self?.eventsArrived() }, timerFired: { [weak self] in self?.timerFired() })
  }

  deinit { end() }

  /// Stops reading events.
  package func end() {
    wakeUps.cancel()
  }

  package var statistics: WatchStatistics {
    state.withLock { state in
      var statistics = state.statistics
      statistics.folders = state.tree.count
      statistics.pendingPaths = state.debouncer.count
      return statistics
    }
  }

  // MARK: Full scans

  /// Runs a full scan and watches every folder that it lists. Call on the scan queue.
  package func runFullScan() throws(LibraryError) -> ScanProgress {
    dispatchPrecondition(condition: .onQueue(scanQueue))
    let start = clock.now()
    state.withLock { $0.scanBegins() }
    defer {
      let took = clock.now() - start
      state.withLock {
        $0.debouncer.earliestFullScan =
          clock.now() + min(max(took, Self.minimumFullScanPauseNanoseconds), Self.maximumFullScanPauseNanoseconds)
      }
      rearmTimer()
    }
    var options = scanOptions()
    options.scope = .everything
    let outcome: ScanOutcome
    do {
      outcome = try scanner.scan(options)
    } catch {
      state.withLock { state in
        state.scanEnded(isWalkComplete: false)
        // A periodic full scan is retried by its own timer.
        if state.isFullScanRequested {
          state.debouncer.replaceWithFullScan(at: clock.now() + Self.maximumFullScanPauseNanoseconds)
        }
      }
      throw error
    }
    let now = clock.now()
    let (unwatched, failure) = state.withLock { state in
      let wasFindingLostPaths = state.scanEnded(
        isWalkComplete: outcome.isWalkComplete, needsAnotherWalk: outcome.fullScanDelayNanoseconds != nil)
      state.isFullScanRequested = false
      if outcome.isComplete { state.removed = 0 }
      state.firstScanRechecks.fullScanEnded(outcome, from: start, now: now)
      if let pause = outcome.fullScanDelayNanoseconds { state.debouncer.scheduleFullScan(from: now + pause) }
      // A file that was held back may be a renamed one whose event was lost.
      let hints: EventDebouncer.PathHints = wasFindingLostPaths ? [.file, .arrived] : .file
      for recheck in outcome.rechecks { state.debouncer.note(recheck, hints, now: now) }
      for recheck in outcome.followUps { state.debouncer.note(recheck, .file, now: now) }
      for path in outcome.appeared {
        state.debouncer.note(Recheck(path: path, delayNanoseconds: 0), .file, now: now)
      }
      return (state.statistics.unwatchedFolders, state.watchFailure)
    }
    warnings.forget(except: failure)
    recordFirstScan()
    if let failure {
      warnings.log(
        "folders not watched; only periodic scans find their changes", key: failure,
        [
          "folders": "\(unwatched)", "reason": "\(failure)",
        ])
    }
    if let refusal = outcome.refusal { throw refusal }
    return outcome.progress
  }

  // MARK: Both kinds of scans

  /// The options common to all scans of a watched library.
  func scanOptions() -> ScanOptions {
    var options = ScanOptions(stop: stop)
    options.returnsRechecks = true
    options.observer = Observer(watcher: self)
    options.arrivals = { [self] in arrivals() }
    return options
  }

  /// Records that the first scan is complete. After a failure, the next scan tries again.
  func recordFirstScan() {
    guard state.withLock({ $0.firstScanRechecks.areDone && !$0.firstScanRechecks.isRecorded }) else { return }
    do throws(AssetSourceError) {
      try scanner.catalogue.recordFirstScanComplete()
      state.withLock { $0.firstScanRechecks.isRecorded = true }
    } catch {
      logger.error("recording the completed first scan failed", metadata: ["error": "\(error)"])
    }
  }

  private struct Observer: WalkObserver {
    let watcher: LibraryWatcher

    func willList(_ path: [UInt8], _ folder: LibraryFile) {
      watcher.state.withLock { $0.willList(path, folder, now: watcher.clock.now()) }
    }

    func didFind(link path: [UInt8], isFolder: Bool) {
      watcher.state.withLock { $0.didFind(link: path, isFolder: isFolder) }
    }
  }
}
