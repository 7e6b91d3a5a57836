import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// Changes the library: one transaction, all of it or nothing, and the row of the history that goes with it. What it changed is
  /// noted by triggers; where that is nothing, no token is taken, and nobody is told.
  ///
  /// - Parameter body: gets the token that the change will have; the library's own is that by then.
  /// - Returns: the library's token afterwards.
  @discardableResult
  func change(_ body: (Database, _ token: Int64) throws -> Void) throws(AssetSourceError) -> ChangeToken {
    let token: ChangeToken
    do {
      token = try pool.write { db in try Self.change(db, body) }
    } catch {
      throw Self.translated(error)
    }
    feed.changed(to: token)
    return token
  }

  private static func change(_ db: Database, _ body: (Database, _ token: Int64) throws -> Void) throws -> ChangeToken {
    let token =
      try Int64.fetchOne(
        db.cachedStatement(sql: "UPDATE library SET value = value + 1 WHERE key = 'token' RETURNING value")) ?? 0
    try body(db, token)
    let noted = try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT (SELECT count(*) FROM changedObject WHERE token = ?1) + (SELECT count(*) FROM changedMember WHERE token = ?1),
            NOT EXISTS (SELECT 1 FROM changedObject WHERE token = ?1 AND isPlaceOnly = 0)
          """), arguments: [token])
    guard let noted, noted[0] > 0 else {
      try db.cachedStatement(sql: "UPDATE library SET value = ? WHERE key = 'token'").execute(arguments: [token - 1])
      return ChangeToken(token - 1)
    }
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    try db.cachedStatement(sql: "INSERT INTO change (token, time, objects, isPlaceOnly) VALUES (?, ?, ?, ?)")
      .execute(arguments: [token, now, noted[0] as Int, noted[1] as Bool])
    return ChangeToken(token)
  }

  /// The library's token, in a transaction.
  static func changeToken(_ db: Database) throws -> ChangeToken {
    ChangeToken(
      try Int64.fetchOne(db.cachedStatement(sql: "SELECT value FROM library WHERE key = 'token'")) ?? 0)
  }

  /// The token of the last change that a principal may know of, as clients get it.
  static func token(_ db: Database, _ part: LibraryPart, for principal: Principal) throws -> String {
    let token = try visibleToken(db, part, principal)
    return try String.fetchOne(db.cachedStatement(sql: "SELECT changeToken(?)"), arguments: [token.number]) ?? ""
  }

  /// The token of the last change that a principal may know of. Nothing else moves it: neither what others change, nor that
  /// the history is shortened.
  static func visibleToken(_ db: Database, _ part: LibraryPart, _ principal: Principal) throws -> ChangeToken {
    let last: Int64?
    switch (part, principal.may(.location)) {
    case (.whole, true): return try changeToken(db)
    case (.whole, false): last = try lastOfMoreThanPlaces(upTo: .max, db) ?? historyStart(db)
    case (.limited(let library), let mayKnowPlaces):
      last = try Int64.fetchOne(
        db.cachedStatement(
          sql: "SELECT \(mayKnowPlaces ? "revision" : "placelessRevision") FROM limitedLibrary WHERE id = ?"),
        arguments: [library])
    }
    return ChangeToken(last ?? 0)
  }

  /// The oldest state that all is known since that a principal may know of. Where the history goes back to a later one, what
  /// is lost before that is nothing to this principal.
  static func oldestKnownToken(_ db: Database, _ part: LibraryPart, _ principal: Principal) throws -> ChangeToken {
    let start = try historyStart(db)
    switch (part, principal.may(.location)) {
    case (.whole, true): return ChangeToken(start)
    case (.whole, false): return ChangeToken(try lastOfMoreThanPlaces(upTo: start, db) ?? start)
    case (.limited(let library), let mayKnowPlaces):
      let own = try Int64.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT max(madeRevision, coalesce((
              SELECT token FROM limitedRevision WHERE library = ?1 AND token <= ?2 AND isPlaceOnly <= ?3
              ORDER BY token DESC LIMIT 1), 0))
            FROM limitedLibrary WHERE id = ?1
            """), arguments: [library, start, mayKnowPlaces])
      return ChangeToken(own ?? .max)
    }
  }

  private static func historyStart(_ db: Database) throws -> Int64 {
    try Int64.fetchOne(db.cachedStatement(sql: "SELECT value FROM library WHERE key = 'historyStart'")) ?? .max
  }

  private static func lastOfMoreThanPlaces(upTo token: Int64, _ db: Database) throws -> Int64? {
    try Int64.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT token FROM change INDEXED BY changeOfMoreThanPlaces WHERE isPlaceOnly = 0 AND token <= ?
          ORDER BY token DESC LIMIT 1
          """), arguments: [token])
  }
}
