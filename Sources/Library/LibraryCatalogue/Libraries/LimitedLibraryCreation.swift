// Creates a limited library, at the first read with its set of granted collections.
//
//     begin    inserts the library with its grants, under a key that no read looks up, and without a history
//     assets   adds a few thousand assets in each step, in date order, with their moments; they are in no album yet
//     albums   adds some albums in each step; triggers count them as sources of the assets
//     finish   compares the collections with the grants, removes assets that are in no album, sets the real key
//
// Each step is a transaction, so other writers wait only for a step. Changes between two steps reach the library
// through the triggers that update every library, or at the latest in the last step: it decides which collections the
// library has, and from the first album on, triggers maintain which assets belong to them. Several callers may create
// the same library at once, and an interrupted creation is continued by the next caller.

import Foundation
import GRDB
import PhotoModel

struct LimitedLibraryCreation {
  /// Rows that a step writes, which takes about a quarter of a second. Each step may write most pages of the library's
  /// tables and indexes again, so smaller steps cost more in all.
  static let rowsPerStep = 6000
  /// `library.createdRevision` of an unfinished library: no change is later.
  static let noRevision = Int64.max

  private let catalogue: Catalogue
  private let granted: Set<LocalIdentifier>
  private let key: Data

  /// `nil` for a visibility that needs no limited library.
  init?(_ visibility: Visibility, in catalogue: Catalogue) {
    guard case .collections(let granted) = visibility, let key = visibility.grantedDigest else { return nil }
    (self.catalogue, self.granted, self.key) = (catalogue, granted, key)
  }

  /// `library.granted` of the unfinished library; longer than every digest.
  private var unfinishedKey: Data { key + Data([0]) }

  func run() throws(AssetSourceError) {
    try begin()
    guard let contents = try catalogue.read({ try currentContents($0) }) else { return }
    for rows in Self.groups(contents.assets, size: { _ in 1 }) {
      guard try step({ try add(assets: rows, to: $0, $1) }) else { return }
    }
    for albums in Self.groups(contents.collections, size: { $0.members + 1 }) {
      // One album may have very many members.
      let isLarge = albums.reduce(0) { $0 + $1.members } > 2 * Self.rowsPerStep
      guard try step(isLarge: isLarge, { try add(collections: albums.map { $0.row }, to: $0, $1) }) else { return }
    }
    _ = try step(isLarge: true) { try finish($0, $1) }
  }

  // MARK: Steps

  private func begin() throws(AssetSourceError) {
    let now = Timestamp.now.milliseconds
    // Not a change of the library: no token.
    try catalogue.writeMaintenance { db in
      let known = try Int.fetchOne(
        db, sql: "SELECT 1 FROM library WHERE granted IN (?, ?)", arguments: [key, unfinishedKey])
      // Another caller may have begun it, or finished it.
      guard known == nil else { return }
      try db.execute(
        sql: """
          INSERT INTO library (granted, revision, nonLocationRevision, createdRevision, usedDate)
          SELECT ?, revision, revision, ?, ? FROM library WHERE id = 0
          """, arguments: [unfinishedKey, Self.noRevision, now])
      let library = db.lastInsertedRowID
      let grant = try db.makeStatement(sql: "INSERT INTO libraryGrant VALUES (?, ?)")
      for identifier in granted { try grant.execute(arguments: [identifier.rawValue, library]) }
    }
  }

  /// Runs a transaction if the library is still unfinished. Returns whether it was.
  private func step(
    isLarge: Bool = false, _ body: (Database, LibraryID) throws -> Void
  ) throws(AssetSourceError) -> Bool {
    var wasUnfinished = false
    try catalogue.writeMaintenance(isLarge: isLarge) { db in
      guard let library = try unfinished(db) else { return }
      try body(db, library)
      wasUnfinished = true
    }
    return wasUnfinished
  }

