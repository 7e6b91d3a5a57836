// Distinguishes a deleted file from one on a disk that is not mounted or fails: neither is found, but the latter may
// come back.

import LibraryCatalogue
import LibraryFolder
import LibraryScan
import Logging
import PhotoModel

extension LibraryFiles {
  /// Whether each file of a record is in the trash, or is certainly not there.
  func canLocateFiles(of record: TrashRecord) throws(LibraryFilesError) -> Bool {
    if bucket != nil { return true }
    do throws(LibraryFilesError) {
      for file in record.files {
        if try exists(file.trashPath) { continue }
        if try !isMounted(file.trashPath) { return false }
      }
      return true
    } catch {
      guard case .failed = error else { throw error }
      logger.warning("reading the trash failed", metadata: ["error": "\(error)"])
      return false
    }
  }

  /// Whether the disk of a path in the trash is mounted. A trash folder is at the top of its disk, so this holds for
  /// disks that no scan has recorded too.
  func isMounted(_ trashPath: [UInt8]) throws(LibraryFilesError) -> Bool {
    if bucket != nil { return true }
    guard trash.isMounted(for: trashPath) else { return false }
    return try isRecordedDiskMounted(at: trashPath)
  }

  /// Throws if a path is below the mount point of a missing disk. A file that is stored there would be hidden once the
  /// disk is mounted. Until then, it would make the disk look mounted, and the disk's own files would count as deleted.
  func checkDisk(of path: [UInt8]) throws(LibraryFilesError) {
    if bucket != nil { return }
    let isMissing = try inCatalogue { catalogue throws(AssetSourceError) in
      try MountCheck(catalogue: catalogue, root: root, environment: .system).isMissing(at: path)
    }
    if isMissing { throw .diskMissing(path) }
  }

  /// Whether the file system that a scan has recorded for a path is mounted. True if none is recorded.
  func isRecordedDiskMounted(at path: [UInt8]) throws(LibraryFilesError) -> Bool {
    if bucket != nil { return true }
    return try inCatalogue { catalogue throws(AssetSourceError) in
      try MountCheck(catalogue: catalogue, root: root, environment: .system).isMounted(at: path)
    }
  }
}
