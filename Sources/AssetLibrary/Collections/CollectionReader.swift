import Foundation
import GRDB
import PhotoModel

/// One read transaction's view of collections.
struct CollectionReader {
  let db: Database
  let query: CollectionQuery
  let principal: Principal
  let listings: Listings

  private static let columns = "id, localIdentifier, type, subtype, title, keyAsset, changeToken(revision)"

  init(_ db: Database, _ query: CollectionQuery, _ principal: Principal) {
    self.db = db
    self.query = query
    self.principal = principal
    listings = Listings(includesHidden: query.includesHidden, includesAllBurstAssets: query.includesAllBurstAssets)
  }

  // MARK: One

  func collection(_ identifier: LocalIdentifier) throws -> AssetCollection? {
    if let list = MomentList(identifier) {
      let count = try self.count(in: list.days)
      return count > 0 ? try collection(list, count: count) : nil
    }
    let row = try Row.fetchOne(
      db.cachedStatement(sql: "SELECT \(Self.columns) FROM collection WHERE localIdentifier = ?"),
      arguments: [identifier.rawValue])
    if let row { return try collection(row) }
    return try momentRow(identifier).map(moment)
  }

  func scope(of identifier: LocalIdentifier) throws -> AssetScope? {
    if let list = MomentList(identifier) {
      return .dates(list.milliseconds.lowerBound...list.milliseconds.upperBound - 1)
    }
    let row = try Row.fetchOne(
      db.cachedStatement(sql: "SELECT id, type, subtype FROM collection WHERE localIdentifier = ?"),
      arguments: [identifier.rawValue])
    if let row {
      switch CollectionType(rawValue: row[1]) {
      case .album: return .album(row: row[0])
      case .smartAlbum: return SmartAlbum(rawValue: row[2]).map { .smartAlbum($0) }
      case .moment, .folder, nil: return nil
      }
    }
    return try momentRow(identifier).map { .dates(($0[1] as Int64)...($0[2] as Int64)) }
  }

