import PhotoModel
import Primitives
import Synchronization

/// The memory of leased objects: a limit for all owners together, and half of it for each owner, so that no owner can
/// use up the memory of all others. An owner's limit does not depend on what others hold.
package final class LeaseBudget: Sendable {
  package enum BudgetExceeded: Error, Equatable {
    /// The objects of all owners would take more bytes than this.
    case all(limitBytes: Int)
    /// The objects of one owner would take more bytes than this.
    case owner(limitBytes: Int)
  }

  /// Reserved memory of one owner, released when the last copy of this value is freed.
  struct Reservation: Sendable {
    let ofAll: ByteBudget.Reservation
    let ofOwner: ByteBudget.Reservation
  }

  /// The part of the budget that one owner may reserve. Lock-free.
  package struct Share: Sendable {
    let all: ByteBudget
    let own: ByteBudget

    var availableBytes: Int {
      max(0, min(all.capacityBytes - all.bytesInUse, own.capacityBytes - own.bytesInUse))
    }

    func reserve(_ bytes: Int) throws(BudgetExceeded) -> Reservation {
      // The owner's limit first, so that its error does not depend on what others hold.
      guard let ofOwner = own.tryReserve(bytes) else { throw .owner(limitBytes: own.capacityBytes) }
      guard let ofAll = all.tryReserve(bytes) else { throw .all(limitBytes: all.capacityBytes) }
      return Reservation(ofAll: ofAll, ofOwner: ofOwner)
    }
  }

  private struct OwnerBudget {
    /// Weak: only the reservations keep it alive.
    weak var budget: ByteBudget?
  }

  private let all: ByteBudget
  private let bytesPerOwner: Int
  private let owners = Mutex<[String: OwnerBudget]>([:])

  init(capacityBytes: Int) {
    all = ByteBudget(capacityBytes: capacityBytes)
    bytesPerOwner = capacityBytes / 2
  }

  func share(of owner: Principal) -> Share {
    owners.withLock { owners in
      if let own = owners[owner.name]?.budget { return Share(all: all, own: own) }
      let own = ByteBudget(capacityBytes: bytesPerOwner)
      // Removes owners who no longer hold anything.
      owners = owners.filter { $0.value.budget != nil }
      owners[owner.name] = OwnerBudget(budget: own)
      return Share(all: all, own: own)
    }
  }
}
