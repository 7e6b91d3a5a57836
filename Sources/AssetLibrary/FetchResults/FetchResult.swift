import PhotoModel
import Synchronization

/// The identifiers of a fetch as they were, in their order: PHFetchResult. It stands still while the library changes.
package final class FetchResult: Sendable {
  /// What it takes for each asset: a row number, and one and a half places in the table that `index(of:)` asks.
  package static let bytesPerAsset = RowList.bytesPerRow

  /// Shared with those results before and after it that list the same assets in the same order.
  let list: RowList
  /// The library's state that it was read from, or a later one in which nothing of it had changed.
  package var changeToken: String { state.withLock { $0.changeToken } }
  /// What was fetched, for who wants to know what changed.
  package let fetch: AssetFetch
  /// The collection that was fetched from, where that is one of the library's.
  package let collection: LocalIdentifier?

  private struct State {
    var changeToken: String
    /// What the result after the last changes that were asked for is called.
    var successor: String?
  }
  private let state: Mutex<State>

  package convenience init(
    rows: [UInt32], changeToken: String, fetch: AssetFetch, collection: LocalIdentifier? = nil
  ) {
    self.init(RowList(rows), changeToken: changeToken, fetch: fetch, collection: collection)
  }

  init(_ list: RowList, changeToken: String, fetch: AssetFetch, collection: LocalIdentifier?) {
    self.list = list
    self.fetch = fetch
    self.collection = collection
    state = Mutex(State(changeToken: changeToken))
  }

  package var count: Int { list.rows.count }
  package var bytes: Int { list.bytes + ownBytes }
  /// Without the list, which others may share.
  var ownBytes: Int { fetch.bytes }

  /// The row numbers of a range, which lies within the result.
  package func rows(in range: Range<Int>) -> ArraySlice<UInt32> { list.rows[range] }

  /// Where an asset stands. The first call takes a step for each asset of the result, the others a few.
  package func index(ofRow number: UInt32) -> Int? { list.index(of: number) }

  /// The result after changes is called so; it may be gone by now.
  var successor: String? {
    get { state.withLock { $0.successor } }
    set { state.withLock { $0.successor = newValue } }
  }

  /// In that state nothing of it had changed either: changes are counted from there.
  func stands(at changeToken: String) { state.withLock { $0.changeToken = changeToken } }
}
