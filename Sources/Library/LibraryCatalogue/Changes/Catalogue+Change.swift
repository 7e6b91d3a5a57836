import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// Changes the library in one transaction and adds a row to the history. Triggers record what changed. If they
  /// recorded nothing, no token is used and no observer is notified. The moments of the changed days are recomputed in
  /// the same transaction if the days are few, and otherwise by ``refreshMoments(zone:stop:)``.
  ///
  /// - Parameters:
  ///   - isLarge: see ``transaction(isLarge:_:_:)``.
  ///   - body: gets the token of the change. Within the transaction, the library already has this token.
  /// - Returns: the library's token after the change.
  @discardableResult
  func change(
    isLarge: Bool = false, _ body: (Database, _ token: Int64) throws -> Void
  ) throws(AssetSourceError) -> ChangeToken {
    let token: ChangeToken
    do {
      token = try pool.writeWithoutTransaction { db -> ChangeToken in
        var token = ChangeToken(0)
        try file.checkingErrors(of: db, isWrite: true) {
          try Self.transaction(isLarge: isLarge, db) { token = try Self.change($0, body) }
        }
        return token
      }
    } catch {
      throw Self.translated(error)
    }
    feed.changed(to: token)
    return token
  }

  private static func change(_ db: Database, _ body: (Database, _ token: Int64) throws -> Void) throws -> ChangeToken {
    let now = Timestamp.now.milliseconds
    let token =
      try Int64.fetchOne(
        db.cachedStatement(
          sql: "UPDATE library SET revision = revision + 1, changeDate = ? WHERE id = 0 RETURNING revision"),
        arguments: [now]) ?? 0
    try body(db, token)
    try SearchIndex.update(db)
    // A row for each library that the change is visible in; none if the triggers recorded nothing. The row of the whole
    // library also sets its `nonLocationRevision`.
    try db.cachedStatement(
      sql: """
        INSERT INTO change (library, token, time, objects, isLocationOnly)
        SELECT id, revision, ?2,
          CASE id WHEN 0 THEN (SELECT count(*) FROM changedObject WHERE token = ?1)
            + (SELECT count(*) FROM changedMember WHERE token = ?1) ELSE objects END,
          CASE id WHEN 0 THEN NOT EXISTS (SELECT 1 FROM changedObject WHERE token = ?1 AND isLocationOnly = 0)
            ELSE nonLocationRevision < revision END
        FROM library
        WHERE revision = ?1 AND (EXISTS (SELECT 1 FROM changedObject WHERE token = ?1)
          OR EXISTS (SELECT 1 FROM changedMember WHERE token = ?1))
        """
    ).execute(arguments: [token, now])
    if db.changesCount > 0 {
      try MomentWriter.refreshFew(db)
      return ChangeToken(token)
    }
    try db.cachedStatement(sql: "UPDATE library SET revision = revision - 1 WHERE id = 0").execute()
    return ChangeToken(token - 1)
  }

  /// The token of the last change, within a transaction.
  static func changeToken(_ db: Database) throws -> ChangeToken { ChangeToken(try LibraryID.whole.revision(db)) }

  /// The token of the last change that a principal can see. Invisible changes do not move it, and neither does pruning
  /// of the history.
  static func visibleToken(_ db: Database, _ library: LibraryID, _ principal: Principal) throws -> ChangeToken {
    let column = principal.may(.location) ? "revision" : "nonLocationRevision"
    return ChangeToken(
      try Int64.fetchOne(
        db.cachedStatement(sql: "SELECT \(column) FROM library WHERE id = ?"), arguments: [library.row]) ?? 0)
  }

  /// The oldest state from which the history is complete for a principal. If the history starts later, the pruned
  /// changes in between were invisible to this principal.
  static func oldestAvailableToken(
    _ db: Database, _ library: LibraryID, _ principal: Principal
  ) throws -> ChangeToken {
    let oldest = try Int64.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT max(createdRevision, coalesce((
            SELECT token FROM change
            WHERE library = ?1 AND isLocationOnly <= ?2
              AND token <= (SELECT value FROM catalogueValue WHERE name = 'historyStart')
            ORDER BY token DESC LIMIT 1), 0))
          FROM library WHERE id = ?1
          """), arguments: [library.row, principal.may(.location)])
    return ChangeToken(oldest ?? .max)
  }
}
