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
  package func members(_ rows: [Int64], for principal: Principal) throws(AssetSourceError) -> [FetchedMember] {
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
  package func row(of identifier: LocalIdentifier, for principal: Principal) throws(AssetSourceError) -> Int64? {
    try read { db in
      try Int64.fetchOne(
        db.cachedStatement(sql: "SELECT id FROM asset WHERE localIdentifier = ?"), arguments: [identifier.rawValue])
    }
  }
}
