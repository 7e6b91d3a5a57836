import Foundation
import GRDB
import PhotoModel

extension PendingFileChanges {
  /// Applies one change in the catalogue: removes, restores or creates an asset.
  ///
  /// - Parameters:
  ///   - index: in the prepared list.
  ///   - writer: of the transaction; its creator calls `finish` after the last change.
  /// - Returns: the identifier of the asset, and its row if the asset is in the library afterwards.
  func commit(
    _ index: Int, _ writer: inout AssetWriter
  ) throws -> (row: Int64?, identifier: LocalIdentifier) {
    let db = writer.db
    switch steps[index] {
    case .delete(let trash):
      guard let found = try TrashRecord.find(trash, db) else { throw AssetSourceError.catalogueFailed("no intent") }
      let record = try found.promotingFirstFile(db)
      var hasUserValues = true
      if let asset = try LibraryID.whole.asset(record.identifier, db) {
        // Saves the current state, because earlier entries of the list may have changed the asset.
        try TrashRecord.saveAsset(asset, in: trash, db)
        hasUserValues = try writer.hasUserValues(asset)
        try writer.trash(asset: asset)
      }
      for file in record.files where file.isSidecar { try writer.removeSidecar(at: file.path) }
      if record.isRestorable {
        try record.setState(.trashed, db)
      } else if record.isMissing && hasUserValues {
        // Its file may come back, or may only have been renamed.
        try record.setState(.missing, db)
      } else {
        try record.delete(db)
      }
      return (nil, record.identifier)
    case .restore(let trash):
      guard let record = try TrashRecord.find(trash, db) else { throw AssetSourceError.catalogueFailed("no intent") }
      return (try record.restore(&writer), record.identifier)
    case .create(var file, let former):
      if let former, try writer.isUnchanged(former) { file.movedFromRow = former.id }
      return try writer.asset(of: file)
    case .createFromUpload(let change): return try change.commit(&writer)
    }
  }
}

extension AssetWriter {
  /// Stores a picture or video unless it is known and unchanged, and returns the asset that it belongs to.
  mutating func asset(of file: ProbedFile) throws -> (row: Int64?, identifier: LocalIdentifier) {
    let sql = """
      SELECT asset.id, localIdentifier, file.inode, file.size, file.modified
      FROM asset JOIN file ON file.asset = asset.id WHERE file.path = ?
      """
    let known = try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [Data(file.path)])
    if let known, known.identity(from: 2) == file.identity { return (known[0], LocalIdentifier(known[1])) }
    try store(file)
    guard let row = try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [Data(file.path)]) else {
      throw AssetSourceError.catalogueFailed("a stored file has no asset")
    }
    return (row[0], LocalIdentifier(row[1]))
  }

  /// Whether a row has the same file at the same path as when the list was prepared. An earlier entry may have moved or
  /// removed it, and its number may belong to another file since.
  fileprivate func isUnchanged(_ file: KnownFile) throws -> Bool {
    try Bool.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT EXISTS (
            SELECT 1 FROM file WHERE id = ? AND path = ? AND inode = ? AND size = ? AND modified = ?)
          """),
      arguments: [
        file.id, Data(file.path), Int64(bitPattern: file.identity.inode), file.identity.size, file.identity.modified,
      ]) ?? false
  }

  /// Removes an asset that may be restored. If the running change has also changed its content, the history keeps that
  /// fact for the case of a restoration.
  fileprivate mutating func trash(asset: Int64) throws {
    let row = "token = ? AND kind = 0 AND object = ?"
    let content = try Int.fetchOne(
      db.cachedStatement(sql: "SELECT isContentChanged FROM changedObject WHERE \(row)"), arguments: [token, asset])
    try remove(asset: asset)
    guard let content, content == ContentChange.changed.rawValue else { return }
    try run("UPDATE changedObject SET isContentChanged = ? WHERE \(row) AND event = 2", [content, token, asset])
  }

  /// Removes the row of a sidecar that is in the trash.
  fileprivate mutating func removeSidecar(at path: [UInt8]) throws {
    guard let row = try fileRow(at: path), row.asset == nil else { return }
    try remove(row: row.id)
  }

  /// Removes an asset with all its files.
  mutating func remove(asset: Int64) throws {
    try bursts.pictureRemoved(asset)
    try db.cachedStatement(sql: "DELETE FROM asset WHERE id = ?").execute(arguments: [asset])
  }
}
