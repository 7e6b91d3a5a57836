import Foundation
import GRDB
import PhotoModel
import Primitives

extension AccessDatabase {
  /// The time of last use is stored to the hour, so that it does not record a person's activity.
  static let lastUsedGranularitySeconds: Int64 = 3600

  /// All stored tokens, including expired and revoked ones, oldest first.
  package func tokens() throws(AccessError) -> [AccessToken] {
    try read { db in try Row.fetchAll(db, sql: "SELECT * FROM token ORDER BY id").map(AccessToken.init) }
  }

  /// Creates a token. The secret is returned only here.
  ///
  /// - Parameters:
  ///   - name: display name; `nil` uses the identifier.
  ///   - expires: seconds since 1970.
  package func createToken(
    name: String?, scopes: Set<Scope>, collections: Set<LocalIdentifier>?, expires: Int64?,
    at now: Int64 = SystemTime.now
  ) throws(AccessError) -> (token: AccessToken, secret: Secret) {
    if scopes.contains(.write), !scopes.contains(.read) { throw .writeNeedsRead }
    let secret = Secret(.token)
    let identifier = RandomIdentifier.make()
    let limit = limits.tokens
    let token = AccessToken(
      identifier: identifier, name: name ?? identifier, scopes: scopes, collections: collections, created: now,
      expires: expires)
    try write { db in
      let active = try Int.fetchOne(
        db, sql: "SELECT count(*) FROM token WHERE NOT (\(Self.inactiveCondition))", arguments: [now])
      guard active ?? 0 < limit else { throw AccessError.tooManyTokens(limit: limit) }
      // Keep expired and revoked tokens for reference, but only a limited number.
      try db.execute(
        sql: """
          DELETE FROM token WHERE id IN (
            SELECT id FROM token WHERE \(Self.inactiveCondition) ORDER BY id DESC LIMIT -1 OFFSET ?)
          """, arguments: [now, limit])
      try db.execute(
        sql: """
          INSERT INTO token (identifier, digest, name, scopes, collections, created, expires)
          VALUES (?, ?, ?, ?, ?, ?, ?)
          """,
        arguments: [
          token.identifier, Data(secret.digest), token.name,
          token.scopes.map(\.rawValue).sorted().joined(separator: ","),
          token.collections?.map(\.rawValue).sorted().joined(separator: "\n"), now, expires,
        ])
    }
    return (token, secret)
  }

  /// Removes a token as if it had not been created, because its secret reached no one.
  package func discardToken(_ identifier: String) throws(AccessError) {
    try write { db in try db.execute(sql: "DELETE FROM token WHERE identifier = ?", arguments: [identifier]) }
  }

  /// The token with an identifier or a name.
  ///
  /// - Parameter name: the identifier, or the name if no other active token has it.
  package func token(_ name: String) throws(AccessError) -> AccessToken {
    try read { db in try Self.token(name, db) }
  }

  private static func token(_ name: String, _ db: Database) throws -> AccessToken {
    let named = try Row.fetchAll(
      db, sql: "SELECT * FROM token WHERE identifier = ? OR name = ? ORDER BY identifier = ? DESC, id",
      arguments: [name, name, name]
    ).map(AccessToken.init)
    let active = named.filter { $0.revoked == nil }
    guard let token = named.first(where: { $0.identifier == name }) ?? active.first ?? named.first else {
      throw AccessError.noSuchToken(name)
    }
    if token.identifier != name, active.count > 1 { throw AccessError.ambiguousToken(name) }
    return token
  }

  /// Revokes a token. A token that is already revoked stays unchanged.
  ///
  /// - Parameter name: as of ``token(_:)``.
  package func revokeToken(_ name: String, at now: Int64 = SystemTime.now) throws(AccessError) -> AccessToken {
    try write { db in
      var token = try Self.token(name, db)
      if token.revoked == nil {
        try db.execute(sql: "UPDATE token SET revoked = ? WHERE identifier = ?", arguments: [now, token.identifier])
        token.revoked = now
      }
      return token
    }
  }

  /// Records that these tokens were used.
  func recordUsage(_ identifiers: [String], at now: Int64) throws(AccessError) {
    let hour = now / Self.lastUsedGranularitySeconds * Self.lastUsedGranularitySeconds
    try write { db in
      for identifier in identifiers {
        try db.execute(
          sql: "UPDATE token SET lastUsed = ?1 WHERE identifier = ?2 AND lastUsed IS NOT ?1",
          arguments: [hour, identifier])
      }
    }
  }

  private static let inactiveCondition = "revoked IS NOT NULL OR coalesce(expires <= ?, 0)"
}

extension AccessToken {
  init(_ row: Row) {
    self.init(
      identifier: row["identifier"], name: row["name"],
      scopes: Set((row["scopes"] as String).split(separator: ",").compactMap { Scope(rawValue: String($0)) }),
      collections: (row["collections"] as String?).map { text in
        Set(text.split(separator: "\n").map { LocalIdentifier(String($0)) })
      },
      created: row["created"], expires: row["expires"], revoked: row["revoked"], lastUsed: row["lastUsed"])
  }
}

enum RandomIdentifier {
  /// 64 random bits as 16 hexadecimal digits.
  static func make() -> String { UInt64.random(in: .min ... .max).hexadecimal }
}
