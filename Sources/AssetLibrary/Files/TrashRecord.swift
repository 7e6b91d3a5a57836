// The trash in the catalogue: what an asset was is read off its rows, kept, and written back, by the names of the columns, so
// that a column which a later migration adds is kept too.

import Foundation
import GRDB
import LibraryFolder
import PhotoModel

struct TrashRecord: Sendable {
  enum State: String, Sendable {
    case deleting, trashed, restoring, purging
  }

  /// What stands for the asset's own row among those of its files.
  private static let assetRow = -1

  let id: Int64
  let identifier: LocalIdentifier
  let state: State
  /// Those that have a place in the library; none where every file was gone before.
  let places: [TrashFolder.Place]

  // MARK: Looking

  static func find(_ identifier: LocalIdentifier, _ db: Database) throws -> TrashRecord? {
    try Row.fetchOne(
      db, sql: "SELECT id, localIdentifier, state FROM trash WHERE localIdentifier = ?",
      arguments: [identifier.rawValue]
    ).map { try TrashRecord($0, db) }
  }

  static func find(_ id: Int64, _ db: Database) throws -> TrashRecord? {
    try Row.fetchOne(db, sql: "SELECT id, localIdentifier, state FROM trash WHERE id = ?", arguments: [id])
      .map { try TrashRecord($0, db) }
  }

  /// Those that a process left half way.
  static func underWay(_ db: Database) throws -> [TrashRecord] {
    try Row.fetchAll(db, sql: "SELECT id, localIdentifier, state FROM trash WHERE state <> 'trashed' ORDER BY id")
      .map { try TrashRecord($0, db) }
  }

