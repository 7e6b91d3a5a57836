// A limited library is created at the first read with its set of granted collections, and deleted after thirty days
// without a read.

import GRDB
import PhotoModel
import Primitives
import Synchronization

extension Catalogue {
  /// Days without a read after which a limited library is deleted. The next read creates it again.
  private static let limitedLibraryLifetimeDays: Int64 = 30

  /// Whether this process knows that the library of a principal exists, and that of its issuer.
  package func hasPreparedLibrary(of principal: Principal) -> Bool {
    limitedUsage.isPrepared(principal.visibility) && principal.issuerVisibility.map(limitedUsage.isPrepared) ?? true
  }

  /// Creates the library of a principal, and that of its issuer, if they do not exist: a row for each asset in the
  /// granted collections.
  package func prepareLibrary(of principal: Principal) throws(AssetSourceError) {
    do throws(AssetSourceError) {
      try read(for: principal) { _, _ in }
    } catch {
      // Both libraries exist, but the issuer's one lacks the album.
      guard error == .issuerLostAccess else { throw error }
    }
    limitedUsage.notePrepared(principal.visibility)
    if let issuer = principal.issuerVisibility { limitedUsage.notePrepared(issuer) }
  }

  /// Reads the library that a principal can see. The first read with a set of granted collections creates it.
  ///
  /// - Throws: ``AssetSourceError/queryTooExpensive`` if the deadline passes first;
  ///   ``AssetSourceError/issuerLostAccess`` if the issuer of the principal's signed album no longer sees it.
  func read<Value>(
    for principal: Principal, before deadline: ContinuousClock.Instant? = nil,
    _ body: (Database, LibraryID) throws -> Value
  ) throws(AssetSourceError) -> Value {
    // The library may be pruned between its creation and the read, but not several times in a row.
    for _ in 0..<4 {
      let read: (value: Value, library: LibraryID, issuer: LibraryID?)? = try read { db in
        guard let found = try LibraryID.find(for: principal, db) else { return nil }
        return (try FetchDeadline.run(deadline, on: db) { try body(db, found.own) }, found.own, found.issuer)
      }
      if let read {
        if !read.library.isWhole { limitedUsage.note(read.library) }
        if let issuer = read.issuer { limitedUsage.note(issuer) }
        return read.value
      }
      try LimitedLibraryCreation(principal.visibility, in: self)?.run()
      if let issuer = principal.issuerVisibility { try LimitedLibraryCreation(issuer, in: self)?.run() }
    }
    throw .catalogueFailed("a limited library was deleted repeatedly before it could be read")
  }

  /// Records which limited libraries were read since the last call, and deletes those that were not read for thirty
  /// days. Call it at least once a day.
  package func pruneLimitedLibraries(
    now: Timestamp = .now
  ) throws(AssetSourceError) {
    let used = limitedUsage.take()
    if !used.isEmpty {
      try writeMaintenance { db in
        let note = try db.makeStatement(sql: "UPDATE library SET usedDate = max(usedDate, ?) WHERE id = ?")
        for library in used { try note.execute(arguments: [now.milliseconds, library.row]) }
      }
    }
    let limit = now.milliseconds - Self.limitedLibraryLifetimeDays * CivilDate.millisecondsPerDay
    let isAnyUnused = try read { db in
      try Int.fetchOne(db, sql: "SELECT 1 FROM library WHERE id > 0 AND usedDate < ?", arguments: [limit]) != nil
    }
    if isAnyUnused { try deleteLimitedLibraries(unusedSince: limit) }
  }

  /// - Parameter limit: milliseconds since 1970.
  private func deleteLimitedLibraries(unusedSince limit: Int64) throws(AssetSourceError) {
    do {
      try pool.writeWithoutTransaction { db in
        try file.checkingErrors(of: db, isWrite: true) {
          try Self.transaction(isLarge: true, db) { db in
            try db.execute(sql: "DELETE FROM library WHERE id > 0 AND usedDate < ?", arguments: [limit])
          }
        }
        // From now on, the history does not record what leaves the deleted libraries, so ``AssetGenerations`` can't
        // invalidate single assets of their callers. The writer runs no other write before this.
        commits.increment()
      }
    } catch {
      throw Self.translated(error)
    }
  }
}

/// The limited libraries that were read since the last call of `take()`, and those that exist: at most one for each
/// distinct set of granted collections.
final class LimitedLibraryUsage: Sendable {
  private struct State {
    var used: Set<LibraryID> = []
    var prepared: Set<Visibility> = []
  }

  private let state = Mutex(State())

  func note(_ library: LibraryID) { state.withLock { _ = $0.used.insert(library) } }

  func notePrepared(_ visibility: Visibility) { state.withLock { _ = $0.prepared.insert(visibility) } }

  /// True for the whole library, which always exists.
  func isPrepared(_ visibility: Visibility) -> Bool {
    visibility == .everything || state.withLock { $0.prepared.contains(visibility) }
  }

  /// Forgets which libraries were read, and which exist.
  func take() -> Set<LibraryID> {
    state.withLock { state in
      defer { state = State() }
      return state.used
    }
  }
}
