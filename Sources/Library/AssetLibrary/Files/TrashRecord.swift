// The trash in the catalogue. The rows of an asset are saved and restored column by column, by name, so a column that a
// later migration adds is saved too.

import Foundation
import GRDB
import LibraryFolder
import PhotoModel

struct TrashRecord: Sendable {
  enum State: String, Sendable {
    case deleting, trashed, restoring, purging
  }

  /// The place number of the row of the asset itself, next to those of its files.
  private static let assetRow = -1

  let id: Int64
  let identifier: LocalIdentifier
  let state: State
  /// The files that had a place in the library; empty if all files were already missing.
  let places: [TrashFolder.StoredFile]

  // MARK: Queries

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

  /// Records that a process left unfinished.
  static func pending(_ db: Database) throws -> [TrashRecord] {
    try Row.fetchAll(db, sql: "SELECT id, localIdentifier, state FROM trash WHERE state <> 'trashed' ORDER BY id")
      .map { try TrashRecord($0, db) }
  }

  /// Records deleted before a moment, oldest first.
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
      TrashFolder.StoredFile(
        number: row[0], path: try Self.bytes(row, at: 1), trashPath: try Self.bytes(row, at: 2))
    }
  }

  static func bytes(_ row: Row, at index: Int) throws -> [UInt8] {
    try row.withUnsafeData(atIndex: index) { $0.map { [UInt8]($0) } ?? [] }
  }

  /// SQL condition: whether an asset in the trash was in an album of a library part; `nil`: the part is the whole
  /// library.
  static func isVisible(in part: LibraryPart) -> String? {
    guard case .limited(let library) = part else { return nil }
    return """
      EXISTS (SELECT 1 FROM trashPlace
        JOIN limitedCollection ON library = \(library) AND limitedCollection.localIdentifier = trashPlace.collection
        WHERE trash = trash.id AND trashPlace.position IS NOT NULL)
      """
  }

  func isVisible(in part: LibraryPart, _ db: Database) throws -> Bool {
    guard let isVisible = Self.isVisible(in: part) else { return true }
    return try Bool.fetchOne(db, sql: "SELECT \(isVisible) FROM trash WHERE id = ?", arguments: [id]) ?? false
  }

  // MARK: Saving

  /// Writes the intent to delete an asset.
  ///
  /// - Parameter places: the trash paths of its files, in the order of `files`.
  static func insert(
    _ identifier: LocalIdentifier, asset: Int64, files: [Int64], places: [TrashFolder.StoredFile], now: Int64,
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
      try saveRow(of: "file", file, as: place.number, in: id, db)
    }
    try saveAsset(asset, in: id, db)
    return id
  }

  /// Saves the current state of an asset and its album positions, replacing what was saved before.
  static func saveAsset(_ asset: Int64, in id: Int64, _ db: Database) throws {
    try saveRow(of: "asset", asset, as: assetRow, in: id, db)
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

  private static func saveRow(of table: String, _ row: Int64, as place: Int, in id: Int64, _ db: Database) throws {
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

  /// The stored columns, without generated ones.
  private static func columns(of table: String, _ db: Database) throws -> [String] {
    try String.fetchAll(db, sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", arguments: [table])
  }

  func setState(_ state: State, _ db: Database) throws {
    try db.execute(sql: "UPDATE trash SET state = ? WHERE id = ?", arguments: [state.rawValue, id])
  }

  func delete(_ db: Database) throws { try db.execute(sql: "DELETE FROM trash WHERE id = ?", arguments: [id]) }

  /// Removes a file that is missing or at an unexpected path.
  func delete(_ place: TrashFolder.StoredFile, _ db: Database) throws {
    try db.execute(sql: "DELETE FROM trashFile WHERE trash = ? AND place = ?", arguments: [id, place.number])
    try db.execute(sql: "DELETE FROM trashValue WHERE trash = ? AND file = ?", arguments: [id, place.number])
  }

  func updatePaths(_ place: TrashFolder.StoredFile, _ db: Database) throws {
    try db.execute(
      sql: "UPDATE trashFile SET path = ?, trashPath = ? WHERE trash = ? AND place = ?",
      arguments: [Data(place.path), Data(place.trashPath), id, place.number])
  }

  // MARK: Restoring

  /// Restores the asset with the files at `places`, and deletes the record.
  ///
  /// - Returns: its row, with the same identifier as before.
  func restore(_ writer: inout AssetWriter) throws -> Int64 {
    let db = writer.db
    for place in places {
      // A scan may have indexed the file first. It belongs to this asset.
      let found = try Int64.fetchOne(db, sql: "SELECT id FROM file WHERE path = ?", arguments: [Data(place.path)])
      if let found { try writer.remove(row: found) }
    }
    var asset = try values(Self.assetRow, of: "asset", db)
    asset["revision"] = writer.token.databaseValue
    asset["nonLocationRevision"] = .null
    // Its burst was re-evaluated without it.
    let wasOfBurst = asset["burstIdentifier"] ?? .null != .null
    asset["burstIdentifier"] = .null
    asset["representsBurst"] = 0.databaseValue
    let selection = asset["burstSelectionTypes"].flatMap(Int64.fromDatabaseValue) ?? 0
    asset["burstSelectionTypes"] = (selection & ~Int64(BurstSelectionTypes.autoPick.rawValue)).databaseValue
    let row = try insert(asset, into: "asset", db)
    // Clients must no longer see the asset as deleted.
    try db.execute(sql: "DELETE FROM deletedAsset WHERE id = ?", arguments: [row])
    for place in places {
      var file = try values(place.number, of: "file", db)
      // A new identifier: a running scan may list the old one as missing.
      file["id"] = nil
      file["asset"] = row.databaseValue
      file["path"] = Data(place.path).databaseValue
      _ = try insert(file, into: "file", db)
      if wasOfBurst, place.number == 0 {
        writer.bursts.pictureRestored(row, burst: file["burst"].flatMap(String.fromDatabaseValue), place.path)
      }
    }
    try restoreMemberships(row, db)
    try db.execute(
      sql: "UPDATE asset SET originalFilename = ? WHERE id = ? AND originalFilename <> ?1",
      arguments: [OriginalFile.displayName(places.first?.path ?? []), row])
    try delete(db)
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

  /// Restores the membership in albums that still exist. If its position was taken meanwhile, the asset goes directly
  /// after it.
  private func restoreMemberships(_ asset: Int64, _ db: Database) throws {
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
  /// Removes an asset with all its files.
  mutating func remove(asset: Int64) throws {
    try bursts.pictureRemoved(asset)
    try db.execute(sql: "DELETE FROM asset WHERE id = ?", arguments: [asset])
  }
}
