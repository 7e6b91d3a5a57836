import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// All files of the assets with `keepsOriginal` and of the assets in albums and folders with `keepsOriginals`, newest
  /// assets first.
  ///
  /// - Parameters:
  ///   - limitBytes: the maximum size of all files together. A file that does not fit is left out; smaller ones after
  ///     it may still fit.
  ///   - limit: the maximum number of files.
  package func keptOriginals(limitBytes: Int64, limit: Int) throws(AssetSourceError) -> KeptOriginalList {
    try read { db in
      var list = KeptOriginalList()
      var bytes: Int64 = 0
      let rows = try Row.fetchCursor(db.cachedStatement(sql: Self.keptOriginals))
      while let row = try rows.next() {
        let size: Int64 = row[2]
        guard list.originals.count < limit, bytes + size <= limitBytes else {
          list.leftOut += 1
          list.leftOutBytes += size
          continue
        }
        bytes += size
        list.originals.append(OriginalFile(path: try row.bytes(0), identity: row.identity(from: 1)))
      }
      return list
    }
  }

  private static let keptOriginals = """
    WITH kept (id) AS (
      SELECT id FROM asset INDEXED BY assetWithKeptOriginal WHERE keepsOriginal = 1
      UNION SELECT member.asset FROM collection CROSS JOIN member ON member.collection = collection.id
        WHERE keepsOriginals = 1
      UNION SELECT folderAsset.asset FROM collection CROSS JOIN folderAsset ON folderAsset.folder = collection.id
        WHERE keepsOriginals = 1)
    SELECT file.path, file.inode, file.size, file.modified
    FROM kept CROSS JOIN asset ON asset.id = kept.id CROSS JOIN file INDEXED BY fileByAsset ON file.asset = asset.id
    -- A path that begins with a NUL is not known: see CatalogueSchema+Assets.
    WHERE substr(file.path, 1, 1) <> x'00'
    ORDER BY asset.creationDate DESC, asset.id, file.isPrimary DESC, file.id
    """
}
