// Restores the rows of an asset from the trash.

import Foundation
import GRDB
import ImageCodec
import PhotoModel

extension TrashRecord {
  /// Restores the asset with its `files`, and deletes the record.
  ///
  /// - Returns: its row, with the same identifier as before.
  func restore(_ writer: inout AssetWriter) throws -> Int64 {
    let db = writer.db
    try clearPaths(&writer)
    let (row, burst) = try restoreAsset(&writer)
    try restoreFiles(row, of: burst, &writer)
    try restoreMemberships(row, db)
    // A sidecar may have changed since the deletion.
    writer.edits.note(asset: row)
    try db.cachedStatement(sql: "UPDATE asset SET originalFilename = ? WHERE id = ? AND originalFilename <> ?1")
      .execute(arguments: [OriginalFile.displayName(files.first?.path ?? []), row])
    try delete(db)
    return row
  }

  /// Makes the paths of the files free for their restored rows.
  private func clearPaths(_ writer: inout AssetWriter) throws {
    for file in files {
      guard let found = try writer.fileRow(at: file.path) else { continue }
      if try original(of: file, writer.db)?.identity == found.identity {
        // A scan indexed this asset's file before the restoration.
        try writer.remove(row: found.id)
      } else {
        // Another file had the path and has moved away: the next scan finds it by its identity.
        try writer.clearPath(fromRow: found.id, isRestorable: false)
      }
    }
  }

  /// Inserts the asset, updated to changes since its deletion, such as of the time zone and of decoders.
  ///
  /// - Returns: its row, and the identifier of the burst that it was part of.
  private func restoreAsset(_ writer: inout AssetWriter) throws -> (row: Int64, burst: String?) {
    let db = writer.db
    var asset = try values(Self.assetRow, of: "asset", db)
    asset["revision"] = writer.token.databaseValue
    asset["nonLocationRevision"] = .null
    asset["modificationDate"] = writer.now.databaseValue
    asset["nonLocationModificationDate"] = .null
    // The library's time zone may have changed since the deletion.
    if let date = asset["creationDate"].flatMap(Int64.fromDatabaseValue) {
      asset["zoneOffset"] = writer.calendar.filingOffset(at: Timestamp(milliseconds: date)).databaseValue
    }
    asset["hasDecoder"] = try hasDecoder(asset, writer).databaseValue
    // The burst was regrouped without this asset. `regroup` adds it again.
    let burst =
      asset["burstIdentifier"].flatMap(String.fromDatabaseValue)
      ?? asset["formerBurst"].flatMap(String.fromDatabaseValue)
    asset["burstIdentifier"] = .null
    asset["formerBurst"] = burst?.databaseValue ?? DatabaseValue.null
    asset["representsBurst"] = 0.databaseValue
    let selection = asset["burstSelectionTypes"].flatMap(Int64.fromDatabaseValue) ?? 0
    asset["burstSelectionTypes"] = (selection & ~Int64(BurstSelectionTypes.autoPick.rawValue)).databaseValue
    let row = try insert(asset, into: "asset", db)
    writer.restoredVersions[row] = asset["contentVersion"].flatMap(String.fromDatabaseValue)
    // Clients must no longer see the asset as deleted.
    try db.cachedStatement(sql: "DELETE FROM removedObject WHERE library = 0 AND kind = 0 AND object = ?")
      .execute(arguments: [row])
    for name in ["contentVersion", "unadjustedVersion"] {
      guard let version = asset[name].flatMap(String.fromDatabaseValue) else { continue }
      try db.cachedStatement(sql: "DELETE FROM formerContent WHERE content = ?")
        .execute(arguments: [ContentVersion(version).content])
    }
    return (row, burst)
  }

  /// Decoders may have been added or removed since the asset was deleted.
  private func hasDecoder(_ asset: [String: DatabaseValue], _ writer: AssetWriter) throws -> Bool {
    let type = asset["uniformTypeIdentifier"].flatMap(String.fromDatabaseValue) ?? ""
    guard writer.renderableTypes.contains(type) else { return false }
    let isRAW = asset["isRAW"].flatMap(Bool.fromDatabaseValue) ?? false
    let canDevelop = isRAW && writer.renderableTypes.contains(SourceFormat.raw.uniformTypeIdentifier)
    return try canDevelop || !lacksPicture(writer.db)
  }

