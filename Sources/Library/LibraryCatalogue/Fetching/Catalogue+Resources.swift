import GRDB
import PhotoModel

extension Catalogue {
  /// The files of an asset, the primary one first. `nil` if the principal may not see the asset.
  package func resources(
    of identifier: LocalIdentifier, for principal: Principal
  ) throws(AssetSourceError) -> [AssetResource]? {
    try read(for: principal) { db, library in
      // A path that begins with a NUL is not known: see CatalogueSchema+Assets.
      let rows = try Row.fetchCursor(
        db.cachedStatement(
          sql: """
            SELECT file.role, file.isPrimary, file.type, file.path, file.inode, file.size, file.modified,
              file.fingerprint, file.videoOffset, file.videoLength
            FROM \(LibraryAssetIndex.byIdentifier.source) CROSS JOIN file ON file.asset = libraryAsset.asset
            WHERE libraryAsset.library = ? AND libraryAsset.localIdentifier = ? AND substr(file.path, 1, 1) <> x'00'
            ORDER BY file.isPrimary DESC, file.role, file.path
            """), arguments: [library.row, identifier.rawValue])
      var resources: [AssetResource] = []
      var video: AssetResource?
      while let row = try rows.next() {
        guard let role = AssetResourceType(rawValue: row[0] ?? "") else { continue }
        let path: [UInt8] = try row.withUnsafeData(atIndex: 3) { $0.map { [UInt8]($0) } ?? [] }
        let fingerprint: FileFingerprint? = try row.withUnsafeData(atIndex: 7) { data in
          data.flatMap { $0.withUnsafeBytes { FileFingerprint($0) } }
        }
        let identity = FileIdentity(
          inode: UInt64(bitPattern: row[4] as Int64), size: row[5], modified: row[6])
        let file = OriginalFile(path: path, identity: identity, fingerprint: fingerprint)
        resources.append(AssetResource(type: role, isPrimary: row[1], uniformTypeIdentifier: row[2], file: file))
        if let offset: Int64 = row[8], let length: Int = row[9], row[1] {
          video = AssetResource(
            type: .pairedVideo, isPrimary: false, uniformTypeIdentifier: "public.mpeg-4", file: file,
            slice: ByteRange(offset: offset, length: length))
        }
      }
      // A video of its own is better than the one in the picture.
      if let video, !resources.contains(where: { $0.type == .pairedVideo }) { resources.append(video) }
      return resources.isEmpty ? nil : resources
    }
  }
}
