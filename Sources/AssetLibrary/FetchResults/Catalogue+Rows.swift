// What a handle's row numbers stand for, now.

import Foundation
import GRDB
import PhotoModel

/// A member of a fetch result: as it is now, or gone.
package enum FetchedMember: Sendable {
  case asset(Asset)
  case deleted(LocalIdentifier)
}

extension Catalogue {
  /// Assets by their row numbers, in that order. One that nothing is known of any more has no identifier.
  package func members(
    _ rows: ArraySlice<UInt32>, for principal: Principal
  ) throws(AssetSourceError) -> [FetchedMember] {
    try read { db in
      let statement = try db.cachedStatement(
        sql: "SELECT \(AssetRow.columns) FROM \(AssetRow.tables) WHERE asset.id = ?")
      let gone = try db.cachedStatement(sql: "SELECT localIdentifier FROM deletedAsset WHERE id = ?")
      return try rows.map { row in
        if let asset = try statement.first([row], for: principal) { return .asset(asset) }
        return .deleted(LocalIdentifier(try String.fetchOne(gone, arguments: [row]) ?? ""))
      }
    }
  }

  /// The row number of an asset, also of one that is gone; `nil`: there never was one of that name, or long ago.
  package func row(of identifier: LocalIdentifier, for principal: Principal) throws(AssetSourceError) -> UInt32? {
    try read { db in
      let row = try UInt32.fetchOne(db.cachedStatement(sql: Self.rowOfAsset), arguments: [identifier.rawValue])
      return try row
        ?? UInt32.fetchOne(
          db.cachedStatement(sql: "SELECT max(id) FROM deletedAsset WHERE localIdentifier = ?"),
          arguments: [identifier.rawValue])
    }
  }

  /// The row numbers of assets that there are.
  ///
  /// - Throws: `noSuchAsset` for the first that is none, `queryTooExpensive` at the deadline.
  package func rows(
    of identifiers: [LocalIdentifier], deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> [UInt32] {
    try read { db in
      let statement = try db.cachedStatement(sql: Self.rowOfAsset)
      return try identifiers.map { identifier in
        if let deadline, ContinuousClock.now >= deadline { throw AssetSourceError.queryTooExpensive }
        guard let row = try UInt32.fetchOne(statement, arguments: [identifier.rawValue]) else {
          throw AssetSourceError.noSuchAsset(identifier)
        }
        return row
      }
    }
  }

  private static let rowOfAsset = "SELECT id FROM asset WHERE localIdentifier = ?"
}