  /// Those that were deleted before a moment, the oldest first.
  static func deleted(before milliseconds: Int64, limit: Int, _ db: Database) throws -> [TrashRecord] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT id, localIdentifier, state FROM trash WHERE deletedDate < ? AND state = 'trashed'
        ORDER BY deletedDate LIMIT ?
        """, arguments: [milliseconds, limit]
    ).map { try TrashRecord($0, db) }
  }

  private init(_ row: Row, _ db: Database) throws {
    id = row[0]
    identifier = LocalIdentifier(row[1])
    state = State(rawValue: row[2]) ?? .trashed
    places = try Row.fetchAll(
      db, sql: "SELECT place, path, trashPath FROM trashFile WHERE trash = ? ORDER BY place", arguments: [id]
    ).map { row in
      TrashFolder.Place(
        number: row[0], path: try Self.bytes(row, at: 1), trashPath: try Self.bytes(row, at: 2))
    }
  }

  static func bytes(_ row: Row, at index: Int) throws -> [UInt8] {
    try row.withUnsafeData(atIndex: index) { $0.map { [UInt8]($0) } ?? [] }
  }

  /// SQL: whether something in the trash was in an album of a part of the library; `nil`: all of it is in that part.
  static func isSeen(in part: LibraryPart) -> String? {
    guard case .limited(let library) = part else { return nil }
    return """
      EXISTS (SELECT 1 FROM trashPlace
        JOIN limitedCollection ON library = \(library) AND limitedCollection.localIdentifier = trashPlace.collection
        WHERE trash = trash.id AND trashPlace.position IS NOT NULL)
      """
  }

  func isSeen(in part: LibraryPart, _ db: Database) throws -> Bool {
    guard let isSeen = Self.isSeen(in: part) else { return true }
    return try Bool.fetchOne(db, sql: "SELECT \(isSeen) FROM trash WHERE id = ?", arguments: [id]) ?? false
  }

  // MARK: Keeping

  /// Writes the intent to delete an asset.
  ///
  /// - Parameter places: where its files go, in the order of `files`.
  static func insert(
    _ identifier: LocalIdentifier, asset: Int64, files: [Int64], places: [TrashFolder.Place], now: Int64,
    _ db: Database
  ) throws -> Int64 {
    try db.execute(
      sql: "INSERT INTO trash (localIdentifier, state, deletedDate) VALUES (?, 'deleting', ?)",
      arguments: [identifier.rawValue, now])
    let id = db.lastInsertedRowID
    for (place, file) in zip(places, files) {
      try db.execute(
        sql: "INSERT INTO trashFile (trash, place, path, trashPath) VALUES (?, ?, ?, ?)",
        arguments: [id, place.number, Data(place.path), Data(place.trashPath)])
      try keep(rowOf: "file", file, as: place.number, in: id, db)
    }
    try keepAsset(asset, in: id, db)
    return id
  }

  /// Keeps what an asset is at this moment, and where; in place of what was kept of it.
  static func keepAsset(_ asset: Int64, in id: Int64, _ db: Database) throws {
    try keep(rowOf: "asset", asset, as: assetRow, in: id, db)
    try db.execute(sql: "DELETE FROM trashPlace WHERE trash = ?", arguments: [id])
    try db.execute(
      sql: """
        INSERT INTO trashPlace (trash, collection, position, isKeyAsset)
        SELECT ?1, collection.localIdentifier, member.position, collection.keyAsset IS ?2
        FROM member JOIN collection ON collection.id = member.collection WHERE member.asset = ?2
        """, arguments: [id, asset])
    try db.execute(
      sql: """
        INSERT OR IGNORE INTO trashPlace (trash, collection, position, isKeyAsset)
        SELECT ?1, localIdentifier, NULL, 1 FROM collection WHERE keyAsset = ?2
        """, arguments: [id, asset])
  }

  private static func keep(rowOf table: String, _ row: Int64, as place: Int, in id: Int64, _ db: Database) throws {
    let columns = try columns(of: table, db)
    guard
      let values = try Row.fetchOne(
        db.cachedStatement(sql: "SELECT \(columns.joined(separator: ", ")) FROM \(table) WHERE id = ?"),
        arguments: [row])
    else { return }
    let statement = try db.cachedStatement(
      sql: "INSERT OR REPLACE INTO trashValue (trash, file, name, value) VALUES (?, ?, ?, ?)")
    for (index, name) in columns.enumerated() {
      try statement.execute(arguments: [id, place, name, values[index] as DatabaseValue])
    }
  }

  /// Those that are written, not made of others.
  private static func columns(of table: String, _ db: Database) throws -> [String] {
    try String.fetchAll(db, sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", arguments: [table])
  }

  func become(_ state: State, _ db: Database) throws {
    try db.execute(sql: "UPDATE trash SET state = ? WHERE id = ?", arguments: [state.rawValue, id])
  }

  func forget(_ db: Database) throws { try db.execute(sql: "DELETE FROM trash WHERE id = ?", arguments: [id]) }

  /// A file that is not there, or is somewhere else than was foreseen.
  func forget(_ place: TrashFolder.Place, _ db: Database) throws {
    try db.execute(sql: "DELETE FROM trashFile WHERE trash = ? AND place = ?", arguments: [id, place.number])
    try db.execute(sql: "DELETE FROM trashValue WHERE trash = ? AND file = ?", arguments: [id, place.number])
  }

  func note(_ place: TrashFolder.Place, _ db: Database) throws {
    try db.execute(
      sql: "UPDATE trashFile SET path = ?, trashPath = ? WHERE trash = ? AND place = ?",
      arguments: [Data(place.path), Data(place.trashPath), id, place.number])
  }

  // MARK: Putting back

  /// Makes it the asset that it was, of the files that are where `places` says, and ends the record.
  ///
  /// - Returns: its row, which is the one that it had.
  func putBack(_ writer: inout AssetWriter) throws -> Int64 {
    let db = writer.db
    for place in places {
      // A scan may have met the file before we were here. It is this asset's.
      let found = try Int64.fetchOne(db, sql: "SELECT id FROM file WHERE path = ?", arguments: [Data(place.path)])
      if let found { try writer.remove(row: found) }
    }
    var asset = try values(Self.assetRow, of: "asset", db)
    asset["revision"] = writer.token.databaseValue
    asset["placelessRevision"] = .null
    // The others of its burst have settled without it.
    let wasOfBurst = asset["burstIdentifier"] ?? .null != .null
    asset["burstIdentifier"] = .null
    asset["representsBurst"] = 0.databaseValue
    let selection = asset["burstSelectionTypes"].flatMap(Int64.fromDatabaseValue) ?? 0
    asset["burstSelectionTypes"] = (selection & ~Int64(BurstSelectionTypes.autoPick.rawValue)).databaseValue
    let row = try insert(asset, into: "asset", db)
    // Nobody is told any more that it is gone.
    try db.execute(sql: "DELETE FROM deletedAsset WHERE id = ?", arguments: [row])
    for place in places {
      var file = try values(place.number, of: "file", db)
      // Never the number that it had: a scan under way may believe that one to be missing.
      file["id"] = nil
      file["asset"] = row.databaseValue
      file["path"] = Data(place.path).databaseValue
      _ = try insert(file, into: "file", db)
      if wasOfBurst, place.number == 0 {
        writer.bursts.cameBack(row, burst: file["burst"].flatMap(String.fromDatabaseValue), place.path)
      }
    }
    try putBackMembers(row, db)
    try db.execute(
      sql: "UPDATE asset SET originalFilename = ? WHERE id = ? AND originalFilename <> ?1",
      arguments: [OriginalFile.displayName(places.first?.path ?? []), row])
    try forget(db)
    return row
  }

  private func values(_ place: Int, of table: String, _ db: Database) throws -> [String: DatabaseValue] {
    let known = Set(try Self.columns(of: table, db))
    let rows = try Row.fetchAll(
      db.cachedStatement(sql: "SELECT name, value FROM trashValue WHERE trash = ? AND file = ?"),
      arguments: [id, place])
    return Dictionary(
      uniqueKeysWithValues: rows.map { ($0[0] as String, $0[1] as DatabaseValue) }.filter { known.contains($0.0) })
  }

  private func insert(_ values: [String: DatabaseValue], into table: String, _ db: Database) throws -> Int64 {
    let columns = values.keys.sorted()
    try db.execute(
      sql: """
        INSERT INTO \(table) (\(columns.joined(separator: ", ")))
        VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
        """, arguments: StatementArguments(columns.map { values[$0] ?? .null }))
    return db.lastInsertedRowID
  }

  /// Into the albums that are still there; where its place was given to another one meanwhile, right behind that.
  private func putBackMembers(_ asset: Int64, _ db: Database) throws {
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT collection.id, trashPlace.position, isKeyAsset
        FROM trashPlace JOIN collection ON collection.localIdentifier = trashPlace.collection WHERE trash = ?
        """, arguments: [id])
    for row in rows {
      let collection: Int64 = row[0]
      if let position: Int64 = row[1] {
        let free = try Int64.fetchOne(
          db,
          sql: """
            SELECT ?2 WHERE NOT EXISTS (SELECT 1 FROM member WHERE collection = ?1 AND position = ?2)
            UNION ALL
            SELECT min(position) + 1 FROM member AS one WHERE collection = ?1 AND position >= ?2
              AND NOT EXISTS (SELECT 1 FROM member WHERE collection = ?1 AND position = one.position + 1)
            """, arguments: [collection, position])
        try db.execute(
          sql: """
            INSERT INTO member (collection, position, asset, creationDate, listing)
            SELECT ?, ?, id, creationDate, listing FROM asset WHERE id = ?
            """, arguments: [collection, free ?? position, asset])
      }
      if row[2] {
        try db.execute(
          sql: "UPDATE collection SET keyAsset = ? WHERE id = ? AND keyAsset IS NULL", arguments: [asset, collection])
      }
    }
  }
}

extension AssetWriter {
  /// An asset goes, with all its files.
  mutating func remove(asset: Int64) throws {
    try bursts.leaves(asset)
    try db.execute(sql: "DELETE FROM asset WHERE id = ?", arguments: [asset])
  }
}
