import Synchronization

/// The total memory for pixels. Callers reserve memory before they allocate it.
///
/// The budget only accepts or refuses. Queues of waiting callers are kept elsewhere; they are notified when memory is
/// released.
package final class MemoryBudget: Sendable {
  /// Reserved memory, until it is released or the last reference is gone.
  package final class Reservation: Sendable {
    private let budget: MemoryBudget
    private let held: Atomic<Int>

    fileprivate init(bytes: Int, budget: MemoryBudget) {
      held = Atomic(bytes)
      self.budget = budget
    }

    /// Bytes still held.
    package var bytes: Int { held.load(ordering: .relaxed) }

    /// Releases all of it; a second call has no effect.
    package func release() { give(back: held.exchange(0, ordering: .relaxed)) }

    /// Splits off a part that is held for longer than the rest: at most the held bytes.
    package func split(off bytes: Int) -> Reservation {
      let taken = min(max(0, bytes), self.bytes)
      held.subtract(taken, ordering: .relaxed)
      return Reservation(bytes: taken, budget: budget)
    }

    private func give(back bytes: Int) { if bytes > 0 { budget.give(back: bytes) } }

    deinit { release() }
  }

  private struct State {
    var bytesInUse = 0
    var peakInUse = 0
    var observers: [@Sendable () -> Void] = []
  }

  package let capacityBytes: Int
  private let state = Mutex(State())

  package init(capacityBytes: Int) {
    self.capacityBytes = capacityBytes
  }

  package var bytesInUse: Int { state.withLock { $0.bytesInUse } }

  /// The highest number of bytes in use at once.
  package var peakBytesInUse: Int { state.withLock { $0.peakInUse } }

  /// A reservation, if memory is available now. Constant time; may be called with the lock of a queue held.
  package func tryReserve(_ bytes: Int) -> Reservation? {
    let fits = state.withLock { state in
      guard bytes >= 0, bytes <= capacityBytes - state.bytesInUse else { return false }
      state.bytesInUse += bytes
      state.peakInUse = max(state.peakInUse, state.bytesInUse)
      return true
    }
    return fits ? Reservation(bytes: bytes, budget: self) : nil
  }

  /// Calls `observer` each time memory is released, on the releasing thread.
  package func onRelease(_ observer: @escaping @Sendable () -> Void) {
    state.withLock { $0.observers.append(observer) }
  }

  private func give(back bytes: Int) {
    let observers = state.withLock { state in
      state.bytesInUse -= bytes
      return state.observers
    }
    for observer in observers { observer() }
  }
}
