// Checks the derived tables, which make reads of each library fast: its collections, its assets with their copied
// columns, the assets of folders, the sizes of moments, and the counters. Each check computes the expected rows and
// compares them with the stored ones. A difference is reported as two counts; the rows themselves are not named.

import GRDB

extension Catalogue {
  /// Compares the stored rows of each library with the expected ones: its collections, its assets with their copied
  /// columns, the assets of its folders, its counters, and the assets of its moments on each day.
  static func checkLibraries(_ db: Database, _ report: (CheckDifference) -> Void) throws {
    for (name, stored, expected) in contents {
      let rows = try Row.fetchCursor(
        db,
        sql: """
          WITH stored AS (\(stored)), expected AS (\(expected))
          SELECT (SELECT count(*) FROM stored), (SELECT count(*) FROM expected),
            EXISTS (SELECT * FROM stored EXCEPT SELECT * FROM expected)
              OR EXISTS (SELECT * FROM expected EXCEPT SELECT * FROM stored)
          """)
      while let row = try rows.next() {
        if row[2] { report(.counter(name: name, kept: row[0], counted: row[1])) }
      }
    }
    for (name, stored, expected) in totals {
      let (stored, expected) = (try Int.fetchOne(db, sql: stored) ?? 0, try Int.fetchOne(db, sql: expected) ?? 0)
      if stored != expected { report(.counter(name: name, kept: stored, counted: expected)) }
    }
    try checkCounters(db, report)
    try checkDays(db, report)
  }

  /// Libraries that are being created. Nothing reads them yet.
  private static let unfinished =
    "SELECT id FROM library WHERE createdRevision = \(LimitedLibraryCreation.noRevision)"

  private static let contents: [(name: String, stored: String, expected: String)] = [
    (
      "collections of libraries",
      """
      SELECT library, collection, localIdentifier, type, position FROM libraryCollection
      WHERE library NOT IN (\(unfinished))
      """,
      """
      SELECT 0, id, localIdentifier, type, position FROM collection
      UNION ALL
      SELECT library, id, localIdentifier, type, position
      FROM limitedReach JOIN collection ON collection.id = limitedReach.collection
      WHERE library NOT IN (\(unfinished))
      """
    ),
    (
      "assets of limited libraries",
      "SELECT library, asset, sources FROM libraryAsset WHERE library > 0 AND library NOT IN (\(unfinished))",
      """
      SELECT library, asset, count(*)
      FROM limitedReach JOIN member ON member.collection = limitedReach.collection
      WHERE library NOT IN (\(unfinished)) GROUP BY 1, 2
      """
    ),
    (
      "assets of folders",
      "SELECT folder, asset, creationDate, listing, sources FROM folderAsset",
      """
      WITH RECURSIVE below (folder, collection) AS (
        SELECT parent, id FROM collection WHERE parent IS NOT NULL
        UNION SELECT below.folder, collection.id FROM below JOIN collection ON collection.parent = below.collection)
      SELECT folder, asset.id, asset.creationDate, asset.listing, count(*)
      FROM below JOIN member ON member.collection = below.collection JOIN asset ON asset.id = member.asset
      GROUP BY 1, 2
      """
    ),
    (
      // Without days whose moments are still to be recomputed.
      "moments",
      """
      SELECT library, day, splitsByLocation, sum(assetCount) FROM moment
      WHERE (library, day) NOT IN (SELECT library, day FROM staleDay) GROUP BY 1, 2, 3
      """,
      """
      SELECT library, localDay, split.byLocation, count(*)
      FROM libraryAsset JOIN (SELECT 0 AS byLocation UNION ALL SELECT 1) AS split
      WHERE listing = 0 AND (library, localDay) NOT IN (SELECT library, day FROM staleDay) GROUP BY 1, 2, 3
      """
    ),
    (
      "counts of folders",
      "SELECT folder, listing, value FROM folderCount WHERE value <> 0",
      "SELECT folder, listing, count(*) FROM folderAsset GROUP BY 1, 2"
    ),
  ]

