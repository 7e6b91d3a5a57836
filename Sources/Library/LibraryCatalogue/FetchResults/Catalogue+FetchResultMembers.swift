// The current assets of a fetch result, looked up by its row numbers.

import Foundation
import GRDB
import PhotoModel

/// A member of a fetch result: its current state, or deleted.
package enum FetchResultMember: Sendable {
  case asset(Asset)
  case deleted(LocalIdentifier)
}

extension Catalogue {
  private static let assetByRow = """
    SELECT \(AssetRow.columns) FROM libraryAsset INDEXED BY libraryAssetByAsset \(AssetRow.joins)
    WHERE libraryAsset.asset = ? AND libraryAsset.library = ?
    """

  /// Assets by row number, in the given order. A deleted asset that the history no longer names has an empty
  /// identifier.
  ///
  /// An asset that left the principal's limited library counts as deleted, even if another library holds it.
  package func members(
    _ rows: ArraySlice<UInt32>, for principal: Principal
  ) throws(AssetSourceError) -> [FetchResultMember] {
    try read(for: principal) { db, library in
      let statement = try db.cachedStatement(sql: Self.assetByRow)
      let removed = try db.cachedStatement(
        sql: "SELECT localIdentifier FROM removedObject WHERE library = ? AND kind = 0 AND object = ?")
      return try rows.map { row in
        if let asset = try statement.fetchAsset([row, library.row], for: principal) { return .asset(asset) }
        return .deleted(LocalIdentifier(try String.fetchOne(removed, arguments: [library.row, row]) ?? ""))
      }
    }
  }

  /// The row number of an asset, also of a deleted one. `nil` if no asset with this identifier exists or is still in
  /// the history.
  package func row(of identifier: LocalIdentifier, for principal: Principal) throws(AssetSourceError) -> UInt32? {
    try read(for: principal) { db, library in
      if let row = try library.asset(identifier, db) { return UInt32(row) }
      return try UInt32.fetchOne(
        db.cachedStatement(
          sql: "SELECT max(object) FROM removedObject WHERE library = ? AND kind = 0 AND localIdentifier = ?"),
        arguments: [library.row, identifier.rawValue])
    }
  }

  /// The row numbers of existing assets.
  ///
  /// - Throws: `noSuchAsset` for the first identifier that does not exist, `queryTooExpensive` at the deadline.
  package func rows(
    of identifiers: [LocalIdentifier], deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> [UInt32] {
    try read(for: principal, before: deadline) { db, library in
      try identifiers.map { identifier in
        if let deadline, ContinuousClock.now >= deadline { throw AssetSourceError.queryTooExpensive }
        guard let row = try library.asset(identifier, db) else { throw AssetSourceError.noSuchAsset(identifier) }
        return UInt32(row)
      }
    }
  }
}
