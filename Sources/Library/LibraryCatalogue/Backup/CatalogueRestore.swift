// Replaces the current catalogue with a backup. A kill at any moment leaves one of them, complete; the current one is
// kept under another name.

import Foundation
import GRDB
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

package struct CatalogueRestore {
  private let dataFolder: String

  package init(dataFolder: String) {
    self.dataFolder = dataFolder
  }

  /// - Returns: the new path of the previous catalogue; `nil`: there was none.
  package func restore(from path: String) throws(LibraryError) -> String? {
    guard Catalogue.makeFolder(dataFolder) else {
      throw .unusable(dataFolder, SystemError(code: errno))
    }
    let lock = try DataFolderLock.forRestore(of: dataFolder)
    defer { withExtendedLifetime(lock) {} }
    let present = Catalogue.path(in: dataFolder)
    let incoming = dataFolder + "/catalogue.incoming.sqlite"
    do {
      let source = try Self.checked(path)
      try CatalogueCopy.make(of: source, at: incoming)
      try source.close()
    } catch let error as LibraryError {
      throw error
    } catch {
      unlink(incoming)
      throw .notACatalogue(path: path, CatalogueCopy.reason(error))
    }
    do {
      let token = settle(present) ?? Self.tokenAfterEveryOther()
      // The token counter continues from the higher of the two values, so a revision is never reused.
      let copy = try DatabaseQueue(path: incoming)
      try copy.write { db in
        // The history of the copy does not match the changes that clients saw after the backup.
        try Self.beginHistory(after: token, db)
        // Files added since the backup are unknown to it: a scan is needed.
        try db.execute(sql: "UPDATE catalogueValue SET value = 0 WHERE name = 'isFirstScanComplete'")
        // A change that was unfinished at the time of the backup may have been committed since: its file is now in the
        // library, and must not be moved back. The deadline of staged uploads begins again.
        // So may an unfinished restoration from the trash: its files stay where they are. Files that are still in the trash
        // are kept as long as if they had been deleted now.
        try db.execute(
          sql: """
            UPDATE trash SET state = iif(state = 'restoring', 'trashed', state),
              deletedDate = max(deletedDate, CAST(strftime('%s', 'now') AS INTEGER) * 1000)
            """)
        try db.execute(
          sql: """
            UPDATE stagedUpload
            SET path = NULL, inode = NULL, usedDate = CAST(strftime('%s', 'now') AS INTEGER) * 1000
            """)
      }
      try copy.close()
      let kept = access(present, F_OK) == 0 ? try setAside(present) : nil
      try DurableFile.rename(incoming, to: present)
      return kept
    } catch {
      unlink(incoming)
      throw LibraryError(Catalogue.translated(error), dataFolder: dataFolder)
    }
  }

  /// Begins a new history with a new token, so that clients read their lists again.
  ///
  /// - Parameter token: a token that was in use, possibly higher than the catalogue's.
  static func beginHistory(after token: Int64, _ db: Database) throws {
    try db.execute(
      sql: """
        UPDATE library SET revision = max(revision, ?1) + 1, nonLocationRevision = max(revision, ?1) + 1,
          createdRevision = max(revision, ?1) + 1
        WHERE id = 0
        """, arguments: [token])
    for table in ["changedObject", "changedMember", "change"] { try db.execute(sql: "DELETE FROM \(table)") }
    try db.execute(
      sql: """
        UPDATE catalogueValue SET value = (SELECT revision FROM library WHERE id = 0) WHERE name = 'historyStart'
        """)
    // Limited libraries have their own history, which is as old as the catalogue's. They are created again at the next
    // request of their principals.
    try db.execute(sql: "DELETE FROM library WHERE id > 0")
  }

  /// Opens a copy, if it is an intact catalogue that this version of photod can use.
  private static func checked(_ path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.readonly = true
    let source = try DatabaseQueue(path: path, configuration: configuration)
    try source.read { db in
      let notACatalogue = CatalogueCopy.IntegrityError(description: "it is not a photod catalogue")
      guard try db.tableExists("grdb_migrations"), try db.tableExists("library"), try db.tableExists("asset") else {
        throw notACatalogue
      }
      if let rejection = try CatalogueSchema.rejection(db, at: path) { throw rejection }
      guard try db.tableExists("catalogueValue"),
        try Row.fetchOne(db, sql: "SELECT 1 FROM catalogueValue WHERE name = 'contentKey'") != nil
      else { throw notACatalogue }
      try CatalogueCopy.checkIntegrity(db)
    }
    return source
  }

  /// Checkpoints the log of the current catalogue into its file; if that fails, the log is moved with it.
  ///
  /// - Returns: its token; `nil`: there is no catalogue, or it is unreadable.
  private func settle(_ present: String) -> Int64? {
    guard access(present, F_OK) == 0, let queue = try? DatabaseQueue(path: present) else { return nil }
    // Before the checkpoint: on a full or read-only disk the log can still be read.
    let token = try? queue.read { try Int64.fetchOne($0, sql: "SELECT revision FROM library WHERE id = 0") }
    try? queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
    try? queue.close()
    return token
  }

  /// A token above all that a lost or unreadable catalogue may have given to clients: the microseconds since 1970. No
  /// catalogue has a change in each microsecond, so this holds for later restores too. Clients' tokens from before are
  /// older than the new history, and are refused. A new `contentKey` would not do: cursors, versions and the trash of a
  /// bucket depend on it.
  private static func tokenAfterEveryOther() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }

  /// Keeps the current catalogue under a second, free name.
  private func setAside(_ present: String) throws -> String {
    var aside = dataFolder + "/catalogue.before-restore.sqlite"
    var number = 2
    while access(aside, F_OK) == 0 {
      aside = "\(dataFolder)/catalogue.before-restore-\(number).sqlite"
      number += 1
    }
    // A log that was not checkpointed must not be applied to the new file.
    if access(present + "-wal", F_OK) == 0, rename(present + "-wal", aside + "-wal") != 0 {
      throw SystemError(code: errno)
    }
    unlink(present + "-shm")
    // A hard link keeps a catalogue at the original path at every moment. On a file system without links, the path is
    // briefly empty.
    if link(present, aside) != 0 && rename(present, aside) != 0 { throw SystemError(code: errno) }
    return aside
  }
}
