import PhotoModel

/// The assets of a fetch in their order, as row numbers: PHFetchResult. The list does not change when the library
/// changes.
package final class FetchResult: LeasedFetchResult {
  /// Bytes per asset: a row number, and one and a half slots in the position table of `index(ofRow:)`.
  package static let bytesPerAsset = RowList.bytesPerRow

  /// Shared with earlier and later results that list the same assets in the same order.
  let list: RowList
  package let lease: LeaseState
  /// The fetch, from which changes are computed.
  package let fetch: AssetFetch
  /// The collection that the fetch was limited to, if it is one of the library's.
  package let collection: LocalIdentifier?

  package convenience init(
    rows: [UInt32], changeToken: ChangeToken, fetch: AssetFetch, collection: LocalIdentifier? = nil
  ) {
    self.init(RowList(rows), changeToken: changeToken, fetch: fetch, collection: collection)
  }

  init(_ list: RowList, changeToken: ChangeToken, fetch: AssetFetch, collection: LocalIdentifier?) {
    self.list = list
    self.fetch = fetch
    self.collection = collection
    lease = LeaseState(changeToken)
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
}
