import Collections
import Dispatch
import Synchronization

/// A fixed number of workers and a bounded line in front of them.
///
/// Dispatch would make a thread for each block that blocks, up to hundreds; codec work and SQLite get as many at a time
/// as are of use.
package final class WorkQueue: Sendable {
  package typealias Work = @Sendable () -> Void

  private struct State {
    var running = 0
    var waiting: Deque<Work> = []
    /// What runs while nothing else waits, and leaves a worker free.
    var idle: Deque<Work> = []
    var runningIdle = 0

    /// What runs next on a worker that is free.
    mutating func next(idleWorkers: Int) -> (work: Work, isIdle: Bool)? {
      if let work = waiting.popFirst() { return (work, false) }
      guard runningIdle < idleWorkers, let work = idle.popFirst() else { return nil }
      runningIdle += 1
      return (work, true)
    }
  }

  private let workers: Int
  private let limit: Int
  private let queue: DispatchQueue
  private let whenIdle: (@Sendable () -> Void)?
  private let state = Mutex(State())

  /// - Parameters:
  ///   - workers: how many run at once.
  ///   - limit: how many may wait; one more is refused.
  ///   - whenIdle: called on a worker when the last of them has nothing left to do.
  package init(
    label: String, workers: Int, limit: Int, qos: DispatchQoS, whenIdle: (@Sendable () -> Void)? = nil
  ) {
    self.whenIdle = whenIdle
    self.workers = max(1, workers)
    self.limit = limit
    queue = DispatchQueue(label: label, qos: qos, attributes: .concurrent)
  }

  /// Runs `work` on a worker, now or in its turn. False: the line is full, and it will not run.
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
    if decision.starts { start(work, isIdle: false) }
    return decision.accepted
  }

  /// Runs `work` on a worker when nothing waits that was submitted otherwise, and while one more worker is free for that,
  /// where there is more than one. Its line has no limit.
  package func submitIdle(_ work: @escaping Work) {
    let next = state.withLock { state -> (work: Work, isIdle: Bool)? in
      state.idle.append(work)
      guard state.running < workers, let next = state.next(idleWorkers: idleWorkers) else { return nil }
      state.running += 1
      return next
    }
    if let next { start(next.work, isIdle: next.isIdle) }
  }

  /// How many work and how many wait now.
  package var depth: (running: Int, waiting: Int) {
    state.withLock { ($0.running, $0.waiting.count + $0.idle.count) }
  }

  private var idleWorkers: Int { max(1, workers - 1) }

  private func start(_ work: @escaping Work, isIdle: Bool) {
    queue.async { [self] in
      var next: (work: Work, isIdle: Bool)? = (work, isIdle)
      var isLast = false
      while let current = next {
        current.work()
        (next, isLast) = state.withLock { state in
          if current.isIdle { state.runningIdle -= 1 }
          if let next = state.next(idleWorkers: idleWorkers) { return (next, false) }
          state.running -= 1
          return (nil, state.running == 0)
        }
      }
      if isLast { whenIdle?() }
    }
  }
}
