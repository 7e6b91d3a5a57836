// The file operations of a change list, ordered so that a crash between any two steps leaves a consistent library:
//
//     prepare   write an intent for each asset in one transaction; then move every file and sync the folders
//     commit    within the transaction of the change list: remove or restore the assets, end the intents
//     revert    if that transaction failed: move the files back, end the intents
//
// At start, an intent that is still there is reverted, or completed if its assets are already gone (see
// LibraryFiles.recover).

import Foundation
import GRDB
import PhotoModel

/// A change list entry that concerns files.
package enum FileChange: Sendable, Hashable {
  /// Moves all files of the asset to the trash.
  case delete(LocalIdentifier)
  /// Moves the files back from the trash, to their old path or to a free name next to it.
  case restore(LocalIdentifier)
  /// Makes an asset of a file in the library, given by its path below the root. A file that already is an asset stays
  /// unchanged.
  case create(path: [UInt8])
}

/// Which entry could not be prepared, and why. Nothing was changed.
package struct FileChangeFailure: Error, Sendable, Equatable {
  /// The index in the given list.
  package let index: Int
  package let reason: LibraryFilesError

  package init(index: Int, reason: LibraryFilesError) {
    self.index = index
    self.reason = reason
  }
}

/// Prepared changes: the files are moved, the assets are not changed yet. End with ``LibraryFiles/revert(_:)``, or with
/// `end()` after the commit of the transaction that committed every change. Until then no other caller can move files.
package struct PreparedFileChanges: Sendable {
  enum Step: Sendable {
    /// The row of the intent.
    case delete(trash: Int64)
    case restore(trash: Int64)
    case create(ProbedFile)
  }

  let steps: [Step]
  /// The lock that keeps other processes from moving files meanwhile.
  let lock: LibraryFilesLock?

  /// Releases the lock; call after the commit. While the value is alive without this call, other callers wait.
  package func end() { lock?.unlock() }

  /// Applies one change in the catalogue: removes, restores or creates an asset.
  ///
  /// - Parameters:
  ///   - index: in the prepared list.
  ///   - writer: of the transaction; its creator calls `finish` after the last change.
  /// - Returns: the row of the asset if it is in the library afterwards, and its identifier.
  func commit(
    _ index: Int, _ writer: inout AssetWriter
  ) throws -> (row: Int64?, identifier: LocalIdentifier) {
    let db = writer.db
    switch steps[index] {
    case .delete(let trash):
      guard let record = try TrashRecord.find(trash, db) else { throw AssetSourceError.catalogueFailed("no intent") }
      let asset = try Int64.fetchOne(
        db, sql: "SELECT id FROM asset WHERE localIdentifier = ?", arguments: [record.identifier.rawValue])
      if let asset {
        // Saves the current state: earlier entries of the list may have changed the asset.
        try TrashRecord.saveAsset(asset, in: trash, db)
        try writer.remove(asset: asset)
      }
      // An asset without a file can't be restored.
      if record.places.first?.number == 0 { try record.setState(.trashed, db) } else { try record.delete(db) }
      return (nil, record.identifier)
    case .restore(let trash):
      guard let record = try TrashRecord.find(trash, db) else { throw AssetSourceError.catalogueFailed("no intent") }
      return (try record.restore(&writer), record.identifier)
    case .create(let file): return try writer.asset(of: file)
    }
  }
}

extension AssetWriter {
  /// Stores a picture or video and returns the asset that it is or belongs to. A known, unchanged file is left as it
  /// is.
  mutating func asset(of file: ProbedFile) throws -> (row: Int64?, identifier: LocalIdentifier) {
    let sql = """
      SELECT asset.id, localIdentifier, file.inode, file.size, file.modified FROM asset JOIN file ON file.asset = asset.id
      WHERE file.path = ?
      """
    let known = try Row.fetchOne(db, sql: sql, arguments: [Data(file.path)])
    if let known,
      FileIdentity(inode: UInt64(bitPattern: known[2] as Int64), size: known[3], modified: known[4]) == file.identity
    {
      return (known[0], LocalIdentifier(known[1]))
    }
    try store(file)
    guard let row = try Row.fetchOne(db, sql: sql, arguments: [Data(file.path)]) else {
      throw AssetSourceError.catalogueFailed("a stored file has no asset")
    }
    return (row[0], LocalIdentifier(row[1]))
  }
}