  private func momentRow(_ identifier: LocalIdentifier) throws -> Row? {
    try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT localIdentifier, startDate, endDate, assetCount, changeToken(revision), id FROM moment
          WHERE localIdentifier = ? AND isByPlace = ?
          """), arguments: [identifier.rawValue, principal.may(.location)])
  }

  // MARK: Snapshots

  func collection(_ row: Row) throws -> AssetCollection {
    var collection = AssetCollection(
      localIdentifier: LocalIdentifier(row[1]), type: CollectionType(rawValue: row[2]) ?? .album, subtype: row[3],
      title: row[4], revision: row[6])
    let id: Int64 = row[0]
    switch collection.type {
    case .smartAlbum:
      guard let album = SmartAlbum(rawValue: collection.subtype) else { break }
      try fill(&collection, album)
    case .album: try fill(&collection, album: id, keyAsset: row[5])
    case .folder:
      collection.estimatedAssetCount =
        try Int.fetchOne(
          db.cachedStatement(sql: "SELECT count(*) FROM collection WHERE parent = ?"), arguments: [id]) ?? 0
    case .moment: break
    }
    return collection
  }

  private func fill(_ collection: inout AssetCollection, _ album: SmartAlbum) throws {
    let listings = album.listings(listings, includesAllBurstAssets: query.includesAllBurstAssets)
    collection.estimatedAssetCount = try Catalogue.count(album.counter, listings.sql, db)
    guard collection.estimatedAssetCount > 0 else { return }
    // An index of the album's own is in the order of its dates; so both ends are near.
    let byDate = album.index ?? listings.indexByDate
    let condition = "WHERE \(album.condition) AND asset.listing \(listings.sql)"
    let source = "FROM asset INDEXED BY \(byDate) \(condition)"
    let inOrder = "FROM asset INDEXED BY \(album == .recentlyAdded ? "assetByAddition" : byDate) \(condition)"
    collection.startDate = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT creationDate \(source) ORDER BY creationDate LIMIT 1")
    ).map(Timestamp.init(milliseconds:))
    collection.endDate = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT creationDate \(source) ORDER BY creationDate DESC LIMIT 1")
    ).map(Timestamp.init(milliseconds:))
    collection.keyAssets = try String.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT localIdentifier \(inOrder) ORDER BY \(album.orderColumn) DESC, localIdentifier
          LIMIT \(AssetCollection.mostKeyAssets)
          """)
    ).map(LocalIdentifier.init)
  }

  private func fill(_ collection: inout AssetCollection, album id: Int64, keyAsset: Int64?) throws {
    collection.estimatedAssetCount =
      try Int.fetchOne(
        db.cachedStatement(
          sql: "SELECT sum(value) FROM memberCount WHERE collection = ? AND listing \(listings.sql)"), arguments: [id])
      ?? 0
    guard collection.estimatedAssetCount > 0 else { return }
    func end(_ order: String) throws -> Timestamp? {
      try Int64.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT creationDate FROM member INDEXED BY memberByDate WHERE collection = ? AND listing \(listings.sql)
            ORDER BY creationDate \(order) LIMIT 1
            """), arguments: [id]
      ).map(Timestamp.init(milliseconds:))
    }
    collection.startDate = try end("")
    collection.endDate = try end("DESC")
    if let keyAsset {
      collection.keyAssets = try String.fetchAll(
        db.cachedStatement(
          sql: "SELECT localIdentifier FROM asset WHERE id = ? AND listing \(listings.sql)"), arguments: [keyAsset]
      ).map(LocalIdentifier.init)
    }
    if collection.keyAssets.isEmpty {
      collection.keyAssets = try String.fetchAll(
        db.cachedStatement(
          sql: """
            SELECT localIdentifier FROM member CROSS JOIN asset ON asset.id = member.asset
            WHERE member.collection = ? AND member.listing \(listings.sql) ORDER BY member.position
            LIMIT \(AssetCollection.mostKeyAssets)
            """), arguments: [id]
      ).map(LocalIdentifier.init)
    }
  }

  func moment(_ row: Row) throws -> AssetCollection {
    AssetCollection(
      localIdentifier: LocalIdentifier(row[0]), type: .moment, subtype: "albumRegular",
      startDate: Timestamp(milliseconds: row[1]), endDate: Timestamp(milliseconds: row[2]),
      estimatedAssetCount: row[3], keyAssets: try keyAssets(from: row[1], to: row[2]),
      revision: row[4])
  }

  func collection(_ list: MomentList, count: Int) throws -> AssetCollection {
    let range = list.milliseconds
    func end(_ order: String) throws -> Timestamp? {
      try Int64.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT creationDate FROM asset INDEXED BY \(listings.indexByDate)
            WHERE creationDate >= ? AND creationDate < ? AND asset.listing \(listings.sql)
            ORDER BY creationDate \(order) LIMIT 1
            """), arguments: [range.lowerBound, range.upperBound]
      ).map(Timestamp.init(milliseconds:))
    }
    return AssetCollection(
      localIdentifier: list.identifier, type: .folder, subtype: list.subtype, title: list.title,
      startDate: try end(""), endDate: try end("DESC"), estimatedAssetCount: count,
      keyAssets: try keyAssets(from: range.lowerBound, to: range.upperBound - 1))
  }

  private func keyAssets(from start: Int64, to end: Int64) throws -> [LocalIdentifier] {
    try String.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT localIdentifier FROM asset INDEXED BY \(listings.indexByDate)
          WHERE creationDate BETWEEN ? AND ? AND asset.listing \(listings.sql)
          ORDER BY creationDate DESC, localIdentifier LIMIT \(AssetCollection.mostKeyAssets)
          """), arguments: [start, end]
    ).map(LocalIdentifier.init)
  }

  /// How many assets are of a stretch of days (UTC).
  func count(in days: Range<Int>) throws -> Int {
    try Int.fetchOne(
      db.cachedStatement(
        sql: "SELECT sum(value) FROM dayCount WHERE day >= ? AND day < ? AND listing \(listings.sql)"),
      arguments: [days.lowerBound, days.upperBound]) ?? 0
  }

  /// The newest day that has assets and comes before another.
  func lastDay(before day: Int) throws -> Int? {
    try Int.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT day FROM dayCount WHERE day < ? AND listing \(listings.sql) AND value > 0 ORDER BY day DESC LIMIT 1
          """), arguments: [day])
  }
}
