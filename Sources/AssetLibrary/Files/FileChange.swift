// What a change list does to files, and the order in which it is done, so that whoever ends this process between two
// steps leaves a whole library:
//
//     prepare   an intent for each asset in one transaction; then every file is moved, and the folders made sure of
//     commit    within the change list's own transaction: the assets leave or come back, the intents end
//     revert    where that transaction was not: the files go back, the intents end
//
// An intent that a start finds is reverted, or where its assets are already gone, carried on (see LibraryFiles.recover).

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
/// the commit of the transaction in which every one of its changes was committed. Until then nobody else moves files.
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

  /// Carries out one change in the catalogue: an asset leaves, comes back or is made.
  ///
  /// - Parameters:
  ///   - index: of the list that was prepared.
  ///   - writer: of the transaction; whoever made it calls its `finish` behind the last change.
  /// - Returns: the asset's row where it is in the library then, and its name.
  func commit(
    _ index: Int, _ writer: inout AssetWriter
  ) throws -> (row: Int64?, identifier: LocalIdentifier) {
    throw LibraryFilesError.readOnly
  }
}
