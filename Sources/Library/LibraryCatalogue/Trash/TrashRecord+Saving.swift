// Saves the rows of an asset before it is deleted, and records the progress of its files.

import Foundation
import GRDB
import PhotoModel

extension TrashRecord {
  /// Writes the record of an asset that will be deleted or is missing, with its current rows.
  ///
  /// - Parameters:
  ///   - rows: the rows of its files, in the order of `files`.
  ///   - now: milliseconds since 1970.
  /// - Returns: the row of the record.
  static func insert(
    _ identifier: LocalIdentifier, asset: Int64, rows: [Int64], files: [File], state: State = .deleting, now: Int64,
    _ db: Database
  ) throws -> Int64 {
    try db.cachedStatement(sql: "INSERT INTO trash (localIdentifier, state, deletedDate) VALUES (?, ?, ?)")
      .execute(arguments: [identifier.rawValue, state.rawValue, now])
    let id = db.lastInsertedRowID
    for (file, row) in zip(files, rows) {
      try db.cachedStatement(sql: "INSERT INTO trashFile (trash, place, path, trashPath) VALUES (?, ?, ?, ?)")
        .execute(arguments: [id, file.number, Data(file.path), Data(file.trashPath)])
      try saveRow(of: "file", row, as: file.number, in: id, db)
    }
    try SharedSidecar.mark(besides: files, in: id, db)
    try saveAsset(asset, in: id, db)
    return id
  }

  /// Saves the current state of an asset and its album positions, replacing an earlier state.
  static func saveAsset(_ asset: Int64, in id: Int64, _ db: Database) throws {
    try saveRow(of: "asset", asset, as: assetRow, in: id, db)
    try saveLackOfPicture(of: asset, in: id, db)
    try db.cachedStatement(sql: "DELETE FROM trashPlace WHERE trash = ?").execute(arguments: [id])
    try db.cachedStatement(
      sql: """
        INSERT INTO trashPlace (trash, collection, position, isKeyAsset)
        SELECT ?1, collection.localIdentifier, member.position, collection.keyAsset IS ?2
        FROM member JOIN collection ON collection.id = member.collection WHERE member.asset = ?2
        """
    ).execute(arguments: [id, asset])
    try db.cachedStatement(
      sql: """
        INSERT OR IGNORE INTO trashPlace (trash, collection, position, isKeyAsset)
        SELECT ?1, localIdentifier, NULL, 1 FROM collection WHERE keyAsset = ?2
        """
    ).execute(arguments: [id, asset])
  }

  /// The name of a saved value that is not a column: the asset's type has a decoder, but its file has no picture, such
  /// as a RAW file without a preview. `hasDecoder` is false both without a decoder and without a picture.
  private static let lackOfPicture = "lacksPicture"

  private static func saveLackOfPicture(of asset: Int64, in id: Int64, _ db: Database) throws {
    let row = try Row.fetchOne(
      db.cachedStatement(sql: "SELECT hasDecoder, uniformTypeIdentifier FROM asset WHERE id = ?"), arguments: [asset])
    guard let row else { return }
    let (hasDecoder, type): (Bool, String) = (row[0], row[1])
    let lacksPicture = try !hasDecoder && Catalogue.renderableTypes(db).contains(type)
    try db.cachedStatement(sql: "INSERT OR REPLACE INTO trashValue (trash, file, name, value) VALUES (?, ?, ?, ?)")
      .execute(arguments: [id, assetRow, lackOfPicture, lacksPicture])
  }

  func lacksPicture(_ db: Database) throws -> Bool {
    try Bool.fetchOne(
      db.cachedStatement(sql: "SELECT value FROM trashValue WHERE trash = ? AND file = ? AND name = ?"),
      arguments: [id, Self.assetRow, Self.lackOfPicture]) ?? false
  }

