import PhotoModel
import Synchronization

/// The collections of a fetch in their order: PHFetchResult over collections.
///
/// Members are stored by identifier, because collections are rows of two tables and lists of moments have no row.
/// Counts, dates and key assets are derived from assets and change without an entry in the history. So each member also
/// has a fingerprint of all its properties, by which two lists are compared.
package final class CollectionFetchResult: LeasedFetchResult {
  package struct Member: Sendable, Hashable {
    package let identifier: LocalIdentifier
    /// A hash of all properties, with this process's key.
    let fingerprint: Int

    init(_ collection: AssetCollection) {
      identifier = collection.localIdentifier
      fingerprint = collection.hashValue
    }
  }

  /// The bytes of a member, its identifier on the heap, and its entries in the tables of a comparison.
  static let bytesPerCollection = 192

  package let members: [Member]
  package let lease: LeaseState
  /// The fetch, from which changes are computed.
  package let fetch: CollectionFetch
  /// Whether the list depends on locations.
  let needsLocationScope: Bool
  /// The reserved memory, held until the list is freed.
  private let reservation = Mutex<LeaseBudget.Reservation?>(nil)

  init(_ members: [Member], changeToken: ChangeToken, fetch: CollectionFetch, needsLocationScope: Bool) {
    self.members = members
    self.fetch = fetch
    self.needsLocationScope = needsLocationScope
    lease = LeaseState(changeToken)
  }

  package var count: Int { members.count }

  package func isReadable(by principal: Principal) -> Bool { principal.may(.location) || !needsLocationScope }

  /// The bytes of the fetch and its predicate, with a margin.
  package var ownBytes: Int { 1024 + (fetch.predicate?.bytes ?? 0) }

  package func reserve(in share: LeaseBudget.Share) throws(LeaseBudget.BudgetExceeded) {
    try reservation.withLock { reservation throws(LeaseBudget.BudgetExceeded) in
      if reservation == nil { reservation = try share.reserve(count * Self.bytesPerCollection) }
    }
  }

  /// Moments may change without a new token, so the lists themselves are compared.
  package func hasSameState(as other: any LeasedFetchResult) -> Bool {
    guard let other = other as? CollectionFetchResult else { return false }
    return changeToken == other.changeToken && members == other.members
  }

  /// The position of a collection. Takes O(n).
  package func index(of identifier: LocalIdentifier) -> Int? { members.firstIndex { $0.identifier == identifier } }
}

extension FetchResultChangeDetails {
  /// The difference of two lists of collections. `nil` if it has too many entries.
  init?(from old: [CollectionFetchResult.Member], to new: [CollectionFetchResult.Member]) {
    // Numbers the collections, so that lists of numbers can be compared: those of the old list by position, then the
    // new ones.
    var numbers: [LocalIdentifier: UInt32] = [:]
    numbers.reserveCapacity(old.count + new.count)
    for (position, member) in old.enumerated() { numbers[member.identifier] = UInt32(position) }
    var touched: [(row: UInt32, isChanged: Bool)] = []
    var isInBoth = [Bool](repeating: false, count: old.count)
    var next = UInt32(old.count)
    var rows: [UInt32] = []
    rows.reserveCapacity(new.count)
    for member in new {
      if let row = numbers[member.identifier] {
        rows.append(row)
        isInBoth[Int(row)] = true
        if old[Int(row)].fingerprint != member.fingerprint { touched.append((row, true)) }
      } else {
        rows.append(next)
        touched.append((next, false))
        next += 1
      }
    }
    for (row, isInBoth) in isInBoth.enumerated() where !isInBoth { touched.append((UInt32(row), false)) }
    touched.sort { $0.row < $1.row }
    self.init(from: Array(0..<UInt32(old.count)), to: rows, touched: TouchedRows(touched))
  }
}
