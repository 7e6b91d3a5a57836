import GRDB
import PhotoModel

/// The count, dates and key assets of a fetch, as a collection shows them.
package struct FetchSummary: Sendable, Hashable {
  package var count: Int
  /// The dates of the oldest and the newest asset; `nil` if there is none.
  package var startDate: Timestamp?
  package var endDate: Timestamp?
  /// The first assets that can be rendered, at most ``AssetCollection/maximumKeyAssets``.
  package var keyAssets: [LocalIdentifier] = []

  package init(count: Int = 0) { self.count = count }
}

extension Catalogue {
  /// The summary of a fetch. Reads every asset of the fetch.
  package func summary(
    of fetch: AssetFetch, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> FetchSummary {
    try read(for: principal, before: deadline) { db, library in
      let plan = FetchPlan(fetch, in: library, search: try SearchAccess(fetch, in: library, albumTitles, db))
      var summary = FetchSummary()
      let counted = try Row.fetchOne(FetchStatement(summarizing: plan).prepared(db, in: statements))
      guard let counted else { return summary }
      let (count, start, end): (Int, Int64?, Int64?) = (counted[0], counted[1], counted[2])
      summary.count = count
      summary.startDate = start.map(Timestamp.init(milliseconds:))
      summary.endDate = end.map(Timestamp.init(milliseconds:))
      let first = FetchStatement(
        plan, columns: "asset.localIdentifier, asset.isRenderable", limit: CollectionReader.examinedKeyAssets)
      let rows = try Row.fetchCursor(first.prepared(db, in: statements))
      while summary.keyAssets.count < AssetCollection.maximumKeyAssets, let row = try rows.next() {
        if row[1] { summary.keyAssets.append(LocalIdentifier(row[0])) }
      }
      return summary
    }
  }
}
