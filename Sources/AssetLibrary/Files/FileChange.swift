// What a change list does to files, and the order in which it is done, so that whoever ends this process between two
// steps leaves a whole library:
//
//     prepare   an intent for each asset in one transaction; then every file is moved, and the folders made sure of
//     commit    within the change list's own transaction: the assets leave or come back, the intents end
//     revert    where that transaction was not: the files go back, the intents end
//
// An intent that a start finds is reverted, or where its assets are already gone, carried on (see LibraryFiles.recover).

import Foundation
import GRDB
import PhotoModel

/// An entry of a change list that concerns files.
package enum FileChange: Sendable, Hashable {
  /// All files of the asset go to the trash.
  case delete(LocalIdentifier)
  /// The files come back from the trash, to where they were or to a free name beside that.
  case restore(LocalIdentifier)
  /// A file that lies in the library becomes an asset: bytes below its root. One that is an asset already stays that.
  case create(path: [UInt8])
}

/// Which entry could not be prepared, and why. Nothing has changed.
package struct FileChangeFailure: Error, Sendable, Equatable {
  /// Of the list that was given.
  package let index: Int
  package let reason: LibraryFilesError

  package init(index: Int, reason: LibraryFilesError) {
    self.index = index
    self.reason = reason
  }
}

/// Changes whose files are where they are to be, and whose assets are not yet. Ended by ``LibraryFiles/revert(_:)``, or by
/// `end()` behind the commit of the transaction in which every one of its changes was committed. Until then nobody else
/// moves files.
package struct PreparedFileChanges: Sendable {
  enum Step: Sendable {
    /// The row of the intent.
    case delete(trash: Int64)
    case restore(trash: Int64)
    case create(ProbedFile)
  }

  let steps: [Step]
  /// What keeps other processes from moving files meanwhile.
  let turn: FilesTurn?

  /// Lets others move files: to be called behind the commit. Who forgets, and keeps the value, lets them wait.
  package func end() { turn?.end() }

  /// Carries out one change in the catalogue: an asset leaves, comes back or is made.
  ///
  /// - Parameters:
  ///   - index: of the list that was prepared.
  ///   - writer: of the transaction; whoever made it calls its `finish` behind the last change.
  /// - Returns: the asset's row where it is in the library then, and its name.
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
        // As it is now: entries before this one may have changed it.
        try TrashRecord.keepAsset(asset, in: trash, db)
        try writer.remove(asset: asset)
      }
      // An asset without a file can't come back.
      if record.places.first?.number == 0 { try record.become(.trashed, db) } else { try record.forget(db) }
      return (nil, record.identifier)
    case .restore(let trash):
      guard let record = try TrashRecord.find(trash, db) else { throw AssetSourceError.catalogueFailed("no intent") }
      return (try record.putBack(&writer), record.identifier)
    case .create(let file): return try writer.asset(of: file)
    }
  }
}

extension AssetWriter {
  /// Stores a picture or video and tells what asset it is, or belongs to, then. One that is known as it is stays as it is.
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
      throw AssetSourceError.catalogueFailed("a file that was stored is no asset's")
    }
    return (row[0], LocalIdentifier(row[1]))
  }
}
