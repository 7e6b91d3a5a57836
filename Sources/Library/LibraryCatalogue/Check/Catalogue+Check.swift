import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// The token of the last change.
  package func changeToken() throws(AssetSourceError) -> Int64 {
    try read { try Self.changeToken($0).number }
  }

  /// Checks the catalogue for consistency: pages and indexes, the definitions of indexes and triggers, references,
  /// files and assets, stored counters, the search index. Reads the whole catalogue, and holds one row in memory. A
  /// damaged page is reported and ends only the part of the check that reads it.
  package func checkConsistency(_ report: (CheckDifference) -> Void) throws(AssetSourceError) {
    if WriteAheadLog.isDamaged(beside: Self.path(in: dataFolder)) {
      report(.damaged("log: the changes after the damage are lost"))
    }
    let parts: [(Database, (CheckDifference) -> Void) throws -> Void] = [
      Self.checkPages, Self.checkDefinitions, Self.checkReferences, Self.checkFiles, Self.checkTrash, Self.checkValues,
      Self.checkTexts, Self.checkMembers, Self.checkLibraries, Self.checkSearch,
    ]
    for part in parts {
      // A transaction of its own: SQLite can't commit one that has met a damaged page.
      do throws(AssetSourceError) {
        try read { try part($0, report) }
      } catch {
        guard case .storageFailed(.damaged, let detail) = error else { throw error }
        report(.damaged(detail))
      }
    }
  }

  private static func checkPages(_ db: Database, _ report: (CheckDifference) -> Void) throws {
    let words = try String.fetchCursor(db, sql: "PRAGMA integrity_check")
    while let word = try words.next() { if word != "ok" { report(.damaged(word)) } }
  }

  private static func checkDefinitions(_ db: Database, _ report: (CheckDifference) -> Void) throws {
    for name in try CatalogueDefinitions().damaged(db) { report(.damaged("schema of \(name)")) }
  }

  private static func checkReferences(_ db: Database, _ report: (CheckDifference) -> Void) throws {
    let dangling = try Row.fetchCursor(db, sql: "PRAGMA foreign_key_check")
    while let row = try dangling.next() { report(.foreignKey(table: row[0], row: row[1], parent: row[2])) }
  }

  private static func checkFiles(_ db: Database, _ report: (CheckDifference) -> Void) throws {
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
      report(.fileWithoutAsset(path: try row.bytes(0)))
    }
  }

  private static func checkTrash(_ db: Database, _ report: (CheckDifference) -> Void) throws {
    let records = try String.fetchCursor(
      db,
      sql: """
        SELECT localIdentifier FROM trash
        WHERE state = 'trashed' AND NOT EXISTS (SELECT 1 FROM trashFile WHERE trash = trash.id AND place = 0)
        """)
    while let identifier = try records.next() { report(.trashWithoutFile(localIdentifier: identifier)) }
  }

  private static func checkValues(_ db: Database, _ report: (CheckDifference) -> Void) throws {
    let known = try Set(String.fetchCursor(db, sql: "SELECT name FROM catalogueValue"))
    if try storedKey(db) == nil { report(.missingValue(name: "contentKey")) }
    for value in CatalogueValue.allCases where value != .contentKey && value.initialRow != nil {
      if !known.contains(value.rawValue) { report(.missingValue(name: value.rawValue)) }
    }
    // Clients keep tokens, so no token may be issued twice.
    let token = try changeToken(db).number
    let highest = try highestToken(db)
    if token < highest { report(.counter(name: "token of the library", kept: Int(token), counted: Int(highest))) }
  }

  /// Reports JSON that can't be parsed.
  private static func checkTexts(_ db: Database, _ report: (CheckDifference) -> Void) throws {
    if try readableMounts(db) == nil { report(.unreadableValue(localIdentifier: nil, name: "mounts")) }
    let lists = CatalogueCorrection.lists
    let areUnreadable = lists.map { CatalogueCorrection.isUnreadable(list: $0) }.joined(separator: ", ")
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT localIdentifier, adjustments, \(areUnreadable) FROM asset
        WHERE coalesce(adjustments, \(lists.joined(separator: ", "))) IS NOT NULL
        """)
    while let row = try rows.next() {
      let identifier: String = row[0]
      for (index, name) in lists.enumerated() {
        let isUnreadable: Bool = row[2 + index]
        if isUnreadable { report(.unreadableValue(localIdentifier: identifier, name: name)) }
      }
      guard let json: String = row[1] else { continue }
      let operations = try? StoredAdjustments.operations(json)
      if operations == nil { report(.unreadableValue(localIdentifier: identifier, name: "adjustments")) }
    }
  }

  /// The highest token in the rows that changes wrote.
  static func highestToken(_ db: Database) throws -> Int64 {
    try Int64.fetchOne(
      db,
      sql: """
        SELECT max(token) FROM (
          SELECT max(token) AS token FROM change
          UNION ALL SELECT max(revision) FROM asset
          UNION ALL SELECT value FROM catalogueValue WHERE name = 'historyStart')
        """) ?? 0
  }

  private static func checkMembers(_ db: Database, _ report: (CheckDifference) -> Void) throws {
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
  }
}
