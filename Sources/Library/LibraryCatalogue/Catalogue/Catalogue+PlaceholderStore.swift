import Foundation
import GRDB
import PhotoModel

extension Catalogue: PlaceholderStore {
  /// The principal that reads assets for placeholders. It has no scopes, so locations are never read.
  private static let maker = Principal(name: "placeholders", scopes: [])

  package func setPlaceholderMaker(version: String) throws(AssetSourceError) {
    try writeMaintenance { db in
      let last: String? = try CatalogueValue.placeholderMaker.read(db)
      guard last != version else { return }
      try db.execute(
        sql: "UPDATE asset SET placeholderVersion = NULL WHERE placeholder IS NULL AND placeholderVersion IS NOT NULL")
      try CatalogueValue.placeholderMaker.write(version, db)
    }
  }

  package func assetsWithoutPlaceholder(after last: Asset?, limit: Int) throws(AssetSourceError) -> [Asset] {
    let bound = last == nil ? "" : "AND creationDate <= :date"
    let after =
      last == nil ? "" : "AND (creationDate < :date OR (creationDate = :date AND localIdentifier > :identifier))"
    return try read { db in
      var arguments: StatementArguments = ["limit": limit]
      if let last {
        arguments += ["date": last.creationDate.milliseconds, "identifier": last.localIdentifier.rawValue]
      }
      let rows = try Row.fetchCursor(
        db.cachedStatement(
          sql: """
            SELECT \(AssetRow.columns)
            FROM asset INDEXED BY assetWithoutPlaceholder JOIN file ON file.asset = asset.id AND file.isPrimary = 1
            WHERE placeholderVersion IS NOT contentVersion \(bound) \(after)
            ORDER BY creationDate DESC, localIdentifier LIMIT :limit
            """), arguments: arguments)
      var assets: [Asset] = []
      while let row = try rows.next() { assets.append(try AssetRow.asset(row, for: Self.maker)) }
      return assets
    }
  }

  package func store(_ results: [PlaceholderResult]) throws(AssetSourceError) {
    guard !results.isEmpty else { return }
    try writeMaintenance { db in
      let statement = try db.cachedStatement(
        sql: """
          UPDATE asset SET placeholder = ?1, saliency = ?4, placeholderVersion = contentVersion
          WHERE id = (SELECT asset FROM libraryAsset WHERE library = 0 AND localIdentifier = ?2) AND contentVersion = ?3
          """)
      for result in results {
        try statement.execute(arguments: [
          result.placeholder.map { Data($0) }, result.localIdentifier.rawValue, result.contentVersion.rawValue,
          result.saliency.map(StoredPoint.number),
        ])
      }
    }
  }
}
