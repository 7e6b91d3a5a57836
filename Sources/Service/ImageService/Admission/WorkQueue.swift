import DequeModule
import Dispatch
import Synchronization

/// A fixed number of workers with a bounded queue.
///
/// Dispatch would create a thread for each blocking block, up to hundreds. Codec work and SQLite need only as many
/// threads as they can use.
package final class WorkQueue: Sendable {
  package typealias Work = @Sendable () -> Void

  private struct State {
    var running = 0
    var waiting: Deque<Work> = []
    /// Work that runs only while nothing else waits, and that leaves one worker free.
    var lowPriority: Deque<Work> = []
    var runningLowPriority = 0
    /// Called when a worker finishes its next work.
    var probes: [Work] = []

    /// The next work for a free worker.
    mutating func next(lowPriorityWorkers: Int) -> (work: Work, isLowPriority: Bool)? {
      if let work = waiting.popFirst() { return (work, false) }
      guard runningLowPriority < lowPriorityWorkers, let work = lowPriority.popFirst() else { return nil }
      runningLowPriority += 1
      return (work, true)
    }
  }

  private let workers: Int
  private let limit: Int
  private let queue: DispatchQueue
  private let onIdle: (@Sendable () -> Void)?
  private let state = Mutex(State())

  /// - Parameters:
  ///   - workers: how many run at once.
  ///   - limit: how many may wait; further work is refused.
  ///   - onIdle: called on the last busy worker when no work is left.
  package init(
    label: String, workers: Int, limit: Int, qos: DispatchQoS, onIdle: (@Sendable () -> Void)? = nil
  ) {
    self.onIdle = onIdle
    self.workers = max(1, workers)
    self.limit = limit
    queue = DispatchQueue(label: label, qos: qos, attributes: .concurrent)
  }

  /// Runs `work` on a worker, now or in its turn. Returns false if the queue is full; `work` is then dropped.
  package func submit(_ work: @escaping Work) -> Bool {
    let decision = state.withLock { state -> (accepted: Bool, starts: Bool) in
      if state.running < workers {
        state.running += 1
        return (true, true)
      }
      if state.waiting.count >= limit { return (false, false) }
      state.waiting.append(work)
      return (true, false)
    }
    if decision.starts { start(work, isLowPriority: false) }
    return decision.accepted
  }

  /// Runs `work` on a worker when no other work waits. If there is more than one worker, low-priority work leaves one
  /// free. The low-priority queue has no limit.
  package func submitLowPriority(_ work: @escaping Work) {
    let next = state.withLock { state -> (work: Work, isLowPriority: Bool)? in
      state.lowPriority.append(work)
      guard state.running < workers, let next = state.next(lowPriorityWorkers: lowPriorityWorkers) else { return nil }
      state.running += 1
      return next
    }
    if let next { start(next.work, isLowPriority: next.isLowPriority) }
  }

  /// Calls `answered` when a worker is free: now, or as soon as one has finished its work, before all waiting work.
  /// Shows that the queue makes progress, however full it is.
  package func probe(_ answered: @escaping Work) {
    let isFree = state.withLock { state in
      if state.running < workers { return true }
      state.probes.append(answered)
      return false
    }
    if isFree { queue.async(execute: answered) }
  }

  /// Number of running and waiting work items.
  package var depth: (running: Int, waiting: Int) {
    state.withLock { ($0.running, $0.waiting.count + $0.lowPriority.count) }
  }

  private var lowPriorityWorkers: Int { max(1, workers - 1) }

  private func start(_ work: @escaping Work, isLowPriority: Bool) {
    queue.async { [self] in
      var next: (work: Work, isLowPriority: Bool)? = (work, isLowPriority)
      var isLast = false
      while let current = next {
        current.work()
        var probes: [Work] = []
        (next, isLast) = state.withLock { state in
          swap(&probes, &state.probes)
          if current.isLowPriority { state.runningLowPriority -= 1 }
          if let next = state.next(lowPriorityWorkers: lowPriorityWorkers) { return (next, false) }
          state.running -= 1
          return (nil, state.running == 0)
        }
        for answered in probes { answered() }
      }
      if isLast { onIdle?() }
    }
  }
}
