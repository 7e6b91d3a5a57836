// The library folder, watched: what anybody does to its files is scanned a moment later, and nothing else is.
//
//     inotify -> WatchState: which path it is by now -> Gathering: until nothing came for watch.delayMilliseconds
//       -> on photod.scan: ScanScope -> LibraryScanner, the same as for everything -> catalogue
//     too much, or too little told (overflow, unmounting, the root replaced) -> everything is scanned
//
// Every folder that a scan reads is watched before its names are read, so what happens behind the scan is told, and what
// happened before it is seen. That is the only way to a watch, so each scan of everything makes them true again. What is
// never told (network file systems, folders beyond the limit, truncate(2)) is found by that scan too.

import Dispatch
import LibraryFolder
import Logging
import PhotoModel
import Synchronization

package final class LibraryWatcher: Sendable {
  package struct Options: Sendable, Hashable {
    /// Folders that are watched at most; 0: nine tenths of what the kernel lets this user watch.
    package var folders = 0
    /// Nothing happens for so long before what happened is scanned, or five times as long at most.
    package var delay = Duration.milliseconds(100)
    /// Paths that wait at most; beyond that everything is scanned.
    package var paths = 32_768

    package init() {}
  }

  /// Events are read so often in one turn; what comes beyond has the next.
  private static let readsATurn = 256
  /// Files with new names that are looked at before something is removed; where there are more, it stays for now.
  private static let arrivals = 1024
  /// Between two scans of everything that were asked for here, beside the time that one takes.
  private static let rescanPause: Int64 = 1_000_000_000
  private static let longestRescanPause: Int64 = 60_000_000_000
  /// Until what could not be scanned is tried again.
  private static let retryPause: Int64 = 1_000_000_000

  private let scanner: LibraryScanner
  private let scanQueue: DispatchQueue
  private let queue = DispatchQueue(label: "photod.watch", qos: .userInitiated)
  private let events: FolderEvents
  private let clock: WatchClock
  private let stop: StopFlag
  private let scanned: @Sendable (ScanProgress) -> Void
  private let wantsEverything: @Sendable () -> Void
  private let logger: Logger
  private let state: Mutex<WatchState>
  private let source: Source
  private let timer: Timer
  /// What was logged since everything was scanned. On the scan queue.
  private let told = Mutex<Set<String>>([])

  /// `@unchecked Sendable` because a dispatch source may be used from any thread; it is only not declared so.
  private struct Source: @unchecked Sendable { let source: any DispatchSourceRead }
  private struct Timer: @unchecked Sendable { let source: any DispatchSourceTimer }

  /// Listens from now on. Folders are watched from the first scan of everything on.
  ///
  /// - Parameters:
  ///   - scanQueue: where scans are made, one at a time.
  ///   - stop: raised: nothing more is scanned.
  ///   - scanned: told what a scan of some paths has done, on the scan queue.
  ///   - wantsEverything: called on the scan queue where everything is to be scanned: by `scanEverything`.
  ///
  /// Throws ``SystemError`` where nothing can be watched at all.
  package init(
    scanner: LibraryScanner, scanQueue: DispatchQueue, options: Options = Options(), clock: WatchClock = .system,
    stop: StopFlag = StopFlag(), logger: Logger, scanned: @escaping @Sendable (ScanProgress) -> Void,
    wantsEverything: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    events = try FolderEvents()
    self.scanner = scanner
    self.scanQueue = scanQueue
    self.clock = clock
    self.stop = stop
    self.logger = logger
    self.scanned = scanned
    self.wantsEverything = wantsEverything
    var limits = Gathering.Limits()
    limits.delay = Int64(options.delay / .nanoseconds(1))
    limits.paths = options.paths
    let folders = options.folders > 0 ? options.folders : (FolderEvents.userLimit ?? 8192) / 10 * 9
    state = Mutex(WatchState(events: events, folderLimit: folders, gathering: limits))
    source = Source(source: DispatchSource.makeReadSource(fileDescriptor: events.descriptor, queue: queue))
    timer = Timer(source: DispatchSource.makeTimerSource(queue: queue))
    source.source.setEventHandler { [weak self] in self?.eventsArrived() }
    // The descriptor is closed when nobody listens to it any more.
    source.source.setCancelHandler { [events] in withExtendedLifetime(events) {} }
    timer.source.setEventHandler { [weak self] in self?.timeCame() }
    source.source.activate()
    timer.source.activate()
  }

  deinit { end() }

  /// Hears nothing any more.
  package func end() {
    source.source.cancel()
    timer.source.cancel()
  }

  package var statistics: WatchStatistics {
    state.withLock { state in
      var statistics = state.statistics
      statistics.folders = state.tree.count
      statistics.waitingPaths = state.gathering.count
      return statistics
    }
  }

  /// Scans everything, and watches every folder of it. On the scan queue.
  package func scanEverything() throws(AssetLibraryError) -> ScanProgress {
    dispatchPrecondition(condition: .onQueue(scanQueue))
    let start = clock.now()
    state.withLock { $0.scanBegins() }
    defer {
      let took = clock.now() - start
      state.withLock {
        $0.gathering.earliestRescan =
          clock.now() + min(max(took, Self.rescanPause), Self.longestRescanPause)
      }
      wakeUp()
    }
    var order = order()
    order.scope = .everything
    let outcome: ScanOutcome
    do {
      outcome = try scanner.scan(order)
    } catch {
      state.withLock { state in
        state.scanEnded(isWalked: false)
        // Whoever scans at intervals tries again by himself.
        if state.isAskedForEverything { state.gathering.noteAll(from: clock.now() + Self.longestRescanPause) }
      }
      throw error
    }
    let now = clock.now()
    let (unwatched, refusal) = state.withLock { state in
      state.scanEnded(isWalked: outcome.isWalked)
      state.isAskedForEverything = false
      if outcome.isComplete { state.removed = 0 }
      for (path, pause) in outcome.again { state.gathering.note(path, .file, after: pause, now: now) }
      return (state.statistics.unwatchedFolders, state.refusal)
    }
    told.withLock { $0 = $0.filter { $0 == refusal } }
    if let refusal {
      tell(
        "folders are not watched; what changes in them is found by the scans at intervals", refusal,
        [
          "folders": "\(unwatched)", "reason": "\(refusal)",
        ])
    }
    if let refusal = outcome.refusal { throw refusal }
    return outcome.progress
  }
}

