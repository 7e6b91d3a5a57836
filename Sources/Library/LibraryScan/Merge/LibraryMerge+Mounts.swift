// The file systems that a walk enters below the root. The walk skips a file system that hides known assets. A file
// system that is recorded at another path and is missing there was mounted at a new path: its files have moved.

import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel

extension LibraryMerge {
  /// Prepares for the files of a file system that the walk has entered, or leaves it.
  mutating func enter(_ mount: KnownMount) throws(AssetSourceError) {
    if options.acceptsRemovals { return }
    // If a symbolic link took the folder's place, the files are gone, not hidden.
    if try mounts.hidesAssets(mount), !LibraryWalk.isLink(mount.path, in: root) {
      walk.leaveFileSystem()
      hiddenFolders.append(mount.path)
      batch.progress.missingMounts += 1
      return
    }
    if mounts.recorded.contains(where: { $0.path == mount.path }) { return }
    guard let former = missingMounts.first(where: { $0.fileSystem == mount.fileSystem }) else { return }
    // Files must count as gone from the former path to be recognised here. Rows without a file here are kept.
    batch.skippedFolders.removeAll { $0 == former.path }
    try updateTrashPaths(from: former.path, to: mount.path)
  }

  /// Updates the trash paths of a file system that has a new mount point, for the files that are there.
  private func updateTrashPaths(from former: [UInt8], to path: [UInt8]) throws(AssetSourceError) {
    guard let top = try? root.open([], isFolder: true) else { return }
    let catalogue = scanner.catalogue
    // The lock keeps this from running between the steps of a deletion or a restoration.
    guard let lock = try DataFolderLock.forBatch(into: catalogue, until: options.stop) else { return }
    defer { lock.unlock() }
    func newPath(_ old: [UInt8]) -> [UInt8] {
      guard LibraryPath.isPath(old, below: former) else { return old }
      return path + old[former.count...]
    }
    var found: [(record: Int64, file: TrashRecord.File)] = []
    for (record, old) in try catalogue.trashFiles(below: former) {
      let file = TrashRecord.File(number: old.number, path: newPath(old.path), trashPath: newPath(old.trashPath))
      if (try? top.entry(file.trashPath)) != nil { found.append((record, file)) }
    }
    try catalogue.updateTrashPaths(found)
  }

  /// Whether a path is below the mount point of a missing disk, or hidden by another one.
  func isOnMissingDisk(_ path: [UInt8]) -> Bool {
    if missingMounts.contains(where: { LibraryPath.isPath(path, below: $0.path) }) { return true }
    return hiddenFolders.contains { LibraryPath.isPath(path, below: $0) }
  }

  func logMissingMounts() throws(AssetSourceError) {
    let known = missingMounts.filter { $0.fileSystem == .hidden }.map(\.path)
    for path in known + hiddenFolders {
      scanner.logger.warning(
        "a disk hides known files; keeping their assets", metadata: ["path": "\(LibraryPath.display(path))"])
    }
    for mount in missingMounts where mount.fileSystem != .hidden {
      let path = LibraryPath.display(mount.path)
      if let reason = try mounts.denial(of: mount) {
        scanner.logger.warning(
          "disk can't be read; keeping its assets", metadata: ["path": "\(path)", "reason": "\(reason)"])
      } else {
        scanner.logger.warning("disk not mounted; keeping its assets", metadata: ["path": "\(path)"])
      }
    }
  }

  /// The hidden folders, to record as missing file systems, except those whose files were found elsewhere.
  func hiddenMounts() throws(AssetSourceError) -> [KnownMount] {
    var hidden: [KnownMount] = []
    for path in hiddenFolders {
      guard try scanner.catalogue.hasAssets(below: path) else { continue }
      hidden.append(KnownMount(path: path, fileSystem: .hidden))
    }
    return hidden
  }
}
