import Synchronization

/// A limit on the bytes that all connections of a server together may hold for one purpose. It counts allocated memory.
/// Lock-free.
///
/// The request budget: a body is counted by its announced size before it arrives. The reservation lasts until the last
/// copy of the request is released. Each parser has ``RequestParser/uncountedBytes`` free. The response budget:
/// responses without an owner are counted until their last byte was handed to the kernel.
package final class ByteBudget: Sendable {
  /// A reserved part of the budget, released in `deinit`. Only one holder at a time may grow it.
  package final class Reservation: Sendable {
    private let budget: ByteBudget
    private let bytes = Atomic<Int>(0)

    /// Creates an empty reservation.
    init(of budget: ByteBudget) {
      self.budget = budget
    }

    /// Grows the reservation to `wanted` bytes if it is smaller. Returns `false`, without a change, if the budget is
    /// exhausted.
    func grow(to wanted: Int) -> Bool {
      let more = wanted - bytes.load(ordering: .relaxed)
      guard more > 0 else { return true }
      guard budget.take(more) else { return false }
      bytes.add(more, ordering: .relaxed)
      return true
    }

    deinit { budget.reserved.subtract(bytes.load(ordering: .relaxed), ordering: .relaxed) }
  }

  package let capacityBytes: Int
  private let reserved = Atomic<Int>(0)

  package init(capacityBytes: Int) {
    self.capacityBytes = capacityBytes
  }

  /// Reserves this many bytes. Returns `nil` if the budget is exhausted.
  package func reservation(of bytes: Int) -> Reservation? {
    let reservation = Reservation(of: self)
    return reservation.grow(to: bytes) ? reservation : nil
  }

  /// Bytes reserved now; never more than the capacity.
  package var reservedBytes: Int { reserved.load(ordering: .relaxed) }

  private func take(_ bytes: Int) -> Bool {
    var current = reserved.load(ordering: .relaxed)
    while bytes <= capacityBytes - current {
      let (isDone, found) = reserved.weakCompareExchange(
        expected: current, desired: current + bytes, ordering: .relaxed)
      if isDone { return true }
      current = found
    }
    return false
  }
}
