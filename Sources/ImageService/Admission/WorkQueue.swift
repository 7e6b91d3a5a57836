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
    if decision.starts { start(work) }
    return decision.accepted
  }

  /// How many work and how many wait now.
  package var depth: (running: Int, waiting: Int) { state.withLock { ($0.running, $0.waiting.count) } }

  private func start(_ work: @escaping Work) {
    queue.async { [self] in
      var next: Work? = work
      var isIdle = false
      while let current = next {
        current()
        (next, isIdle) = state.withLock { state in
          if let waiting = state.waiting.popFirst() { return (waiting, false) }
          state.running -= 1
          return (nil, state.running == 0)
        }
      }
      if isIdle { whenIdle?() }
    }
  }
}
