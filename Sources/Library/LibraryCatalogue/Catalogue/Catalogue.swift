// The catalogue: one SQLite database in the data folder, with one writer and pooled readers (WAL).
//
// File properties in it are copies of file contents, and a scan can rebuild them. Identifiers can't be rebuilt, so rows
// are deleted only when the asset is known to be gone.

import DurableFiles
import Foundation
import GRDB
import ImageCodec
import LibraryFolder
import PhotoModel
import PhotoPredicate
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

package final class Catalogue: Sendable {
  /// Seconds that a reader or writer waits for another process's lock.
  private static let busyTimeout: TimeInterval = 10
  private static let readerCount = 4
  /// The maximum number of search documents that one transaction indexes when the catalogue is opened.
  private static let documentsPerTransaction = 50_000

  let pool: DatabasePool
  /// The folder of the catalogue and of the locks.
  package let dataFolder: String
  let commits = CommitCounter()
  /// Converts change tokens and cursors to and from the text that clients see.
  package let tokens: TokenCodec
  /// Notifies observers of each change, from this or another process.
  package let feed: ChangeFeed
  let limitedUsage = LimitedLibraryUsage()
  let statements = RecentStatements()
  let albumTitles = AlbumTitles()
  private let dataVersion: DataVersionMonitor
  let file: CatalogueFile
  private let lock: DataFolderLock

  /// The maximum size of the writer's page cache. A scan inserts into many indexes, partly at random places: with
  /// SQLite's default of 2 MiB, a scan of 80,000 files read 11 pages again for each file; now it reads 4.
  private static let writerCacheKibibytes = 16 << 10

  /// Opens the catalogue in a data folder, creates both if they do not exist, and migrates the tables.
  ///
  /// - Parameters:
  ///   - renderableTypes: the uniform type identifiers that can be decoded now. `nil` keeps the recorded ones: only the
  ///     daemon knows which decoders start.
  ///   - traced: called with each SQL statement that SQLite begins, on the thread that runs it; for diagnostics.
  ///   - reportLoss: called if the log is damaged and confirmed changes are lost, with the path of a copy of the
  ///     catalogue and its log. It is called before any other step can fail.
  package init(
    dataFolder: String, renderableTypes: Set<String>? = nil, traced: (@Sendable (_ sql: String) -> Void)? = nil,
    reportLoss: ((_ copy: String) -> Void)? = nil
  ) throws(LibraryError) {
    guard DatabaseFile.makeFolder(dataFolder) else { throw .unusable(dataFolder, SystemError(code: errno)) }
    let path = Self.path(in: dataFolder)
    self.dataFolder = dataFolder
    lock = try DataFolderLock.forUse(of: dataFolder)
    let opening = try DataFolderLock.forOpening(of: dataFolder)
    defer { opening.unlock() }
    // Also copies of the tokens' database: this process holds the lock that a restore needs.
    UnfinishedCopies.removeAbandoned(in: dataFolder, of: ["catalogue", "access"])
    try Self.createIfMissing(in: dataFolder)
    if let rejection = CatalogueSchema.rejection(at: path) { throw rejection }
    var configuration = Self.configuration(statements)
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA journal_size_limit = 67108864")
      // MEMORY on the writer: the statement journal of a statement with triggers is a few pages, but in a file it cost
      // twenty writes for each added asset. Readers keep files, because they may have to sort a million rows.
      if !db.configuration.readonly {
        try db.execute(sql: "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -\(Self.writerCacheKibibytes)")
      }
      if let traced {
        db.trace { if case .statement(let statement) = $0 { traced(statement.sql) } }
      }
    }
    Self.makePrivate(path)
    do {
      let copyBeforeLoss = try WriteAheadLog.copyIfDamaged(path)
      if let copyBeforeLoss { reportLoss?(copyBeforeLoss) }
      pool = try DatabasePool(path: path, configuration: configuration)
      file = try CatalogueFile(path)
      // FULL: an acknowledged commit survives a power failure (https://www.sqlite.org/pragma.html#pragma_synchronous).
      // It is not set in `prepareDatabase`, because the pool switches on WAL after that and then sets its writer to
      // NORMAL, which does not sync each commit.
      try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
      if let rejection = try pool.read({ try CatalogueSchema.rejection($0, at: path) }) { throw rejection }
      // Before a new history, which needs the tables of this version.
      try Self.migrate(pool, dataFolder: dataFolder)
      // Before any step that can fail: closing the pool empties the log, which then no longer shows the loss.
      if copyBeforeLoss != nil { try Self.beginHistoryAfterLoss(pool) }
      guard let key = try pool.read({ try Catalogue.storedKey($0) }) else {
        throw LibraryError.catalogueWithoutKey(path: path)
      }
      try Self.indexQueued(pool)
      dataVersion = try DataVersionMonitor(pool: pool)
      feed = ChangeFeed(latest: try pool.read { try Catalogue.changeToken($0) })
      tokens = TokenCodec(secret: key)
      pool.add(transactionObserver: commits, extent: .observerLifetime)
      pool.add(transactionObserver: file, extent: .observerLifetime)
      try setRenderableTypes(renderableTypes ?? recordedRenderableTypes() ?? MediaFormat.renderableTypes(with: []))
    } catch let error as LibraryError {
      throw error
    } catch {
      throw LibraryError(Self.translated(error), dataFolder: dataFolder)
    }
  }

  /// Opens an existing catalogue read-only, also while a daemon uses it. It is neither created nor migrated. A
  /// catalogue whose key is lost can be opened too, to check it and to export what users set; its tokens and cursors
  /// are then valid only in this process.
  package init(reading dataFolder: String) throws(LibraryError) {
    let path = Self.path(in: dataFolder)
    try Self.checkReadable(in: dataFolder)
    self.dataFolder = dataFolder
    lock = try DataFolderLock.forUse(of: dataFolder)
    if let rejection = CatalogueSchema.rejection(at: path) { throw rejection }
    var configuration = Self.configuration(statements)
    configuration.readonly = true
    do {
      pool = try DatabasePool(path: path, configuration: configuration)
      file = try CatalogueFile(path)
      let (rejection, isCurrent) = try pool.read {
        (try CatalogueSchema.rejection($0, at: path), try CatalogueSchema.migrator.hasCompletedMigrations($0))
      }
      if let rejection { throw rejection }
      if !isCurrent { throw LibraryError.catalogueTooOld(path: path) }
      dataVersion = try DataVersionMonitor(pool: pool)
      feed = ChangeFeed(latest: try pool.read { try Catalogue.changeToken($0) })
      let key = try pool.read { try Catalogue.storedKey($0) }
      tokens = TokenCodec(secret: key ?? Data((0..<32).map { _ in UInt8.random(in: .min ... .max) }))
    } catch let error as LibraryError {
      throw error
    } catch {
      if let error = error as? DatabaseError, error.extendedResultCode == .SQLITE_READONLY_ROLLBACK {
        throw LibraryError.catalogueHasJournal(path: path)
      }
      // A reader must create the files of the log if no other process has the catalogue open. SQLite does not report
      // why that failed.
      if StorageFault(error) == .unopenable, access(dataFolder, W_OK) != 0 {
        throw LibraryError.unusable(dataFolder, SystemError(code: errno))
      }
      throw LibraryError(Self.translated(error), dataFolder: dataFolder)
    }
  }

  static func path(in dataFolder: String) -> String { dataFolder + "/catalogue.sqlite" }

  /// Whether a data folder has a catalogue. In one that can't be searched it may exist; opening it reports the reason.
  package static func exists(in dataFolder: String) -> Bool {
    access(path(in: dataFolder), F_OK) == 0 || errno != ENOENT && errno != ENOTDIR
  }

  /// Throws if a data folder has no catalogue, or one that this user can't read.
  static func checkReadable(in dataFolder: String) throws(LibraryError) {
    let path = Self.path(in: dataFolder)
    guard access(path, R_OK) != 0 else { return }
    let error = SystemError(code: errno)
    let isMissing = error.code == ENOENT || error.code == ENOTDIR
    throw isMissing ? .noCatalogue(path: path) : .catalogueUnreadable(path: path, error)
  }

  /// - Parameter statements: gets each connection that is opened with this configuration.
  static func configuration(_ statements: RecentStatements? = nil) -> Configuration {
    var configuration = Configuration()
    configuration.label = "catalogue"
    configuration.maximumReaderCount = readerCount
    configuration.busyMode = .timeout(busyTimeout)
    configuration.prepareDatabase { db in
      for function in SQLFunction.all { db.add(function: DatabaseFunction(function)) }
      db.add(function: SearchRelevance.function)
      statements?.connectionOpened(db)
    }
    return configuration
  }

  /// See ``AssetSource``. Commits of other processes are counted by `checkForExternalChanges`.
  package var generation: UInt64 { commits.count.load(ordering: .acquiring) }

  package func generation(of identifier: LocalIdentifier) -> AssetGeneration {
    commits.assets.generation(of: identifier)
  }

  package func isCurrent(_ generation: AssetGeneration) -> Bool {
    switch generation {
    case .asset(let group, let count, let unknown):
      commits.assets.isCurrent(group: group, count: count, unknown: unknown)
    case .library(let number): number == self.generation
    }
  }

  /// Checkpoints SQLite's write-ahead log, so that the catalogue's file is complete without it. Does not wait for other
  /// processes, whose reads may keep a part of the changes in the log.
  package func checkpoint() throws(AssetSourceError) {
    do { try pool.writeWithoutTransaction { _ = try $0.checkpoint(.passive) } } catch { throw Self.translated(error) }
  }

  /// Checks whether another process has changed the catalogue, as `photod scan` does while a daemon runs. Call it
  /// periodically. It waits for this process's writer queue, and reads a few bytes of the memory that SQLite shares
  /// between processes.
  ///
  /// - Returns: whether it has.
  @discardableResult
  package func checkForExternalChanges() -> Bool {
    guard dataVersion.hasChanged() else { return false }
    commits.increment()
    // If the token can't be read now, the next change announces it.
    if let token = try? read({ try Self.changeToken($0) }) { feed.changed(to: token) }
    // The commit may have changed only moments.
    feed.momentsChanged()
    return true
  }

  /// Reads in one transaction, and translates errors to ``AssetSourceError``.
  func read<Value>(_ body: (Database) throws -> Value) throws(AssetSourceError) -> Value {
    do {
      return try pool.read { db in try file.checkingErrors(of: db) { try body(db) } }
    } catch {
      throw Self.translated(error)
    }
  }

  /// Reads without a transaction, which a single statement does not need, and translates errors.
  func readSingleStatement<Value>(_ body: (Database) throws -> Value) throws(AssetSourceError) -> Value {
    do {
      return try pool.unsafeRead { db in try file.checkingErrors(of: db) { try body(db) } }
    } catch {
      throw Self.translated(error)
    }
  }

  /// Throws if the catalogue's file was moved, deleted or replaced since it was opened, or if a read or write has met a
  /// damaged page. One system call.
  func checkFile() throws(AssetSourceError) {
    do { try file.check() } catch { throw Self.translated(error) }
  }

  static func translated(_ error: any Error) -> AssetSourceError {
    if let error = error as? AssetSourceError { return error }
    // SQLite's message for an error of the system, such as a full disk, is "not an error".
    let text = "\(error)".replacing(": not an error", with: "")
    return StorageFault(error).map { .storageFailed($0, text) } ?? .catalogueFailed(text)
  }

  /// Creates a catalogue with its tables if there is none.
  private static func createIfMissing(in dataFolder: String) throws(LibraryError) {
    do {
      try DatabaseFile.create(Self.path(in: dataFolder)) { unfinished in
        Self.makePrivate(unfinished)
        var configuration = Self.configuration()
        configuration.prepareDatabase { db in
          // The file is synced before it gets its name, and an incomplete one is never used.
          try db.execute(sql: "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")
        }
        let queue = try DatabaseQueue(path: unfinished, configuration: configuration)
        try CatalogueSchema.migrator.migrate(queue)
        try queue.close()
      }
    } catch let error as SystemError {
      throw .unusable(dataFolder, error)
    } catch {
      throw LibraryError(Self.translated(error), dataFolder: dataFolder)
    }
  }

  /// Migrates the tables. A catalogue with data is copied first, so that the user can go back to the photod version
  /// that wrote it.
  private static func migrate(_ pool: DatabasePool, dataFolder: String) throws {
    let migrator = CatalogueSchema.migrator
    let (isNew, isCurrent) = try pool.read {
      (try migrator.appliedIdentifiers($0).isEmpty, try migrator.hasCompletedMigrations($0))
    }
    if isCurrent { return }
    if !isNew {
      let copy = "\(dataFolder)/catalogue.before-\(migrator.migrations.count).sqlite"
      let unfinished = copy + ".partial"
      unlink(unfinished)
      // SQLite writes into an empty file as into a new one.
      makePrivate(unfinished)
      try pool.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [unfinished]) }
      try DurableFile.rename(unfinished, to: copy)
    }
    try migrator.migrate(pool)
  }

  /// Begins a new history, as after the restore of an earlier catalogue.
  static func beginHistoryAfterLoss(_ writer: some DatabaseWriter) throws {
    try writer.write { try CatalogueRestore.beginHistory(after: CatalogueRestore.tokenAfterEveryOther(), $0) }
    // A transaction of its own: a damaged page of the trash must not undo the new history.
    try writer.write { try CatalogueRestore.forgetUnfinished($0) }
    // Empties the log; otherwise the next opening would find the same damage again.
    try writer.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
  }

  /// Indexes assets that another program changed, and all assets after an update of photod that changes how text is
  /// split into words, in several transactions. photod indexes its own changes in their transactions.
  private static func indexQueued(_ pool: DatabasePool) throws {
    if try !pool.read(SearchIndex.hasCurrentWords) { try pool.write { try SearchIndex.queueAll($0) } }
    while try !pool.read(SearchIndex.isCurrent) {
      try pool.write { _ = try SearchIndex.update($0, atMost: documentsPerTransaction) }
    }
  }

  /// Makes a database file and its log accessible only to its owner, because other users may be able to enter the
  /// folder; creates the file if it does not exist. SQLite gives a new log the mode of the database. An existing file
  /// is not opened here, because closing it would release SQLite's locks of this process.
  private static func makePrivate(_ path: String) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
      close(descriptor)
      FileOwner.inherit(path)
    }
    // Fails for a file of another user, which keeps its mode. Opening it reports an error if this user can't use it.
    for suffix in ["", "-wal", "-shm"] { chmod(path + suffix, 0o600) }
  }
}

extension DatabaseFunction {
  fileprivate convenience init(_ function: SQLFunction) {
    self.init(function.name, argumentCount: function.argumentCount, pure: true) { arguments in
      function.body(arguments.map { SQLValue($0) }).databaseValue
    }
  }
}
