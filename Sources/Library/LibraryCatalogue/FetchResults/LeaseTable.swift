import PhotoModel
import Primitives
import Synchronization

/// Leased objects that clients create and later refer to by name. Each is visible only to its owner, and each use
/// renews its lease. The table is bounded in number and in bytes, in total and for each owner. When it is full, a new
/// object is refused; no leased object is evicted for it.
package final class LeaseTable<Value: Sendable>: Sendable {
  package enum Refusal: Error, Sendable, Equatable {
    /// The table already holds the maximum number of objects.
    case tooMany(limit: Int)
    /// The objects would take more bytes than this in total.
    case tooLarge(limitBytes: Int)
    /// The owner's objects would take more bytes than this.
    case tooLargeForOwner(limitBytes: Int)

    init(_ error: LeaseBudget.BudgetExceeded) {
      switch error {
      case .all(let limitBytes): self = .tooLarge(limitBytes: limitBytes)
      case .owner(let limitBytes): self = .tooLargeForOwner(limitBytes: limitBytes)
      }
    }
  }

  private struct Entry {
    let value: Value
    let owner: String
    /// Memory of the value, released with the entry.
    let reservation: LeaseBudget.Reservation
    var end: ContinuousClock.Instant
  }

  let lease: Duration
  private let limit: Int
  private let limitPerOwner: Int
  private let budget: LeaseBudget
  private let now: @Sendable () -> ContinuousClock.Instant
  private let entries = Mutex<[String: Entry]>([:])

  /// - Parameters:
  ///   - limit: the maximum number of objects.
  ///   - limitPerOwner: the maximum number of objects of one owner.
  ///   - budget: the memory for all objects, possibly shared with other tables.
  init(
    limit: Int, limitPerOwner: Int = .max, budget: LeaseBudget, lease: Duration,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    (self.limit, self.limitPerOwner) = (limit, limitPerOwner)
    self.budget = budget
    self.lease = lease
    self.now = now
  }

  /// Stores a value under a new lease.
  ///
  /// - Parameter bytes: the value's memory.
  /// - Returns: its name: 128 random bits in base64url.
  func keep(_ value: Value, bytes: Int, owner: Principal) throws(Refusal) -> String {
    let instant = now()
    let share = budget.share(of: owner)
    let refusalOrName: Result<String, Refusal> = entries.withLock { entries in
      Self.expire(&entries, instant)
      // The owner's limit first, so that its error does not depend on what others hold.
      if entries.values.count(where: { $0.owner == owner.name }) >= limitPerOwner {
        return .failure(.tooMany(limit: limitPerOwner))
      }
      if entries.count >= limit { return .failure(.tooMany(limit: limit)) }
      do throws(LeaseBudget.BudgetExceeded) {
        let reservation = try share.reserve(bytes)
        let name = Base64URL.randomIdentifier()
        entries[name] = Entry(value: value, owner: owner.name, reservation: reservation, end: instant + lease)
        return .success(name)
      } catch {
        return .failure(Refusal(error))
      }
    }
    return try refusalOrName.get()
  }

  /// The value with that name, or `nil`. Renews the lease if the caller is the owner of the value.
  ///
  /// - Parameter includingOtherOwners: also a value of another owner.
  package func value(_ name: String, owner: Principal, includingOtherOwners: Bool = false) -> Value? {
    let instant = now()
    return entries.withLock { entries in
      guard var entry = entries[name], entry.end > instant else { return nil }
      guard entry.owner == owner.name else { return includingOtherOwners ? entry.value : nil }
      entry.end = instant + lease
      entries[name] = entry
      return entry.value
    }
  }

  /// The value with that name, or `nil`. Does not renew the lease.
  ///
  /// - Parameter includingOtherOwners: also a value of another owner.
  package func valueWithoutRenewal(_ name: String, owner: Principal, includingOtherOwners: Bool = false) -> Value? {
    let instant = now()
    return entries.withLock { entries in
      guard let entry = entries[name], entry.end > instant else { return nil }
      return includingOtherOwners || entry.owner == owner.name ? entry.value : nil
    }
  }

  /// Whether this owner has a value with that name. Does not renew the lease.
  ///
  /// - Parameter includingOtherOwners: whether any owner has one.
  package func contains(_ name: String, owner: Principal, includingOtherOwners: Bool = false) -> Bool {
    valueWithoutRenewal(name, owner: owner, includingOtherOwners: includingOtherOwners) != nil
  }

  /// Ends a lease. `false` if this owner has no value with that name.
  ///
  /// - Parameter includingOtherOwners: also one of another owner.
  package func end(_ name: String, owner: Principal, includingOtherOwners: Bool = false) -> Bool {
    let instant = now()
    return entries.withLock { entries in
      guard let entry = entries[name], includingOtherOwners || entry.owner == owner.name else { return false }
      entries[name] = nil
      return entry.end > instant
    }
  }

  /// Ends the leases that were not renewed in time. Call it periodically.
  func expire() {
    let instant = now()
    entries.withLock { Self.expire(&$0, instant) }
  }

  /// Ends the leases of the owners that can no longer use them.
  ///
  /// - Parameter isAdmitted: whether a caller of this name can still send requests.
  func endAll(unlessAdmitted isAdmitted: (String) -> Bool) {
    // `isAdmitted` is called without the lock.
    let owners = entries.withLock { entries in Set(entries.values.map(\.owner)) }
    let ended = owners.filter { !isAdmitted($0) }
    guard !ended.isEmpty else { return }
    entries.withLock { entries in
      for (name, entry) in entries where ended.contains(entry.owner) { entries[name] = nil }
    }
  }

  /// All leased values, of every owner.
  var values: [Value] { entries.withLock { $0.values.map(\.value) } }

  /// The leased values by name: those of one owner, or with `nil` those of every owner. Does not renew their leases.
  package func values(of owner: Principal?) -> [(name: String, value: Value)] {
    let instant = now()
    return entries.withLock { entries in
      entries.filter { $0.value.end > instant && (owner == nil || $0.value.owner == owner?.name) }
        .map { ($0.key, $0.value.value) }
    }
  }

  package var count: Int { entries.withLock { $0.count } }

  private static func expire(_ entries: inout [String: Entry], _ instant: ContinuousClock.Instant) {
    for (name, entry) in entries where entry.end <= instant { entries[name] = nil }
  }
}
