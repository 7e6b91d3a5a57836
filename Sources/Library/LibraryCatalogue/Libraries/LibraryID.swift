// The library that a principal sees. Every statement of a read names it, `library = ?`. Only a few rules differ between
// the whole library and limited ones: see the uses of `isWhole`.

import Cryptography
import Foundation
import GRDB
import PhotoModel

/// A library of the catalogue: the whole one, or a limited one.
struct LibraryID: Sendable, Hashable {
  /// All collections and assets.
  static let whole = LibraryID(row: 0)

  /// Its row in `library`.
  let row: Int64

  init(row: Int64) { self.row = row }

  /// The library that a principal can see, within one read. `nil` if its limited library has not been created yet.
  ///
  /// Each read looks it up by the digest of the granted collections. It is never cached, so it can't be stale.
  init?(of principal: Principal, _ db: Database) throws {
    guard let granted = principal.visibility.grantedDigest else {
      self = .whole
      return
    }
    let row = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT id FROM library WHERE granted = ?"), arguments: [granted])
    guard let row else { return nil }
    self.row = row
  }

  var isWhole: Bool { self == .whole }

  /// The token of the last visible change.
  func revision(_ db: Database) throws -> Int64 {
    try Int64.fetchOne(db.cachedStatement(sql: "SELECT revision FROM library WHERE id = ?"), arguments: [row]) ?? 0
  }

  // MARK: Lookup

  /// The row of an asset. An asset outside the library takes the same path as one that never existed: same key, same
  /// index, no row. So timing does not reveal which of the two it is.
  func asset(_ identifier: LocalIdentifier, _ db: Database) throws -> Int64? {
    try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT asset FROM libraryAsset WHERE library = ? AND localIdentifier = ?"),
      arguments: [row, identifier.rawValue])
  }

  /// Whether an asset, given by its row, is in this library.
  func contains(asset: Int64, _ db: Database) throws -> Bool {
    try Int.fetchOne(
      db.cachedStatement(sql: "SELECT 1 FROM libraryAsset WHERE asset = ? AND library = ?"),
      arguments: [asset, row]) != nil
  }

  /// Whether a collection, given by its row, is in this library.
  func contains(collection: Int64, _ db: Database) throws -> Bool {
    try Int.fetchOne(
      db.cachedStatement(sql: "SELECT 1 FROM libraryCollection WHERE collection = ? AND library = ?"),
      arguments: [collection, row]) != nil
  }
}

extension Visibility {
  /// The SHA-256 digest that identifies a set of granted collections; `nil` if everything is granted.
  var grantedDigest: Data? {
    guard case .collections(let granted) = self else { return nil }
    var hash = Digest(.sha256)
    for identifier in granted.map(\.rawValue).sorted() { hash.update(Array(identifier.utf8) + [0]) }
    return Data(hash.finalize())
  }
}
