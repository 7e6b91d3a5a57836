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
import LibraryFolder
import Logging
import PhotoModel
import Synchronization

package final class LibraryWatcher: Sendable {
  package struct Options: Sendable, Hashable {
    /// Maximum number of watched folders; 0: nine tenths of what the kernel lets this user watch.
    package var folders = 0
    /// Debounce: a path is scanned after this time without further events, or after five times this time at most.
    package var delay = Duration.milliseconds(100)
    /// Maximum number of pending paths; with more, a full scan replaces them.
    package var paths = 32_768

    package init() {}
  }

  /// Reads per call of `drain`; the next call reads the remaining events.
  private static let readsPerTurn = 256
  /// Maximum number of renamed or new files that are compared before removals; with more, removals are deferred.
  private static let arrivalLimit = 1024
  /// Minimum pause between two full scans that the watcher requests, in nanoseconds, in addition to the duration of a
  /// scan.
  private static let fullScanPause: Int64 = 1_000_000_000
  private static let maximumFullScanPause: Int64 = 60_000_000_000
  /// Pause before a failed scan is retried, in nanoseconds.
  private static let retryPause: Int64 = 1_000_000_000

  private let scanner: LibraryScanner
  private let scanQueue: DispatchQueue
  private let queue = DispatchQueue(label: "photod.watch", qos: .userInitiated)
  private let events: FolderEvents
  private let clock: WatchClock
  private let stop: StopFlag
  private let scanned: @Sendable (ScanProgress) -> Void
  private let requestFullScan: @Sendable () -> Void
  private let logger: Logger
  private let state: Mutex<WatchState>
  private let source: Source
  private let timer: Timer
  /// Keys of the messages logged since the last full scan. Used on the scan queue.
  private let loggedKeys = Mutex<Set<String>>([])

  /// `@unchecked Sendable` because a dispatch source may be used from any thread, although its type does not declare
  /// it.
  private struct Source: @unchecked Sendable { let source: any DispatchSourceRead }
  private struct Timer: @unchecked Sendable { let source: any DispatchSourceTimer }

  /// Starts to read events. The first full scan adds the watches.
  ///
  /// - Parameters:
  ///   - scanQueue: the serial queue that scans run on.
  ///   - stop: no further scan starts after it is raised.
  ///   - scanned: called on the scan queue with the progress of each scan of changed paths.
  ///   - requestFullScan: called on the scan queue when a full scan is needed; the receiver calls `runFullScan`.
  ///
  /// Throws ``SystemError`` where nothing can be watched at all.
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
    self.scanned = scanned
    self.requestFullScan = requestFullScan
    var limits = EventDebouncer.Limits()
    limits.delay = Int64(options.delay / .nanoseconds(1))
    limits.paths = options.paths
    let folders = options.folders > 0 ? options.folders : (FolderEvents.userLimit ?? 8192) / 10 * 9
    state = Mutex(WatchState(events: events, folderLimit: folders, debouncer: limits))
    source = Source(source: DispatchSource.makeReadSource(fileDescriptor: events.descriptor, queue: queue))
    timer = Timer(source: DispatchSource.makeTimerSource(queue: queue))
    source.source.setEventHandler { [weak self] in self?.eventsArrived() }
    // The event source uses the descriptor until it is cancelled.
    source.source.setCancelHandler { [events] in withExtendedLifetime(events) {} }
    timer.source.setEventHandler { [weak self] in self?.timerFired() }
    source.source.activate()
    timer.source.activate()
  }

  deinit { end() }

  /// Stops reading events.
  package func end() {
    source.source.cancel()
    timer.source.cancel()
  }

  package var statistics: WatchStatistics {
    state.withLock { state in
      var statistics = state.statistics
      statistics.folders = state.tree.count
      statistics.pendingPaths = state.debouncer.count
      return statistics
    }
  }

  /// Runs a full scan and watches every folder that it lists. Call on the scan queue.
  package func runFullScan() throws(AssetLibraryError) -> ScanProgress {
    dispatchPrecondition(condition: .onQueue(scanQueue))
    let start = clock.now()
    state.withLock { $0.scanBegins() }
    defer {
      let took = clock.now() - start
      state.withLock {
        $0.debouncer.earliestFullScan =
          clock.now() + min(max(took, Self.fullScanPause), Self.maximumFullScanPause)
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
          state.debouncer.replaceWithFullScan(at: clock.now() + Self.maximumFullScanPause)
        }
      }
      throw error
    }
    let now = clock.now()
    let (unwatched, refusal) = state.withLock { state in
      state.scanEnded(isWalkComplete: outcome.isWalkComplete)
      state.isFullScanRequested = false
      if outcome.isComplete { state.removed = 0 }
      state.firstScanRechecks.fullScanEnded(outcome, from: start, now: now)
      if let pause = outcome.fullScanDelay { state.debouncer.scheduleFullScan(from: now + pause) }
      for (path, pause) in outcome.rechecks { state.debouncer.note(path, .file, after: pause, now: now) }
      return (state.statistics.unwatchedFolders, state.watchFailure)
    }
    loggedKeys.withLock { $0 = $0.filter { $0 == refusal } }
    recordFirstScan()
    if let refusal {
      logOnce(
        "folders not watched; only periodic scans find their changes", refusal,
        [
          "folders": "\(unwatched)", "reason": "\(refusal)",
        ])
    }
    if let refusal = outcome.refusal { throw refusal }
    return outcome.progress
  }
}

