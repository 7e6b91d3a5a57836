// Collections as clients see them. What a list of them needs is read off counters and the ends of indexes, so that a
// million assets cost no more than ten.

import Foundation
import GRDB
import PhotoModel

extension Catalogue: CollectionSource {
  package func collections(
    _ query: CollectionQuery, for principal: Principal
  ) throws(AssetSourceError) -> CollectionPage {
    try read { db in
      let reader = CollectionReader(db, query, principal)
      if let parent = query.parent { return try reader.children(of: parent) }
      switch query.type {
      case .moment: return try reader.moments(in: nil)
      case .folder where query.subtype.map(MomentList.subtypes.contains) ?? false: return try reader.momentLists()
      default: return try reader.stored()
      }
    }
  }

  package func collection(
    _ identifier: LocalIdentifier, _ query: CollectionQuery, for principal: Principal
  ) throws(AssetSourceError) -> AssetCollection? {
    try read { db in try CollectionReader(db, query, principal).collection(identifier) }
  }

  /// Where the assets of a collection are; `nil`: there is none of that name, or it holds collections.
  package func scope(
    of identifier: LocalIdentifier, for principal: Principal
  ) throws(AssetSourceError) -> AssetScope? {
    try read { db in try CollectionReader(db, CollectionQuery(), principal).scope(of: identifier) }
  }
}

/// One read transaction's view of collections.
struct CollectionReader {
  private let db: Database
  private let query: CollectionQuery
  private let principal: Principal
  private let listings: Listings

  private static let columns = "id, localIdentifier, type, subtype, title, keyAsset, revision"

  init(_ db: Database, _ query: CollectionQuery, _ principal: Principal) {
    self.db = db
    self.query = query
    self.principal = principal
    listings = Listings(includesHidden: query.includesHidden, includesAllBurstAssets: query.includesAllBurstAssets)
  }

  // MARK: Lists

