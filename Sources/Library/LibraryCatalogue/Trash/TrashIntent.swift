import GRDB
import PhotoModel

/// The file moves that a change list will make for one asset, recorded before the first file moves.
package enum TrashIntent: Sendable {
  /// Moves the files of an asset to the trash. `files` are those in the rows `rows` of the catalogue, in this order;
  /// `now` is in milliseconds since 1970.
  case delete(LocalIdentifier, rows: [Int64], files: [TrashRecord.File], now: Int64)
  /// Moves `files` back from the trash, including those of `sidecars`, which are taken from the records of other
  /// assets. Files of the record that are not in `files` are missing, and are dropped from the record.
  case restore(TrashRecord, files: [TrashRecord.File], sidecars: [SharedSidecar])

  /// Records the intent. Throws ``LibraryFilesError`` if the asset to delete does not exist, or is already being
  /// deleted.
  ///
  /// - Returns: the row of the trash record.
  func write(_ db: Database) throws -> Int64 {
    switch self {
    case .delete(let identifier, let rows, let files, let now):
      guard let asset = try LibraryID.whole.asset(identifier, db), try TrashRecord.find(identifier, db) == nil else {
        throw LibraryFilesError.noSuchAsset(identifier)
      }
      return try TrashRecord.insert(identifier, asset: asset, rows: rows, files: files, now: now, db)
    case .restore(let record, let files, let sidecars):
      try record.setState(.restoring, db)
      for sidecar in sidecars { try sidecar.move(to: record, db) }
      for file in record.files + sidecars.map(\.file) {
        if let kept = files.first(where: { $0.number == file.number }) {
          try record.updatePaths(kept, db)
        } else {
          try record.delete(file, db)
        }
      }
      return record.id
    }
  }
}
