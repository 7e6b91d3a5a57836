// Copies a catalogue into a single standalone file. A backup makes such a copy, and a restore begins with one.

import DurableFiles
import Foundation
import GRDB
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

enum CatalogueCopy {
  /// Copies a database into a new file that only this user can read; an unfinished copy is overwritten. The file is
  /// complete (it has no log next to it) and checked, but not synced: see ``DurableFile``.
  ///
  /// - Parameter isChecked: `false` skips the integrity check, so that a damaged database can be copied.
  static func make(of source: any DatabaseReader, at path: String, isChecked: Bool = true) throws {
    unlink(path)
    try DatabaseFile.removeLogs(of: path)
    // The file holds tokens and the key of content versions.
    let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemError(code: errno) }
    close(descriptor)
    do {
      let copy = try DatabaseQueue(path: path)
      // All pages in one step, so that the copy is a snapshot even during writes.
      try source.backup(to: copy)
      try copy.close()
    }
    // The journal mode is copied too. Leaving WAL mode here keeps the copy in one file.
    let copy = try DatabaseQueue(path: path)
    try copy.writeWithoutTransaction { db in _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE") }
    if isChecked { try copy.read { try check($0) } }
    try copy.close()
  }

  /// Throws ``IntegrityError`` if a database is not a catalogue, or not an intact one.
  static func check(_ db: Database) throws {
    guard try db.tableExists("asset"), try db.tableExists("catalogueValue") else { throw IntegrityError.notACatalogue }
    if try Catalogue.storedKey(db) == nil { throw IntegrityError(description: "the key of the catalogue is lost") }
    let words = try String.fetchAll(db, sql: "PRAGMA integrity_check(3)")
    if words != ["ok"] { throw IntegrityError(description: "it is corrupt: \(words.joined(separator: "; "))") }
    if try Row.fetchOne(db, sql: "PRAGMA foreign_key_check") != nil {
      throw IntegrityError(description: "it is corrupt: it has rows that refer to missing rows")
    }
  }

  struct IntegrityError: Error, CustomStringConvertible {
    static let notACatalogue = IntegrityError(description: "it is not a photod catalogue")

    let description: String
  }

  /// A short reason for a message that already names the file.
  static func reason(_ error: any Error) -> String {
    switch Catalogue.translated(error) {
    case .storageFailed(let fault, let detail): "\(fault) (\(detail))"
    default: "\(error)"
    }
  }
}
