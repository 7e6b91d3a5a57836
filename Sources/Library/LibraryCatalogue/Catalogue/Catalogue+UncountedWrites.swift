// Writes that no cache depends on: placeholders, records of the trash and of staged uploads, and what scans note. They
// create no change token, and prepared responses stay valid.

import GRDB
import PhotoModel

extension Catalogue {
  /// Runs one transaction that leaves `generation` unchanged: for writes that no cache needs to see.
  ///
  /// - Parameter isLarge: see ``transaction(isLarge:_:_:)``.
  func writeMaintenance(isLarge: Bool = false, _ body: (Database) throws -> Void) throws(AssetSourceError) {
    do {
      try writeUncounted(isLarge: isLarge, body)
    } catch {
      throw Self.translated(error)
    }
  }

  /// Like ``writeMaintenance(isLarge:_:)``, with the errors of the body.
  func writeUncounted(isLarge: Bool = false, _ body: (Database) throws -> Void) throws {
    do {
      try pool.writeWithoutTransaction { db in
        try commits.withoutCounting { try Self.transaction(isLarge: isLarge, db, body) }
      }
    } catch {
      file.note(error, ofWrite: true)
      throw error
    }
  }

  /// Runs one transaction on the writer's connection.
  ///
  /// - Parameter isLarge: a single statement may change a large part of the catalogue. SQLite journals the pages that a
  ///   statement changes, and the writer does so in memory: 70 MB to create a limited library of half a million assets,
  ///   and 250 MB to delete it. With this, it uses a temporary file
  ///   (https://www.sqlite.org/tempfiles.html#the_temp_store_compile_time_parameter).
  static func transaction(isLarge: Bool, _ db: Database, _ body: (Database) throws -> Void) throws {
    if isLarge { try db.execute(sql: "PRAGMA temp_store = FILE") }
    let result = Result {
      try db.inTransaction(.immediate) {
        try body(db)
        return .commit
      }
    }
    // Such a statement has filled the page cache.
    if isLarge { try db.execute(sql: "PRAGMA temp_store = MEMORY; PRAGMA shrink_memory") }
    try result.get()
  }

  /// Gives the writer's page cache back, after a scan that has filled it.
  package func releaseMemory() {
    // Without it, the memory stays with the connection; nothing else fails.
    try? pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA shrink_memory") }
  }
}
