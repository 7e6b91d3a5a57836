import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// An asset and its adjustments, by one read. `nil` if the principal may not see the asset.
  package func adjustedAsset(
    _ identifier: LocalIdentifier, for principal: Principal
  ) throws(AssetSourceError) -> AdjustedAsset? {
    try read(for: principal) { db, library in
      let found = try db.cachedStatement(
        sql: """
          SELECT \(AssetRow.columns) FROM \(LibraryAssetIndex.byIdentifier.source) \(AssetRow.joins)
          WHERE libraryAsset.library = ? AND libraryAsset.localIdentifier = ?
          """)
      guard let asset = try found.fetchAsset([library.row, identifier.rawValue], for: principal) else { return nil }
      let number = try Int64.fetchOne(
        db.cachedStatement(sql: "SELECT asset FROM libraryAsset WHERE library = ? AND localIdentifier = ?"),
        arguments: [library.row, identifier.rawValue])
      let imported = try number.flatMap { try ForeignEditWriter.imported(of: $0, db) }
      guard asset.hasAdjustments else { return AdjustedAsset(asset: asset, adjustments: nil, imported: imported) }
      let row = try Row.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT asset.adjustments, adjustmentFormat, adjustmentFormatVersion, adjustmentData, adjustmentOrigin
            FROM \(LibraryAssetIndex.byIdentifier.source) \(AssetRow.joins)
            WHERE libraryAsset.library = ? AND libraryAsset.localIdentifier = ?
            """), arguments: [library.row, identifier.rawValue])
      return AdjustedAsset(asset: asset, adjustments: try row.map(StoredAdjustments.init), imported: imported)
    }
  }
}

extension StoredAdjustments {
  /// - Parameter row: the operations, the format, its version, its data and the origin.
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
