// The tables of any database file: what kind of file it is, without changing it or the files beside it.

import Foundation
import GRDBSQLite

package enum DatabaseTables {
  /// The names of the tables of a database, without what its logs add to them; empty if the file is not a database or
  /// can't be read.
  package static func names(at path: String) -> Set<String> {
    var connection: OpaquePointer?
    defer { sqlite3_close(connection) }
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
    guard sqlite3_open_v2(uri(path, isImmutable: true), &connection, flags, nil) == SQLITE_OK else { return [] }
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table'"
    guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else { return [] }
    var names: Set<String> = []
    while sqlite3_step(statement) == SQLITE_ROW {
      if let name = sqlite3_column_text(statement, 0) { names.insert(String(cString: name)) }
    }
    return names
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
