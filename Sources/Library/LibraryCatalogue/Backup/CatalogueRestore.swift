// Replaces the current catalogue with a backup. The current one is kept under another name. If the process is killed,
// the data folder has either the current or the restored catalogue, complete.

import DurableFiles
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

  /// - Parameter copies: lists the restored catalogue until it has its final name.
  /// - Returns: the new path of the previous catalogue; `nil` if there was none.
  package func restore(
    from path: String, notedIn copies: UnfinishedCopies = UnfinishedCopies()
  ) throws(LibraryError) -> String? {
    if let obstacle = DatabaseFile.obstacle(to: path) { throw .notACatalogue(path: path, obstacle) }
    // No folder is made for a copy that is not restored.
    let source = try Self.checked(path)
    guard DatabaseFile.makeFolder(dataFolder) else {
      throw .unusable(dataFolder, SystemError(code: errno))
    }
    let lock = try DataFolderLock.forRestore(of: dataFolder)
    defer { withExtendedLifetime(lock) {} }
    let present = Catalogue.path(in: dataFolder)
    let incoming = dataFolder + "/catalogue.incoming.sqlite"
    copies.begin(incoming)
    do {
      try CatalogueCopy.make(of: source, at: incoming)
      try source.close()
    } catch {
      copies.discard(incoming)
      throw error as? LibraryError ?? .notACatalogue(path: path, Self.reason(error))
    }
    do {
      let copy = try DatabaseQueue(path: incoming)
      let (key, revision) = try copy.read { (try Catalogue.storedKey($0), try Self.revision($0)) }
      // Continues after the tokens of the current catalogue, so that no token is issued twice.
      let token =
        checkpointedToken(of: present, copiedKey: key, copiedRevision: revision ?? 0) ?? Self.tokenAfterEveryOther()
      try copy.write { db in
        try Self.correctDefinitions(db)
        // The history in the copy lacks the changes that clients have seen since the backup.
        try Self.beginHistory(after: token, db)
        try Self.forgetUnfinished(db)
      }
      try copy.close()
      var kept: String?
      try copies.finish(incoming) { kept = try DatabaseFile.replace(present, with: incoming) }
      return kept
    } catch {
      copies.discard(incoming)
      throw LibraryError(Catalogue.translated(error), dataFolder: dataFolder)
    }
  }

  /// Begins a new history with a new token. Older tokens expire, so clients read their lists again.
  ///
  /// - Parameter token: a token that clients may have. The new one is higher than this and than the catalogue's own.
  static func beginHistory(after token: Int64, _ db: Database) throws {
    try db.execute(
      sql: """
        UPDATE library SET revision = max(revision, ?1) + 1, nonLocationRevision = max(revision, ?1) + 1,
          createdRevision = max(revision, ?1) + 1
        WHERE id = 0
        """, arguments: [token])
    for table in ["changedObject", "changedMember", "change"] { try db.execute(sql: "DELETE FROM \(table)") }
    try CatalogueValue.historyStart.write(try revision(db), db)
    // Limited libraries have their own history, which is as old as the catalogue's. They are created again at the next
    // request of their principals.
    try db.execute(sql: "DELETE FROM library WHERE id > 0")
  }

  /// Recreates indexes and triggers whose definitions are damaged in the copy. A catalogue of an older version is left
  /// unchanged: its definitions are meant to differ, and the next opening migrates them.
  private static func correctDefinitions(_ db: Database) throws {
    guard try CatalogueSchema.migrator.hasCompletedMigrations(db) else { return }
    let definitions = try CatalogueDefinitions()
    if try definitions.damaged(db).isEmpty { return }
    try definitions.dropTriggersAndDamagedIndexes(db)
    try definitions.createMissing(db)
  }

  /// Resets operations that the restored catalogue records as unfinished: they may have been completed since the
  /// backup, or in changes that a damaged log has lost.
  static func forgetUnfinished(_ db: Database) throws {
    // The catalogue does not know files that were added since: a scan must find them.
    try CatalogueValue.isFirstScanComplete.write(false, db)
    try Catalogue.markRestored(db)
    // A restoration from the trash may have been committed since, so recovery must not move its files back. The time
    // until assets are purged begins again.
    try db.execute(
      sql: """
        UPDATE trash SET state = iif(state = 'restoring', 'trashed', state),
          deletedDate = max(deletedDate, CAST(strftime('%s', 'now') AS INTEGER) * 1000)
        WHERE state <> 'missing'
        """)
    // A change that used a staged upload may have been committed too: the file is now in the library, and recovery must
    // not move it back. The time until staged uploads expire begins again.
    try db.execute(
      sql: """
        UPDATE stagedUpload
        SET path = NULL, inode = NULL, usedDate = CAST(strftime('%s', 'now') AS INTEGER) * 1000
        """)
  }

  /// Why a file can't be restored. An SQLite error is about this file here, not about the data folder.
  private static func reason(_ error: any Error) -> String {
    switch (error as? DatabaseError)?.resultCode {
    case .some(.SQLITE_NOTADB): CatalogueCopy.IntegrityError.notACatalogue.description
    case .some(.SQLITE_CORRUPT): "it is incomplete or damaged"
    default: CatalogueCopy.reason(error)
    }
  }

  private static func revision(_ db: Database) throws -> Int64? {
    try Int64.fetchOne(db, sql: "SELECT revision FROM library WHERE id = 0")
  }

  /// Opens the file to restore. Throws unless it is an intact catalogue that this version of photod can use.
  private static func checked(_ path: String) throws(LibraryError) -> DatabaseQueue {
    do {
      return try opened(path)
    } catch {
      throw error as? LibraryError ?? .notACatalogue(path: path, reason(error))
    }
  }

  private static func opened(_ path: String) throws -> DatabaseQueue {
    // A backup has no log, but a plain copy of `catalogue.sqlite` may have its own beside it.
    if DatabaseFile.hasForeignLog(path) {
      throw CatalogueCopy.IntegrityError(
        description: "\(path)-wal is the log of another database; move it away, and try again")
    }
    var configuration = Configuration()
    configuration.readonly = true
    let source = try DatabaseQueue(path: path, configuration: configuration)
    try source.read { db in
      guard try db.tableExists("grdb_migrations"), try db.tableExists("library"), try db.tableExists("asset") else {
        throw CatalogueCopy.IntegrityError.notACatalogue
      }
      if let rejection = try CatalogueSchema.rejection(db, at: path) { throw rejection }
      try CatalogueCopy.check(db)
    }
    return source
  }

  /// Checkpoints the log of the current catalogue and reads its last token. If the checkpoint fails, the log is kept
  /// together with the file.
  ///
  /// - Parameters:
  ///   - key: the key of the copy. A catalogue with another key issued tokens of its own.
  ///   - revision: the last token of the copy. A lower one belongs to an older or a damaged catalogue.
  /// - Returns: the token; `nil` if there is no catalogue, it is unreadable, its log is or was damaged, or the copy was
  ///   not made from it.
  private func checkpointedToken(of present: String, copiedKey key: Data?, copiedRevision revision: Int64) -> Int64? {
    // What a checkpoint of a damaged log writes may be inconsistent.
    if WriteAheadLog.isDamaged(beside: present) { return nil }
    guard access(present, F_OK) == 0, let queue = try? DatabaseQueue(path: present) else { return nil }
    // Before the checkpoint, because on a full or read-only disk the log can still be read.
    let token = try? queue.read { db -> Int64? in
      guard try Catalogue.storedKey(db) == key else { return nil }
      return try Self.revision(db).flatMap { $0 < revision ? nil : $0 }
    }
    try? queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
    try? queue.close()
    // Changes lost with a damaged log had tokens too, and damaged pages may have prevented a new history since.
    return WriteAheadLog.hasCopy(of: present) ? nil : token
  }

  /// A token above all that a lost or unreadable catalogue can have issued: the microseconds since 1970. No catalogue
  /// commits a change in each microsecond, so this holds for later restores too. Earlier tokens of clients precede the
  /// new history and are refused. A new `contentKey` is no alternative: cursors, content versions and the trash of a
  /// bucket depend on the key.
  static func tokenAfterEveryOther() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }
}
