// A restored catalogue does not know which assets were moved to the trash or restored from it since the backup.
// `LibraryFiles` compares its records with the trash folder, and records the differences here.

import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// Marks a restored catalogue, whose trash must be compared with the folder before a scan.
  static func markRestored(_ db: Database) throws { try CatalogueValue.wasRestored.write(true, db) }

  /// Whether the catalogue was restored, and its trash has not been compared with the folder since.
  package func hasUncheckedTrash() throws(AssetSourceError) -> Bool {
    try read { db in try CatalogueValue.wasRestored.read(db) ?? false }
  }

  /// Records that the trash was compared with the folder.
  package func recordCheckedTrash() throws(AssetSourceError) {
    try writeMaintenance { db in try CatalogueValue.wasRestored.remove(db) }
  }

  /// Records that the files of an asset in the trash are no longer there. Like other missing assets, it comes back with
  /// its primary file: see ``MissingAssets``.
  ///
  /// - Parameter now: milliseconds since 1970.
  package func recordMissing(_ record: TrashRecord, now: Int64) throws(AssetSourceError) {
    try writeMaintenance { db in
      for file in record.files {
        if file.number == 0 {
          try record.updatePaths(TrashRecord.File(number: 0, path: file.path, trashPath: []), db)
        } else {
          try record.delete(file, db)
        }
      }
      // Outside of the save window: another file at its path is another photograph, not the same one saved again.
      try db.execute(
        sql: "UPDATE trash SET state = ?, deletedDate = ? WHERE id = ?",
        arguments: [TrashRecord.State.missing.rawValue, now - MissingAssets.saveWindow - 1, record.id])
    }
  }

  /// The records of assets, in the trash or missing, whose primary file has this fingerprint: at most eight of each,
  /// the newest ones first.
  package func trashRecords(with fingerprint: FileFingerprint) throws(AssetSourceError) -> [TrashRecord] {
    try read { db in
      try TrashRecord.find(fingerprint, in: .trashed, db) + TrashRecord.find(fingerprint, in: .missing, db)
    }
  }

  /// Updates the record of an asset whose files are at other paths in the trash.
  ///
  /// - Parameters:
  ///   - files: those that exist, with their numbers in the record. The record loses its other files.
  ///   - now: milliseconds since 1970.
  package func recordDeletion(
    of record: TrashRecord, files: [TrashRecord.File], now: Int64
  ) throws(AssetSourceError) {
    try writeMaintenance { db in
      for file in record.files {
        if let found = files.first(where: { $0.number == file.number }) {
          try record.updatePaths(found, db)
        } else {
          try record.delete(file, db)
        }
      }
      try db.execute(
        sql: "UPDATE trash SET state = ?, deletedDate = ? WHERE id = ?",
        arguments: [TrashRecord.State.trashed.rawValue, now, record.id])
    }
  }

  /// The asset that a file belongs to, by the row of the file.
  package func asset(ofFile row: Int64) throws(AssetSourceError) -> LocalIdentifier? {
    try read { db in
      try String.fetchOne(
        db, sql: "SELECT localIdentifier FROM asset WHERE id = (SELECT asset FROM file WHERE id = ?)",
        arguments: [row]
      ).map { LocalIdentifier($0) }
    }
  }

  /// Moves an asset to the trash whose files are there already.
  ///
  /// - Parameters:
  ///   - rows: the rows of its files, in the order of `files`.
  ///   - now: milliseconds since 1970.
  package func recordDeletion(
    of identifier: LocalIdentifier, rows: [Int64], files: [TrashRecord.File], now: Int64
  ) throws(AssetSourceError) {
    try change { db, token in
      let isInLibrary = try LibraryID.whole.asset(identifier, db) != nil
      guard isInLibrary, try TrashRecord.find(identifier, db) == nil else { return }
      let trash = try TrashIntent.delete(identifier, rows: rows, files: files, now: now).write(db)
      var writer = try AssetWriter(db, token: token)
      _ = try PendingFileChanges(steps: [.delete(trash: trash)], lock: nil).commit(0, &writer)
      try writer.finish()
    }
  }
}
