// Sidecars that describe files of several assets. Such a sidecar goes to the trash with the last of these assets and
// comes back with the first one that is restored. For that, the record of each other asset has a mark: the path of the
// sidecar.

import Foundation
import GRDB
import PhotoModel

/// A sidecar that is in the trash with one asset, and describes a file of another asset in the trash too.
package struct SharedSidecar: Sendable {
  /// The record that has the sidecar, and the sidecar's number in it.
  let trash: Int64
  let number: Int
  /// The sidecar as a file of the other asset's record.
  package let file: TrashRecord.File

  /// The name of a mark among the saved values of the asset, followed by a number. It is not the name of a column.
  private static let markName = "sharedSidecar"

  /// SQL condition: whether a row of `trashValue` is a mark.
  private static let isMark = "file = \(TrashRecord.assetRow) AND name GLOB '\(markName)*'"
}

extension Catalogue {
  /// The sidecars in the records of other assets that can be restored together with an asset.
  package func sharedSidecars(of record: TrashRecord) throws(AssetSourceError) -> [SharedSidecar] {
    try read { try SharedSidecar.find(for: record, $0) }
  }
}

extension SharedSidecar {
  /// The shared sidecars for a record; if several have the same path, the last deleted one.
  static func find(for record: TrashRecord, _ db: Database) throws -> [SharedSidecar] {
    let rows = try Row.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT trashFile.trash, trashFile.place, trashFile.path, trashFile.trashPath
          FROM (SELECT value AS sidecar FROM trashValue WHERE trash = ?1 AND \(isMark))
            CROSS JOIN trashFile ON trashFile.path = sidecar
            CROSS JOIN trash ON trash.id = trashFile.trash
          WHERE trashFile.trash <> ?1 AND trashFile.place >= \(TrashRecord.File.firstSidecar) AND state = 'trashed'
          ORDER BY trashFile.trash DESC
          """), arguments: [record.id])
    var paths: Set<[UInt8]> = []
    var number = max(TrashRecord.File.firstSidecar, (record.files.last?.number ?? 0) + 1)
    var sidecars: [SharedSidecar] = []
    for row in rows {
      let path = try row.bytes(2)
      guard paths.insert(path).inserted else { continue }
      let file = TrashRecord.File(number: number, path: path, trashPath: try row.bytes(3))
      sidecars.append(SharedSidecar(trash: row[0], number: row[1], file: file))
      number += 1
    }
    return sidecars
  }

  /// Marks the sidecars that stay in the library when an asset is deleted, because they describe files of others.
  ///
  /// - Parameters:
  ///   - files: the files that are deleted, including sidecars.
  ///   - trash: the row of the asset's record.
  static func mark(besides files: [TrashRecord.File], in trash: Int64, _ db: Database) throws {
    let found = try db.cachedStatement(sql: "SELECT id FROM file WHERE path = ? AND asset IS NULL")
    var paths = Set(files.map(\.path))
    for file in files where !file.isSidecar {
      for (path, _) in SidecarPaths.beside(file.path) where paths.insert(path).inserted {
        if try Int64.fetchOne(found, arguments: [Data(path)]) != nil { try mark(path, in: trash, db) }
      }
    }
  }

  private static func mark(_ path: [UInt8], in trash: Int64, _ db: Database) throws {
    try db.cachedStatement(
      sql: """
        INSERT INTO trashValue (trash, file, name, value)
        SELECT ?1, \(TrashRecord.assetRow), '\(markName)' || count(*), ?2 FROM trashValue WHERE trash = ?1 AND \(isMark)
        """
    ).execute(arguments: [trash, Data(path)])
  }

  /// Whether the record of any of these assets in the trash has a mark for a sidecar.
  static func isMarked(_ path: [UInt8], byAnyOf assets: Set<LocalIdentifier>, _ db: Database) throws -> Bool {
    let statement = try db.cachedStatement(
      sql: """
        SELECT trash.id FROM trash CROSS JOIN trashValue ON trashValue.trash = trash.id
        WHERE localIdentifier = ? AND \(isMark) AND value = ? LIMIT 1
        """)
    for asset in assets {
      if try Int64.fetchOne(statement, arguments: [asset.rawValue, Data(path)]) != nil { return true }
    }
    return false
  }

  /// Moves the sidecar to the other asset's record; the file is not moved. The former record gets a mark, so that the
  /// sidecar can come back with either asset if both are in the trash again.
  func move(to record: TrashRecord, _ db: Database) throws {
    for (table, column) in [("trashFile", "place"), ("trashValue", "file")] {
      try db.cachedStatement(sql: "UPDATE \(table) SET trash = ?, \(column) = ? WHERE trash = ? AND \(column) = ?")
        .execute(arguments: [record.id, file.number, trash, number])
    }
    try Self.mark(file.path, in: trash, db)
  }
}
