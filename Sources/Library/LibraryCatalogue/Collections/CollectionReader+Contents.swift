import GRDB
import PhotoModel
import Primitives

// The counts, dates and key assets of albums, smart albums and folders.

extension CollectionReader {
  func fill(_ collection: inout AssetCollection, _ album: SmartAlbum) throws {
    let listings = album.listings(listings, includesAllBurstAssets: query.includesAllBurstAssets)
    collection.estimatedAssetCount = try Catalogue.count(album, listings, library, db)
    guard collection.estimatedAssetCount > 0 else { return }
    // The album's own index is in date order, so both ends are found in a few steps.
    let byDate = album.index ?? .byDate
    let condition = "\(album.condition(on: "libraryAsset")) AND listing \(listings.sql)"
    let (start, end) = try ends(byDate, condition)
    (collection.startDate, collection.endDate) = (start, end)
    collection.keyAssets = try keyAssets(
      album == .recentlyAdded ? .byAddition : byDate, condition, by: album.orderColumn)
  }

  /// The oldest and the newest creation date along an index.
  func ends(
    _ index: LibraryAssetIndex, _ condition: String, _ arguments: StatementArguments = []
  ) throws -> (Timestamp?, Timestamp?) {
    func end(_ order: String) throws -> Timestamp? {
      try Int64.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT creationDate FROM \(index.source) WHERE library = ? AND \(condition)
            ORDER BY creationDate \(order) LIMIT 1
            """), arguments: [library.row] + arguments
      ).map(Timestamp.init(milliseconds:))
    }
    return (try end(""), try end("DESC"))
  }

  /// The maximum number of assets that are examined for key assets, because an album of a million videos may have none
  /// that can be rendered.
  static let examinedKeyAssets = 1000
  private static let isRenderable = "counted & \(1 << CatalogueSchema.renderableBit)"

  /// The assets with the highest values of a column, along an index.
  func keyAssets(
    _ index: LibraryAssetIndex, _ condition: String, by column: String = "creationDate",
    _ arguments: StatementArguments = []
  ) throws -> [LocalIdentifier] {
    try firstRenderable(
      """
      SELECT localIdentifier, \(Self.isRenderable) FROM \(index.source) WHERE library = ? AND \(condition)
      ORDER BY \(column) DESC, localIdentifier LIMIT \(Self.examinedKeyAssets)
      """, [library.row] + arguments)
  }

  /// The first assets that can be rendered, of a query for identifiers and whether each asset can be rendered.
  private func firstRenderable(_ sql: String, _ arguments: StatementArguments) throws -> [LocalIdentifier] {
    let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
    var found: [LocalIdentifier] = []
    while found.count < AssetCollection.maximumKeyAssets, let row = try rows.next() {
      if row[1] { found.append(LocalIdentifier(row[0])) }
    }
    return found
  }

  func fill(_ collection: inout AssetCollection, album id: Int64, keyAsset: Int64?) throws {
    collection.estimatedAssetCount =
      try Int.fetchOne(
        db.cachedStatement(
          sql: "SELECT sum(value) FROM memberCount WHERE collection = ? AND listing \(listings.sql)"), arguments: [id])
      ?? 0
    guard collection.estimatedAssetCount > 0 else { return }
    let members = "member INDEXED BY memberByDate WHERE collection = ?"
    collection.startDate = try end(of: members, id, "")
    collection.endDate = try end(of: members, id, "DESC")
    if let keyAsset {
      // The key asset may have left the album, or may be outside the principal's library.
      collection.keyAssets = try firstRenderable(
        """
        SELECT localIdentifier, \(Self.isRenderable) FROM libraryAsset
        WHERE asset = ? AND library = ? AND listing \(listings.sql)
        """, [keyAsset, library.row])
    }
    if collection.keyAssets.isEmpty {
      collection.keyAssets = try firstRenderable(
        """
        SELECT localIdentifier, isRenderable FROM member CROSS JOIN asset ON asset.id = member.asset
        WHERE member.collection = ? AND member.listing \(listings.sql) ORDER BY member.position
        LIMIT \(Self.examinedKeyAssets)
        """, [id])
    }
  }

  /// The first or last creation date of an album's or folder's assets.
  private func end(of assets: String, _ id: Int64, _ order: String) throws -> Timestamp? {
    try Int64.fetchOne(
      db.cachedStatement(
        sql: "SELECT creationDate FROM \(assets) AND listing \(listings.sql) ORDER BY creationDate \(order) LIMIT 1"),
      arguments: [id]
    ).map(Timestamp.init(milliseconds:))
  }

  func fill(_ collection: inout AssetCollection, folder id: Int64) throws {
    collection.estimatedCollectionCount =
      try Int.fetchOne(
        db.cachedStatement(sql: "SELECT count(*) FROM collection WHERE parent = ?"), arguments: [id]) ?? 0
    collection.estimatedAssetCount =
      try Int.fetchOne(
        db.cachedStatement(sql: "SELECT sum(value) FROM folderCount WHERE folder = ? AND listing \(listings.sql)"),
        arguments: [id]) ?? 0
    guard collection.estimatedAssetCount > 0 else { return }
    let assets = "folderAsset INDEXED BY folderAssetByDate WHERE folder = ?"
    collection.startDate = try end(of: assets, id, "")
    collection.endDate = try end(of: assets, id, "DESC")
    // Newest first, like the folder's list of assets.
    collection.keyAssets = try firstRenderable(
      """
      SELECT localIdentifier, isRenderable
      FROM folderAsset INDEXED BY folderAssetByDate CROSS JOIN asset ON asset.id = folderAsset.asset
      WHERE folder = ? AND folderAsset.listing \(listings.sql)
      ORDER BY folderAsset.creationDate DESC, localIdentifier LIMIT \(Self.examinedKeyAssets)
      """, [id])
  }
}