  private func restoreFiles(_ row: Int64, of burst: String?, _ writer: inout AssetWriter) throws {
    let db = writer.db
    for file in files {
      var values = try values(file.number, of: "file", db)
      // A new row number, because a running scan may list the old one as missing.
      values["id"] = nil
      values["asset"] = file.isSidecar ? DatabaseValue.null : row.databaseValue
      values["path"] = Data(file.path).databaseValue
      if file.number == 0, try isPromoted(db) {
        // An unknown identity, so that the next scan reads the file.
        for name in ["inode", "size", "modified"] { values[name] = 0.databaseValue }
      }
      _ = try insert(values, into: "file", db)
      if file.isSidecar { writer.edits.note(sidecar: file.path) }
      if let burst, file.number == 0 {
        let name = values["burst"].flatMap(String.fromDatabaseValue)
        writer.bursts.pictureRestored(row, of: burst, named: name, file.path)
      }
    }
  }

  /// A file as it was when its asset was deleted; `nil` if its row was not saved.
  func original(of file: File, _ db: Database) throws -> OriginalFile? {
    let values = try values(file.number, of: "file", db)
    func number(_ name: String) -> Int64? { values[name].flatMap(Int64.fromDatabaseValue) }
    guard let inode = number("inode"), let size = number("size"), let modified = number("modified") else { return nil }
    let fingerprint = values["fingerprint"].flatMap(Data.fromDatabaseValue)
    return OriginalFile(
      path: file.path,
      identity: FileIdentity(inode: UInt64(bitPattern: inode), size: size, modified: modified),
      fingerprint: fingerprint.flatMap { $0.withUnsafeBytes { FileFingerprint($0) } })
  }

  /// Whether the last scan could read a file, so that its saved identity and fingerprint are those of its content.
  func wasRead(_ file: File, _ db: Database) throws -> Bool {
    guard let known = try original(of: file, db), known.fingerprint != nil, known.identity != .unknown else {
      return false
    }
    let reason = try values(file.number, of: "file", db)["unreadableReason"] ?? .null
    return reason.isNull
  }

  /// The saved values of a row, by column, without columns that the table no longer has.
  func values(_ number: Int, of table: String, _ db: Database) throws -> [String: DatabaseValue] {
    let known = Set(try Self.columns(of: table, db))
    let rows = try Row.fetchAll(
      db.cachedStatement(sql: "SELECT name, value FROM trashValue WHERE trash = ? AND file = ?"),
      arguments: [id, number])
    return Dictionary(
      uniqueKeysWithValues: rows.map { ($0[0] as String, $0[1] as DatabaseValue) }.filter { known.contains($0.0) })
  }

  private func insert(_ values: [String: DatabaseValue], into table: String, _ db: Database) throws -> Int64 {
    let columns = values.keys.sorted()
    let arguments: StatementArguments = StatementArguments(columns.map { values[$0] ?? .null })
    try db.cachedStatement(
      sql: """
        INSERT INTO \(table) (\(columns.joined(separator: ", ")))
        VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
        """
    ).execute(arguments: arguments)
    return db.lastInsertedRowID
  }

  /// Restores the membership in albums that still exist. If another asset has taken the position, the restored one goes
  /// directly after it.
  private func restoreMemberships(_ asset: Int64, _ db: Database) throws {
    let rows = try Row.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT collection.id, trashPlace.position, isKeyAsset
          FROM trashPlace JOIN collection ON collection.localIdentifier = trashPlace.collection WHERE trash = ?
          """), arguments: [id])
    for row in rows {
      let collection: Int64 = row[0]
      if let position: Int64 = row[1] {
        let free = try Int64.fetchOne(
          db.cachedStatement(
            sql: """
              SELECT ?2 WHERE NOT EXISTS (SELECT 1 FROM member WHERE collection = ?1 AND position = ?2)
              UNION ALL
              SELECT min(position) + 1 FROM member AS one WHERE collection = ?1 AND position >= ?2
                AND NOT EXISTS (SELECT 1 FROM member WHERE collection = ?1 AND position = one.position + 1)
              """), arguments: [collection, position])
        try AlbumOrder(db: db, row: collection).put(asset, at: free ?? position)
      }
      if row[2] {
        try db.cachedStatement(sql: "UPDATE collection SET keyAsset = ? WHERE id = ? AND keyAsset IS NULL")
          .execute(arguments: [asset, collection])
      }
    }
  }
}

extension AssetWriter {
  /// Marks restored assets in the history whose content is the same as before their deletion: for a client that has not
  /// seen the deletion, only their revision has changed. Call it after the last change of these assets.
  func noteRestoredContents() throws {
    for (asset, version) in restoredVersions {
      try run(
        """
        UPDATE changedObject SET isContentChanged = ?1
        WHERE token = ?2 AND kind = 0 AND object = ?3 AND event = 0
          AND EXISTS (SELECT 1 FROM asset WHERE id = ?3 AND contentVersion = ?4)
        """, [ContentChange.restored.rawValue, token, asset, version])
    }
  }
}
