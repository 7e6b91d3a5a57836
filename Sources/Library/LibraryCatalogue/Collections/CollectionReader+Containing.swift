// Lists of the collections that contain one asset (PHAssetCollection.fetchAssetCollectionsContaining). A collection
// contains an asset if its list of assets, with the same filters, has it.

import GRDB
import PhotoModel

extension CollectionReader {
  /// The asset that collections must contain.
  struct ContainedAsset {
    let row: Int64
    let creationDate: Int64
    let localDay: Int
    /// Whether collections other than the album of hidden assets list the asset with the query's filters.
    let isListed: Bool
    /// The smart albums that list the asset.
    fileprivate let smartAlbums: [String]

    /// Part of a WHERE clause for the moments of the asset's day. The assets of a moment are the listed ones within its
    /// day and period.
    var momentCondition: String {
      isListed ? "AND startDate <= \(creationDate) AND endDate >= \(creationDate)" : "AND 0"
    }
  }

  /// - Throws: `noSuchAsset`, if the library does not have the asset.
  func containedAsset(_ identifier: LocalIdentifier) throws -> ContainedAsset {
    func find(_ listings: ListingFilter) throws -> Row? {
      try Row.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT asset, creationDate, counted, listing \(listings.sql), localDay
            FROM \(LibraryAssetIndex.byIdentifier.source) WHERE library = ? AND localIdentifier = ?
            """), arguments: [library.row, identifier.rawValue])
    }
    guard let row = try find(listings) else { throw AssetSourceError.noSuchAsset(identifier) }
    let (counted, isListed): (Int64, Bool) = (row[2], row[3])
    let hidden = try find(.hidden(includesAllBurstAssets: query.includesAllBurstAssets))
    let isHidden = hidden.map { $0[3] as Bool } ?? false
    let smartAlbums = SmartAlbum.allCases.filter { album in
      (album == .allHidden ? isHidden : isListed)
        && counted >> Int64(album.counterBit) & 1 == 1
    }
    return ContainedAsset(
      row: row[0], creationDate: row[1], localDay: row[4], isListed: isListed, smartAlbums: smartAlbums.map(\.rawValue))
  }

  /// Prepares a statement. Statements about one asset are not cached, because clients could create any number of them.
  func statement(_ sql: String, about asset: ContainedAsset?) throws -> Statement {
    asset == nil ? try db.cachedStatement(sql: sql) : try db.makeStatement(sql: sql)
  }

  /// A FROM clause for the few collections that may contain the asset, found from the asset. `nil` in a limited
  /// library, which reads all of its own collections instead, so that timing does not reveal how many others contain
  /// the asset.
  func candidates(_ asset: ContainedAsset?) -> String? {
    guard let asset, library.isWhole else { return nil }
    return """
      (SELECT collection AS candidate FROM member WHERE asset = \(asset.row)
          UNION ALL SELECT folder FROM folderAsset WHERE asset = \(asset.row)
          UNION ALL SELECT collection FROM libraryCollection WHERE library = 0 AND type = 'smartAlbum')
        CROSS JOIN libraryCollection ON libraryCollection.collection = candidate AND libraryCollection.library = 0
      """
  }

  /// Part of a WHERE clause: whether a row of `collection` contains the asset.
  func contains(_ asset: ContainedAsset?) -> String {
    guard let asset else { return "" }
    let smart = asset.smartAlbums.map { "'\($0)'" }.joined(separator: ", ")
    guard asset.isListed else { return "AND subtype IN (\(smart))" }
    return """
      AND CASE collection.type
        WHEN 'smartAlbum' THEN subtype IN (\(smart))
        WHEN 'album' THEN EXISTS (SELECT 1 FROM member WHERE asset = \(asset.row) AND member.collection = collection.id)
        ELSE EXISTS (SELECT 1 FROM folderAsset WHERE asset = \(asset.row) AND folder = collection.id) END
      """
  }
}
