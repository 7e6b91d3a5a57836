import Foundation
import GRDB
import PhotoModel
import Primitives

/// Reads the collections of a library within one transaction.
struct CollectionReader {
  let db: Database
  let query: CollectionQuery
  let principal: Principal
  let library: LibraryID
  let listings: ListingFilter

  static let columns = """
    collection.id, collection.localIdentifier, collection.type, subtype, title, keyAsset, revision,
    collection.position, collection.parent
    """

  init(_ db: Database, _ query: CollectionQuery, _ principal: Principal, _ library: LibraryID) {
    self.db = db
    self.query = query
    self.principal = principal
    self.library = library
    listings = ListingFilter(includesHidden: query.includesHidden, includesAllBurstAssets: query.includesAllBurstAssets)
  }

  // MARK: Lookup

  func collection(_ identifier: LocalIdentifier) throws -> AssetCollection? {
    if let list = MomentList(identifier) {
      let count = try self.count(in: list.days)
      return count > 0 ? try collection(list, count: count) : nil
    }
    if let row = try row(identifier) { return try collection(row) }
    return try momentRow(identifier).map(moment)
  }

  func scope(of identifier: LocalIdentifier) throws -> AssetScope? {
    if let list = MomentList(identifier) {
      let dates = list.possibleDates
      return .dates(dates.lowerBound...dates.upperBound - 1, days: list.days.lowerBound...list.days.upperBound - 1)
    }
    if let row = try row(identifier) {
      switch CollectionType(rawValue: row[2]) {
      case .album: return .album(row: row[0])
      case .smartAlbum: return SmartAlbum(rawValue: row[3]).map { .smartAlbum($0) }
      case .folder: return .folder(row: row[0])
      case .moment, nil: return nil
      }
    }
    return try momentRow(identifier).map { row in
      let day: Int = row[6]
      return .dates((row[1] as Int64)...(row[2] as Int64), days: day...day)
    }
  }

