// Identifies a database file by its tables, and a catalogue by its key, without changing the file or those beside it.

import Foundation
import GRDBSQLite

package enum DatabaseTables {
  /// The names of the tables in a database file; its log is ignored. Empty if the file is not a database or can't be
  /// read.
  package static func names(at path: String) -> Set<String> {
    let names = values("SELECT name FROM sqlite_master WHERE type = 'table'", at: path)
    return Set(names.map { String(decoding: $0, as: UTF8.self) })
  }

  /// The key that identifies a catalogue and all its copies; `nil` if the file has none or can't be read.
  static func contentKey(at path: String) -> [UInt8]? {
    values("SELECT value FROM catalogueValue WHERE name = 'contentKey'", at: path).first
  }

  /// The first column of a query's rows, as bytes; empty if the query fails.
  private static func values(_ sql: String, at path: String) -> [[UInt8]] {
    var connection: OpaquePointer?
    defer { sqlite3_close(connection) }
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
    guard sqlite3_open_v2(uri(path, isImmutable: true), &connection, flags, nil) == SQLITE_OK else { return [] }
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else { return [] }
    var values: [[UInt8]] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      // In this order: the first call may convert the value, which changes its length.
      let start = sqlite3_column_blob(statement, 0)
      let length = Int(sqlite3_column_bytes(statement, 0))
      values.append([UInt8](UnsafeRawBufferPointer(start: start, count: length)))
    }
    return values
  }

  /// A URI of the path, for SQLITE_OPEN_URI (https://www.sqlite.org/uri.html).
  ///
  /// - Parameter isImmutable: SQLite takes no lock, and neither reads nor creates a log.
  static func uri(_ path: String, isImmutable: Bool) -> String {
    let encoded = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
    let uri = (path.hasPrefix("/") ? "file://" : "file:") + encoded
    return isImmutable ? uri + "?immutable=1" : uri
  }
}

extension Catalogue {
  /// Whether a file is a catalogue of any version, such as an earlier backup.
  package static func isCatalogue(_ path: String) -> Bool {
    DatabaseTables.names(at: path).isSuperset(of: ["grdb_migrations", "library", "asset"])
  }
}
