// Which assets the history names since a state of the library.

import GRDB
import PhotoModel

/// What the history tells of assets since a token.
package enum TouchedAssets: Sendable, Equatable {
  /// Inserted, updated or deleted since, or at another place of the album: row numbers, ascending.
  case rows([UInt32])
  /// They are more than were to be told.
  case tooMany
  /// What came right behind the token is not known any more.
  case expired
}

extension Catalogue {
  /// The assets that were touched since a state of the library, also those that are gone; of a limited library those that
  /// are in it now. What changed of an asset's place alone is nothing to those who may not know places.
  ///
  /// - Parameters:
  ///   - album: the row of an album whose members' coming, going and moving counts.
  ///   - limit: how many are told at most.
  package func touched(
    since token: ChangeToken, album: Int64? = nil, atMost limit: Int, for principal: Principal
  ) throws(AssetSourceError) -> TouchedAssets {
    try read(for: principal) { try Self.touched($0, $1, since: token, album: album, atMost: limit, for: principal) }
  }

  /// Of more touched assets nothing is told by name: who keeps some looks those up.
  private static let mostNamed = 1000

  package func touchedAssets(
    since changeToken: String?, for principal: Principal
  ) throws(AssetSourceError) -> TouchedIdentifiers {
    try read(for: principal) { db, part in
      let now = try Self.token(db, part, for: principal)
      if now == changeToken { return TouchedIdentifiers(changeToken: now, identifiers: []) }
      // Of a limited library the history does not name what has left it.
      guard part == .whole, let since = changeToken.flatMap(tokens.token(of:)),
        case .rows(let rows) = try Self.touched(
          db, part, since: since, album: nil, atMost: Self.mostNamed, for: principal)
      else { return TouchedIdentifiers(changeToken: now, identifiers: nil) }
      let names = try String.fetchCursor(
        db.cachedStatement(
          sql: """
            SELECT coalesce(asset.localIdentifier, deletedAsset.localIdentifier) AS name
            FROM json_each(?) AS touched LEFT JOIN asset ON asset.id = touched.value
              LEFT JOIN deletedAsset ON deletedAsset.id = touched.value
            WHERE name IS NOT NULL
            """), arguments: [FetchPlan.list(rows)])
      var identifiers: Set<LocalIdentifier> = []
      while let name = try names.next() { identifiers.insert(LocalIdentifier(name)) }
      return TouchedIdentifiers(changeToken: now, identifiers: identifiers)
    }
  }

  static func touched(
    _ db: Database, _ part: LibraryPart, since token: ChangeToken, album: Int64?, atMost limit: Int,
    for principal: Principal
  ) throws -> TouchedAssets {
    guard token >= (try oldestKnownToken(db, part, principal)) else { return .expired }
    // A token that nobody was given yet is of another library, or of this one before a copy of it was put back.
    guard token <= (try changeToken(db)) else { return .expired }
    let placeless = principal.may(.location) ? "" : "AND isPlaceOnly = 0"
    let listed =
      part == .whole
      ? "" : "CROSS JOIN limitedAsset ON limitedAsset.asset = object AND \(part.condition(on: "limitedAsset.library"))"
    let objects =
      "SELECT object AS asset FROM changedObject \(listed) WHERE token > ?1 AND kind = 0 \(placeless)"
    let members =
      album.map { "UNION SELECT asset FROM changedMember WHERE token > ?1 AND collection = \($0)" } ?? ""
    let statement = try db.makeStatement(
      sql: "SELECT DISTINCT asset FROM (\(objects) \(members)) ORDER BY asset LIMIT ?2")
    let rows = try UInt32.fetchCursor(statement, arguments: [token.number, limit + 1])
    var touched: [UInt32] = []
    while let row = try rows.next() {
      if touched.count == limit { return .tooMany }
      touched.append(row)
    }
    return .rows(touched)
  }
}
