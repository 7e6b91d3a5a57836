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
    collection.position, collection.parent, collection.keepsOriginals
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

  /// Whether ``collection(_:)`` finds a collection; cheaper, because it counts no assets of albums and folders.
  func exists(_ identifier: LocalIdentifier) throws -> Bool {
    if let list = MomentList(identifier) { return try count(in: list.days) > 0 }
    if try row(identifier) != nil { return true }
    return try momentRow(identifier) != nil
  }

  func scope(of identifier: LocalIdentifier) throws -> AssetScope? {
    if let list = MomentList(identifier) {
      guard try exists(list) else { return nil }
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
    collection.keepsOriginals = row[9]
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
}
