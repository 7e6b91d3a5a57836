// Completes or reverts the file changes that a process left unfinished. An intent that was not committed is reverted; a
// purge, which can't be reverted, is completed.

import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel

extension LibraryFiles {
  /// Completes or reverts the changes that a previous process left unfinished, removes its unfinished uploads, and
  /// reconciles the trash of a restored catalogue. Call at start, before the first scan. Afterwards the files match the
  /// catalogue.
  ///
  /// - Parameter stop: ends the wait for other callers that move files, with `busy`.
  package func recover(stop: StopFlag = StopFlag()) throws(LibraryFilesError) {
    removeAbandonedUploads()
    try recoverUnfinished(until: stop)
    try reconcileTrash(stop: stop)
    try removeExpiredUploads(until: stop)
  }

  /// Completes or reverts the changes of files that are unfinished, also those of this process whose disk or store
  /// failed. Call before each scan: a file that is not where the catalogue has it would look deleted or new.
  ///
  /// - Parameter stop: as in ``recover(stop:)``.
  package func recoverUnfinished(until stop: StopFlag) throws(LibraryFilesError) {
    let unfinished = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.unfinishedTrashRecords() }
    let uploads = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.unfinishedStagedUploads() }
    if unfinished.isEmpty && uploads.isEmpty { return }
    if isReadOnly { throw .readOnly }
    let lock = try acquireLock(until: stop)
    defer { lock.unlock() }
    try recoverUnfinished()
  }

  /// Call with the lock held: then no running process owns a remaining intent.
  func recoverUnfinished() throws(LibraryFilesError) {
    let unfinished = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.unfinishedTrashRecords() }
    let uploads = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.unfinishedStagedUploads() }
    if unfinished.isEmpty && uploads.isEmpty { return }
    // The transaction of an intent may have failed in this process.
    try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.discardFailedCommit() }
    for record in unfinished {
      logger.notice(
        "recovering unfinished file change",
        metadata: [
          "asset": "\(record.identifier)", "state": "\(record.state.rawValue)",
        ])
      try withoutBlockingOthers("\(record.identifier)") { () throws(LibraryFilesError) in try recover(record) }
    }
    for upload in uploads {
      logger.notice("recovering unfinished file change", metadata: ["upload": "\(upload.identifier)"])
      try withoutBlockingOthers("\(upload.identifier)") { () throws(LibraryFilesError) in try recover(upload) }
    }
  }

  /// Runs a step of one asset or staged upload. If a file of it can't be moved or removed, its intent remains for a
  /// later attempt, and other assets, which may be on other disks, are not affected. Errors of the catalogue and of a
  /// bucket concern all of them.
  func withoutBlockingOthers(
    _ name: String, _ step: () throws(LibraryFilesError) -> Void
  ) throws(LibraryFilesError) {
    do throws(LibraryFilesError) {
      try step()
    } catch {
      switch error {
      case .failed, .readOnly, .insufficientStorage, .diskMissing, .linkedFolder, .noSuchFile: break
      default: throw error
      }
      logger.error("file change not completed; it is tried again", metadata: ["id": "\(name)", "error": "\(error)"])
    }
  }

  /// Ends an uncommitted intent, whichever of its files were moved. If one of them may be on a disk that is not
  /// mounted, the intent remains, and a later recovery ends it: without its record, the file would stay in the trash
  /// for good.
  func recover(_ record: TrashRecord) throws(LibraryFilesError) {
    guard try canLocateFiles(of: record) else {
      logger.warning(
        "recovery postponed: a disk of the asset can't be read", metadata: ["asset": "\(record.identifier)"])
      return
    }
    switch record.state {
    case .deleting: try revertDeletion(record)
    case .restoring: try revertRestoration(record)
    case .purging: try purge(record)
    case .trashed, .missing: return
    }
    fault(.recovered)
  }

  /// Moves the files of the asset back to the library.
  private func revertDeletion(_ record: TrashRecord) throws(LibraryFilesError) {
    var trashed: [TrashRecord.File] = []
    for file in record.files where !file.trashPath.isEmpty {
      guard try exists(file.trashPath) else { continue }
      if try !removeTrashedCopy(of: file, in: record) { trashed.append(file) }
    }
    // Other files may have taken the paths since.
    var taken: Set<[UInt8]> = []
    let files = try returning(trashed, except: &taken)
    var newPaths: [(old: [UInt8], new: [UInt8])] = []
    for (old, new) in zip(trashed, files) where old.path != new.path {
      newPaths.append((old.path, new.path))
      try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.updatePaths(of: new, in: record) }
    }
    for file in files {
      _ = try move(file.trashPath, to: file.path)
      try recordMove(of: file, in: record)
    }
    try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.revertDeletion(record, moved: newPaths)
    }
    for file in record.files { removeTrashFolder(of: file.trashPath) }
  }

  /// Moves the files of the asset back to the trash.
  private func revertRestoration(_ record: TrashRecord) throws(LibraryFilesError) {
    for file in record.files {
      if try exists(file.trashPath) {
        try removeRestoredCopy(of: file)
      } else if try isAtItsPath(file, of: record) {
        _ = try move(file.path, to: file.trashPath)
      }
    }
    try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.setState(.trashed, of: [record]) }
  }

  /// Whether the file at the library path of a trashed file is that file. Any other file must stay: the intent may be
  /// from a catalogue that was restored from a backup, and the path may have another file since.
  func isAtItsPath(_ file: TrashRecord.File, of record: TrashRecord) throws(LibraryFilesError) -> Bool {
    // A moved object has another identity, which is recorded only after the move.
    if bucket != nil { return true }
    guard try exists(file.path) else { return false }
    let original = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.original(of: file, in: record)
    }
    guard let original else { return false }
    return try isOriginal(original, at: file.path)
  }

  /// Whether the file at a path, which exists, is an original of the catalogue or a copy of it: the library may have
  /// been moved with its trash.
  func isOriginal(_ original: OriginalFile, at path: [UInt8]) throws(LibraryFilesError) -> Bool {
    let found: LibraryFile
    do throws(SystemError) {
      let entry = try root.open(LibraryPath.folder(of: path), isFolder: true).entry(LibraryPath.name(of: path))
      if entry.identity == original.identity { return true }
      guard entry.kind == .file else { return false }
      found = try root.open(path)
    } catch {
      throw LibraryFilesError(error, at: path)
    }
    do throws(ByteSourceError) {
      return try found.isCopy(of: original)
    } catch {
      switch error {
      case .readFailed(let code): throw .failed(path: path, SystemError(code: code))
      }
    }
  }
}