// MARK: - Hearing

extension LibraryWatcher {
  private func eventsArrived() {
    dispatchPrecondition(condition: .onQueue(queue))
    drain()
    arm()
  }

  /// Takes events as if the kernel had told them.
  package func hear(_ told: [FolderEvent]) {
    state.withLock { state in for event in told { state.happened(event, now: clock.now()) } }
  }

  /// Reads what the kernel tells, and notes it.
  private func drain() {
    for _ in 0..<Self.readsATurn {
      let isEmpty = state.withLock { state in
        let read = events.read()
        let now = clock.now()
        for event in read { state.happened(event, now: now) }
        return read.isEmpty
      }
      if isEmpty { return }
    }
  }

  /// Sees to it that what is due is scanned then.
  private func arm() {
    guard clock.wakes, let due = state.withLock({ $0.isScanQueued ? nil : $0.gathering.due }) else { return }
    timer.source.schedule(
      deadline: .now() + .nanoseconds(Int(max(0, due - clock.now()))), leeway: .milliseconds(5))
  }

  private func timeCame() {
    let isDue = state.withLock { state in
      guard !state.isScanQueued, let due = state.gathering.due, due <= clock.now() else { return false }
      state.isScanQueued = true
      return true
    }
    if isDue { scanQueue.async { [self] in scanDue() } } else { arm() }
  }

  private func wakeUp() { queue.async { [weak self] in self?.arm() } }

