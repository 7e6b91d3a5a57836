import Foundation
import GRDB
import PhotoModel

/// The files in the trash, by their fingerprints, at one moment: to find a content in the trash without a search for
/// each file.
package struct TrashContents: Sendable {
  fileprivate struct Place: Sendable {
    let trash: Int64
    let file: Int
  }

  fileprivate var places: [FileFingerprint: [Place]] = [:]
}

extension Catalogue {
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
        contents.places[fingerprint, default: []].append(TrashContents.Place(trash: row[0], file: row[1]))
      }
      return contents
    }
  }

  /// The paths in the trash, below the library's root, of files with this fingerprint.
  package func trashPaths(
    of fingerprint: FileFingerprint, in contents: TrashContents
  ) throws(AssetSourceError) -> [[UInt8]] {
    guard let places = contents.places[fingerprint] else { return [] }
    return try read { db in
      let statement = try db.cachedStatement(sql: "SELECT trashPath FROM trashFile WHERE trash = ? AND place = ?")
      return try places.compactMap { place in
        try Data.fetchOne(statement, arguments: [place.trash, place.file]).map { [UInt8]($0) }
      }
    }
  }
}
