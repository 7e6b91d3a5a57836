// The trash in the catalogue. Each method is one transaction. `LibraryFiles` moves the files between these calls, while
// it holds the lock `files.lock`.

import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// Records of missing assets stay outside of the save window: another file at the path must not count as a new
  /// version of the photograph.
  private static let trashAging = RowAging(
    time: .trashTime, table: "trash", column: "deletedDate",
    latest: "CASE state WHEN 'missing' THEN ?1 - \(MissingAssets.saveWindow + 1) ELSE ?1 END")

  /// Counts at most `limit` milliseconds of the time since the last call toward the time in the trash: see
  /// ``RowAging``.
  ///
  /// - Parameter now: milliseconds since 1970.
  package func countTrashTime(until now: Int64, atMost limit: Int64) throws(AssetSourceError) {
    try writeMaintenance { try Self.trashAging.advance(to: now, atMost: limit, $0) }
  }

  // MARK: Reads

  /// The record in a row; `nil` if it was deleted.
  package func trashRecord(_ id: Int64) throws(AssetSourceError) -> TrashRecord? {
    try read { try TrashRecord.find(id, $0) }
  }

  /// The record of an asset in the trash; `nil` if it is not there, or if the principal may not see it.
  package func trashRecord(
    of identifier: LocalIdentifier, for principal: Principal
  ) throws(AssetSourceError) -> TrashRecord? {
    try read(for: principal) { db, library -> TrashRecord? in
      guard let record = try TrashRecord.find(identifier, db), record.state == .trashed else { return nil }
      return try record.isVisible(in: library, db) ? record : nil
    }
  }

  /// A file with its path in the library, and its properties when its asset was deleted.
  package func original(
    of file: TrashRecord.File, in record: TrashRecord
  ) throws(AssetSourceError) -> OriginalFile? {
    try read { try record.original(of: file, $0) }
  }

  /// Whether the last scan could read a file, so that its identity and its fingerprint are known.
  package func wasRead(_ file: TrashRecord.File, in record: TrashRecord) throws(AssetSourceError) -> Bool {
    try read { try record.wasRead(file, $0) }
  }

  /// Changes that a process left unfinished, or that a running process is working on.
  package func unfinishedTrashRecords() throws(AssetSourceError) -> [TrashRecord] {
    try read { try TrashRecord.unfinished($0) }
  }

  /// The paths in the library of files on their way to the trash or back. While the caller holds `files.lock`, no
  /// process is moving them: their change was interrupted and must be recovered.
  package func unfinishedTrashPaths() throws(AssetSourceError) -> Set<[UInt8]> {
    let records = try unfinishedTrashRecords()
    var paths: Set<[UInt8]> = []
    for record in records where record.state != .purging {
      for file in record.files { paths.insert(file.path) }
    }
    return paths
  }

  /// Whether a record has a file at this path in the trash.
  package func isInTrash(_ trashPath: [UInt8]) throws(AssetSourceError) -> Bool {
    try read { db in
      try Bool.fetchOne(
        db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM trashFile WHERE trashPath = ?)"),
        arguments: [Data(trashPath)]) ?? false
    }
  }

  /// Records of assets that were deleted before a point in time, in the order of their rows.
  ///
  /// - Parameters:
  ///   - milliseconds: since 1970.
  ///   - row: the last one of the previous call, or 0.
  package func trashRecords(
    deletedBefore milliseconds: Int64, after row: Int64, limit: Int
  ) throws(AssetSourceError) -> [TrashRecord] {
    try read { try TrashRecord.deleted(before: milliseconds, after: row, limit: limit, $0) }
  }

  /// The files of an asset whose paths are known, the primary file first.
  package func files(of identifier: LocalIdentifier) throws(AssetSourceError) -> [(row: Int64, path: [UInt8])] {
    let files = try read { db in
      try Row.fetchAll(
        db.cachedStatement(
          sql: """
            SELECT file.id, file.path FROM libraryAsset CROSS JOIN file ON file.asset = libraryAsset.asset
            WHERE library = 0 AND localIdentifier = ? ORDER BY isPrimary DESC, role, file.id
            """), arguments: [identifier.rawValue]
      ).map { (row: $0[0] as Int64, path: try $0.bytes(1)) }
    }
    return files.filter { !VacantPath.isVacant($0.path) }
  }

  /// A page of the assets in the trash, most recently deleted first. An asset that is being restored is still included.
  ///
  /// - Parameters:
  ///   - cursor: the end of the previous page.
  ///   - lifetime: milliseconds from the deletion of an asset until it is purged.
  ///   - principal: with limited visibility, only assets that were in its albums are listed.
  package func trashedAssets(
    after cursor: TrashCursor?, limit: Int, purgedAfter lifetime: Int64, for principal: Principal
  ) throws(AssetSourceError) -> (assets: [TrashedAsset], next: TrashCursor?) {
    let start = cursor ?? TrashCursor(deletedDate: Timestamp(milliseconds: .max), record: .max)
    return try read(for: principal) { db, library in
      func value(_ name: String) -> String {
        "(SELECT value FROM trashValue WHERE trash = trash.id AND file = -1 AND name = '\(name)')"
      }
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT id, localIdentifier, deletedDate, \(value("originalFilename")), \(value("mediaType")),
            \(value("fileSize"))
          FROM trash
          WHERE state IN ('trashed', 'restoring') AND (deletedDate, id) < (?1, ?2)
            AND \(TrashRecord.isVisible(in: library))
          ORDER BY deletedDate DESC, id DESC LIMIT ?3
          """, arguments: [start.deletedDate.milliseconds, start.record, limit + 1])
      let assets = rows.prefix(limit).map { row in
        TrashedAsset(
          identifier: LocalIdentifier(row[1]), deletedDate: Timestamp(milliseconds: row[2]),
          purgeDate: Timestamp(milliseconds: (row[2] as Int64) + lifetime), originalFilename: row[3] ?? "",
          mediaType: MediaType(number: row[4] ?? 0) ?? .unknown, fileSize: row[5] ?? 0)
      }
      guard rows.count > limit, let last = rows.prefix(limit).last else { return (assets, nil) }
      return (assets, TrashCursor(deletedDate: Timestamp(milliseconds: last[2]), record: last[0]))
    }
  }
}

// MARK: - Writes

// None of these but `revertDeletion` changes an asset, so none of the others creates a change token.
extension Catalogue {
  /// Records intents, all or none.
  ///
  /// - Parameter placements: the intents of staged uploads.
  /// - Returns: the row of each trash record.
  package func write(
    _ intents: [TrashIntent], placing placements: [(upload: StagedUpload, placement: StagedUpload.Placement)] = []
  ) throws(FileChangeFailure) -> [Int64] {
    if intents.isEmpty && placements.isEmpty { return [] }
    var rows: [Int64] = []
    do {
      try writeUncounted { db in
        for (upload, placement) in placements { try upload.setPlacement(placement, db) }
        for intent in intents { rows.append(try intent.write(db)) }
      }
      return rows
    } catch {
      // The intent that failed; the last one if the commit failed.
      let index = max(0, min(rows.count, intents.count - 1))
      throw FileChangeFailure(
        index: index, reason: error as? LibraryFilesError ?? .catalogue(Self.translated(error)))
    }
  }

  /// Sets the state of records, all or none.
  package func setState(
    _ state: TrashRecord.State, of records: [TrashRecord]
  ) throws(AssetSourceError) {
    try writeMaintenance { db in for record in records { try record.setState(state, db) } }
  }

  /// Corrects the time at which an asset was deleted.
  ///
  /// - Parameter date: milliseconds since 1970.
  package func setDeletedDate(_ date: Int64, of record: TrashRecord) throws(AssetSourceError) {
    try writeMaintenance { db in
      try db.execute(sql: "UPDATE trash SET deletedDate = ? WHERE id = ?", arguments: [date, record.id])
    }
  }

  /// Records another path of a file, before the file is moved there.
  package func updatePaths(of file: TrashRecord.File, in record: TrashRecord) throws(AssetSourceError) {
    try writeMaintenance { try record.updatePaths(file, $0) }
  }

  /// Records the new identity of a file that was moved by copying it, because scans do not visit the trash. If the
  /// asset is still in the library, its file gets the identity too.
  package func updateIdentity(
    of file: TrashRecord.File, in record: TrashRecord, to identity: FileIdentity
  ) throws(AssetSourceError) {
    do {
      // A counted write, because the file may be in the library: caches must be invalidated.
      try pool.writeWithoutTransaction { db in
        try self.file.checkingErrors(of: db, isWrite: true) {
          try Self.transaction(isLarge: false, db) { db in
            try record.updateIdentity(file, to: identity, db)
            try db.execute(
              sql: """
                UPDATE file SET inode = ?1, size = ?2, modified = ?3
                WHERE path = ?4 AND asset = (SELECT asset FROM libraryAsset WHERE library = 0 AND localIdentifier = ?5)
                """,
              arguments: [
                Int64(bitPattern: identity.inode), identity.size, identity.modified, Data(file.path),
                record.identifier.rawValue,
              ])
          }
        }
      }
    } catch {
      throw Self.translated(error)
    }
  }

  /// Removes a file from a record, because it is missing.
  package func delete(_ file: TrashRecord.File, of record: TrashRecord) throws(AssetSourceError) {
    try writeMaintenance { try record.delete(file, $0) }
  }

  /// Deletes a record, after its files.
  package func delete(_ record: TrashRecord) throws(AssetSourceError) {
    try writeMaintenance { try record.delete($0) }
  }

  /// Ends a deletion that was not committed, after its files were moved back. If a scan removed the asset in between,
  /// the asset is restored.
  ///
  /// - Parameter moved: files whose old path was taken, each with its old and its new path.
  package func revertDeletion(
    _ record: TrashRecord, moved: [(old: [UInt8], new: [UInt8])]
  ) throws(AssetSourceError) {
    try change { db, token in
      var writer = try AssetWriter(db, token: token)
      if let asset = try LibraryID.whole.asset(record.identifier, db) {
        for (old, new) in moved {
          let row = try Int64.fetchOne(
            db, sql: "SELECT id FROM file WHERE path = ? AND asset = ?", arguments: [Data(old), asset])
          if let row { try writer.move(row: row, to: new) }
        }
        try record.delete(db)
      } else {
        guard let record = try TrashRecord.find(record.id, db) else { return }
        if record.isRestorable {
          _ = try record.restore(&writer)
        } else if record.isMissing {
          try record.setState(.missing, db)
        } else {
          try record.delete(db)
        }
      }
      try writer.finish()
    }
  }
}
