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

  /// The library that a principal can see, within one read. `nil` if its limited library, or that of its issuer, has
  /// not been created yet.
  ///
  /// Each read looks it up by the digest of the granted collections. It is never cached, so it can't be stale.
  ///
  /// - Throws: ``AssetSourceError/issuerLostAccess``.
  init?(of principal: Principal, _ db: Database) throws {
    guard let found = try Self.find(for: principal, db) else { return nil }
    self = found.own
  }

  /// The library that a principal can see, and that of its issuer. Checks within the read that the issuer still has the
  /// signed album, so no read sees a state of the catalogue in which the issuer has lost it.
  static func find(for principal: Principal, _ db: Database) throws -> (own: LibraryID, issuer: LibraryID?)? {
    guard let own = try LibraryID(of: principal.visibility, db) else { return nil }
    guard let visibility = principal.issuerVisibility else { return (own, nil) }
    guard let issuer = try LibraryID(of: visibility, db) else { return nil }
    guard try issuer.containsGrants(of: own, db) else { throw AssetSourceError.issuerLostAccess }
    return (own, issuer)
  }

  private init?(of visibility: Visibility, _ db: Database) throws {
    guard let granted = visibility.grantedDigest else {
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

  /// Whether this library has each collection that is granted to another library.
  private func containsGrants(of other: LibraryID, _ db: Database) throws -> Bool {
    try Int.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT 1 FROM libraryGrant INDEXED BY libraryGrantByLibrary
          WHERE libraryGrant.library = ? AND NOT EXISTS (
            SELECT 1 FROM libraryCollection INDEXED BY libraryCollectionByIdentifier
            WHERE libraryCollection.library = ? AND libraryCollection.localIdentifier = libraryGrant.localIdentifier)
          """), arguments: [other.row, row]) == nil
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
