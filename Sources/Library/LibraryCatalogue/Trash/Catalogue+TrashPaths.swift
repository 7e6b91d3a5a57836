// The paths of files in the trash, for a scan that finds their disk mounted under another name.

import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// The files in the trash below a folder, each with the row of its record.
  package func trashFiles(
    below folder: [UInt8]
  ) throws(AssetSourceError) -> [(record: Int64, file: TrashRecord.File)] {
    let first = Data(folder + [UInt8(ascii: "/")])
    let end = Data(folder + [UInt8(ascii: "/") + 1])
    return try read { db in
      let rows = try Row.fetchAll(
        db, sql: "SELECT trash, place, path, trashPath FROM trashFile WHERE trashPath > ? AND trashPath < ?",
        arguments: [first, end])
      var files: [(record: Int64, file: TrashRecord.File)] = []
      for row in rows {
        let (record, number): (Int64, Int) = (row[0], row[1])
        let file = TrashRecord.File(number: number, path: try row.bytes(2), trashPath: try row.bytes(3))
        files.append((record: record, file: file))
      }
      return files
    }
  }

  /// Records other paths of files in the trash. This is not a change of the library: it creates no token.
  package func updateTrashPaths(_ files: [(record: Int64, file: TrashRecord.File)]) throws(AssetSourceError) {
    if files.isEmpty { return }
    try writeMaintenance { db in
      for (record, file) in files { try TrashRecord.find(record, db)?.updatePaths(file, db) }
    }
  }
}