// MARK: - Events

extension LibraryWatcher {
  private func eventsArrived() {
    dispatchPrecondition(condition: .onQueue(queue))
    drain()
    scheduleTimer()
  }

  /// Handles events as if the kernel had sent them.
  package func handle(_ folderEvents: [FolderEvent]) {
    state.withLock { state in for event in folderEvents { state.handle(event, now: clock.now()) } }
  }

  /// Reads the pending kernel events into the state.
  private func drain() {
    for _ in 0..<Self.readsPerTurn {
      let isEmpty = state.withLock { state in
        let read = events.read()
        let now = clock.now()
        for event in read { state.handle(event, now: now) }
        return read.isEmpty
      }
      if isEmpty { return }
    }
  }

  /// Schedules a scan for the time when the next path is due.
  private func scheduleTimer() {
    guard clock.wakes, let due = state.withLock({ $0.isScanQueued ? nil : $0.debouncer.due }) else { return }
    timer.source.schedule(
      deadline: .now() + .nanoseconds(Int(max(0, due - clock.now()))), leeway: .milliseconds(5))
  }

  private func timerFired() {
    let isDue = state.withLock { state in
      guard !state.isScanQueued, let due = state.debouncer.due, due <= clock.now() else { return false }
      state.isScanQueued = true
      return true
    }
    if isDue { scanQueue.async { [self] in scanDue() } } else { scheduleTimer() }
  }

  private func rearmTimer() { queue.async { [weak self] in self?.scheduleTimer() } }

  /// Scans due paths until none is left, including paths that become due through these scans.
  ///
  /// - Parameters:
  ///   - end: paths that are due later stay pending.
  ///   - advance: moves the clock to the time when the next path is due.
  package func catchUp(until end: Int64 = .max, moving advance: (Int64) -> Void) {
    while true {
      queue.sync { drain() }
      let (isScanning, due) = state.withLock { ($0.isScanQueued, $0.debouncer.due) }
      if isScanning {
        // The timer has queued this scan; paths that it takes are no longer due.
        scanQueue.sync {}
        continue
      }
      guard let due, due <= end else { return }
      advance(due)
      scanQueue.sync { scanDue() }
    }
  }
}

// MARK: - Scanning

extension LibraryWatcher {
  /// The options common to all scans of a watched library.
  private func scanOptions() -> ScanOptions {
    var options = ScanOptions(stop: stop)
    options.returnsRechecks = true
    options.observer = Observer(watcher: self)
    options.arrivals = { [self] in arrivals() }
    return options
  }