  /// The `columns` of a collection. It is looked up by one key among the library's own collections, so an invisible
  /// collection takes the same time as a missing one.
  func row(_ identifier: LocalIdentifier) throws -> Row? {
    try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT \(Self.columns) FROM libraryCollection INDEXED BY libraryCollectionByIdentifier
            CROSS JOIN collection ON collection.id = libraryCollection.collection
          WHERE libraryCollection.library = ? AND libraryCollection.localIdentifier = ?
          """), arguments: [library.row, identifier.rawValue])
  }

  private func momentRow(_ identifier: LocalIdentifier) throws -> Row? {
    try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT localIdentifier, startDate, endDate, assetCount, revision, id, day, title FROM moment
          WHERE library = ? AND splitsByLocation = ? AND localIdentifier = ?
          """), arguments: [library.row, principal.may(.location), identifier.rawValue])
  }

  // MARK: Snapshots

  func collection(_ row: Row) throws -> AssetCollection {
    var collection = AssetCollection(
      localIdentifier: LocalIdentifier(row[1]), type: CollectionType(rawValue: row[2]) ?? .album, subtype: row[3],
      title: row[4], revision: ChangeToken(row[6]))
    let id: Int64 = row[0]
    if let parent: Int64 = row[8] { collection.parent = try identifier(ofFolder: parent) }
    switch collection.type {
    case .smartAlbum:
      guard let album = SmartAlbum(rawValue: collection.subtype) else { break }
      try fill(&collection, album)
    case .album: try fill(&collection, album: id, keyAsset: row[5])
    case .folder: try fill(&collection, folder: id)
    case .moment: break
    }
    return collection
  }

  /// `nil` if the library does not have the folder.
  private func identifier(ofFolder row: Int64) throws -> LocalIdentifier? {
    try String.fetchOne(
      db.cachedStatement(sql: "SELECT localIdentifier FROM libraryCollection WHERE collection = ? AND library = ?"),
      arguments: [row, library.row]
    ).map(LocalIdentifier.init)
  }

  private func fill(_ collection: inout AssetCollection, _ album: SmartAlbum) throws {
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
  private func ends(
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

  /// The number of assets that are examined for key assets that can be rendered. A limit, because an album of a million
  /// videos may have none.
  private static let examinedKeyAssets = 1000
  private static let isRenderable = "counted & \(1 << CatalogueSchema.renderableBit)"

  /// The assets with the highest values of a column, along an index.
  private func keyAssets(
    _ index: LibraryAssetIndex, _ condition: String, by column: String = "creationDate",
    _ arguments: StatementArguments = []
  ) throws -> [LocalIdentifier] {
    try firstRenderable(
      """
      SELECT localIdentifier, \(Self.isRenderable) FROM \(index.source) WHERE library = ? AND \(condition)
      ORDER BY \(column) DESC, localIdentifier LIMIT \(Self.examinedKeyAssets)
      """, [library.row] + arguments)
  }

  /// The first key assets of a query for identifiers, and whether each asset can be rendered.
  private func firstRenderable(_ sql: String, _ arguments: StatementArguments) throws -> [LocalIdentifier] {
    let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
    var found: [LocalIdentifier] = []
    while found.count < AssetCollection.maximumKeyAssets, let row = try rows.next() {
      if row[1] { found.append(LocalIdentifier(row[0])) }
    }
    return found
  }

  private func fill(_ collection: inout AssetCollection, album id: Int64, keyAsset: Int64?) throws {
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

  /// The date at one end of the index of an album's or folder's assets by date.
  private func end(of assets: String, _ id: Int64, _ order: String) throws -> Timestamp? {
    try Int64.fetchOne(
      db.cachedStatement(
        sql: "SELECT creationDate FROM \(assets) AND listing \(listings.sql) ORDER BY creationDate \(order) LIMIT 1"),
      arguments: [id]
    ).map(Timestamp.init(milliseconds:))
  }

  private func fill(_ collection: inout AssetCollection, folder id: Int64) throws {
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

  func moment(_ row: Row) throws -> AssetCollection {
    let day: Int = row[6]
    var moment = AssetCollection(
      localIdentifier: LocalIdentifier(row[0]), type: .moment, subtype: "albumRegular", title: row[7],
      startDate: Timestamp(milliseconds: row[1]), endDate: Timestamp(milliseconds: row[2]),
      estimatedAssetCount: row[3], keyAssets: try keyAssets(from: row[1], to: row[2], days: day..<day + 1),
      revision: ChangeToken(row[4]))
    moment.parent = MomentList(monthOfDay: day).identifier
    return moment
  }

  func collection(_ list: MomentList, count: Int) throws -> AssetCollection {
    let dates = list.possibleDates
    let (start, end) = try ends(
      .byDate, datesAndDays, [dates.lowerBound, dates.upperBound, list.days.lowerBound, list.days.upperBound])
    var collection = AssetCollection(
      localIdentifier: list.identifier, type: .folder, subtype: list.subtype, title: list.title,
      startDate: start, endDate: end, estimatedAssetCount: count,
      keyAssets: try keyAssets(from: dates.lowerBound, to: dates.upperBound - 1, days: list.days))
    collection.parent = list.parent?.identifier
    collection.estimatedCollectionCount =
      list.month == nil ? try monthCount(in: list.days) : try momentCount(in: list)
    return collection
  }

  private func monthCount(in days: Range<Int>) throws -> Int {
    var count = 0
    var end = days.upperBound
    while let day = try lastDay(before: end), day >= days.lowerBound {
      let month = CivilDate.month(ofDay: day)
      end = MomentList(year: month.year, month: month.month).days.lowerBound
      count += 1
    }
    return count
  }

  private func momentCount(in list: MomentList) throws -> Int {
    let dates = list.possibleDates
    return try Int.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT count(*) FROM moment INDEXED BY momentByDate
          WHERE library = ? AND splitsByLocation = ? AND startDate >= ? AND startDate < ? AND day >= ? AND day < ?
          """),
      arguments: [
        library.row, principal.may(.location), dates.lowerBound, dates.upperBound, list.days.lowerBound,
        list.days.upperBound,
      ]) ?? 0
  }

  /// The condition for listed assets of a range of dates and a range of days, with four arguments.
  private var datesAndDays: String {
    "creationDate >= ? AND creationDate < ? AND localDay >= ? AND localDay < ? AND listing \(listings.sql)"
  }

  private func keyAssets(from start: Int64, to end: Int64, days: Range<Int>) throws -> [LocalIdentifier] {
    try keyAssets(.byDate, datesAndDays, [start, end + 1, days.lowerBound, days.upperBound])
  }

  /// The number of assets of a range of days.
  func count(in days: Range<Int>) throws -> Int {
    try Int.fetchOne(
      db.cachedStatement(
        sql: "SELECT sum(value) FROM dayCount WHERE library = ? AND day >= ? AND day < ? AND listing \(listings.sql)"),
      arguments: [library.row, days.lowerBound, days.upperBound]) ?? 0
  }

  /// The newest day before `day` that has assets.
  func lastDay(before day: Int) throws -> Int? {
    try Int.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT day FROM dayCount WHERE library = ? AND day < ? AND listing \(listings.sql) AND value > 0
          ORDER BY day DESC LIMIT 1
          """), arguments: [library.row, day])
  }
}
