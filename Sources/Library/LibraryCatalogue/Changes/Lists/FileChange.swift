// The file operations of a change list, ordered so that a crash between any two steps leaves a consistent library:
//
//     prepare   write an intent for each asset in one transaction; then move every file and sync the folders
//     commit    within the transaction of the change list: remove or restore the assets, delete the intents
//     revert    if that transaction failed: make sure that it stays undone, move the files back, delete the intents
//
// At start, an intent that is still there is reverted, or completed if its assets are already gone (see
// LibraryFiles.recover).

import PhotoModel

/// A change list entry that concerns files.
package enum FileChange: Sendable, Hashable {
  /// Moves all files of the asset to the trash, with the sidecars that belong to it alone.
  case delete(LocalIdentifier)
  /// Moves the files back from the trash, to their old path or to a free name next to it.
  case restore(LocalIdentifier)
  /// Creates an asset from a file in the library, given by its path below the root. A file that already belongs to an
  /// asset stays unchanged. One that was renamed since the last scan keeps its asset.
  case create(path: [UInt8])
  /// Creates an asset from a complete staged upload of the principal. If the principal can see an asset with the same
  /// content, that asset is used instead. In both cases the staged upload is deleted.
  ///
  /// - Parameters:
  ///   - beside: the asset that the upload is the RAW file, picture or video of, according to the sender. If the name
  ///     is free, the file gets the folder and the stem of the asset's original. It joins the asset even if neither
  ///     name nor date shows that they belong together.
  ///   - needsOwnStem: choose a stem that no other file in the folder has, because sidecars or other files of the asset
  ///     with the same stem follow. Ignored with `beside`.
  ///   - day: the day for the template of upload paths, in days since 1970, if a later entry of the list sets another
  ///     date than the file's.
  case createFromUpload(
    UploadIdentifier, beside: LocalIdentifier? = nil, needsOwnStem: Bool = false, day: Int? = nil)

  /// Whether a path below the root has no empty, `.` or `..` component. Another spelling of a file's path would create
  /// a second asset for it.
  package static func isCanonical(_ path: [UInt8]) -> Bool {
    path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
      !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8)
    }
  }
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

/// Moves the files of change lists. Everything else that a change list does is in the catalogue.
package protocol FileChangePreparing: Sendable {
  /// Writes the intents of changes and moves their files. Blocks on the disk and on other callers that move files; must
  /// not be called within a transaction.
  ///
  /// - Parameter principal: the caller. Assets that it can't see count as missing.
  func prepare(
    _ changes: [FileChange], for principal: Principal
  ) throws(FileChangeFailure) -> PendingFileChanges

  /// Moves the files of prepared but uncommitted changes back, and deletes their intents. If the commit failed because
  /// the disk did, and the catalogue still can't be written, both stay as they are until a later recovery.
  ///
  /// - Parameter commitFailure: why the transaction could not be committed; `nil` if it did not come to that.
  func revert(_ changes: PendingFileChanges, commitFailure: AssetSourceError?)

  /// Removes leftover files of committed changes, and starts the recomputation of moments that the commit left stale.
  /// Call after the commit, before `end()`.
  func committed(_ changes: PendingFileChanges)

  /// Remembers that a limited principal created an asset that it can't see. Call after the commit.
  func noteUpload(_ asset: LocalIdentifier, by principal: Principal)

  /// Whether a limited principal created this asset a short while ago, and so may put it into an album without seeing
  /// it.
  func isUpload(_ asset: LocalIdentifier, of principal: Principal) -> Bool
}

/// Prepared changes that are not committed: the files are moved, but the assets are not changed yet. Finish with
/// ``FileChangePreparing/revert(_:commitFailure:)``, or with `end()` after the transaction that applies every change
/// was committed. Until then no other caller can move files.
package struct PendingFileChanges: Sendable {
  package enum Step: Sendable {
    /// The row of the intent.
    case delete(trash: Int64)
    case restore(trash: Int64)
    /// `former` is the known file that was renamed to this one, if any.
    indirect case create(ProbedFile, former: KnownFile?)
    indirect case createFromUpload(StagedUploadChange)

    /// The row of the intent, if there is one.
    package var trash: Int64? {
      switch self {
      case .delete(let trash), .restore(let trash): trash
      case .create, .createFromUpload: nil
      }
    }

    /// The path of the file that becomes an asset or a part of one; `nil` if no file is added.
    var newFilePath: [UInt8]? {
      switch self {
      case .create(let file, _): return file.path
      case .createFromUpload(let change):
        guard case .placed(let file) = change.content else { return nil }
        return file.path
      case .delete, .restore: return nil
      }
    }

    /// The staged upload that the step makes into an asset, if any.
    package var upload: StagedUpload? {
      if case .createFromUpload(let change) = self { change.upload } else { nil }
    }
  }

  /// The step of each change, in the order of the changes.
  package let steps: [Step]
  /// The lock `files.lock`, which keeps other processes from moving files; `nil` if there is no change.
  let lock: DataFolderLock?

  package init(steps: [Step], lock: DataFolderLock?) {
    self.steps = steps
    self.lock = lock
  }

  /// Releases the lock. Call it after the commit: until then, other callers wait.
  package func end() { lock?.unlock() }
}
