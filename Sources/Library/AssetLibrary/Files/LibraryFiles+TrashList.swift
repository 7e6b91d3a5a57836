import Foundation
import GRDB
import PhotoModel

/// An asset in the trash.
package struct TrashedAsset: Sendable, Hashable {
  package let identifier: LocalIdentifier
  package let deletedDate: Timestamp
  /// When the asset is deleted permanently.
  package let purgeDate: Timestamp
  package let originalFilename: String
  package let mediaType: MediaType
  package let fileSize: Int64
}

extension LibraryFiles {
  /// The assets in the trash, most recently deleted first, one page at a time.
  ///
  /// - Parameters:
  ///   - cursor: the end of the previous page.
  ///   - principal: with limited visibility, only assets that were in its albums are listed.
  /// - Throws: `malformedCursor`.
  package func trashed(
    after cursor: String?, limit: Int, for principal: Principal
  ) throws(AssetSourceError) -> (assets: [TrashedAsset], next: String?) {
    var start: (date: Int64, id: Int64) = (.max, .max)
    if let cursor {
      let parts = cursor.split(separator: ".").compactMap { Int64($0) }
      guard parts.count == 2 else { throw .malformedCursor }
      start = (parts[0], parts[1])
    }
    let days = Int64(options.trashDays) * 86_400_000
    return try catalogue.read(for: principal) { db, part in
      func value(_ name: String) -> String {
        "(SELECT value FROM trashValue WHERE trash = trash.id AND file = -1 AND name = '\(name)')"
      }
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT id, localIdentifier, deletedDate, \(value("originalFilename")), \(value("mediaType")),
            \(value("fileSize"))
          FROM trash WHERE state = 'trashed' AND (deletedDate, id) < (?1, ?2) AND \(TrashRecord.isVisible(in: part) ?? "1")
          ORDER BY deletedDate DESC, id DESC LIMIT ?3
          """, arguments: [start.date, start.id, limit + 1])
      let assets = rows.prefix(limit).map { row in
        TrashedAsset(
          identifier: LocalIdentifier(row[1]), deletedDate: Timestamp(milliseconds: row[2]),
          purgeDate: Timestamp(milliseconds: (row[2] as Int64) + days), originalFilename: row[3] ?? "",
          mediaType: MediaType(number: row[4] ?? 0) ?? .unknown, fileSize: row[5] ?? 0)
      }
      guard rows.count > limit, let last = rows.prefix(limit).last else { return (assets, nil) }
      return (assets, "\(last[2] as Int64).\(last[0] as Int64)")
    }
  }
}
