// Limited libraries come into being when somebody asks with one, and go when nobody has for long.

import Foundation
import GRDB
import PhotoModel
import Synchronization

extension Catalogue {
  /// A limited library that nobody asked with for so long is given up; it is made again for whoever does.
  private static let limitedLibraryDays: Int64 = 30

  /// Reads what there is for a principal.
  ///
  /// The first read with a set of granted collections writes a row for each asset in them.
  func read<Value>(
    for principal: Principal, _ body: (Database, LibraryPart) throws -> Value
  ) throws(AssetSourceError) -> Value {
    // What was made may go before it is read, but not time after time.
    for _ in 0..<4 {
      let read: (value: Value, part: LibraryPart)? = try read { db in
        guard let part = try LibraryPart(of: principal, db) else { return nil }
        return (try body(db, part), part)
      }
      if let read {
        if case .limited(let library) = read.part { limitedUse.note(library) }
        return read.value
      }
      try makeLimitedLibrary(of: principal.visibility)
    }
    throw .catalogueFailed("a limited library goes as soon as it is made")
  }

  private func makeLimitedLibrary(of visibility: Visibility) throws(AssetSourceError) {
    guard case .collections(let granted) = visibility, let digest = visibility.grantedDigest else { return }
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    // No change of the library.
    try writeUncounted { db in
      try db.execute(
        sql: """
          INSERT OR IGNORE INTO limitedLibrary (granted, revision, placelessRevision, madeRevision, usedDate)
          SELECT ?, value, value, value, ? FROM library WHERE key = 'token'
          """, arguments: [digest, now])
      // Somebody else may have been quicker.
      guard db.changesCount == 1 else { return }
      let library = db.lastInsertedRowID
      let grant = try db.makeStatement(sql: "INSERT INTO limitedGrant VALUES (?, ?)")
      for identifier in granted { try grant.execute(arguments: [identifier.rawValue, library]) }
      try db.execute(
        sql: """
          INSERT INTO limitedCollection (collection, library, came, localIdentifier, type, position)
          SELECT collection.id, library, (SELECT value FROM library WHERE key = 'token'), localIdentifier, type, position
          FROM limitedReach JOIN collection ON collection.id = limitedReach.collection WHERE library = ?
          """, arguments: [library])
      try MomentWriter.refreshAll(of: .limited(library), db)
    }
  }

  /// Notes which limited libraries were used since the last call, and gives up those that were not for thirty days. To be
  /// called now and then, once a day or oftener.
  package func tidyLimitedLibraries(
    now: Timestamp = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
  ) throws(AssetSourceError) {
    let used = limitedUse.take()
    let limit = now.milliseconds - Self.limitedLibraryDays * CivilDate.millisecondsPerDay
    let isNeeded = try read { db in
      try !used.isEmpty
        || Int.fetchOne(db, sql: "SELECT 1 FROM limitedLibrary WHERE usedDate < ?", arguments: [limit]) != nil
    }
    guard isNeeded else { return }
    try writeUncounted { db in
      let note = try db.makeStatement(sql: "UPDATE limitedLibrary SET usedDate = max(usedDate, ?) WHERE id = ?")
      for library in used { try note.execute(arguments: [now.milliseconds, library]) }
      try db.execute(sql: "DELETE FROM limitedLibrary WHERE usedDate < ?", arguments: [limit])
    }
  }
}

/// Which limited libraries were read from: as many as there are sets of granted collections, which those who may grant
/// keep few.
final class LimitedUse: Sendable {
  private let used = Mutex<Set<Int64>>([])

  func note(_ library: Int64) { used.withLock { _ = $0.insert(library) } }

  func take() -> Set<Int64> {
    used.withLock { used in
      defer { used = [] }
      return used
    }
  }
}
