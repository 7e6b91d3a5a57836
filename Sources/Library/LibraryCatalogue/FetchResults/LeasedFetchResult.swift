import PhotoModel

/// A list that a client holds by name: a fetch result over assets (``FetchResult``) or over collections
/// (``CollectionFetchResult``). It does not change when the library changes.
package protocol LeasedFetchResult: AnyObject, Sendable {
  var count: Int { get }
  /// The mutable properties.
  var lease: LeaseState { get }
  /// Whether a principal may use the list: it may read the locations and names that the list depends on.
  func isReadable(by principal: Principal) -> Bool
  /// Bytes without the memory that ``reserve(in:)`` reserves.
  var ownBytes: Int { get }

  /// Reserves the list's memory once, until the list is freed.
  func reserve(in share: LeaseBudget.Share) throws(LeaseBudget.BudgetExceeded)

  /// Whether both results, of the same fetch, have the same state.
  func hasSameState(as other: any LeasedFetchResult) -> Bool
}

extension LeasedFetchResult {
  /// The state of the library that the list was read from, or a later state in which the list is unchanged.
  package var changeToken: ChangeToken { lease.changeToken }

  /// The name of the result that the last request for changes returned. That result may have expired.
  package var successor: String? {
    get { lease.successor }
    set { lease.successor = newValue }
  }

  /// Records that the list is unchanged in this later state; the next changes are computed from there.
  func advance(to changeToken: ChangeToken) { lease.changeToken = changeToken }
}
