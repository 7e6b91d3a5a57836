// Reads events on photod.watch, and starts a scan on photod.scan when a path is due.

import Dispatch
import LibraryFolder
import Synchronization

extension LibraryWatcher {
  /// Reads per call of `drain`; the next call reads the remaining events.
  private static let readsPerTurn = 256

  /// The kernel has events.
  func eventsArrived() {
    dispatchPrecondition(condition: .onQueue(queue))
    drain()
    scheduleTimer()
  }

  /// Handles events as if the kernel had sent them.
  package func handle(_ folderEvents: [FolderEvent]) {
    state.withLock { state in for event in folderEvents { state.handle(event, now: clock.now()) } }
  }

  /// Reads the pending kernel events into the state.
  func drain() {
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
    guard clock.startsTimers, let due = state.withLock({ $0.isScanQueued ? nil : $0.debouncer.due }) else { return }
    wakeUps.wake(after: due - clock.now())
  }

  /// A path may be due.
  func timerFired() {
    let isDue = state.withLock { state in
      guard !state.isScanQueued, let due = state.debouncer.due, due <= clock.now() else { return false }
      state.isScanQueued = true
      return true
    }
    if isDue { scanQueue.async { [self] in scanDue() } } else { scheduleTimer() }
  }

  func rearmTimer() { queue.async { [weak self] in self?.scheduleTimer() } }

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