  /// Pairs of numbers that must be equal: of the stored rows, and of the expected rows.
  private static let totals: [(name: String, stored: String, expected: String)] = [
    (
      "assets of the whole library",
      "SELECT count(*) FROM libraryAsset WHERE library = 0 AND sources = 1",
      "SELECT count(*) FROM asset"
    ),
    (
      "columns of libraries",
      """
      SELECT count(*) FROM libraryAsset JOIN asset ON asset.id = libraryAsset.asset
      WHERE (\(copies(of: "libraryAsset"))) IS (\(copies(of: "asset")))
      """,
      "SELECT count(*) FROM libraryAsset"
    ),
    // Every collection with a parent is in a folder, and can be reached from the top level.
    (
      "collections in folders",
      "SELECT count(*) FROM collection WHERE parent IS NOT NULL",
      """
      WITH RECURSIVE reach (id) AS (
        SELECT id FROM collection WHERE parent IS NULL AND type = 'folder'
        UNION SELECT collection.id FROM reach JOIN collection ON collection.parent = reach.id
          WHERE collection.type = 'folder')
      SELECT count(*) FROM collection WHERE parent IN (SELECT id FROM reach)
      """
    ),
  ]

  private static func copies(of table: String) -> String {
    CatalogueSchema.copiedColumns.map { "\(table).\($0)" }.joined(separator: ", ")
  }

  private static func checkCounters(_ db: Database, _ report: (CheckDifference) -> Void) throws {
    // One pass over the assets for all counters: assets have few distinct combinations of these columns.
    struct Listing: Hashable {
      let library: Int64
      let listing: Int64
    }
    let none = CatalogueSchema.counters.map { _ in 0 }
    var counts: [Listing: [Int]] = [:]
    let kinds = try Row.fetchCursor(
      db, sql: "SELECT library, listing, counted, count(*) FROM libraryAsset GROUP BY 1, 2, 3")
    while let row = try kinds.next() {
      let (counted, count): (Int, Int) = (row[2], row[3])
      for bit in none.indices where counted >> bit & 1 == 1 {
        counts[Listing(library: row[0], listing: row[1]), default: none][bit] += count
      }
    }
    let columns = CatalogueSchema.counters.joined(separator: ", ")
    let rows = try Row.fetchCursor(db, sql: "SELECT library, listing, \(columns) FROM counter")
    while let row = try rows.next() {
      let listing = Listing(library: row[0], listing: row[1])
      let expected = counts.removeValue(forKey: listing) ?? none
      for (bit, name) in CatalogueSchema.counters.enumerated() {
        let stored: Int = row[2 + bit]
        guard stored != expected[bit] else { continue }
        let name = "\(name) of listing \(listing.listing)\(suffix(listing.library))"
        report(.counter(name: name, kept: stored, counted: expected[bit]))
      }
    }
    for listing in counts.keys {
      let name = "rows of listing \(listing.listing)\(suffix(listing.library))"
      report(.counter(name: name, kept: 0, counted: 1))
    }
  }

  private static func checkDays(_ db: Database, _ report: (CheckDifference) -> Void) throws {
    let days = try Row.fetchCursor(
      db,
      sql: """
        WITH counted AS (
          SELECT library, localDay AS day, listing, count(*) AS value
          FROM libraryAsset GROUP BY 1, 2, 3)
        SELECT library, day, listing, sum(stored), sum(expected) FROM (
          SELECT library, day, listing, value AS stored, 0 AS expected FROM dayCount
          UNION ALL SELECT library, day, listing, 0, value FROM counted)
        GROUP BY library, day, listing HAVING sum(stored) <> sum(expected)
        """)
    while let row = try days.next() {
      let name = "assets of day \(row[1] as Int64), listing \(row[2] as Int64)\(suffix(row[0]))"
      report(.counter(name: name, kept: row[3], counted: row[4]))
    }
  }

  private static func suffix(_ library: Int64) -> String { library == 0 ? "" : " of limited library \(library)" }
}
