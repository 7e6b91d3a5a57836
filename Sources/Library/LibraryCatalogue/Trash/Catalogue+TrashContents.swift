import Foundation
import GRDB
import PhotoModel

/// A snapshot of the files in the trash, by their fingerprints. Replaces a query for each file of an import.
package struct TrashContents: Sendable {
  fileprivate struct FileKey: Sendable {
    let trash: Int64
    let file: Int
  }

  fileprivate var files: [FileFingerprint: [FileKey]] = [:]
}

extension Catalogue {
  /// The current contents of the trash, without missing assets.
  package func trashContents() throws(AssetSourceError) -> TrashContents {
    try read { db in
      var contents = TrashContents()
      let rows = try Row.fetchCursor(
        db,
        sql: """
          SELECT trash, file, value FROM trashValue JOIN trash ON trash.id = trash
          WHERE name = 'fingerprint' AND file >= 0 AND value IS NOT NULL AND state <> 'missing'
          """)
      while let row = try rows.next() {
        guard let fingerprint = try row.fingerprint(2) else { continue }
        contents.files[fingerprint, default: []].append(TrashContents.FileKey(trash: row[0], file: row[1]))
      }
      return contents
    }
  }

  /// The paths in the trash, below the library's root, of files with this fingerprint.
  package func trashPaths(
    of fingerprint: FileFingerprint, in contents: TrashContents
  ) throws(AssetSourceError) -> [[UInt8]] {
    guard let files = contents.files[fingerprint] else { return [] }
    return try read { db in
      let statement = try db.cachedStatement(sql: "SELECT trashPath FROM trashFile WHERE trash = ? AND place = ?")
      return try files.compactMap { file in
        try Data.fetchOne(statement, arguments: [file.trash, file.file]).map { [UInt8]($0) }
      }
    }
  }
}
