// Detects a catalogue that a newer photod wrote, before it is opened normally: a pool writes to the file when it
// switches WAL on, and the last connection to close checkpoints the log into the file.

import Foundation
import GRDB
import GRDBSQLite

#if canImport(Glibc)
  import Glibc
#endif

extension CatalogueSchema {
  /// Milliseconds to wait for another process's lock.
  private static let busyTimeout: Int32 = 10_000

  /// Whether a catalogue has migrations that this version does not know. Leaves the file and its log unchanged.
  ///
  /// - Returns: `false` also if it can't be read; opening it reports the reason.
  static func hasBeenSuperseded(at path: String) -> Bool {
    var connection: OpaquePointer?
    defer { sqlite3_close(connection) }
    guard sqlite3_open_v2(uri(path), &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nil) == SQLITE_OK else {
      return false
    }
    sqlite3_busy_timeout(connection, busyTimeout)
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    let sql = "SELECT identifier FROM grdb_migrations"
    guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else { return false }
    let known = Set(migrator.migrations)
    while sqlite3_step(statement) == SQLITE_ROW {
      guard let identifier = sqlite3_column_text(statement, 0) else { continue }
      if !known.contains(String(cString: identifier)) { return true }
    }
    return false
  }

  /// Without a log no process has the catalogue open, so the file is opened as immutable; otherwise SQLite would create
  /// a log even for a reader (https://www.sqlite.org/uri.html, `immutable`). If there is a log, it is part of the
  /// catalogue and is read with it.
  private static func uri(_ path: String) -> String {
    let encoded = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
    let uri = (path.hasPrefix("/") ? "file://" : "file:") + encoded
    return isEmpty(path + "-wal") && isEmpty(path + "-journal") ? uri + "?immutable=1" : uri
  }

  private static func isEmpty(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 || status.st_size == 0
  }
}
