// The assets that the row numbers of a fetch result stand for now.

import Foundation
import GRDB
import PhotoModel

/// A member of a fetch result: its current state, or deleted.
package enum FetchResultMember: Sendable {
  case asset(Asset)
  case deleted(LocalIdentifier)
}

extension Catalogue {
  /// Assets by row number, in the given order. A deleted asset that the history no longer names has an empty
  /// identifier.
  ///
  /// An asset that left the principal's limited library counts as deleted, even if another library holds it.
  package func members(
    _ rows: ArraySlice<UInt32>, for principal: Principal
  ) throws(AssetSourceError) -> [FetchResultMember] {
    try read(for: principal) { db, part in
      let statement: Statement
      let gone: Statement
      switch part {
      case .whole:
        statement = try db.cachedStatement(
          sql: "SELECT \(AssetRow.columns) FROM \(AssetRow.tables) WHERE asset.id = ?")
        gone = try db.cachedStatement(sql: "SELECT localIdentifier FROM deletedAsset WHERE id = ?")
      case .limited:
        statement = try db.makeStatement(
          sql: """
            SELECT \(AssetRow.columns) FROM limitedAsset CROSS JOIN asset ON asset.id = limitedAsset.asset
              \(AssetRow.primaryFile) WHERE \(part.condition) AND limitedAsset.asset = ?
            """)
        gone = try db.makeStatement(
          sql: "SELECT localIdentifier FROM limitedGone WHERE \(part.condition) AND kind = 0 AND object = ?")
      }
      return try rows.map { row in
        if let asset = try statement.fetchAsset([row], for: principal) { return .asset(asset) }
        return .deleted(LocalIdentifier(try String.fetchOne(gone, arguments: [row]) ?? ""))
      }
    }
  }

  /// The row number of an asset, also of a deleted one. `nil` if no asset with this identifier exists or is still in
  /// the history.
  package func row(of identifier: LocalIdentifier, for principal: Principal) throws(AssetSourceError) -> UInt32? {
    try read(for: principal) { db, part in
      let row = try UInt32.fetchOne(Self.assetRowStatement(part, db), arguments: [identifier.rawValue])
      if let row { return row }
      let gone =
        switch part {
        case .whole: "SELECT max(id) FROM deletedAsset WHERE localIdentifier = ?"
        case .limited:
          "SELECT max(object) FROM limitedGone WHERE \(part.condition) AND localIdentifier = ? AND kind = 0"
        }
      return try UInt32.fetchOne(part.statement(gone, db), arguments: [identifier.rawValue])
    }
  }

  /// The row numbers of existing assets.
  ///
  /// - Throws: `noSuchAsset` for the first identifier that does not exist, `queryTooExpensive` at the deadline.
  package func rows(
    of identifiers: [LocalIdentifier], deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> [UInt32] {
    try read(for: principal) { db, part in
      let statement = try Self.assetRowStatement(part, db)
      return try identifiers.map { identifier in
        if let deadline, ContinuousClock.now >= deadline { throw AssetSourceError.queryTooExpensive }
        guard let row = try UInt32.fetchOne(statement, arguments: [identifier.rawValue]) else {
          throw AssetSourceError.noSuchAsset(identifier)
        }
        return row
      }
    }
  }

  private static func assetRowStatement(_ part: LibraryPart, _ db: Database) throws -> Statement {
    switch part {
    case .whole: try db.cachedStatement(sql: "SELECT id FROM asset WHERE localIdentifier = ?")
    case .limited:
      try db.makeStatement(
        sql: "SELECT asset FROM limitedAsset WHERE \(part.condition) AND limitedAsset.localIdentifier = ?")
    }
  }
}
