// Copies the catalogue, and then repairs everything that can be derived from other rows:
//
//     definitions           indexes and triggers with other SQL than in a new catalogue are recreated
//     indexes               rebuilt; if pages are damaged nevertheless, nothing is changed
//     dangling references   a row that names a missing row is removed, or names none
//     single values         missing ones get the value of a new catalogue, and a lost token one above all others; if
//                           the key of the catalogue is lost, which only its copies have, nothing is changed
//     unreadable lists      become empty, as reads see them
//     derived tables        rows of libraries, members, folders, counters, days, moments: compared and corrected
//     search index          its tables are recreated from the assets if they are wrong or can't be read; words that no
//                           asset has are removed
//
// It never opens a file of the library. Rows of files are not compared with the folder; the scan that follows a repair
// does that, with its protection against missing disks. The triggers that maintain the derived tables are dropped
// during the repair, because they would count corrected rows twice. Everything is one transaction: if the process is
// killed, the catalogue is either unchanged or repaired. If nothing was wrong, for example because only the catalogue
// and the folder differ, the transaction is rolled back and the copy is removed, so that change tokens and limited
// libraries stay valid.

import DurableFiles
import GRDB
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

package struct CatalogueRepair {
  /// The result of a repair.
  package struct Summary: Sendable, Hashable {
    /// The copy made before the repair; `nil` if nothing was wrong and the catalogue is unchanged.
    package var copy: String?
    /// The copy of the catalogue with its log, if the log was damaged.
    package var copyBeforeLoss: String?
    /// The number of corrected rows, by subject; without zeros and without moments.
    package var corrections: [String: Int] = [:]
  }

  private let dataFolder: String
  private let limit: RemovalLimit

  package init(dataFolder: String, removing limit: RemovalLimit) {
    self.dataFolder = dataFolder
    self.limit = limit
  }

  /// Repairs the catalogue. No other process may have it open.
  ///
  /// - Parameter acceptsRemovals: remove all assets whose file rows are lost, however many.
  package func run(acceptingRemovals acceptsRemovals: Bool = false) throws(LibraryError) -> Summary {
    try Catalogue.checkReadable(in: dataFolder)
    let lock = try DataFolderLock.forRestore(of: dataFolder)
    defer { withExtendedLifetime(lock) {} }
    let path = Catalogue.path(in: dataFolder)
    if let rejection = CatalogueSchema.rejection(at: path) { throw rejection }
    do {
      var configuration = Catalogue.configuration()
      // Off, because the repair itself corrects dangling references.
      configuration.foreignKeysEnabled = false
      let copyBeforeLoss = try WriteAheadLog.copyIfDamaged(path)
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      guard try queue.read({ try CatalogueSchema.migrator.hasCompletedMigrations($0) }) else {
        throw LibraryError.catalogueTooOld(path: path)
      }
      if copyBeforeLoss != nil { try beginHistoryAfterLoss(path) }
      let faults = try Faults(path, hasLostChanges: copyBeforeLoss != nil)
      let copy = try copy(queue)
      var corrections: [String: Int]?
      do {
        try queue.writeWithoutTransaction { db in
          try db.execute(sql: "PRAGMA synchronous = FULL")
          try db.inTransaction {
            corrections = try repair(db, path: path, faults, acceptsRemovals)
            return corrections == nil ? .rollback : .commit
          }
          try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
      } catch let refusal as LibraryError {
        // The catalogue is unchanged.
        unlink(copy)
        throw refusal
      }
      try queue.close()
      guard let corrections else {
        unlink(copy)
        return Summary()
      }
      return Summary(copy: copy, copyBeforeLoss: copyBeforeLoss, corrections: corrections)
    } catch let error as LibraryError {
      throw error
    } catch {
      let failure = Catalogue.translated(error)
      if case .storageFailed(.damaged, let detail) = failure { throw .beyondRepair(path: path, detail) }
      throw LibraryError(failure, dataFolder: dataFolder)
    }
  }

  /// Begins a new history at once: a refused repair closes the catalogue, and the emptied log no longer shows the loss.
  private func beginHistoryAfterLoss(_ path: String) throws {
    let queue = try DatabaseQueue(path: path, configuration: Catalogue.configuration())
    do {
      try Catalogue.beginHistoryAfterLoss(queue)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
      // The repair begins a new history too, after it has repaired the damaged pages.
    }
    try queue.close()
  }

  /// Copies the catalogue under a free name.
  private func copy(_ queue: DatabaseQueue) throws -> String {
    var path = dataFolder + "/catalogue.before-repair.sqlite"
    var number = 2
    while access(path, F_OK) == 0 {
      path = "\(dataFolder)/catalogue.before-repair-\(number).sqlite"
      number += 1
    }
    try CatalogueCopy.make(of: queue, at: path + ".partial", isChecked: false)
    FileOwner.inherit(path + ".partial")
    try DurableFile.rename(path + ".partial", to: path)
    return path
  }

  /// Throws if a large share of the assets would be removed because the rows of their files are lost. The scan that
  /// follows would create new assets, without the user values of the old ones.
  private func checkRemovals(_ db: Database) throws {
    let known = try Int.fetchOne(db, sql: "SELECT count(*) FROM asset") ?? 0
    let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM asset WHERE \(CatalogueCorrection.hasNoFile)") ?? 0
    if limit.isExceeded(by: count, of: known) {
      throw LibraryError.tooManyWithoutFile(assets: count, known: known, limitPercent: limit.percent)
    }
  }

  /// - Returns: the corrections; `nil` if nothing was wrong.
  private func repair(
    _ db: Database, path: String, _ faults: Faults, _ acceptsRemovals: Bool
  ) throws -> [String: Int]? {
    var corrections: [String: Int] = [:]
    let definitions = try CatalogueDefinitions()
    let damaged = try definitions.damaged(db).count
    if damaged > 0 { corrections["definitions of indexes and triggers"] = damaged }
    try definitions.dropTriggersAndDamagedIndexes(db)
    if faults.isSearchReported { corrections["words of the search index"] = 1 }
    // The damaged pages may belong to the search index.
    if faults.isSearchWrong || !faults.damages.isEmpty { try SearchIndex.recreateTables(db) }
    if !faults.damages.isEmpty {
      corrections["faults in pages and indexes"] = faults.damages.count
      try db.execute(sql: "REINDEX")
      if let damage = try Faults.damages(db).first { throw LibraryError.beyondRepair(path: path, damage) }
    }
    if try Catalogue.storedKey(db) == nil { throw LibraryError.catalogueWithoutKey(path: path) }
    if !acceptsRemovals { try checkRemovals(db) }
    func correct(_ steps: [CatalogueCorrection]) throws {
      for step in steps {
        try db.execute(sql: step.sql)
        if db.changesCount > 0, let subject = step.subject { corrections[subject, default: 0] += db.changesCount }
      }
    }
    try correct(CatalogueCorrection.references)
    try correct(CatalogueCorrection.values)
    try correct(CatalogueCorrection.unreadableLists)
    // A lost token may have been higher than all tokens in the remaining rows.
    let hasHigherToken = try Catalogue.changeToken(db).number < Catalogue.highestToken(db)
    let isTokenLost = hasHigherToken || faults.hasLostChanges
    if isTokenLost { corrections["token of the library"] = 1 }
    try correct(CatalogueCorrection.ofMissingLibraries)
    // Limited libraries are created again at the next request of their principals.
    try CatalogueRestore.beginHistory(after: isTokenLost ? CatalogueRestore.tokenAfterEveryOther() : 0, db)
    if faults.hasLostChanges { try CatalogueRestore.forgetUnfinished(db) }
    try correct(CatalogueCorrection.ofLimitedLibraries)
    try correct(CatalogueCorrection.derived)
    // The corrections may have changed words.
    if Faults.isWrong({ report in try Catalogue.checkSearch(db, report) }) {
      corrections["words of the search index"] = 1
      try SearchIndex.recreateTables(db)
    }
    try definitions.createMissing(db)
    try MomentWriter.refreshAll(of: .whole, db)
    try SearchIndex.update(db)
    try SearchIndex.removeAllUnused(db)
    if faults.areLibrariesWrong { return corrections }
    // Every repair removes these rows, so they do not count as corrections.
    corrections[CatalogueCorrection.limitedRows] = nil
    return corrections.isEmpty ? nil : corrections
  }
}

/// The faults found before a repair, on a separate connection, because FTS5 refuses to write after it failed to read.
private struct Faults {
  /// Messages of SQLite about pages and indexes, without those about the content of the search index.
  var damages: [String] = []
  /// The derived rows of libraries are wrong.
  var areLibrariesWrong = false
  /// The search index differs from the assets, or can't be read.
  var isSearchWrong = false
  /// The fault of the search index counts as a correction: the index differs, or can't be read although no other page
  /// is damaged.
  var isSearchReported = false
  /// The log was damaged, and its last changes are lost.
  let hasLostChanges: Bool

  init(_ path: String, hasLostChanges: Bool) throws {
    self.hasLostChanges = hasLostChanges
    var configuration = Catalogue.configuration()
    configuration.readonly = true
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    // Each check has a transaction of its own: SQLite can't commit one that has met a damaged page.
    do { damages = try queue.read { try Self.damages($0) } } catch { damages = ["\(error)"] }
    areLibrariesWrong = Self.isWrong { report in try queue.read { try Catalogue.checkLibraries($0, report) } }
    var hasWrongWords = false
    isSearchWrong = Self.isWrong { report in
      try queue.read { db in
        try Catalogue.checkSearch(db) { difference in
          hasWrongWords = true
          report(difference)
        }
      }
    }
    isSearchReported = hasWrongWords || (isSearchWrong && damages.isEmpty)
    try queue.close()
  }

  static func damages(_ db: Database) throws -> [String] {
    let words = try String.fetchAll(db, sql: "PRAGMA integrity_check")
    return words.filter { $0 != "ok" && !$0.lowercased().contains("fts5") }
  }

  /// Whether a check reports a difference, or can't read what it checks.
  static func isWrong(_ check: ((CheckDifference) -> Void) throws -> Void) -> Bool {
    var isWrong = false
    do { try check { _ in isWrong = true } } catch { return true }
    return isWrong
  }
}
