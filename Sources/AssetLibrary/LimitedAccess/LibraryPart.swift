// What of the library there is for whoever asks, as SQL. Tables of limited libraries, and their indexes, are called after
// those of the whole one and have the same columns behind `library`, so that a read is written once for both.

import Crypto
import Foundation
import GRDB
import PhotoModel

/// The part of the library that a read runs over: every statement of the read begins with it.
enum LibraryPart: Sendable, Hashable {
  case whole
  /// A limited library, by its row.
  case limited(Int64)

  /// The part of a principal, inside one read. `nil`: a limited library that is not made yet.
  ///
  /// It is looked up by what is granted, by one key, each time: so nothing that is kept can be out of date.
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

  /// The token of the last change of anything in it.
  func revision(_ db: Database) throws -> Int64 {
    switch self {
    case .whole: return try Catalogue.changeToken(db).number
    case .limited(let library):
      return try Int64.fetchOne(
        db.cachedStatement(sql: "SELECT revision FROM limitedLibrary WHERE id = ?"), arguments: [library]) ?? 0
    }
  }

  /// Whether a collection is in it, by its row.
  func contains(collection row: Int64, _ db: Database) throws -> Bool {
    guard case .limited(let library) = self else { return true }
    return try Int.fetchOne(
      db.cachedStatement(sql: "SELECT 1 FROM limitedCollection WHERE collection = ? AND library = ?"),
      arguments: [row, library]) != nil
  }

  // MARK: SQL

  /// A table or an index of the whole library, or the one of limited libraries that is like it.
  func name(_ name: String) -> String {
    switch self {
    case .whole: name
    case .limited: "limited" + name.prefix(1).uppercased() + name.dropFirst()
    }
  }

  /// True of a table's rows that are in it.
  var condition: String { condition(on: "library") }

  func condition(on column: String) -> String {
    switch self {
    case .whole: "1"
    case .limited(let library): "\(column) = \(library)"
    }
  }

  /// Its assets along an index of the table of assets: what follows FROM. `condition` goes with it.
  func assets(by index: AssetIndex) -> String {
    switch self {
    case .whole: "asset INDEXED BY \(index.rawValue)"
    case .limited: "limitedAsset INDEXED BY \(index.ofLimited) CROSS JOIN asset ON asset.id = limitedAsset.asset"
    }
  }

  /// Those of its assets whose rows are listed somewhere.
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

  /// A smart album's rule as its index says it, in literals.
  func condition(of album: SmartAlbum) -> String {
    switch self {
    case .whole: album.condition
    case .limited: album.index == nil ? "1" : "(limitedAsset.counted & \(1 << album.counterBit)) <> 0"
    }
  }

  /// A column of an asset that its indexes hold, along them.
  func column(_ name: String) -> String {
    switch self {
    case .whole: "asset." + name
    case .limited: "limitedAsset." + name
    }
  }

  /// Begins to insert into a table with such columns, of which `library` is the first.
  func insertion(into table: String, _ columns: String, _ values: String) -> String {
    switch self {
    case .whole: "INSERT INTO \(table) (\(columns)) VALUES (\(values))"
    case .limited(let library):
      "INSERT INTO \(name(table)) (library, \(columns)) VALUES (\(library), \(values))"
    }
  }

  /// Statements of the whole library are few and kept; of limited ones there is no end.
  func statement(_ sql: String, _ db: Database) throws -> Statement {
    switch self {
    case .whole: try db.cachedStatement(sql: sql)
    case .limited: try db.makeStatement(sql: sql)
    }
  }
}

/// An index of the table of assets that reads run along.
enum AssetIndex: String, Sendable, Hashable {
  // The index of a column that is UNIQUE has a name of SQLite's making.
  case byIdentifier = "sqlite_autoindex_asset_1"
  case byBurst = "assetByBurst"
  case byDate = "assetByDate"
  /// With nothing in it that a listing leaves out.
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

  /// The same of limited libraries.
  var ofLimited: String {
    switch self {
    case .byIdentifier: "limitedAssetByIdentifier"
    case .visibleByDate: "limitedAssetByDate"
    default: "limited" + rawValue.prefix(1).uppercased() + rawValue.dropFirst()
    }
  }
}

extension Visibility {
  /// What a set of granted collections is known by; `nil`: everything is.
  var grantedDigest: Data? {
    guard case .collections(let granted) = self else { return nil }
    var hash = SHA256()
    for identifier in granted.map(\.rawValue).sorted() { hash.update(data: Data(identifier.utf8) + [0]) }
    return Data(hash.finalize())
  }
}
