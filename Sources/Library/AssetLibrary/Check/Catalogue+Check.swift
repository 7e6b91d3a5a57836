import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// The token of the last change.
  func changeToken() throws(AssetSourceError) -> Int64 {
    try read { try Self.changeToken($0).number }
  }

  /// Checks the catalogue for consistency: pages and indexes, references, files and assets, stored counters. Takes as
  /// long as reading all of it, and holds one row in memory.
  package func checkConsistency(_ report: (CheckDifference) -> Void) throws(AssetSourceError) {
    try read { db in
      let words = try String.fetchCursor(db, sql: "PRAGMA integrity_check")
      while let word = try words.next() { if word != "ok" { report(.damaged(word)) } }
      let dangling = try Row.fetchCursor(db, sql: "PRAGMA foreign_key_check")
      while let row = try dangling.next() { report(.foreignKey(table: row[0], row: row[1], parent: row[2])) }
      let assets = try String.fetchCursor(
        db,
        sql: """
          SELECT localIdentifier FROM asset
          WHERE NOT EXISTS (SELECT 1 FROM file WHERE file.asset = asset.id AND isPrimary = 1)
          """)
      while let identifier = try assets.next() { report(.assetWithoutFile(localIdentifier: identifier)) }
      let files = try Row.fetchCursor(
        db, sql: "SELECT path FROM file WHERE asset IS NULL AND unreadableReason IS NULL ORDER BY path")
      while let row = try files.next() {
        report(.fileWithoutAsset(path: try row.withUnsafeData(atIndex: 0) { $0.map { [UInt8]($0) } ?? [] }))
      }
      try Self.checkCounters(db, report)
      try Self.checkLimitedLibraries(db, report)
    }
  }

  private static func checkCounters(_ db: Database, _ report: (CheckDifference) -> Void) throws {
    // One pass over the assets for all counters: assets have few distinct combinations of these columns.
    struct Kind: Hashable {
      let listing: Int64
      let counted: Int64
    }
    var counts: [Kind: Int] = [:]
    let kinds = try Row.fetchCursor(db, sql: "SELECT listing, counted, count(*) FROM asset GROUP BY 1, 2")
    while let row = try kinds.next() { counts[Kind(listing: row[0], counted: row[1])] = row[2] }
    let counters = try Row.fetchCursor(db, sql: "SELECT listing, bit, name, value FROM counter")
    while let row = try counters.next() {
      let (listing, bit): (Int64, Int64) = (row[0], row[1])
      let counted = counts.reduce(0) {
        $0 + ($1.key.listing == listing && $1.key.counted >> bit & 1 == 1 ? $1.value : 0)
      }
      let kept: Int = row[3]
      if kept != counted {
        report(.counter(name: "\(row[2] as String) of listing \(listing)", kept: kept, counted: counted))
      }
    }
    let members = try Row.fetchCursor(
      db,
      sql: """
        WITH counted AS (
          SELECT collection, asset.listing AS listing, count(*) AS value
          FROM member JOIN asset ON asset.id = member.asset GROUP BY 1, 2)
        SELECT localIdentifier, both.listing, sum(kept), sum(found) FROM (
          SELECT collection, listing, value AS kept, 0 AS found FROM memberCount
          UNION ALL SELECT collection, listing, 0, value FROM counted) AS both
        JOIN collection ON collection.id = both.collection
        GROUP BY both.collection, both.listing HAVING sum(kept) <> sum(found)
        """)
    while let row = try members.next() {
      report(
        .counter(
          name: "members of \(row[0] as String), listing \(row[1] as Int64)", kept: row[2], counted: row[3]))
    }
    let days = try Row.fetchCursor(
      db,
      sql: """
        WITH counted AS (
          SELECT \(CatalogueSchema.day("creationDate")) AS day, listing, count(*) AS value FROM asset GROUP BY 1, 2)
        SELECT day, listing, sum(kept), sum(found) FROM (
          SELECT day, listing, value AS kept, 0 AS found FROM dayCount
          UNION ALL SELECT day, listing, 0, value FROM counted)
        GROUP BY day, listing HAVING sum(kept) <> sum(found)
        """)
    while let row = try days.next() {
      report(
        .counter(name: "assets of day \(row[0] as Int64), listing \(row[1] as Int64)", kept: row[2], counted: row[3]))
    }
  }
}
