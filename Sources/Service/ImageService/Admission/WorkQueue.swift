import DequeModule
import Dispatch
import Synchronization

/// A fixed number of workers with a bounded queue.
///
/// Each worker is a serial queue of Dispatch, which gets a thread at once. The threads of concurrent queues are shared by
/// all of one quality of service and limited by the cores: a few that wait for a disk would stop every other queue.
package final class WorkQueue: Sendable {
  package typealias Work = @Sendable () -> Void

  private struct State {
    /// The indexes of the workers that have nothing to do.
    var free: [Int]
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
  private let queues: [DispatchQueue]
  /// Answers probes of a queue with a free worker.
  private let probed: DispatchQueue
  private let onIdle: (@Sendable () -> Void)?
  private let state: Mutex<State>

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
    queues = (0..<self.workers).map { _ in DispatchQueue(label: label, qos: qos) }
    probed = DispatchQueue(label: label + ".probe", qos: qos)
    state = Mutex(State(free: Array(0..<self.workers)))
  }

  /// Runs `work` on a worker, now or in its turn. Returns false if the queue is full; `work` is then dropped.
  package func submit(_ work: @escaping Work) -> Bool {
    let (isAccepted, worker) = state.withLock { state -> (Bool, Int?) in
      if let worker = state.free.popLast() { return (true, worker) }
      if state.waiting.count >= limit { return (false, nil) }
      state.waiting.append(work)
      return (true, nil)
    }
    if let worker { start(work, isLowPriority: false, on: worker) }
    return isAccepted
  }

  /// Runs `work` on a worker when no other work waits. If there is more than one worker, low-priority work leaves one
  /// free. The low-priority queue has no limit.
  package func submitLowPriority(_ work: @escaping Work) {
    let next = state.withLock { state -> (work: Work, isLowPriority: Bool, worker: Int)? in
      state.lowPriority.append(work)
      guard let worker = state.free.last, let next = state.next(lowPriorityWorkers: lowPriorityWorkers) else {
        return nil
      }
      state.free.removeLast()
      return (next.work, next.isLowPriority, worker)
    }
    if let next { start(next.work, isLowPriority: next.isLowPriority, on: next.worker) }
  }

  /// Calls `answered` when a worker is free: now, or as soon as one has finished its work, before all waiting work.
  /// Shows that the queue makes progress, however full it is.
  package func probe(_ answered: @escaping Work) {
    let isFree = state.withLock { state in
      if !state.free.isEmpty { return true }
      state.probes.append(answered)
      return false
    }
    if isFree { probed.async(execute: answered) }
  }

  /// Number of running and waiting work items.
  package var depth: (running: Int, waiting: Int) {
    state.withLock { (workers - $0.free.count, $0.waiting.count + $0.lowPriority.count) }
  }

  private var lowPriorityWorkers: Int { max(1, workers - 1) }

  private func start(_ work: @escaping Work, isLowPriority: Bool, on worker: Int) {
    queues[worker].async { [self] in
      var next: (work: Work, isLowPriority: Bool)? = (work, isLowPriority)
      var isLast = false
      while let current = next {
        current.work()
        var probes: [Work] = []
        (next, isLast) = state.withLock { state in
          swap(&probes, &state.probes)
          if current.isLowPriority { state.runningLowPriority -= 1 }
          if let next = state.next(lowPriorityWorkers: lowPriorityWorkers) { return (next, false) }
          state.free.append(worker)
          return (nil, state.free.count == workers)
        }
        for answered in probes { answered() }
      }
      if isLast { onIdle?() }
    }
  }
}
