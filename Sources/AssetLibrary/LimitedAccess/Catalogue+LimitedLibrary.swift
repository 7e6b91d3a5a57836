// Limited libraries come into being when somebody asks with one, and go when nobody has for long.

import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// A limited library that nobody asked with for so long is given up; it is made again for whoever does.
  package static let limitedLibraryLifetime = Duration.seconds(30 * 86_400)

  /// Reads what there is for a principal.
  ///
  /// The first read with a set of granted collections writes: it takes about ten microseconds for each asset in them.
  func read<Value>(
    for principal: Principal, _ body: (Database, LibraryPart) throws -> Value
  ) throws(AssetSourceError) -> Value {
    // What was made may go before it is read, but not time after time.
    for _ in 0..<4 {
      let value: Value?? = try read { db in
        try LibraryPart(of: principal, db).map { part in .some(try body(db, part)) }
      }
      if case .some(.some(let value)) = value { return value }
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
}
