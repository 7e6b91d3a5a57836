import Cryptography
import Foundation
import GRDB
import Primitives

/// A key that signs URLs. Two are valid at a time: the newest, which signs, and the one before it.
package struct SigningKey: Sendable {
  static let validCount = 2

  let identifier: String
  /// Signs, and checks signatures.
  let hmac: HMACSHA256

  /// The valid keys, newest first.
  static func newest(_ db: Database) throws -> [SigningKey] {
    try Row.fetchAll(
      db, sql: "SELECT identifier, secret FROM signingKey ORDER BY id DESC LIMIT ?", arguments: [validCount]
    ).map { SigningKey(identifier: $0["identifier"], hmac: HMACSHA256(key: $0["secret"] as Data)) }
  }

  /// Creates a key. Of the older keys only the newest stays valid.
  @discardableResult
  static func make(_ db: Database, at now: Int64) throws -> String {
    let identifier = RandomIdentifier.make()
    var generator = SystemRandomNumberGenerator()
    let secret = Data((0..<HMACSHA256.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    try db.execute(
      sql: "INSERT INTO signingKey (identifier, secret, created) VALUES (?, ?, ?)",
      arguments: [identifier, secret, now])
    try db.execute(
      sql: """
        DELETE FROM signingKey WHERE id NOT IN (SELECT id FROM signingKey ORDER BY id DESC LIMIT ?)
        """, arguments: [validCount])
    return identifier
  }
}

extension AccessDatabase {
  /// Creates a new signing key. URLs signed with the previous key stay valid; URLs signed with older keys become
  /// invalid.
  package func rotateSigningKey(at now: Int64 = SystemTime.now) throws(AccessError) -> String {
    try write { try SigningKey.make($0, at: now) }
  }
}
