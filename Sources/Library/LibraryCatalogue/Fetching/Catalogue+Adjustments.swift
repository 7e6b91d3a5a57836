import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// An asset and its adjustments, from one snapshot. `nil` if the principal may not see the asset.
  package func adjustedAsset(
    _ identifier: LocalIdentifier, for principal: Principal
  ) throws(AssetSourceError) -> AdjustedAsset? {
    try read(for: principal) { db, library in
      guard let asset = try Self.asset(identifier, in: library, for: principal, db) else { return nil }
      let row = try Row.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT asset.adjustments, adjustmentFormat, adjustmentFormatVersion, adjustmentData, adjustmentOrigin,
              asset.id
            FROM \(LibraryAssetIndex.byIdentifier.source) \(AssetRow.joins)
            WHERE libraryAsset.library = ? AND libraryAsset.localIdentifier = ?
            """), arguments: [library.row, identifier.rawValue])
      return AdjustedAsset(
        asset: asset, adjustments: asset.hasAdjustments ? try row.map(StoredAdjustments.init) : nil,
        imported: try row.flatMap { try ForeignEditWriter.imported(of: $0[5], db) })
    }
  }
}

extension StoredAdjustments {
  /// - Parameter row: the columns operations, format, format version, data and origin.
  init(_ row: Row) throws {
    self.init(
      operations: try Self.operations(row[0]), origin: (row[4] as String?).flatMap(Origin.init) ?? .user)
    if let format: String = row[1] {
      foreign = ForeignFormat(
        formatIdentifier: format, formatVersion: row[2] ?? "",
        data: try row.withUnsafeData(atIndex: 3) { $0.map { [UInt8]($0) } })
    }
  }
}
