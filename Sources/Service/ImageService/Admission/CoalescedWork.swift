import Synchronization

/// Work that is repeated after changes and has at most one place in its queue, however many changes there are and from
/// however many threads. A change while the work runs repeats it.
package final class CoalescedWork: Sendable {
  private enum State {
    /// Neither scheduled nor running.
    case idle
    /// Scheduled, or running and to be repeated.
    case changed
    /// Running, without a change since it began.
    case running
  }

  private let queue: WorkQueue
  private let state = Mutex(State.idle)

  /// - Parameter queue: has no limit, because a refused change would be lost.
  package init(on queue: WorkQueue) {
    self.queue = queue
  }

  /// Runs `work` on the queue after a change. Call it from any thread; the work may call it too.
  ///
  /// - Parameter work: the same work in each call.
  package func schedule(_ work: @escaping WorkQueue.Work) {
    if claim() { _ = queue.submit { [self] in runClaimed(work) } }
  }

  /// Runs `work` on the caller's thread. If it is already scheduled or running, it runs once more there instead.
  ///
  /// - Parameter work: the same work as in ``schedule(_:)``.
  package func run(_ work: () -> Void) {
    if claim() { runClaimed(work) }
  }

  /// Notes a change. Returns whether the caller must run the work or schedule it.
  private func claim() -> Bool {
    state.withLock { state in
      defer { state = .changed }
      return state == .idle
    }
  }

  private func runClaimed(_ work: () -> Void) {
    repeat {
      state.withLock { $0 = .running }
      work()
    } while mustRepeat()
  }

  private func mustRepeat() -> Bool {
    state.withLock { state in
      if state == .changed { return true }
      state = .idle
      return false
    }
  }
}
