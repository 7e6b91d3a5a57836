import Synchronization

/// The memory that pixels may take, all together. Whoever needs some reserves it before allocating it.
///
/// First come, first served: a large reservation that waits is not overtaken by small ones, so it can't starve.
package final class MemoryBudget: Sendable {
  /// Memory that is held until it is released or the last reference goes.
  package final class Reservation: Sendable {
    package let bytes: Int
    private let budget: MemoryBudget
    private let isReleased = Atomic<Bool>(false)

    fileprivate init(bytes: Int, budget: MemoryBudget) {
      self.bytes = bytes
      self.budget = budget
    }

    /// Gives the memory back; again is harmless.
    package func release() {
      if !isReleased.exchange(true, ordering: .relaxed) { budget.give(back: bytes) }
    }

    deinit { release() }
  }

  private struct Waiter {
    let bytes: Int
    let granted: @Sendable (Reservation) -> Void
  }

  private struct State {
    var bytesInUse = 0
    /// In the order of arrival; index `next` is the first that still waits.
    var waiters: [Waiter] = []
    var next = 0
  }

  package let capacityBytes: Int
  private let state = Mutex(State())

  package init(capacityBytes: Int) {
    self.capacityBytes = capacityBytes
  }

  package var bytesInUse: Int { state.withLock { $0.bytesInUse } }

  /// Calls `granted` with a reservation, at once or as soon as there is room, on the thread that made the room.
  ///
  /// - Returns: false, and never calls, where so much could never fit.
  package func reserve(_ bytes: Int, granted: @escaping @Sendable (Reservation) -> Void) -> Bool {
    guard bytes <= capacityBytes else { return false }
    let fitsNow = state.withLock { state in
      guard state.next == state.waiters.count, state.bytesInUse + bytes <= capacityBytes else {
        state.waiters.append(Waiter(bytes: bytes, granted: granted))
        return false
      }
      state.bytesInUse += bytes
      return true
    }
    if fitsNow { granted(Reservation(bytes: bytes, budget: self)) }
    return true
  }

  private func give(back bytes: Int) {
    let ready = state.withLock { state in
      state.bytesInUse -= bytes
      var ready: [Waiter] = []
      while state.next < state.waiters.count,
        state.bytesInUse + state.waiters[state.next].bytes <= capacityBytes
      {
        let waiter = state.waiters[state.next]
        state.bytesInUse += waiter.bytes
        state.next += 1
        ready.append(waiter)
      }
      if state.next == state.waiters.count || state.next > 64 {
        state.waiters.removeFirst(state.next)
        state.next = 0
      }
      return ready
    }
    for waiter in ready { waiter.granted(Reservation(bytes: waiter.bytes, budget: self)) }
  }
}
