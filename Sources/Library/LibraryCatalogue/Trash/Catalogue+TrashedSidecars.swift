// Finds the assets that a sidecar describes. A sidecar that also describes a file of another asset stays in the library
// when an asset goes to the trash, and an import does not add it.

import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// The sidecars of an asset's files that describe no file of another asset, the primary file's first.
  ///
  /// - Parameters:
  ///   - deleted: other assets that are deleted in the same change, and so don't need their sidecars.
  ///   - restored: assets in the trash that are restored in the same change, and so need their sidecars.
  package func ownSidecars(
    of identifier: LocalIdentifier, besides deleted: Set<LocalIdentifier>, restored: Set<LocalIdentifier> = []
  ) throws(AssetSourceError) -> [(row: Int64, path: [UInt8])] {
    let owners = deleted.union([identifier])
    return try read { db in
      let found = try db.cachedStatement(sql: "SELECT id FROM file WHERE path = ? AND asset IS NULL")
      var paths: Set<[UInt8]> = []
      var sidecars: [(row: Int64, path: [UInt8])] = []
      for file in try Self.paths(of: identifier, db) {
        for (path, _) in SidecarPaths.beside(file) where paths.insert(path).inserted {
          guard let row = try Int64.fetchOne(found, arguments: [Data(path)]) else { continue }
          guard try Self.assets(describedBy: path, db).isSubset(of: owners) else { continue }
          if try !SharedSidecar.isMarked(path, byAnyOf: restored, db) { sidecars.append((row, path)) }
        }
      }
      return sidecars
    }
  }

  /// Whether a sidecar at this path describes, or would describe, a file of an asset other than that of an original.
  package func isShared(sidecar path: [UInt8], of original: [UInt8]) throws(AssetSourceError) -> Bool {
    try read { db in
      let own = try String.fetchOne(
        db.cachedStatement(
          sql: "SELECT localIdentifier FROM file JOIN asset ON asset.id = file.asset WHERE file.path = ?"),
        arguments: [Data(original)])
      return try Self.assets(describedBy: path, db).contains { $0.rawValue != own }
    }
  }

  private static func paths(of identifier: LocalIdentifier, _ db: Database) throws -> [[UInt8]] {
    try Data.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT file.path FROM libraryAsset CROSS JOIN file ON file.asset = libraryAsset.asset
          WHERE library = 0 AND localIdentifier = ? ORDER BY isPrimary DESC, role, file.id
          """), arguments: [identifier.rawValue]
    ).map { [UInt8]($0) }
  }

  /// The assets with a file that a sidecar describes.
  private static func assets(describedBy sidecar: [UInt8], _ db: Database) throws -> Set<LocalIdentifier> {
    let columns = "SELECT file.path, localIdentifier FROM file JOIN asset ON asset.id = file.asset"
    let (whole, stems) = SidecarPaths.described(by: sidecar)
    var rows: [Row] = []
    for path in whole {
      rows += try Row.fetchAll(db.cachedStatement(sql: "\(columns) WHERE file.path = ?"), arguments: [Data(path)])
    }
    for stem in stems {
      rows += try Row.fetchAll(
        db.cachedStatement(
          sql: "\(columns) WHERE \(StemRange.condition) LIMIT \(ForeignEditWriter.maximumPictures)"),
        arguments: StemRange.bounds(of: stem))
    }
    let described = try rows.filter { row in
      try SidecarPaths.beside(row.bytes(0)).contains { $0.path == sidecar }
    }
    return Set(described.map { LocalIdentifier($0[1]) })
  }
}
