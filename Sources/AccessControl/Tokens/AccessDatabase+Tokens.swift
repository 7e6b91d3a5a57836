import Foundation
import GRDB
import PhotoModel

extension AccessDatabase {
  /// Last uses are kept to the hour: more would be a diary.
  static let lastUseGrain: Int64 = 3600

  /// All that are remembered, the oldest first.
  package func tokens() throws(AccessError) -> [AccessToken] {
    try read { db in try Row.fetchAll(db, sql: "SELECT * FROM token ORDER BY id").map(AccessToken.init) }
  }

  /// The same, each with the SHA-256 of its secret.
  func digestedTokens() throws(AccessError) -> [(digest: [UInt8], token: AccessToken)] {
    try read { db in
      try Row.fetchAll(db, sql: "SELECT * FROM token ORDER BY id").map { row in
        ([UInt8](row["digest"] as Data), AccessToken(row))
      }
    }
  }

  /// Makes one. The secret is given out here and never again.
  ///
  /// - Parameters:
  ///   - name: for people; its identifier where it is `nil`.
  ///   - expires: seconds since 1970.
  package func createToken(
    name: String?, scopes: Set<Scope>, collections: Set<LocalIdentifier>?, expires: Int64?,
    at now: Int64 = SystemTime.now
  ) throws(AccessError) -> (token: AccessToken, secret: Secret) {
    let secret = Secret(.token)
    let identifier = RandomIdentifier.make()
    let limit = limits.tokens
    let token = AccessToken(
      identifier: identifier, name: name ?? identifier, scopes: scopes, collections: collections, created: now,
      expires: expires)
    try write { db in
      let active = try Int.fetchOne(db, sql: "SELECT count(*) FROM token WHERE NOT (\(Self.isOver))", arguments: [now])
      guard active ?? 0 < limit else { throw AccessError.tooManyTokens(limit: limit) }
      // What is over is remembered for whoever asks why, but not without end.
      try db.execute(
        sql: """
          DELETE FROM token WHERE id IN (
            SELECT id FROM token WHERE \(Self.isOver) ORDER BY id DESC LIMIT -1 OFFSET ?)
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

  /// Ends one for good. One that is over stays as it is.
  ///
  /// - Parameter name: its identifier, or its name where no other token in force has it.
  package func revokeToken(_ name: String, at now: Int64 = SystemTime.now) throws(AccessError) -> AccessToken {
    try write { db in
      let named = try Row.fetchAll(
        db, sql: "SELECT * FROM token WHERE identifier = ? OR name = ? ORDER BY identifier = ? DESC, id",
        arguments: [name, name, name]
      ).map(AccessToken.init)
      let active = named.filter { $0.revoked == nil }
      guard var token = named.first(where: { $0.identifier == name }) ?? active.first ?? named.first else {
        throw AccessError.noSuchToken(name)
      }
      if token.identifier != name, active.count > 1 { throw AccessError.ambiguousToken(name) }
      if token.revoked == nil {
        try db.execute(sql: "UPDATE token SET revoked = ? WHERE identifier = ?", arguments: [now, token.identifier])
        token.revoked = now
      }
      return token
    }
  }

  /// Notes that these were used.
  func tokensWereUsed(_ identifiers: [String], at now: Int64) throws(AccessError) {
    let hour = now / Self.lastUseGrain * Self.lastUseGrain
    try write { db in
      for identifier in identifiers {
        try db.execute(
          sql: "UPDATE token SET lastUsed = ?1 WHERE identifier = ?2 AND coalesce(lastUsed, 0) < ?1",
          arguments: [hour, identifier])
      }
    }
  }

  private static let isOver = "revoked IS NOT NULL OR coalesce(expires <= ?, 0)"
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
  static func make() -> String {
    let digits = String(UInt64.random(in: .min ... .max), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
