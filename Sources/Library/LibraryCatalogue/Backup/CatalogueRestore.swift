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

  /// - Parameter copies: notes the restored catalogue until it is in its place.
  /// - Returns: the new path of the previous catalogue; `nil`: there was none.
  package func restore(
    from path: String, notedIn copies: UnfinishedCopies = UnfinishedCopies()
  ) throws(LibraryError) -> String? {
    if let obstacle = DatabaseFile.obstacle(to: path) { throw .notACatalogue(path: path, obstacle) }
    guard DatabaseFile.makeFolder(dataFolder) else {
      throw .unusable(dataFolder, SystemError(code: errno))
    }
    let lock = try DataFolderLock.forRestore(of: dataFolder)
    defer { withExtendedLifetime(lock) {} }
    let present = Catalogue.path(in: dataFolder)
    let incoming = dataFolder + "/catalogue.incoming.sqlite"
    copies.begin(incoming)
    do {
      let source = try Self.checked(path)
      try CatalogueCopy.make(of: source, at: incoming)
      try source.close()
    } catch {
      copies.discard(incoming)
      throw error as? LibraryError ?? .notACatalogue(path: path, Self.reason(error))
    }
    do {
      let copy = try DatabaseQueue(path: incoming)
      let (key, revision) = try copy.read { (try Catalogue.storedKey($0), try Self.revision($0)) }
      // The token counter continues from the present one, so a revision is never reused.
      let token = settle(present, with: key, notBefore: revision ?? 0) ?? Self.tokenAfterEveryOther()
      try copy.write { db in
        try Self.correctDefinitions(db)
        // The history of the copy does not match the changes that clients saw after the backup.
        try Self.beginHistory(after: token, db)
        try Self.forgetUnfinished(db)
      }
      try copy.close()
      var kept: String?
      try copies.finish(incoming) {
        if access(present, F_OK) == 0 { kept = try DatabaseFile.setAside(present) }
        try DatabaseFile.install(incoming, at: present)
      }
      return kept
    } catch {
      copies.discard(incoming)
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
    try CatalogueValue.historyStart.write(try revision(db), db)
    // Limited libraries have their own history, which is as old as the catalogue's. They are created again at the next
    // request of their principals.
    try db.execute(sql: "DELETE FROM library WHERE id > 0")
  }

  /// Makes indexes and triggers as in a new catalogue, if their definitions differ: a copy may be damaged too. Those of
  /// an older catalogue are right, and the next opening migrates them.
  private static func correctDefinitions(_ db: Database) throws {
    guard try CatalogueSchema.migrator.hasCompletedMigrations(db) else { return }
    let definitions = try CatalogueDefinitions()
    if try definitions.damaged(db).isEmpty { return }
    try definitions.dropTriggersAndDamagedIndexes(db)
    try definitions.createMissing(db)
  }

  /// Forgets what was unfinished at the time of the backup, or of the last change that a damaged log has kept.
  static func forgetUnfinished(_ db: Database) throws {
    // Files added since the backup are unknown to it: a scan is needed.
    try CatalogueValue.isFirstScanComplete.write(false, db)
    try Catalogue.markRestored(db)
    // A restoration from the trash may have been committed since: its files stay where they are. Files that are still
    // in the trash are kept as long as if they had been deleted now.
    try db.execute(
      sql: """
        UPDATE trash SET state = iif(state = 'restoring', 'trashed', state),
          deletedDate = max(deletedDate, CAST(strftime('%s', 'now') AS INTEGER) * 1000)
        WHERE state <> 'missing'
        """)
    // So may a change with a staged upload: its file is now in the library, and must not be moved back. The deadline of
    // staged uploads begins again.
    try db.execute(
      sql: """
        UPDATE stagedUpload
        SET path = NULL, inode = NULL, usedDate = CAST(strftime('%s', 'now') AS INTEGER) * 1000
        """)
  }

  /// Why a file can't be restored. What SQLite says of it is not a fault of the data folder.
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

  /// Opens a copy, if it is an intact catalogue that this version of photod can use.
  private static func checked(_ path: String) throws -> DatabaseQueue {
    // A copy of `catalogue.sqlite` may come with its log. A backup has none.
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

  /// Checkpoints the log of the current catalogue into its file; if that fails, the log is moved with it.
  ///
  /// - Parameters:
  ///   - key: the key of the copy. A catalogue with another key gave out tokens of its own.
  ///   - revision: of the copy. An earlier one is of a catalogue that is older than the copy, or damaged.
  /// - Returns: its token; `nil`: there is no catalogue, it is unreadable, its log is or was damaged, or it is not the one
  ///   that was copied.
  private func settle(_ present: String, with key: Data?, notBefore revision: Int64) -> Int64? {
    // The changes that a damaged log loses had tokens too. Damaged pages may have prevented a new history since.
    if WriteAheadLog.isDamaged(beside: present) || WriteAheadLog.hasCopy(of: present) { return nil }
    guard access(present, F_OK) == 0, let queue = try? DatabaseQueue(path: present) else { return nil }
    // Before the checkpoint: on a full or read-only disk the log can still be read.
    let token = try? queue.read { db -> Int64? in
      guard try Catalogue.storedKey(db) == key else { return nil }
      return try Self.revision(db).flatMap { $0 < revision ? nil : $0 }
    }
    try? queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
    try? queue.close()
    return token
  }

  /// A token above all that a lost or unreadable catalogue may have given to clients: the microseconds since 1970. No
  /// catalogue has a change in each microsecond, so this holds for later restores too. Clients' tokens from before are
  /// older than the new history, and are refused. A new `contentKey` would not do: cursors, versions and the trash of a
  /// bucket depend on it.
  static func tokenAfterEveryOther() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }
}
