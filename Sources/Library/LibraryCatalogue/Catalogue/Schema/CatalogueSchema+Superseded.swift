// Detects a catalogue that this photod can't use before it is opened normally, which would change it: a pool writes to
// the file when it switches WAL on, and the last connection to close checkpoints the log into the file.

import GRDB
import GRDBSQLite

#if canImport(Glibc)
  import Glibc
#endif

extension CatalogueSchema {
  /// Milliseconds to wait for another process's lock.
  private static let busyTimeout: Int32 = 10_000

  /// The first migration of catalogues that were written before the first release. They have other tables and can't be
  /// migrated.
  private static let firstUnreleasedMigration = "1: files and assets"

  /// Why this photod can't use a catalogue with these migrations; `nil` if it can.
  private static func rejection(of applied: Set<String>, at path: String) -> LibraryError? {
    if applied.isSubset(of: migrator.migrations) { return nil }
    return applied.contains(firstUnreleasedMigration) ? .catalogueUnreleased(path: path) : .catalogueTooNew(path: path)
  }

  /// Why this photod can't use an open catalogue; `nil` if it can.
  static func rejection(_ db: Database, at path: String) throws -> LibraryError? {
    rejection(of: try migrator.appliedIdentifiers(db), at: path)
  }

  /// Why this photod can't use the catalogue at a path. Leaves the file and its log unchanged.
  ///
  /// - Returns: `nil` also if it can't be read; opening it reports the reason.
  static func rejection(at path: String) -> LibraryError? {
    var status = stat()
    // SQLite would delete the log of an empty file.
    if stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size == 0 {
      return .catalogueWithoutTables(path: path)
    }
    var connection: OpaquePointer?
    defer { sqlite3_close(connection) }
    guard sqlite3_open_v2(uri(path), &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nil) == SQLITE_OK else {
      return nil
    }
    sqlite3_busy_timeout(connection, busyTimeout)
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    let sql = "SELECT identifier FROM grdb_migrations"
    guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else {
      // The file is a database, and this table is not in it.
      return sqlite3_errcode(connection) == SQLITE_ERROR ? .catalogueWithoutTables(path: path) : nil
    }
    var applied: Set<String> = []
    while sqlite3_step(statement) == SQLITE_ROW {
      if let identifier = sqlite3_column_text(statement, 0) { applied.insert(String(cString: identifier)) }
    }
    return rejection(of: applied, at: path)
  }

  /// Without a log no process has the catalogue open, so the file is opened as immutable; otherwise SQLite would create
  /// a log even for a reader (https://www.sqlite.org/uri.html, `immutable`). If there is a log, it is part of the
  /// catalogue and is read with it.
  private static func uri(_ path: String) -> String {
    DatabaseTables.uri(path, isImmutable: isEmpty(path + "-wal") && isEmpty(path + "-journal"))
  }

  private static func isEmpty(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 || status.st_size == 0
  }
}
