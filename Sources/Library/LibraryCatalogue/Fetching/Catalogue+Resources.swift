// The files of assets. In the catalogue, a sidecar belongs to no asset: a scan records it like any other file that is
// not media. Its name says which files it describes.

import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// An asset and its files, from one snapshot. `nil` if the principal may not see the asset.
  ///
  /// - Parameter includesSidecars: whether to look for sidecars, which takes a few more lookups.
  package func assetFiles(
    of identifier: LocalIdentifier, includesSidecars: Bool, for principal: Principal
  ) throws(AssetSourceError) -> AssetFiles? {
    try read(for: principal) { db, library in
      guard let asset = try Self.asset(identifier, in: library, for: principal, db) else { return nil }
      return AssetFiles(
        asset: asset,
        resources: try Self.resources(of: identifier, includesSidecars: includesSidecars, library, db))
    }
  }

  /// The files of assets with their sidecars, in the given order, from one snapshot; empty for an asset that the
  /// principal may not see.
  package func resources(
    of identifiers: [LocalIdentifier], for principal: Principal
  ) throws(AssetSourceError) -> [[AssetResource]] {
    try read(for: principal) { db, library in
      try identifiers.map { try Self.resources(of: $0, includesSidecars: true, library, db) }
    }
  }

  /// The primary file first, then its companions, the video inside of it, and sidecars.
  private static func resources(
    of identifier: LocalIdentifier, includesSidecars: Bool, _ library: LibraryID, _ db: Database
  ) throws -> [AssetResource] {
    // Without files whose path is unknown: it begins with a NUL (`VacantPath`).
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: """
          SELECT file.path, file.inode, file.size, file.modified, file.fingerprint, file.role, file.isPrimary,
            file.type, file.videoOffset, file.videoLength, file.changed
          FROM \(LibraryAssetIndex.byIdentifier.source) CROSS JOIN file ON file.asset = libraryAsset.asset
          WHERE libraryAsset.library = ? AND libraryAsset.localIdentifier = ? AND substr(file.path, 1, 1) <> x'00'
          ORDER BY file.isPrimary DESC, file.role, file.path
          """), arguments: [library.row, identifier.rawValue])
    var resources: [AssetResource] = []
    var video: AssetResource?
    while let row = try rows.next() {
      guard let role = AssetResourceType(rawValue: row[5] ?? "") else { continue }
      let file = try file(row)
      resources.append(
        AssetResource(
          type: role, isPrimary: row[6], uniformTypeIdentifier: row[7], file: file, changeTimeNanoseconds: row[10]))
      if let offset: Int64 = row[8], let length: Int = row[9], row[6] {
        video = AssetResource(
          type: .pairedVideo, isPrimary: false, uniformTypeIdentifier: "public.mpeg-4", file: file,
          slice: ByteRange(offset: offset, length: length), changeTimeNanoseconds: row[10])
      }
    }
    // A separate video file takes precedence over the video in the picture.
    if let video, !resources.contains(where: { $0.type == .pairedVideo }) { resources.append(video) }
    if includesSidecars { resources += try sidecars(of: resources, db) }
    return resources
  }

  /// The first five columns of a row.
  private static func file(_ row: Row) throws -> OriginalFile {
    OriginalFile(path: try row.bytes(0), identity: row.identity(from: 1), fingerprint: try row.fingerprint(4))
  }

  /// The sidecars beside files, by their names: `IMG_1.jpg.xmp`, `IMG_1.xmp`, `IMG_1.aae`, `IMG_O1.aae`.
  private static func sidecars(of resources: [AssetResource], _ db: Database) throws -> [AssetResource] {
    let found = try db.cachedStatement(
      sql: "SELECT path, inode, size, modified, fingerprint, changed FROM file WHERE path = ? AND asset IS NULL")
    var paths: Set<[UInt8]> = []
    var sidecars: [AssetResource] = []
    for resource in resources where resource.slice == nil {
      for (path, type) in SidecarPaths.beside(resource.file.path) where paths.insert(path).inserted {
        guard let row = try Row.fetchOne(found, arguments: [Data(path)]) else { continue }
        sidecars.append(
          AssetResource(
            type: type, isPrimary: false,
            uniformTypeIdentifier: type == .sidecar ? "public.xml" : "com.apple.property-list", file: try file(row),
            changeTimeNanoseconds: row[5]))
      }
    }
    return sidecars
  }
}