  private func unfinished(_ db: Database) throws -> LibraryID? {
    try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT id FROM library WHERE granted = ?"), arguments: [unfinishedKey]
    ).map { LibraryID(row: $0) }
  }

  /// The current collections of the library, with their numbers of members, and its assets in the order of their dates.
  /// `nil` if the library is finished.
  private func currentContents(_ db: Database) throws -> (collections: [(row: Int64, members: Int)], assets: [Int64])? {
    guard let library = try unfinished(db) else { return nil }
    let collections = try Row.fetchAll(
      db,
      sql: """
        SELECT collection, coalesce(
          (SELECT sum(value) FROM memberCount WHERE memberCount.collection = limitedReach.collection), 0)
        FROM limitedReach WHERE library = ?
        """, arguments: [library.row]
    ).map { (row: $0[0] as Int64, members: $0[1] as Int) }
    let assets = try Int64.fetchAll(
      db,
      sql: """
        SELECT member.asset FROM limitedReach CROSS JOIN member ON member.collection = limitedReach.collection
        WHERE limitedReach.library = ? GROUP BY member.asset ORDER BY min(member.creationDate)
        """, arguments: [library.row])
    return (collections, assets)
  }

  /// Adds assets before the albums that contain them, in the order of the library's primary key. Adding an album first
  /// would insert all of its assets in one statement, at random positions.
  private func add(assets: some Sequence<Int64>, to db: Database, _ library: LibraryID) throws {
    try db.cachedStatement(
      sql: """
        INSERT INTO libraryAsset (library, asset, \(CatalogueSchema.copies), sources, came)
        SELECT ?, id, \(CatalogueSchema.copies), 0, \(CatalogueSchema.token) FROM asset
        WHERE id IN (SELECT value FROM json_each(?))
        ON CONFLICT DO NOTHING
        """
    ).execute(arguments: [library.row, RowNumbers.json(assets)])
    try MomentWriter.refreshAll(of: library, db)
  }

  private func add(collections: some Sequence<Int64>, to db: Database, _ library: LibraryID) throws {
    try db.cachedStatement(
      sql: """
        INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position)
        SELECT id, ?, \(CatalogueSchema.token), localIdentifier, type, position FROM collection
        WHERE id IN (SELECT value FROM json_each(?))
        ON CONFLICT DO NOTHING
        """
    ).execute(arguments: [library.row, RowNumbers.json(collections)])
  }

  /// Makes the library visible to reads, and begins its history.
  private func finish(_ db: Database, _ library: LibraryID) throws {
    let reach = try Int64.fetchAll(
      db, sql: "SELECT collection FROM limitedReach WHERE library = ?", arguments: [library.row])
    try db.execute(
      sql: """
        DELETE FROM libraryCollection
        WHERE library = ? AND collection NOT IN (SELECT value FROM json_each(?))
        """, arguments: [library.row, RowNumbers.json(reach)])
    try add(collections: reach, to: db, library)
    try db.execute(sql: "DELETE FROM libraryAsset WHERE library = ? AND sources = 0", arguments: [library.row])
    for table in ["change", "changedVisibility", "removedObject"] {
      try db.execute(sql: "DELETE FROM \(table) WHERE library = ?", arguments: [library.row])
    }
    try db.execute(
      sql: """
        UPDATE library SET granted = ?, (revision, nonLocationRevision, createdRevision) = (
          SELECT revision, revision, revision FROM library WHERE id = 0)
        WHERE id = ?
        """, arguments: [key, library.row])
    try MomentWriter.refreshAll(of: library, db)
  }

  // MARK: Sizes

  /// Splits elements into consecutive groups of about `rowsPerStep` rows.
  private static func groups<Element>(_ all: [Element], size: (Element) -> Int) -> [ArraySlice<Element>] {
    var groups: [ArraySlice<Element>] = []
    var (start, rows) = (0, 0)
    for index in all.indices {
      rows += size(all[index])
      guard rows >= rowsPerStep else { continue }
      groups.append(all[start...index])
      (start, rows) = (index + 1, 0)
    }
    return start < all.count ? groups + [all[start...]] : groups
  }
}
