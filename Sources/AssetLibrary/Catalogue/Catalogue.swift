// The catalogue: one SQLite database in the data folder, one writer, pooled readers (WAL). What it holds of the files is
// a copy of what the files say and can be made anew by a scan; the identifiers can't, so nothing here deletes lightly.

import Foundation
import GRDB
import LibraryFolder
import PhotoModel
import PhotoPredicate
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

package final class Catalogue: Sendable {
  /// How long a reader or writer waits for another process's lock.
  private static let busyTimeout: TimeInterval = 10
  private static let readerCount = 4

  let pool: DatabasePool
  let dataFolder: String
  let commits = CommitCounter()
  /// How tokens of changes are written for clients.
  package let tokens = ChangeTokenText()
  /// Tells of each change, whoever made it.
  package let feed: ChangeFeed
  let seal: CursorSeal
  let limitedUse = LimitedUse()
  private let others: OtherWriters
  private let use: DataFolderUse

  /// Opens the catalogue in a data folder, making both if they are not there, and brings its tables up to date.
  ///
  /// - Parameter traced: is told each statement that SQLite begins, on whichever thread that is, for who asks what it does.
  package init(
    dataFolder: String, traced: (@Sendable (_ sql: String) -> Void)? = nil
  ) throws(AssetLibraryError) {
    guard Self.makeFolder(dataFolder) else { throw .unusable(dataFolder, SystemError(code: errno)) }
    let path = Self.path(in: dataFolder)
    self.dataFolder = dataFolder
    use = try DataFolderUse(dataFolder)
    var configuration = Self.configuration(tokens)
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA journal_size_limit = 67108864")
      // MEMORY: what a statement with triggers keeps, should it fail midway, is a few pages; in a file they were twenty
      // writes for each asset that is added. A reader may have to sort a million rows, and does that in files.
      if !db.configuration.readonly { try db.execute(sql: "PRAGMA temp_store = MEMORY") }
      if let traced {
        db.trace { if case .statement(let statement) = $0 { traced(statement.sql) } }
      }
    }
    do {
      pool = try DatabasePool(path: path, configuration: configuration)
      // What was accepted is there behind a power cut too (https://www.sqlite.org/pragma.html#pragma_synchronous). Not among
      // what prepares a connection: behind that, a pool that turns on WAL sets its writer to NORMAL, which syncs no commit.
      try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
      let isTooNew = try pool.read { try CatalogueSchema.migrator.hasBeenSuperseded($0) }
      if isTooNew { throw AssetLibraryError.catalogueTooNew(path: path) }
      try Self.migrate(pool, dataFolder: dataFolder)
      others = try OtherWriters(pool: pool)
      feed = ChangeFeed(latest: try Self.ready(tokens, pool))
      seal = try Self.seal(pool)
      pool.add(transactionObserver: commits, extent: .observerLifetime)
    } catch let error as AssetLibraryError {
      throw error
    } catch {
      throw AssetLibraryError(Self.translated(error), dataFolder: dataFolder)
    }
  }

  /// Opens the catalogue of a data folder for reading alone, also while a daemon uses it: it is neither made nor brought up
  /// to date.
  package init(reading dataFolder: String) throws(AssetLibraryError) {
    let path = Self.path(in: dataFolder)
    guard access(path, F_OK) == 0 else { throw .noCatalogue(path: path) }
    self.dataFolder = dataFolder
    use = try DataFolderUse(dataFolder)
    var configuration = Self.configuration(tokens)
    configuration.readonly = true
    do {
      pool = try DatabasePool(path: path, configuration: configuration)
      let (isTooNew, isCurrent) = try pool.read {
        (try CatalogueSchema.migrator.hasBeenSuperseded($0), try CatalogueSchema.migrator.hasCompletedMigrations($0))
      }
      if isTooNew { throw AssetLibraryError.catalogueTooNew(path: path) }
      if !isCurrent { throw AssetLibraryError.catalogueTooOld(path: path) }
      others = try OtherWriters(pool: pool)
      feed = ChangeFeed(latest: try Self.ready(tokens, pool))
      seal = try Self.seal(pool)
    } catch let error as AssetLibraryError {
      throw error
    } catch {
      throw AssetLibraryError(Self.translated(error), dataFolder: dataFolder)
    }
  }

  private static func seal(_ pool: DatabasePool) throws -> CursorSeal {
    let secret = try pool.read { try Data.fetchOne($0, sql: "SELECT value FROM library WHERE key = 'contentKey'") }
    return CursorSeal(secret: secret ?? Data())
  }

  static func path(in dataFolder: String) -> String { dataFolder + "/catalogue.sqlite" }

  private static func configuration(_ tokens: ChangeTokenText) -> Configuration {
    var configuration = Configuration()
    configuration.label = "catalogue"
    configuration.maximumReaderCount = readerCount
    configuration.busyMode = .timeout(busyTimeout)
    configuration.prepareDatabase { db in
      for function in SQLFunction.all { db.add(function: DatabaseFunction(function)) }
      db.add(function: tokens.function)
    }
    return configuration
  }

  /// Makes tokens ready to be written.
  ///
  /// - Returns: the last one.
  private static func ready(_ tokens: ChangeTokenText, _ pool: DatabasePool) throws -> ChangeToken {
    try pool.read { db in
      tokens.use(key: try Data.fetchOne(db, sql: "SELECT value FROM library WHERE key = 'contentKey'") ?? Data())
      return try changeToken(db)
    }
  }

  /// See ``AssetSource``. What another process commits is noticed by `noticeOtherWriters`.
  package var generation: UInt64 { commits.count.load(ordering: .acquiring) }

  /// Looks whether another process has changed the catalogue, as `photod scan` does while a daemon runs. To be called now
  /// and then; it waits for its turn among this process's writers, and reads a few bytes of memory that SQLite shares
  /// between processes.
  package func noticeOtherWriters() {
    guard others.haveCommitted() else { return }
    commits.increment()
    // What can't be read now is told of with the next change.
    if let token = try? read({ try Self.changeToken($0) }) { feed.changed(to: token) }
  }

  /// Reads, with the catalogue's own error.
  func read<Value>(_ body: (Database) throws -> Value) throws(AssetSourceError) -> Value {
    do { return try pool.read(body) } catch { throw Self.translated(error) }
  }

  static func translated(_ error: any Error) -> AssetSourceError {
    if let error = error as? AssetSourceError { return error }
    return StorageFault(error).map { .storageFailed($0, "\(error)") } ?? .catalogueFailed("\(error)")
  }

  /// Brings the tables up to date; a catalogue that was in use before is copied first, for the one who wants to go back to
  /// the photod that wrote it.
  private static func migrate(_ pool: DatabasePool, dataFolder: String) throws {
    let migrator = CatalogueSchema.migrator
    let (isNew, isCurrent) = try pool.read {
      (try migrator.appliedIdentifiers($0).isEmpty, try migrator.hasCompletedMigrations($0))
    }
    if isCurrent { return }
    if !isNew {
      let copy = "\(dataFolder)/catalogue.before-\(migrator.migrations.count).sqlite"
      unlink(copy + ".part")
      try pool.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [copy + ".part"]) }
      try DurableFile.put(copy + ".part", inPlaceOf: copy)
    }
    try migrator.migrate(pool)
  }

  /// The folder and those above it, for this user alone.
  static func makeFolder(_ path: String) -> Bool {
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return true }
    guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return false }
    return makeFolder(String(path[..<slash])) && (mkdir(path, 0o700) == 0 || errno == EEXIST)
  }
}

extension DatabaseFunction {
  fileprivate convenience init(_ function: SQLFunction) {
    self.init(function.name, argumentCount: function.argumentCount, pure: true) { arguments in
      function.body(arguments.map { SQLValue($0) }).databaseValue
    }
  }
}
