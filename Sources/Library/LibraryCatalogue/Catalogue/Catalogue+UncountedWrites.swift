// Writes that no cache depends on: placeholders, records of the trash and of staged uploads, and the state of scans.
// They create no change token, and prepared responses stay valid.

import GRDB
import PhotoModel

extension Catalogue {
  /// Runs one transaction that leaves `generation` unchanged, so that no cache is invalidated.
  ///
  /// - Parameter isLarge: see ``transaction(isLarge:_:_:)``.
  func writeMaintenance(isLarge: Bool = false, _ body: (Database) throws -> Void) throws(AssetSourceError) {
    do {
      try writeUncounted(isLarge: isLarge, body)
    } catch {
      throw Self.translated(error)
    }
  }

  /// Like ``writeMaintenance(isLarge:_:)``, but throws the errors of the body untranslated.
  func writeUncounted(isLarge: Bool = false, _ body: (Database) throws -> Void) throws {
    try pool.writeWithoutTransaction { db in
      try file.checkingErrors(of: db, isWrite: true) {
        try commits.withoutCounting { try Self.transaction(isLarge: isLarge, db, body) }
      }
    }
  }

  /// Runs one transaction on the writer's connection.
  ///
  /// - Parameter isLarge: whether a single statement may change a large part of the catalogue. SQLite journals the
  ///   pages that a statement changes, by default in memory here: 70 MB to create a limited library of half a million
  ///   assets, and 250 MB to delete it. A large transaction uses a temporary file instead
  ///   (https://www.sqlite.org/tempfiles.html#the_temp_store_compile_time_parameter).
  static func transaction(isLarge: Bool, _ db: Database, _ body: (Database) throws -> Void) throws {
    if isLarge { try db.execute(sql: "PRAGMA temp_store = FILE") }
    let result = Result {
      try db.inTransaction(.immediate) {
        try body(db)
        return .commit
      }
    }
    // A large statement has filled the page cache.
    if isLarge { try db.execute(sql: "PRAGMA temp_store = MEMORY; PRAGMA shrink_memory") }
    try result.get()
  }

  /// Frees the writer's page cache, which a scan has filled.
  package func releaseMemory() {
    // A failure only leaves the memory with the connection.
    try? pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA shrink_memory") }
  }
}
