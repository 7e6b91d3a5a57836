import CPhotodSystem
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Work that other threads hand to an event loop, in order. Any number of threads append; only the loop takes.
///
/// Appending wakes the loop by one `write`, and only if it waits for events. The inbox has no limit of its own: each
/// connection has a few steps in it at most, and `http.connections` limits connections.
final class LoopInbox: Sendable {
  typealias Work = @Sendable () -> Void

  /// An eventfd(2), which the loop registers edge-triggered and never reads: each write is an event.
  let descriptor: Int32
  private let work = Mutex<[Work]>([])
  /// Whether the loop waits for events, or is about to.
  private let isLoopWaiting = Atomic(false)

  init() {
    descriptor = photod_eventfd()
    precondition(descriptor >= 0, "no eventfd descriptor")
  }

  deinit { close(descriptor) }

  func append(_ new: @escaping Work) {
    work.withLock { $0.append(new) }
    if isLoopWaiting.exchange(false, ordering: .sequentiallyConsistent) { photod_eventfd_signal(descriptor) }
  }

  // MARK: The loop's side

  /// Removes and returns all work.
  func takeAll() -> [Work] {
    work.withLock { work in
      var all: [Work] = []
      swap(&all, &work)
      return all
    }
  }

  /// Call it before waiting for events. Returns whether the loop may wait: work that is appended later wakes it.
  func prepareToWait() -> Bool {
    isLoopWaiting.store(true, ordering: .sequentiallyConsistent)
    // The store comes before this look, so an append that the look misses finds the flag and writes.
    if work.withLock({ $0.isEmpty }) { return true }
    waitEnded()
    return false
  }

  /// Call it when the loop no longer waits.
  func waitEnded() { isLoopWaiting.store(false, ordering: .relaxed) }
}
