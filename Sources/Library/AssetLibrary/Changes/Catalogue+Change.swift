import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// Changes the library in one atomic transaction, with its row of the history. Triggers record what changed. If they
  /// recorded nothing, no token is used and no observer is notified.
  ///
  /// - Parameter body: gets the token of the change, which the library already has inside the transaction.
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
            NOT EXISTS (SELECT 1 FROM changedObject WHERE token = ?1 AND isLocationOnly = 0)
          """), arguments: [token])
    guard let noted, noted[0] > 0 else {
      try db.cachedStatement(sql: "UPDATE library SET value = ? WHERE key = 'token'").execute(arguments: [token - 1])
      return ChangeToken(token - 1)
    }
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    try db.cachedStatement(sql: "INSERT INTO change (token, time, objects, isLocationOnly) VALUES (?, ?, ?, ?)")
      .execute(arguments: [token, now, noted[0] as Int, noted[1] as Bool])
    return ChangeToken(token)
  }

  /// The library's token, within a transaction.
  static func changeToken(_ db: Database) throws -> ChangeToken {
    ChangeToken(
      try Int64.fetchOne(db.cachedStatement(sql: "SELECT value FROM library WHERE key = 'token'")) ?? 0)
  }

  /// The token of the last change that a principal can see, as text for clients.
  static func token(_ db: Database, _ part: LibraryPart, for principal: Principal) throws -> String {
    let token = try visibleToken(db, part, principal)
    return try String.fetchOne(db.cachedStatement(sql: "SELECT changeToken(?)"), arguments: [token.number]) ?? ""
  }

  /// The token of the last change that a principal can see. Invisible changes do not move it, and neither does pruning
  /// of the history.
  static func visibleToken(_ db: Database, _ part: LibraryPart, _ principal: Principal) throws -> ChangeToken {
    let last: Int64?
    switch (part, principal.may(.location)) {
    case (.whole, true): return try changeToken(db)
    case (.whole, false): last = try lastTokenBeyondLocation(upTo: .max, db) ?? historyStart(db)
    case (.limited(let library), let mayReadLocation):
      last = try Int64.fetchOne(
        db.cachedStatement(
          sql: "SELECT \(mayReadLocation ? "revision" : "nonLocationRevision") FROM limitedLibrary WHERE id = ?"),
        arguments: [library])
    }
    return ChangeToken(last ?? 0)
  }

  /// The oldest state from which the history is complete for a principal. If the history starts later, the pruned
  /// changes in between were invisible to this principal.
  static func oldestAvailableToken(_ db: Database, _ part: LibraryPart, _ principal: Principal) throws -> ChangeToken {
    let start = try historyStart(db)
    switch (part, principal.may(.location)) {
    case (.whole, true): return ChangeToken(start)
    case (.whole, false): return ChangeToken(try lastTokenBeyondLocation(upTo: start, db) ?? start)
    case (.limited(let library), let mayReadLocation):
      let own = try Int64.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT max(madeRevision, coalesce((
              SELECT token FROM limitedRevision WHERE library = ?1 AND token <= ?2 AND isLocationOnly <= ?3
              ORDER BY token DESC LIMIT 1), 0))
            FROM limitedLibrary WHERE id = ?1
            """), arguments: [library, start, mayReadLocation])
      return ChangeToken(own ?? .max)
    }
  }

  private static func historyStart(_ db: Database) throws -> Int64 {
    try Int64.fetchOne(db.cachedStatement(sql: "SELECT value FROM library WHERE key = 'historyStart'")) ?? .max
  }

  private static func lastTokenBeyondLocation(upTo token: Int64, _ db: Database) throws -> Int64? {
    try Int64.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT token FROM change INDEXED BY changeBeyondLocation WHERE isLocationOnly = 0 AND token <= ?
          ORDER BY token DESC LIMIT 1
          """), arguments: [token])
  }
}
