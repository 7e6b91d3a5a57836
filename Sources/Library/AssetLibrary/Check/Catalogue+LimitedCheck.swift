import GRDB

extension Catalogue {
  /// Compares limited libraries with the visibility that is granted: their collections, their copied asset columns, and
  /// their counters. Triggers maintain all of them.
  static func checkLimitedLibraries(_ db: Database, _ report: (CheckDifference) -> Void) throws {
    for (name, kept, found) in limitedComparisons {
      let rows = try Row.fetchCursor(
        db,
        sql: """
          WITH kept AS (\(kept)), found AS (\(found))
          SELECT (SELECT count(*) FROM kept), (SELECT count(*) FROM found),
            EXISTS (SELECT * FROM kept EXCEPT SELECT * FROM found)
              OR EXISTS (SELECT * FROM found EXCEPT SELECT * FROM kept)
          """)
      while let row = try rows.next() {
        if row[2] { report(.counter(name: "\(name) of limited libraries", kept: row[0], counted: row[1])) }
      }
    }
  }

  private static let limitedComparisons: [(name: String, kept: String, found: String)] = [
    (
      "collections",
      "SELECT library, collection, localIdentifier, type, position FROM limitedCollection",
      """
      SELECT library, id, localIdentifier, type, position
      FROM limitedReach JOIN collection ON collection.id = limitedReach.collection
      """
    ),
    (
      "assets",
      """
      SELECT library, asset, sources, localIdentifier, creationDate, addedDate, listing, counted, burstIdentifier
      FROM limitedAsset
      """,
      """
      SELECT library, asset.id, count(*), asset.localIdentifier, asset.creationDate, addedDate, asset.listing, counted,
        burstIdentifier
      FROM limitedReach JOIN member ON member.collection = limitedReach.collection JOIN asset ON asset.id = member.asset
      GROUP BY 1, 2
      """
    ),
    (
      "counters",
      "SELECT library, bit, listing, value FROM limitedCount WHERE value <> 0",
      """
      SELECT library, bit, limitedAsset.listing, count(*)
      FROM limitedAsset JOIN counter ON counter.listing = limitedAsset.listing AND counted >> bit & 1 GROUP BY 1, 2, 3
      """
    ),
    (
      "days",
      "SELECT library, day, listing, value FROM limitedDayCount WHERE value <> 0",
      "SELECT library, \(CatalogueSchema.day("creationDate")), listing, count(*) FROM limitedAsset GROUP BY 1, 2, 3"
    ),
  ]
}
