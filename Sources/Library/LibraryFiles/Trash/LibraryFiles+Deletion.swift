// Moves the files of an asset to the trash, but no other files that have taken their paths since the last scan.

import LibraryCatalogue
import LibraryFolder
import LibraryScan
import PhotoModel
import Synchronization

extension LibraryFiles {
  /// The files of a deletion that no longer exist.
  struct GoneFiles {
    fileprivate let record: TrashRecord
    fileprivate let files: [TrashRecord.File]
    /// Whether no file of the asset is left.
    fileprivate let areAll: Bool
  }

  /// Moves the files of a deletion to the trash. Throws `diskMissing` if one may be on an unmounted disk. If no file of
  /// the asset is left, its sidecars stay.
  ///
  /// - Returns: the files that no longer exist, for ``settle(_:)``; `nil` if all were moved.
  func moveToTrash(_ record: TrashRecord) throws(LibraryFilesError) -> GoneFiles? {
    var gone: [TrashRecord.File] = []
    var hasMoved = false
    for file in record.files {
      if file.isSidecar && !hasMoved {
        gone.append(file)
      } else if try moveToTrash(file, of: record) {
        hasMoved = true
      } else {
        guard try isRecordedDiskMounted(at: file.path) else { throw .diskMissing(file.path) }
        gone.append(file)
      }
      fault(.moved)
    }
    return gone.isEmpty ? nil : GoneFiles(record: record, files: gone, areAll: !hasMoved)
  }

  /// Counts files that no longer exist as deleted. Throws `fileRenamed` if one may be at a path that is not scanned
  /// yet. If no file of an asset is left, its record keeps the primary file without a path in the trash: the asset is
  /// then missing. Call it once for a list, after its last deletion and before it makes folders.
  ///
  /// - Parameter gone: with the index of the change.
  func settle(_ gone: [(index: Int, files: GoneFiles)]) throws(FileChangeFailure) {
    if gone.isEmpty { return }
    // A file that was renamed before it was looked for has raised an event by now.
    let inTransit = watcher.withLock({ $0 })?.filesInTransit(in: root)
    for (index, files) in gone {
      do throws(LibraryFilesError) {
        if let inTransit { try check(files, inTransit) }
      } catch {
        throw FileChangeFailure(index: index, reason: error)
      }
    }
    for (index, files) in gone {
      do throws(LibraryFilesError) {
        try dropFromRecord(files)
      } catch {
        throw FileChangeFailure(index: index, reason: error)
      }
    }
  }

  /// Throws if one of the files was, or may have been, renamed to a path that is not scanned yet. The deletion of its
  /// asset would miss it: a scan would add it as a new asset, or bring the deleted one back if users had changed that.
  private func check(_ gone: GoneFiles, _ inTransit: FilesInTransit) throws(LibraryFilesError) {
    for file in gone.files where !file.isSidecar {
      let original = try inCatalogue { catalogue throws(AssetSourceError) in
        try catalogue.original(of: file, in: gone.record)
      }
      if let original, inTransit.contains(original.identity) { throw .fileRenamed(file.path) }
    }
  }

  private func dropFromRecord(_ gone: GoneFiles) throws(LibraryFilesError) {
    for file in gone.files {
      if file.number == 0 && gone.areAll {
        let missing = TrashRecord.File(number: file.number, path: file.path, trashPath: [])
        try inCatalogue { catalogue throws(AssetSourceError) in
          try catalogue.updatePaths(of: missing, in: gone.record)
        }
      } else {
        try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.delete(file, of: gone.record) }
      }
    }
  }

  /// Returns false if there is no file to move. A sidecar belongs to the asset by its name, whatever its content.
  private func moveToTrash(
    _ file: TrashRecord.File, of record: TrashRecord
  ) throws(LibraryFilesError) -> Bool {
    if !file.isSidecar { try checkIdentity(of: file, in: record) }
    return try move(file.path, to: file.trashPath)
  }

  /// Throws if another file has the path of a known one. A file that was written in place is the same file, and so is a
  /// copy with another inode, as in a library that was copied or mounted again. If no scan could read the file, its
  /// content is unknown: then this throws only if the found file has a row at another path.
  private func checkIdentity(of file: TrashRecord.File, in record: TrashRecord) throws(LibraryFilesError) {
    // In a bucket the name is the identity: an object that was written again is the same asset.
    if bucket != nil { return }
    let original = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.original(of: file, in: record)
    }
    guard let original, let entry = folderEntry(at: file.path) else { return }
    if entry.kind == .other { throw .fileReplaced(file.path) }
    let opened = try? root.open(file.path)
    // A link that leads nowhere is not another file.
    if entry.kind == .link && opened == nil { return }
    let identity = opened?.identity ?? entry.identity
    if identity.inode == original.identity.inode { return }
    if let opened, (try? opened.isCopy(of: original)) == true { return }
    let isRead = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.wasRead(file, in: record)
    }
    if isRead { throw .fileReplaced(file.path) }
    let known = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.knownFiles(like: identity) }
    if known.contains(where: { $0.path != file.path }) { throw .fileReplaced(file.path) }
  }

  /// The folder entry at a path; `nil` if it can't be looked up. Then it can't be moved either, and `move` throws the
  /// reason.
  private func folderEntry(at path: [UInt8]) -> FolderEntry? {
    try? root.open(LibraryPath.folder(of: path), isFolder: true).entry(LibraryPath.name(of: path))
  }
}