  /// Scans what is due, and what becomes due by that, until nothing is.
  ///
  /// - Parameters:
  ///   - end: what is due later is left.
  ///   - advance: moves the clock, to the moment when something is due.
  package func catchUp(until end: Int64 = .max, moving advance: (Int64) -> Void) {
    while true {
      queue.sync { drain() }
      let (isScanning, due) = state.withLock { ($0.isScanQueued, $0.gathering.due) }
      if isScanning {
        // By the timer; what it takes is not due any more.
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
  /// What every scan is told here.
  private func order() -> ScanOrder {
    var order = ScanOrder(stop: stop)
    order.looksAgain = true
    order.observer = Observer(watcher: self)
    order.arrivals = { [self] in arrivals() }
    return order
  }

  private func scanDue() {
    dispatchPrecondition(condition: .onQueue(scanQueue))
    defer {
      state.withLock { $0.isScanQueued = false }
      wakeUp()
    }
    if stop.isRaised { return }
    let taken = state.withLock { $0.take(now: clock.now()) }
    if taken.isEverything {
      state.withLock { $0.isAskedForEverything = true }
      return wantsEverything()
    }
    if taken.paths.isEmpty { return }
    var order = order()
    order.removedBefore = state.withLock { $0.removed }
    order.closed = Set(taken.paths.filter { $0.value.contains(.closed) }.keys)
    do throws(AssetLibraryError) {
      order.scope = try scope(of: taken.paths)
      let outcome = try scanner.scan(order)
      let now = clock.now()
      state.withLock { state in
        state.statistics.scans += 1
        state.removed += outcome.progress.removed
        for (path, pause) in outcome.again {
          state.gathering.note(path, (taken.paths[path] ?? []).union(.file), after: pause, now: now)
        }
        // Whether it is really as strange as it looks, is for a scan of everything to say.
        if outcome.refusal == .mountsChanged { state.gathering.noteAll(from: now) }
      }
      if let refusal = outcome.refusal {
        tell("what was told to be gone is kept until everything is scanned", "\(refusal)", ["reason": "\(refusal)"])
      }
      scanned(outcome.progress)
    } catch {
      let now = clock.now()
      if error == .scanUnderWay {
        state.withLock { $0.gathering.giveBack(taken.paths, until: now + Self.retryPause, now: now) }
      } else {
        state.withLock { $0.gathering.noteAll(from: now + Self.retryPause) }
        tell("what changed could not be scanned", "\(error)", ["error": "\(error)"])
      }
    }
  }

  /// What is to be scanned for what was told.
  private func scope(of paths: [[UInt8]: Gathering.Told]) throws(AssetLibraryError) -> ScanScope {
    let top: LibraryFile
    let root: LibraryFolder
    do throws(SystemError) {
      root = try LibraryFolder(path: scanner.directory)
      top = try root.open([], isFolder: true)
    } catch {
      throw .libraryUnavailable(path: scanner.directory, error)
    }
    var stretches: [ScanScope.Stretch] = []
    for (path, told) in paths {
      if told == .rights {
        if !isOpenAndWatched(path, root) { stretches.append(.folder(path)) }
        continue
      }
      if !told.isDisjoint(with: [.folder, .rights]) { stretches.append(.folder(path)) }
      guard told.contains(.file) else { continue }
      stretches.append(.file(path))
      // A link may lead to a folder by now.
      if !told.contains(.folder), (try? top.entry(path))?.kind == .link { stretches.append(.folder(path)) }
    }
    return ScanScope(stretches)
  }

  /// Whether a folder whose rights or times were changed needs no look. One that can't be looked into is no longer watched,
  /// and so is looked into when it can be.
  private func isOpenAndWatched(_ path: [UInt8], _ root: LibraryFolder) -> Bool {
    guard state.withLock({ $0.tree.node(at: path) }) != nil else { return false }
    // To find a name in a folder takes another right than to list its names.
    let isOpen = (try? root.open(path, isFolder: true).entry([UInt8(ascii: ".")])) != nil
    if !isOpen { state.withLock { $0.forget(path) } }
    return true
  }

  /// What came under a new name meanwhile.
  private func arrivals() -> Arrivals {
    drain()
    let (told, count) = state.withLock { ($0.gathering.arrivals, $0.arrivals) }
    let files = told.filter { !$0.value.contains(.folder) }
    return Arrivals(
      files: Array(files.keys.prefix(Self.arrivals)), areMore: files.count < told.count || files.count > Self.arrivals,
      count: count)
  }

  /// Logs something once until everything was scanned.
  private func tell(_ message: Logger.Message, _ key: String, _ metadata: Logger.Metadata) {
    let isNew = told.withLock { $0.count < 16 && $0.insert(key).inserted }
    if isNew { logger.warning(message, metadata: metadata) }
  }

  private struct Observer: WalkObserver {
    let watcher: LibraryWatcher

    func willList(_ path: [UInt8], _ folder: LibraryFile) {
      watcher.state.withLock { $0.willList(path, folder, now: watcher.clock.now()) }
    }

    func passes(link path: [UInt8], isFolder: Bool) {
      watcher.state.withLock { $0.passes(link: path, isFolder: isFolder) }
    }
  }
}
