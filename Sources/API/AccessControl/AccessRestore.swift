// Copies of the access database. If the process is killed at any moment, either the present tokens or the restored ones
// are there, complete.

import DurableFiles
import GRDB
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// Replaces the tokens and signing keys with a copy.
package struct AccessRestore {
  /// The tables that every copy has.
  package static let tables: Set<String> = ["token", "signingKey"]

  private let dataFolder: String

  package init(dataFolder: String) { self.dataFolder = dataFolder }

  /// Throws if a file is not an intact copy that this version of photod can use.
  package static func check(_ path: String) throws(AccessError) {
    do {
      try opened(path).close()
    } catch {
      throw AccessError(error, path: path)
    }
  }

  /// Replaces the tokens and signing keys. No other process may use the data folder during the call.
  ///
  /// - Parameter copies: notes the restored tokens until they are in their place.
  /// - Returns: the new path of the previous tokens; `nil`: there were none.
  package func restore(
    from path: String, notedIn copies: UnfinishedCopies = UnfinishedCopies()
  ) throws(AccessError) -> String? {
    let present = dataFolder + "/access.sqlite"
    let incoming = dataFolder + "/access.incoming.sqlite"
    copies.begin(incoming)
    do {
      let source = try Self.opened(path)
      try AccessCopy.make(of: source, at: incoming)
      try source.close()
      var aside: String?
      try copies.finish(incoming) {
        if access(present, F_OK) == 0 {
          // Opening it first ends a transaction that a killed process has left in the journal. A damaged file keeps it.
          try? DatabaseQueue(path: present).close()
        }
        aside = try DatabaseFile.replace(present, with: incoming)
      }
      return aside
    } catch {
      copies.discard(incoming)
      throw AccessError(error, path: path)
    }
  }

  private static func opened(_ path: String) throws -> DatabaseQueue {
    if let obstacle = DatabaseFile.obstacle(to: path) { throw AccessError.notACopy(path: path, reason: obstacle) }
    if DatabaseFile.hasForeignLog(path) {
      throw AccessError.notACopy(
        path: path, reason: "\(path)-wal is the log of another database; move it away, and try again")
    }
    var configuration = Configuration()
    configuration.readonly = true
    do {
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      try queue.read { db in
        guard try tables.allSatisfy({ try db.tableExists($0) }) else {
          throw AccessError.notACopy(path: path, reason: "it has no tokens of photod")
        }
        if try AccessSchema.migrator.hasBeenSuperseded(db) { throw AccessError.tooNew(path: path) }
        let words = try String.fetchAll(db, sql: "PRAGMA integrity_check(1)")
        if words != ["ok"] { throw AccessError.notACopy(path: path, reason: words.joined()) }
      }
      return queue
    } catch let error as DatabaseError {
      switch error.resultCode {
      case .SQLITE_NOTADB: throw AccessError.notACopy(path: path, reason: "it has no tokens of photod")
      case .SQLITE_CORRUPT: throw AccessError.notACopy(path: path, reason: "it is incomplete or damaged")
      default: throw AccessError.notACopy(path: path, reason: "\(error)")
      }
    }
  }
}

/// Copies the database into a new file.
enum AccessCopy {
  static func make(of source: any DatabaseReader, at path: String) throws {
    unlink(path)
    try DatabaseFile.removeLogs(of: path)
    try AccessDatabase.makePrivate(path)
    let copy = try DatabaseQueue(path: path)
    // In one step, so that the copy is a snapshot even during writes.
    try source.backup(to: copy)
    try copy.close()
  }
}
