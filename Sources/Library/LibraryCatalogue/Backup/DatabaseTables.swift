// The tables of any database file: what kind of file it is, and of which catalogue, without changing it or the files
// beside it.

import Foundation
import GRDBSQLite

package enum DatabaseTables {
  /// The names of the tables of a database, without what its logs add to them; empty if the file is not a database or
  /// can't be read.
  package static func names(at path: String) -> Set<String> {
    let names = values("SELECT name FROM sqlite_master WHERE type = 'table'", at: path)
    return Set(names.map { String(decoding: $0, as: UTF8.self) })
  }

  /// The key that identifies a catalogue and all its copies; `nil` if the file has none or can't be read.
  static func contentKey(at path: String) -> [UInt8]? {
    values("SELECT value FROM catalogueValue WHERE name = 'contentKey'", at: path).first
  }

  /// The bytes of the first column of a query's rows; none if it fails.
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
      // In this order: the first call may change the value's type, and with it the length.
      let start = sqlite3_column_blob(statement, 0)
      let length = Int(sqlite3_column_bytes(statement, 0))
      values.append([UInt8](UnsafeRawBufferPointer(start: start, count: length)))
    }
    return values
  }

  /// The path as SQLite takes it with SQLITE_OPEN_URI (https://www.sqlite.org/uri.html).
  ///
  /// - Parameter isImmutable: SQLite takes no lock, and neither reads nor makes a log.
  static func uri(_ path: String, isImmutable: Bool) -> String {
    let encoded = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
    let uri = (path.hasPrefix("/") ? "file://" : "file:") + encoded
    return isImmutable ? uri + "?immutable=1" : uri
  }
}

extension Catalogue {
  /// Whether a file is a catalogue of any version, such as a former backup.
  package static func isCatalogue(_ path: String) -> Bool {
    DatabaseTables.names(at: path).isSuperset(of: ["grdb_migrations", "library", "asset"])
  }
}
