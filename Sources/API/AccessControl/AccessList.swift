import Foundation
import GRDB

/// The content of the access database, against which requests are checked.
struct AccessList: Sendable {
  /// A token with the SHA-256 of its secret.
  struct Entry: Sendable {
    let digest: [UInt8]
    let token: AccessToken
  }

  /// A number that changes when another connection has modified the database since this connection last read it
  /// (https://www.sqlite.org/pragma.html#pragma_data_version).
  let version: Int64
  /// All stored tokens, including expired and revoked ones, oldest first.
  let tokens: [Entry]
  /// The valid signing keys, newest first.
  let keys: [SigningKey]
}

extension AccessDatabase {
  /// Reads the access list in one transaction; `nil` if its version is `known`.
  func accessList(unlessVersion known: Int64?) throws(AccessError) -> AccessList? {
    try read { db -> AccessList? in
      let version = try Int64.fetchOne(db, sql: "PRAGMA data_version") ?? 0
      guard version != known else { return nil }
      let tokens = try Row.fetchAll(db, sql: "SELECT * FROM token ORDER BY id").map { row in
        AccessList.Entry(digest: [UInt8](row["digest"] as Data), token: AccessToken(row))
      }
      return AccessList(version: version, tokens: tokens, keys: try SigningKey.newest(db))
    }
  }
}
