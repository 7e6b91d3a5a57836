import Foundation
import GRDB
import PhotoModel

extension Catalogue: AssetSource {
  package func asset(_ identifier: LocalIdentifier, for principal: Principal) throws(AssetSourceError) -> Asset? {
    try read { db in
      try db.cachedStatement(
        sql: """
          SELECT \(AssetRow.columns) FROM \(AssetRow.tables)
          WHERE asset.localIdentifier = ?
          """
      )
      .first([identifier.rawValue], for: principal)
    }
  }

  package func assets(_ query: AssetQuery, for principal: Principal) throws(AssetSourceError) -> AssetPage {
    let start = try query.cursor.map(Cursor.init(text:))
    let visible = "asset.listing \(Listings(query).sql)"
    // Newest first, then by identifier; the cursor names the last row of the page before.
    let after =
      start == nil ? "" : "AND (creationDate < :date OR (creationDate = :date AND localIdentifier > :identifier))"
    let bound = start == nil ? "" : "AND creationDate <= :date"
    return try read { db in
      var arguments: StatementArguments = ["limit": query.limit + 1]
      if let start { arguments += ["date": start.creationDate, "identifier": start.localIdentifier] }
      let rows = try Row.fetchCursor(
        db.cachedStatement(
          sql: """
            SELECT \(AssetRow.columns) FROM \(AssetRow.tables)
            WHERE \(visible) \(bound) \(after)
            ORDER BY creationDate DESC, localIdentifier LIMIT :limit
            """), arguments: arguments)
      var assets: [Asset] = []
      assets.reserveCapacity(min(query.limit, 1000))
      while let row = try rows.next() { assets.append(try AssetRow.asset(row, for: principal)) }
      var next: String?
      if assets.count > query.limit {
        assets.removeLast()
        next = assets.last.map { Cursor($0).text }
      }
      return AssetPage(assets: assets, nextCursor: next, changeToken: try Self.token(db, for: principal))
    }
  }

  package func assetCount(_ query: AssetQuery, for principal: Principal) throws(AssetSourceError) -> Int {
    try read { db in
      try Self.count("assets", Listings(query).sql, db)
    }
  }

  package func scanState() throws(AssetSourceError) -> ScanState {
    try read { db in
      ScanState(
        isFirstScanComplete: try Bool.fetchOne(db, sql: "SELECT value FROM library WHERE key = 'isFirstScanComplete'")
          ?? false,
        indexedCount: try Self.count("assets", "IN (0, 1, 2, 3)", db))
    }
  }

  static func count(_ name: String, _ listings: String, _ db: Database) throws -> Int {
    try Int.fetchOne(
      db.cachedStatement(sql: "SELECT sum(value) FROM counter WHERE name = ? AND listing \(listings)"),
      arguments: [name]) ?? 0
  }
}

extension Listings {
  fileprivate init(_ query: AssetQuery) {
    self.init(includesHidden: query.includesHidden, includesAllBurstAssets: query.includesAllBurstAssets)
  }
}

extension Statement {
  /// The first asset that a statement finds.
  func first(_ arguments: StatementArguments, for principal: Principal) throws -> Asset? {
    let rows = try Row.fetchCursor(self, arguments: arguments)
    // A row is a view of its cursor, and nothing when that is gone.
    return try withExtendedLifetime(rows) { try rows.next().map { try AssetRow.asset($0, for: principal) } }
  }
}

/// Where a page ended, as clients carry it: opaque to them, base64url of "date identifier".
private struct Cursor {
  let creationDate: Int64
  let localIdentifier: String

  init(_ asset: Asset) {
    creationDate = asset.creationDate.milliseconds
    localIdentifier = asset.localIdentifier.rawValue
  }

  init(text: String) throws(AssetSourceError) {
    var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
    base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
    let parts = Data(base64Encoded: base64).map { String(decoding: $0, as: UTF8.self).split(separator: " ") } ?? []
    guard parts.count == 2, let date = Int64(parts[0]) else { throw .malformedCursor }
    creationDate = date
    localIdentifier = String(parts[1])
  }

  var text: String { Base64URL.encode([UInt8]("\(creationDate) \(localIdentifier)".utf8)) }
}
