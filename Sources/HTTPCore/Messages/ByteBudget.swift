import Synchronization

/// The bytes of one kind that all connections of a server may hold together, beside the little that each may hold for
/// nothing. Counted is what is allocated. Lock-free.
///
/// Of requests (``RequestParser/freeBytes`` are for nothing): for a body what is announced of it, before it comes; a request
/// holds its own share until the last copy of it goes, wherever it is by then. Of answers that nobody else answers for: until
/// their last byte was handed to the kernel.
package final class ByteBudget: Sendable {
  /// A share. One holder at a time makes it grow; it ends with its last reference.
  package final class Reservation: Sendable {
    private let budget: ByteBudget
    private let bytes = Atomic<Int>(0)

    /// One of nothing yet.
    init(of budget: ByteBudget) {
      self.budget = budget
    }

    /// Makes it so large if it is smaller. False: there is no room, and it stays as it is.
    func grow(to wanted: Int) -> Bool {
      let more = wanted - bytes.load(ordering: .relaxed)
      guard more > 0 else { return true }
      guard budget.take(more) else { return false }
      bytes.add(more, ordering: .relaxed)
      return true
    }

    deinit { budget.held.subtract(bytes.load(ordering: .relaxed), ordering: .relaxed) }
  }

  package let capacityBytes: Int
  private let held = Atomic<Int>(0)

  package init(capacityBytes: Int) {
    self.capacityBytes = capacityBytes
  }

  /// A share of so many bytes; `nil`: there is no room.
  package func reservation(of bytes: Int) -> Reservation? {
    let reservation = Reservation(of: self)
    return reservation.grow(to: bytes) ? reservation : nil
  }

  /// What is held now; never more than the capacity.
  package var heldBytes: Int { held.load(ordering: .relaxed) }

  private func take(_ bytes: Int) -> Bool {
    var current = held.load(ordering: .relaxed)
    while bytes <= capacityBytes - current {
      let (isDone, found) = held.weakCompareExchange(expected: current, desired: current + bytes, ordering: .relaxed)
      if isDone { return true }
      current = found
    }
    return false
  }
}
