// The part of the library that a principal can see, as SQL. Tables of limited libraries and their indexes are named
// after those of the whole library and have the same columns after `library`, so that each read is written once for
// both.

import Crypto
import Foundation
import GRDB
import PhotoModel

/// The part of the library that a read may see. Every statement of the read is limited to it.
enum LibraryPart: Sendable, Hashable {
  case whole
  /// A limited library, given by its row.
  case limited(Int64)

  /// The part that a principal can see, within one read. `nil` if its limited library has not been created yet.
  ///
  /// It is looked up by the digest of the granted collections in each read, and is never cached, so it can't be out of
  /// date.
  init?(of principal: Principal, _ db: Database) throws {
    guard let granted = principal.visibility.grantedDigest else {
      self = .whole
      return
    }
    let id = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT id FROM limitedLibrary WHERE granted = ?"), arguments: [granted])
    guard let id else { return nil }
    self = .limited(id)
  }

  /// The token of the last change within this part.
  func revision(_ db: Database) throws -> Int64 {
    switch self {
    case .whole: return try Catalogue.changeToken(db).number
    case .limited(let library):
      return try Int64.fetchOne(
        db.cachedStatement(sql: "SELECT revision FROM limitedLibrary WHERE id = ?"), arguments: [library]) ?? 0
    }
  }

  /// Whether a collection, given by its row, is in this part.
  func contains(collection row: Int64, _ db: Database) throws -> Bool {
    guard case .limited(let library) = self else { return true }
    return try Int.fetchOne(
      db.cachedStatement(sql: "SELECT 1 FROM limitedCollection WHERE collection = ? AND library = ?"),
      arguments: [row, library]) != nil
  }

  /// Whether an asset, given by its row, is in this part.
  func contains(asset row: Int64, _ db: Database) throws -> Bool {
    guard case .limited(let library) = self else { return true }
    return try Int.fetchOne(
      db.cachedStatement(sql: "SELECT 1 FROM limitedAsset WHERE asset = ? AND library = ?"),
      arguments: [row, library]) != nil
  }

  // MARK: SQL

  /// The name of a table or an index of the whole library, or of its counterpart for limited libraries.
  func name(_ name: String) -> String {
    switch self {
    case .whole: name
    case .limited: "limited" + name.prefix(1).uppercased() + name.dropFirst()
    }
  }

  /// A condition that limits a table's rows to this part.
  var condition: String { condition(on: "library") }

  func condition(on column: String) -> String {
    switch self {
    case .whole: "1"
    case .limited(let library): "\(column) = \(library)"
    }
  }

  /// The FROM clause that reads this part's assets along an index of `asset`. Combine it with `condition`.
  func assets(by index: AssetIndex) -> String {
    switch self {
    case .whole: "asset INDEXED BY \(index.rawValue)"
    case .limited: "limitedAsset INDEXED BY \(index.ofLimited) CROSS JOIN asset ON asset.id = limitedAsset.asset"
    }
  }

  /// The FROM clause that reads this part's assets from a list of row numbers with the alias `listed`.
  func assets(in list: String) -> String {
    switch self {
    case .whole: "\(list) CROSS JOIN asset ON asset.id = listed.value"
    case .limited(let library):
      """
      \(list) CROSS JOIN limitedAsset ON limitedAsset.asset = listed.value AND limitedAsset.library = \(library)
        CROSS JOIN asset ON asset.id = limitedAsset.asset
      """
    }
  }

  /// A smart album's rule in the form that its index declares, with literals.
  func condition(of album: SmartAlbum) -> String {
    switch self {
    case .whole: album.condition
    case .limited: album.index == nil ? "1" : "(limitedAsset.counted & \(1 << album.counterBit)) <> 0"
    }
  }

  /// An asset column that this part's indexes contain.
  func column(_ name: String) -> String {
    switch self {
    case .whole: "asset." + name
    case .limited: "limitedAsset." + name
    }
  }

  /// An INSERT statement for a table of this part; for limited libraries it adds the column `library`.
  func insertion(into table: String, _ columns: String, _ values: String) -> String {
    switch self {
    case .whole: "INSERT INTO \(table) (\(columns)) VALUES (\(values))"
    case .limited(let library):
      "INSERT INTO \(name(table)) (library, \(columns)) VALUES (\(library), \(values))"
    }
  }

  /// Prepares a statement. Those of the whole library are few and cached; those of limited libraries contain the
  /// library's row, so their number is unlimited.
  func statement(_ sql: String, _ db: Database) throws -> Statement {
    switch self {
    case .whole: try db.cachedStatement(sql: sql)
    case .limited: try db.makeStatement(sql: sql)
    }
  }
}

/// An index of `asset` that reads run along.
enum AssetIndex: String, Sendable, Hashable {
  // SQLite chooses the name of the index of a UNIQUE column.
  case byIdentifier = "sqlite_autoindex_asset_1"
  case byBurst = "assetByBurst"
  case byDate = "assetByDate"
  /// Contains only assets with `listing = 0`.
  case visibleByDate = "visibleAssetByDate"
  case byAddition = "assetByAddition"
  case favorites = "favoriteByDate"
  case videos = "videoByDate"
  case panoramas = "panoramaByDate"
  case bursts = "burstByDate"
  case screenshots = "screenshotByDate"
  case hdr = "hdrByDate"
  case depth = "depthByDate"
  case live = "liveByDate"
  case raw = "rawByDate"
  case hidden = "hiddenByDate"

  /// The counterpart for limited libraries.
  var ofLimited: String {
    switch self {
    case .byIdentifier: "limitedAssetByIdentifier"
    case .visibleByDate: "limitedAssetByDate"
    default: "limited" + rawValue.prefix(1).uppercased() + rawValue.dropFirst()
    }
  }
}

extension Visibility {
  /// The SHA-256 digest that identifies a set of granted collections; `nil` if everything is granted.
  var grantedDigest: Data? {
    guard case .collections(let granted) = self else { return nil }
    var hash = SHA256()
    for identifier in granted.map(\.rawValue).sorted() { hash.update(data: Data(identifier.utf8) + [0]) }
    return Data(hash.finalize())
  }
}
