import Synchronization

/// The memory that pixels may take, all together. Whoever needs some reserves it before allocating it.
///
/// It says yes or no; who waits for room, and in which order, is the affair of whoever has a line: it is told when some was
/// given back.
package final class MemoryBudget: Sendable {
  /// Memory that is held until it is released or the last reference goes.
  package final class Reservation: Sendable {
    private let budget: MemoryBudget
    private let held: Atomic<Int>

    fileprivate init(bytes: Int, budget: MemoryBudget) {
      held = Atomic(bytes)
      self.budget = budget
    }

    /// What is still held.
    package var bytes: Int { held.load(ordering: .relaxed) }

    /// Gives all of it back; again is harmless.
    package func release() { give(back: held.exchange(0, ordering: .relaxed)) }

    /// Takes a part out, to be held for longer than the rest: at most what is held.
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
    var highestInUse = 0
    var observers: [@Sendable () -> Void] = []
  }

  package let capacityBytes: Int
  private let state = Mutex(State())

  package init(capacityBytes: Int) {
    self.capacityBytes = capacityBytes
  }

  package var bytesInUse: Int { state.withLock { $0.bytesInUse } }

  /// The most that was ever in use at once.
  package var highestBytesInUse: Int { state.withLock { $0.highestInUse } }

  /// A reservation, if there is room for it now. Constant time, and called with locks of a line's held.
  package func tryReserve(_ bytes: Int) -> Reservation? {
    let fits = state.withLock { state in
      guard bytes >= 0, bytes <= capacityBytes - state.bytesInUse else { return false }
      state.bytesInUse += bytes
      state.highestInUse = max(state.highestInUse, state.bytesInUse)
      return true
    }
    return fits ? Reservation(bytes: bytes, budget: self) : nil
  }

  /// Calls `observer` each time that memory was given back, on the thread that did.
  package func whenRoom(_ observer: @escaping @Sendable () -> Void) {
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
