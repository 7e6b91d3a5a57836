import Synchronization

/// A limit on the memory that many callers together may hold for one purpose, such as pixels or request bodies. Callers
/// reserve memory before they allocate it.
///
/// The budget only accepts or refuses; it keeps no queue of waiting callers. ``onRelease(_:)`` notifies the owner of
/// such a queue that memory was released. Reserving is lock-free, so it may be done with any lock held.
package final class ByteBudget: Sendable {
  /// A reserved part of the budget, held until `release` or until the last reference ends.
  package final class Reservation: Sendable {
    private let budget: ByteBudget
    private let held: Atomic<Int>

    fileprivate init(bytes: Int, budget: ByteBudget) {
      held = Atomic(bytes)
      self.budget = budget
    }

    /// Creates an empty reservation.
    package convenience init(of budget: ByteBudget) {
      self.init(bytes: 0, budget: budget)
    }

    /// Bytes still held.
    package var bytes: Int { held.load(ordering: .relaxed) }

    /// Grows the reservation to `wanted` bytes if it is smaller. Only one holder at a time may call it.
    ///
    /// - Returns: `false`, without a change, if the budget is exhausted.
    package func grow(to wanted: Int) -> Bool {
      let more = wanted - bytes
      guard more > 0 else { return true }
      guard budget.reserve(more) else { return false }
      held.add(more, ordering: .relaxed)
      return true
    }

    /// Splits off a part that is held for longer than the rest: at most the held bytes.
    package func split(off bytes: Int) -> Reservation {
      let taken = min(max(0, bytes), self.bytes)
      held.subtract(taken, ordering: .relaxed)
      return Reservation(bytes: taken, budget: budget)
    }

    /// Releases all of it; a second call has no effect.
    package func release() {
      let bytes = held.exchange(0, ordering: .relaxed)
      if bytes > 0 { budget.release(bytes) }
    }

    deinit { release() }
  }

  package let capacityBytes: Int
  private let inUse = Atomic<Int>(0)
  private let peak = Atomic<Int>(0)
  private let hasObservers = Atomic<Bool>(false)
  private let observers = Mutex<[@Sendable () -> Void]>([])

  package init(capacityBytes: Int) {
    self.capacityBytes = capacityBytes
  }

  /// Bytes reserved now; never more than the capacity.
  package var bytesInUse: Int { inUse.load(ordering: .relaxed) }

  /// The highest number of bytes in use at once.
  package var peakBytesInUse: Int { peak.load(ordering: .relaxed) }

  /// A reservation of this many bytes; `nil` if the budget is exhausted or `bytes` is negative.
  ///
  /// - Parameter freeBytes: bytes of the capacity that stay free after this reservation, for other purposes.
  package func tryReserve(_ bytes: Int, leaving freeBytes: Int = 0) -> Reservation? {
    bytes >= 0 && reserve(bytes, leaving: freeBytes) ? Reservation(bytes: bytes, budget: self) : nil
  }

  /// Calls `observer` each time memory is released, on the releasing thread. A budget without observers takes no lock.
  package func onRelease(_ observer: @escaping @Sendable () -> Void) {
    observers.withLock { $0.append(observer) }
    hasObservers.store(true, ordering: .releasing)
  }

  private func reserve(_ bytes: Int, leaving freeBytes: Int = 0) -> Bool {
    var current = inUse.load(ordering: .relaxed)
    while bytes <= capacityBytes - freeBytes - current {
      let (isDone, found) = inUse.weakCompareExchange(
        expected: current, desired: current + bytes, ordering: .relaxed)
      if isDone {
        peak.max(current + bytes, ordering: .relaxed)
        return true
      }
      current = found
    }
    return false
  }

  private func release(_ bytes: Int) {
    inUse.subtract(bytes, ordering: .relaxed)
    guard hasObservers.load(ordering: .acquiring) else { return }
    // Called without the lock: an observer may reserve and release memory.
    for observer in observers.withLock({ $0 }) { observer() }
  }
}
