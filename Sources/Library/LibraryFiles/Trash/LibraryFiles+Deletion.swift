// Moves the files of an asset to the trash, but no other files that have taken their paths since the last scan.

import LibraryCatalogue
import LibraryFolder
import LibraryScan
import PhotoModel
import Synchronization

extension LibraryFiles {
  /// Moves the files of a deletion to the trash. A file that no longer exists counts as deleted; throws `diskMissing`
  /// if it may be on an unmounted disk, and `fileRenamed` if it is at a path that is not scanned yet. If no file is
  /// left, the sidecars stay, and the record keeps the primary file without a path in the trash: the asset is then
  /// missing.
  func moveToTrash(_ record: TrashRecord) throws(LibraryFilesError) {
    var gone: [TrashRecord.File] = []
    var hasMoved = false
    for file in record.files {
      if file.isSidecar && !hasMoved {
        gone.append(file)
      } else if try moveToTrash(file, of: record) {
        hasMoved = true
      } else {
        guard try isRecordedDiskMounted(at: file.path) else { throw .diskMissing(file.path) }
        if try isInTransit(file, of: record) { throw .fileRenamed(file.path) }
        gone.append(file)
      }
      fault(.moved)
    }
    for file in gone {
      if file.number == 0 && !hasMoved {
        let missing = TrashRecord.File(number: file.number, path: file.path, trashPath: [])
        try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.updatePaths(of: missing, in: record) }
      } else {
        try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.delete(file, of: record) }
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

  /// Whether a missing file was, or may have been, renamed to a path that is not scanned yet. The deletion of its asset
  /// would miss it, and a scan would add it as a new asset.
  private func isInTransit(_ file: TrashRecord.File, of record: TrashRecord) throws(LibraryFilesError) -> Bool {
    guard !file.isSidecar, let watcher = watcher.withLock({ $0 }) else { return false }
    let original = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.original(of: file, in: record)
    }
    guard let original else { return false }
    return watcher.filesInTransit(in: root).contains(original.identity)
  }

  /// The folder entry at a path; `nil` if it can't be looked up. Then it can't be moved either, and `move` throws the
  /// reason.
  private func folderEntry(at path: [UInt8]) -> FolderEntry? {
    try? root.open(LibraryPath.folder(of: path), isFolder: true).entry(LibraryPath.name(of: path))
  }
}