  /// Smart albums, albums and folders, those of the top first.
  func stored(parent: Int64? = nil, isInFolder: Bool = false) throws -> CollectionPage {
    let start = try query.cursor.map { try PageCursor(text: $0, fields: 1).integer(0) } ?? 0
    let rows = try Row.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT \(Self.columns) FROM collection
          WHERE (?1 IS NULL OR type = ?1) AND (?2 IS NULL OR subtype = ?2) AND (?3 = 0 OR parent IS ?4)
          ORDER BY type = 'smartAlbum' DESC, position, id LIMIT ?5 OFFSET ?6
          """),
      arguments: [query.type?.rawValue, query.subtype, isInFolder, parent, query.limit + 1, start])
    let collections = try rows.prefix(query.limit).map(collection)
    return CollectionPage(
      collections: collections,
      nextCursor: rows.count > query.limit ? PageCursor([.integer(start + Int64(query.limit))]).text : nil)
  }

  /// Newest first, of all or of a stretch of time.
  func moments(in range: Range<Int64>?) throws -> CollectionPage {
    let start = try query.cursor.map { try PageCursor(text: $0, fields: 2) }
    let rows = try Row.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT localIdentifier, startDate, endDate, assetCount, revision, id FROM moment
          WHERE isByPlace = ?1 AND startDate >= ?2 AND startDate < ?3 AND (startDate, id) < (?4, ?5)
          ORDER BY startDate DESC, id DESC LIMIT ?6
          """),
      arguments: [
        principal.may(.location), range?.lowerBound ?? .min, range?.upperBound ?? .max,
        try start?.integer(0) ?? .max, try start?.integer(1) ?? .max, query.limit + 1,
      ])
    let page = try rows.prefix(query.limit).map(moment)
    let last = rows.count > query.limit ? rows[query.limit - 1] : nil
    return CollectionPage(
      collections: page, nextCursor: last.map { PageCursor([.integer($0[1]), .integer($0[5])]).text })
  }

  /// Years or months, newest first.
  func momentLists(of year: Int? = nil) throws -> CollectionPage {
    let start = try query.cursor.map { Int(try PageCursor(text: $0, fields: 1).integer(0)) } ?? 0
    var lists: [MomentList: Int] = [:]
    for (day, count) in try dayCounts() {
      let month = CivilDate.month(ofDay: day)
      if let year, month.year != year { continue }
      let isOfYears = year == nil && query.subtype != MomentList.monthSubtype
      lists[MomentList(year: month.year, month: isOfYears ? nil : month.month), default: 0] += count
    }
    let sorted = lists.keys.sorted { $1.days.lowerBound < $0.days.lowerBound }
    let page = try sorted.dropFirst(start).prefix(query.limit).map { try collection($0, count: lists[$0] ?? 0) }
    let next = start + page.count
    return CollectionPage(
      collections: page, nextCursor: next < sorted.count ? PageCursor([.integer(Int64(next))]).text : nil)
  }

  func children(of parent: LocalIdentifier) throws -> CollectionPage {
    if let list = MomentList(parent) {
      return list.month == nil ? try momentLists(of: list.year) : try moments(in: list.milliseconds)
    }
    let id = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT id FROM collection WHERE localIdentifier = ? AND type = 'folder'"),
      arguments: [parent.rawValue])
    guard let id else { throw AssetSourceError.noSuchCollection }
    return try stored(parent: id, isInFolder: true)
  }

  // MARK: One

  func collection(_ identifier: LocalIdentifier) throws -> AssetCollection? {
    if let list = MomentList(identifier) {
      let count = try dayCounts().reduce(0) { list.days.contains($1.day) ? $0 + $1.count : $0 }
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
          SELECT localIdentifier, startDate, endDate, assetCount, revision, id FROM moment
          WHERE localIdentifier = ? AND isByPlace = ?
          """), arguments: [identifier.rawValue, principal.may(.location)])
  }

  // MARK: Snapshots

  private func collection(_ row: Row) throws -> AssetCollection {
    var collection = AssetCollection(
      localIdentifier: LocalIdentifier(row[1]), type: CollectionType(rawValue: row[2]) ?? .album, subtype: row[3],
      title: row[4], revision: String(row[6] as Int64))
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
    let source = "FROM asset WHERE \(album.condition) AND asset.listing \(listings.sql)"
    collection.startDate = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT creationDate \(source) ORDER BY creationDate LIMIT 1")
    ).map(Timestamp.init(milliseconds:))
    collection.endDate = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT creationDate \(source) ORDER BY creationDate DESC LIMIT 1")
    ).map(Timestamp.init(milliseconds:))
    collection.keyAssets = try String.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT localIdentifier \(source) ORDER BY \(album.orderColumn) DESC, localIdentifier
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
    // For each way of listing, for the index is by that first.
    func end(_ function: String) throws -> Timestamp? {
      try Int64.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT \(function)(date) FROM (
              \((0...3).map { "SELECT \(function)(creationDate) AS date FROM member WHERE collection = ?1 AND listing = \($0) AND listing \(listings.sql)" }
                .joined(separator: " UNION ALL ")))
            """), arguments: [id]
      ).map(Timestamp.init(milliseconds:))
    }
    collection.startDate = try end("min")
    collection.endDate = try end("max")
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
            SELECT localIdentifier FROM member JOIN asset ON asset.id = member.asset
            WHERE member.collection = ? AND member.listing \(listings.sql) ORDER BY member.position
            LIMIT \(AssetCollection.mostKeyAssets)
            """), arguments: [id]
      ).map(LocalIdentifier.init)
    }
  }

  private func moment(_ row: Row) throws -> AssetCollection {
    AssetCollection(
      localIdentifier: LocalIdentifier(row[0]), type: .moment, subtype: "albumRegular",
      startDate: Timestamp(milliseconds: row[1]), endDate: Timestamp(milliseconds: row[2]),
      estimatedAssetCount: row[3], keyAssets: try keyAssets(from: row[1], to: row[2]),
      revision: String(row[4] as Int64))
  }

  private func collection(_ list: MomentList, count: Int) throws -> AssetCollection {
    let range = list.milliseconds
    func end(_ order: String) throws -> Timestamp? {
      try Int64.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT creationDate FROM asset
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
          SELECT localIdentifier FROM asset WHERE creationDate BETWEEN ? AND ? AND asset.listing \(listings.sql)
          ORDER BY creationDate DESC, localIdentifier LIMIT \(AssetCollection.mostKeyAssets)
          """), arguments: [start, end]
    ).map(LocalIdentifier.init)
  }

  private func dayCounts() throws -> [(day: Int, count: Int)] {
    let rows = try Row.fetchCursor(
      db.cachedStatement(sql: "SELECT day, value FROM dayCount WHERE listing \(listings.sql) AND value > 0"))
    var counts: [(day: Int, count: Int)] = []
    while let row = try rows.next() { counts.append((row[0], row[1])) }
    return counts
  }
}
