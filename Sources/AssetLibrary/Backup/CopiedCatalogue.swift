// A catalogue's copy as a file of its own, beside no other: what a backup makes and what a restore begins with.

import GRDB
import LibraryFolder

#if canImport(Glibc)
  import Glibc
#endif

enum CopiedCatalogue {
  /// Copies a database into a new file, for this user alone; a copy that was not finished before is written over. The
  /// file is whole in itself (no log beside it) and was checked, but not made sure of: see ``DurableFile``.
  static func make(of source: any DatabaseReader, at path: String) throws {
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(path + suffix) }
    // It holds tokens and the key of content versions.
    let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemError(code: errno) }
    close(descriptor)
    do {
      let copy = try DatabaseQueue(path: path)
      // In one step: of one state of the source, whoever writes to it meanwhile.
      try source.backup(to: copy)
      try copy.close()
    }
    // The source's mode was copied too; the log is done away with by the next one who opens the file.
    let copy = try DatabaseQueue(path: path)
    try copy.writeWithoutTransaction { db in _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE") }
    try copy.read { try examine($0) }
    try copy.close()
  }

  /// Throws ``Unsound`` where SQLite finds anything amiss.
  static func examine(_ db: Database) throws {
    let words = try String.fetchAll(db, sql: "PRAGMA integrity_check(3)")
    if words != ["ok"] { throw Unsound(description: "it is damaged: \(words.joined(separator: "; "))") }
    if try Row.fetchOne(db, sql: "PRAGMA foreign_key_check") != nil {
      throw Unsound(description: "it is damaged: rows name others that are not there")
    }
  }

  struct Unsound: Error, CustomStringConvertible {
    let description: String
  }

  /// In a few words, for a line that names the file.
  static func reason(_ error: any Error) -> String {
    switch Catalogue.translated(error) {
    case .storageFailed(let fault, let detail): "\(fault) (\(detail))"
    default: "\(error)"
    }
  }
}
