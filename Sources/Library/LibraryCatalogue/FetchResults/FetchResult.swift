import PhotoModel
import Synchronization

/// The assets of a fetch in their order, as row numbers: PHFetchResult. The list does not change when the library
/// changes.
package final class FetchResult: LeasedFetchResult {
  /// Bytes per asset: a row number, and one and a half slots in the position table of `index(ofRow:)`.
  package static let bytesPerAsset = RowList.bytesPerRow

  /// Shared with earlier and later results that list the same assets in the same order.
  let list: RowList
  /// The state of the library that the list was read from, or a later state in which the list is unchanged.
  package var changeToken: ChangeToken { state.withLock { $0.changeToken } }
  /// The fetch, from which changes are computed.
  package let fetch: AssetFetch
  /// The collection that the fetch was limited to, if it is one of the library's.
  package let collection: LocalIdentifier?

  private struct State {
    var changeToken: ChangeToken
    /// The name of the result that the last change request produced.
    var successor: String?
  }
  private let state: Mutex<State>

  package convenience init(
    rows: [UInt32], changeToken: ChangeToken, fetch: AssetFetch, collection: LocalIdentifier? = nil
  ) {
    self.init(RowList(rows), changeToken: changeToken, fetch: fetch, collection: collection)
  }

  init(_ list: RowList, changeToken: ChangeToken, fetch: AssetFetch, collection: LocalIdentifier?) {
    self.list = list
    self.fetch = fetch
    self.collection = collection
    state = Mutex(State(changeToken: changeToken))
  }

  package var count: Int { list.rows.count }
  package var bytes: Int { list.bytes + ownBytes }
  /// Bytes without the list, which other results may share.
  package var ownBytes: Int { fetch.bytes }
  package func isReadable(by principal: Principal) -> Bool { fetch.isReadable(by: principal) }

  package func reserve(in share: LeaseBudget.Share) throws(LeaseBudget.BudgetExceeded) { try list.reserve(in: share) }

  /// The row numbers of a range, which must lie within the result.
  package func rows(in range: Range<Int>) -> ArraySlice<UInt32> { list.rows[range] }

  /// The list of a moment changes without a new token if the moment does.
  package func hasSameState(as other: any LeasedFetchResult) -> Bool {
    guard let other = other as? FetchResult else { return false }
    return changeToken == other.changeToken && fetch.scope == other.fetch.scope
  }

  /// The position of an asset. The first call takes O(n) to build the position table; later calls take constant time on
  /// average.
  package func index(ofRow number: UInt32) -> Int? { list.index(of: number) }

  /// The name of the result that the last change request produced; that result may have expired.
  package var successor: String? {
    get { state.withLock { $0.successor } }
    set { state.withLock { $0.successor = newValue } }
  }

  /// Records that the list is unchanged in this later state; the next changes are computed from there.
  func advance(to changeToken: ChangeToken) { state.withLock { $0.changeToken = changeToken } }
}
