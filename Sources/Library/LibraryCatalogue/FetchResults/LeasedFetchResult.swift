import PhotoModel

/// A list that a client holds by name: a fetch result over assets (``FetchResult``) or over collections
/// (``CollectionFetchResult``). It does not change when the library changes.
package protocol LeasedFetchResult: AnyObject, Sendable {
  var count: Int { get }
  /// The state of the library that the list was read from, or a later state in which the list is unchanged.
  var changeToken: ChangeToken { get }
  /// Whether a principal may use the list: it may read the places and names that the list depends on.
  func isReadable(by principal: Principal) -> Bool
  /// Bytes without the memory that ``reserve(in:)`` reserves.
  var ownBytes: Int { get }
  /// The name of the result that the last change request produced; that result may have expired.
  var successor: String? { get set }

  /// Reserves the list's memory once, until the list is freed.
  func reserve(in share: LeaseBudget.Share) throws(LeaseBudget.BudgetExceeded)

  /// Whether both are the list of one fetch in the same state.
  func hasSameState(as other: any LeasedFetchResult) -> Bool
}
