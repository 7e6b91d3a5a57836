// The assets that the history names after a given state of the library.

import GRDB
import PhotoModel

/// The history's entries about assets since a token.
package enum TouchedAssets: Sendable, Equatable {
  /// Row numbers, ascending, of assets that were inserted, updated or deleted since, or that entered, left or moved
  /// within the album.
  case rows([UInt32])
  /// There are more than the limit.
  case tooMany
  /// The history no longer reaches back to the token.
  case expired
}

extension Catalogue {
  /// The assets that were touched since a state of the library, including deleted ones. In a limited library only
  /// assets that are in it now are included. Changes of the location only are left out for principals without the
  /// location scope.
  ///
  /// - Parameters:
  ///   - album: the row of an album; assets that entered, left or moved within it are included.
  ///   - limit: the maximum number of assets.
  package func touched(
    since token: ChangeToken, album: Int64? = nil, atMost limit: Int, for principal: Principal
  ) throws(AssetSourceError) -> TouchedAssets {
    try read(for: principal) { try self.touched($0, $1, since: token, album: album, atMost: limit, for: principal) }
  }

  /// Above this many touched assets, no identifiers are returned, and the caller checks each asset that it caches.
  private static let maximumTouchedIdentifiers = 1000

  package func touchedAssets(
    since changeToken: ChangeToken?, for principal: Principal
  ) throws(AssetSourceError) -> TouchedIdentifiers {
    try read(for: principal) { db, library in
      let now = try Self.visibleToken(db, library, principal)
      if now == changeToken { return TouchedIdentifiers(changeToken: now, identifiers: []) }
      // For a limited library, `touched` omits the assets that left it.
      guard library.isWhole, let since = changeToken,
        case .rows(let rows) = try self.touched(
          db, library, since: since, album: nil, atMost: Self.maximumTouchedIdentifiers, for: principal)
      else { return TouchedIdentifiers(changeToken: now, identifiers: nil) }
      let names = try String.fetchCursor(
        db.cachedStatement(
          sql: """
            SELECT coalesce(asset.localIdentifier, removedObject.localIdentifier) AS name
            FROM json_each(?) AS touched LEFT JOIN asset ON asset.id = touched.value
              LEFT JOIN removedObject ON library = 0 AND kind = 0 AND object = touched.value
            WHERE name IS NOT NULL
            """), arguments: [RowNumbers.json(rows)])
      var identifiers: Set<LocalIdentifier> = []
      while let name = try names.next() { identifiers.insert(LocalIdentifier(name)) }
      return TouchedIdentifiers(changeToken: now, identifiers: identifiers)
    }
  }

  func touched(
    _ db: Database, _ library: LibraryID, since token: ChangeToken, album: Int64?, atMost limit: Int,
    for principal: Principal
  ) throws -> TouchedAssets {
    guard token >= (try Self.oldestAvailableToken(db, library, principal)) else { return .expired }
    // A token newer than the library's comes from another library, or from the time before this one was restored from a
    // copy.
    guard token <= (try Self.changeToken(db)) else { return .expired }
    let placeless = principal.may(.location) ? "" : "AND isLocationOnly = 0"
    let listed =
      library.isWhole
      ? "" : "CROSS JOIN libraryAsset ON libraryAsset.asset = object AND libraryAsset.library = \(library.row)"
    let objects =
      "SELECT object AS asset FROM changedObject \(listed) WHERE token > ?1 AND kind = 0 \(placeless)"
    let members =
      album == nil ? "" : "UNION SELECT asset FROM changedMember WHERE token > ?1 AND collection = ?3"
    let statement = try statements.prepared(
      "SELECT DISTINCT asset FROM (\(objects) \(members)) ORDER BY asset LIMIT ?2", db)
    let arguments = [token.number, Int64(limit) + 1] + (album.map { [$0] } ?? [])
    let rows = try UInt32.fetchCursor(statement, arguments: StatementArguments(arguments))
    var touched: [UInt32] = []
    while let row = try rows.next() {
      if touched.count == limit { return .tooMany }
      touched.append(row)
    }
    return .rows(touched)
  }
}