  private static func saveRow(of table: String, _ row: Int64, as number: Int, in id: Int64, _ db: Database) throws {
    // One statement, because one for each of the 70 columns would cost twice as much.
    let values = try columns(of: table, db).map { "SELECT ?1, ?2, '\($0)', \($0) FROM \(table) WHERE id = ?3" }
    try db.cachedStatement(
      sql: "INSERT OR REPLACE INTO trashValue (trash, file, name, value) \(values.joined(separator: " UNION ALL "))"
    ).execute(arguments: [id, number, row])
  }

  /// The columns without generated ones. GRDB reads them once for each connection.
  static func columns(of table: String, _ db: Database) throws -> [String] {
    try db.columns(in: table).map(\.name).filter { !CatalogueSchema.generatedColumns.contains($0) }
  }

  /// Makes the first file of the record the primary one, if the primary file was missing when the asset was deleted.
  /// The file is marked, so that the first scan after a restoration reads it: a picture's properties differ from those
  /// of its RAW file or its video.
  func promotingFirstFile(_ db: Database) throws -> TrashRecord {
    guard let first = files.first, !first.isSidecar else { return self }
    let isPrimary = try Bool.fetchOne(
      db.cachedStatement(sql: "SELECT value FROM trashValue WHERE trash = ? AND file = ? AND name = 'isPrimary'"),
      arguments: [id, first.number])
    if isPrimary == true, first.number == 0 { return self }
    for (table, column) in [("trashFile", "place"), ("trashValue", "file")] where first.number != 0 {
      try db.cachedStatement(sql: "UPDATE \(table) SET \(column) = 0 WHERE trash = ? AND \(column) = ?")
        .execute(arguments: [id, first.number])
    }
    try db.cachedStatement(
      sql: """
        UPDATE trashValue
        SET value = CASE name WHEN 'isPrimary' THEN 1 ELSE iif(value = 'pairedVideo', 'video', 'photo') END
        WHERE trash = ? AND file = 0 AND name IN ('isPrimary', 'role')
        """
    ).execute(arguments: [id])
    try db.cachedStatement(sql: "INSERT OR REPLACE INTO trashValue VALUES (?, 0, ?, 1)")
      .execute(arguments: [id, Self.promotionMark])
    return try Self.find(id, db) ?? self
  }

  /// The name of a saved value that is not a column: file 0 was not the primary file when its asset was deleted.
  private static let promotionMark = "isPromoted"

  func isPromoted(_ db: Database) throws -> Bool {
    try Int.fetchOne(
      db.cachedStatement(sql: "SELECT 1 FROM trashValue WHERE trash = ? AND file = 0 AND name = ?"),
      arguments: [id, Self.promotionMark]) != nil
  }

  func setState(_ state: State, _ db: Database) throws {
    try db.cachedStatement(sql: "UPDATE trash SET state = ? WHERE id = ?").execute(arguments: [state.rawValue, id])
  }

  func delete(_ db: Database) throws {
    try db.cachedStatement(sql: "DELETE FROM trash WHERE id = ?").execute(arguments: [id])
  }

  /// Removes a missing file from the record.
  func delete(_ file: File, _ db: Database) throws {
    try db.cachedStatement(sql: "DELETE FROM trashFile WHERE trash = ? AND place = ?")
      .execute(arguments: [id, file.number])
    try db.cachedStatement(sql: "DELETE FROM trashValue WHERE trash = ? AND file = ?")
      .execute(arguments: [id, file.number])
  }

  func updatePaths(_ file: File, _ db: Database) throws {
    try db.cachedStatement(sql: "UPDATE trashFile SET path = ?, trashPath = ? WHERE trash = ? AND place = ?")
      .execute(arguments: [Data(file.path), Data(file.trashPath), id, file.number])
  }

  func updateIdentity(_ file: File, to identity: FileIdentity, _ db: Database) throws {
    let values = [
      ("inode", Int64(bitPattern: identity.inode)), ("size", identity.size), ("modified", identity.modified),
    ]
    for (name, value) in values {
      try db.cachedStatement(sql: "UPDATE trashValue SET value = ? WHERE trash = ? AND file = ? AND name = ?")
        .execute(arguments: [value, id, file.number, name])
    }
  }
}