  private func scanDue() {
    dispatchPrecondition(condition: .onQueue(scanQueue))
    defer {
      state.withLock { $0.isScanQueued = false }
      rearmTimer()
    }
    if stop.isRaised { return }
    let taken = state.withLock { $0.take(now: clock.now()) }
    if taken.isEverything {
      state.withLock { $0.isFullScanRequested = true }
      return requestFullScan()
    }
    if taken.paths.isEmpty { return }
    var options = scanOptions()
    options.recentRemovals = state.withLock { $0.removed }
    options.closedFiles = Set(taken.paths.filter { $0.value.contains(.closed) }.keys)
    do throws(AssetLibraryError) {
      options.scope = try scope(of: taken.paths)
      let outcome = try scanner.scan(options)
      let now = clock.now()
      state.withLock { state in
        state.statistics.scans += 1
        state.removed += outcome.progress.removed
        if outcome.isWalkComplete { state.firstScanRechecks.looked(at: taken.paths.keys) }
        for (path, pause) in outcome.rechecks {
          state.debouncer.note(path, (taken.paths[path] ?? []).union(.file), after: pause, now: now)
        }
        // A full scan decides whether the mounts really changed.
        if outcome.refusal == .mountsChanged { state.debouncer.replaceWithFullScan(at: now) }
      }
      if let refusal = outcome.refusal {
        logOnce("deferring removals until the next full scan", "\(refusal)", ["reason": "\(refusal)"])
      }
      recordFirstScan()
      scanned(outcome.progress)
    } catch {
      let now = clock.now()
      if error == .scanUnderWay {
        state.withLock { $0.debouncer.requeue(taken.paths, until: now + Self.retryPause, now: now) }
      } else {
        state.withLock { $0.debouncer.replaceWithFullScan(at: now + Self.retryPause) }
        logOnce("scan of changed paths failed", "\(error)", ["error": "\(error)"])
      }
    }
  }

  /// Records that the first scan is complete. After a failure, the next scan tries again.
  private func recordFirstScan() {
    guard state.withLock({ $0.firstScanRechecks.areDone && !$0.firstScanRechecks.isNoted }) else { return }
    do throws(AssetSourceError) {
      try scanner.catalogue.recordFirstScanComplete()
      state.withLock { $0.firstScanRechecks.isNoted = true }
    } catch {
      logger.error("recording the completed first scan failed", metadata: ["error": "\(error)"])
    }
  }

  /// The scan scope for changed paths.
  private func scope(of paths: [[UInt8]: EventDebouncer.PathHints]) throws(AssetLibraryError) -> ScanScope {
    let top: LibraryFile
    let root: LibraryFolder
    do throws(SystemError) {
      root = try LibraryFolder(path: scanner.directory)
      top = try root.open([], isFolder: true)
    } catch {
      throw .libraryUnavailable(path: scanner.directory, error)
    }
    var targets: [ScanScope.Target] = []
    for (path, hints) in paths {
      if hints == .rights {
        if !isOpenAndWatched(path, root) { targets.append(.folder(path)) }
        continue
      }
      if !hints.isDisjoint(with: [.folder, .rights]) { targets.append(.folder(path)) }
      guard hints.contains(.file) else { continue }
      targets.append(.file(path))
      // The link may lead to a folder now.
      if !hints.contains(.folder), (try? top.entry(path))?.kind == .link { targets.append(.folder(path)) }
    }
    return ScanScope(targets)
  }

  /// Whether a folder whose mode or times changed needs no scan: it is readable and already watched. The watch of an
  /// unreadable folder is removed, so that the folder is scanned when it becomes readable again.
  private func isOpenAndWatched(_ path: [UInt8], _ root: LibraryFolder) -> Bool {
    guard state.withLock({ $0.tree.node(at: path) }) != nil else { return false }
    // Looking up a name needs search permission, listing needs read permission.
    let isOpen = (try? root.open(path, isFolder: true).entry([UInt8(ascii: ".")])) != nil
    if !isOpen { state.withLock { $0.forget(path) } }
    return true
  }

  /// Pending paths that were renamed and are not scanned yet.
  private func arrivals() -> Arrivals {
    drain()
    let (arrivals, count) = state.withLock { ($0.debouncer.arrivals, $0.arrivals) }
    let files = arrivals.filter { !$0.value.contains(.folder) }
    return Arrivals(
      files: Array(files.keys.prefix(Self.arrivalLimit)),
      isPartialList: files.count < arrivals.count || files.count > Self.arrivalLimit,
      count: count)
  }

  /// Logs a message at most once between two full scans.
  private func logOnce(_ message: Logger.Message, _ key: String, _ metadata: Logger.Metadata) {
    let isNew = loggedKeys.withLock { $0.count < 16 && $0.insert(key).inserted }
    if isNew { logger.warning(message, metadata: metadata) }
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
