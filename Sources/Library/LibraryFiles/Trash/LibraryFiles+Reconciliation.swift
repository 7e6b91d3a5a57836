// Compares the trash with its records after the catalogue was restored from a backup. Files that were deleted since the
// backup are in the trash without a record, and their assets are in the library. Files that were restored since are in
// the library, and their assets are in the trash. Files of assets that were restored and deleted again are in another
// folder of the trash. A scan would lose what users entered for all of them, so this runs before the first scan. It
// moves no file. Files that have moved to other paths since are left to the scan: until it finds them, their assets are
// missing.

import LibraryCatalogue
import LibraryFolder
import LibraryScan
import Logging
import PhotoModel

extension LibraryFiles {
  private static let pageSize = 100

  /// Does nothing unless the catalogue was restored from a backup. The comparison is repeated by later calls until all
  /// disks of the trash could be read. Compares nothing in a bucket, where the identity of an object does not survive a
  /// move.
  package func reconcileTrash(stop: StopFlag = StopFlag()) throws(LibraryFilesError) {
    let isNeeded = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.hasUncheckedTrash() }
    guard isNeeded else { return }
    let lock = try acquireLock(until: stop)
    defer { lock.unlock() }
    if bucket == nil {
      // Deleted assets first: a restored one may have the path of a deleted one, whose row would lose it.
      let (deleted, areFoldersComplete) = try reconcileFolders()
      let (restored, areRecordsComplete) = try reconcileRecords()
      logger.notice(
        "trash compared with the catalogue",
        metadata: ["deleted": "\(deleted)", "restored": "\(restored)"])
      guard areRecordsComplete && areFoldersComplete else { return }
    }
    try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.recordCheckedTrash() }
  }

  // MARK: Deleted since the backup

  /// - Returns: the number of deleted assets, and whether all disks of the trash could be read.
  private func reconcileFolders() throws(LibraryFilesError) -> (assets: Int, isComplete: Bool) {
    var (count, isComplete) = (0, true)
    let mounts = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.mounts() }
    let walk = TrashWalk(root: root)
    for top in Set(mounts.map(\.path) + [[]]) {
      guard try isRecordedDiskMounted(at: LibraryPath.join(top, TrashWalk.name)) else {
        isComplete = false
        continue
      }
      do throws(SystemError) {
        for folder in try walk.folders(below: top) {
          let files = try walk.files(in: folder)
          do throws(LibraryFilesError) {
            if try hasRecord(files) { continue }
            if try deleteIfTrashed(files) {
              count += 1
            } else if try updateRecordIfDeletedAgain(files) {
              count += 1
            }
          } catch {
            isComplete = false
            logger.error(
              "comparing the trash with the catalogue failed",
              metadata: ["folder": "\(LibraryPath.display(folder))", "error": "\(error)"])
          }
        }
      } catch {
        isComplete = false
        logger.error(
          "comparing the trash with the catalogue failed",
          metadata: ["folder": "\(LibraryPath.display(top))", "error": "\(error)"])
      }
    }
    return (count, isComplete)
  }

  /// Whether a record has one of these files in the trash.
  private func hasRecord(_ trashPaths: [[UInt8]]) throws(LibraryFilesError) -> Bool {
    for trashPath in trashPaths {
      let isRecorded = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.isInTrash(trashPath) }
      if isRecorded { return true }
    }
    return false
  }

  /// Deletes an asset all of whose files are in one folder of the trash that has no record.
  private func deleteIfTrashed(_ trashPaths: [[UInt8]]) throws(LibraryFilesError) -> Bool {
    var found: [Int64: [UInt8]] = [:]
    for trashPath in trashPaths {
      if let row = try missingFile(like: trashPath) { found[row] = trashPath }
    }
    guard let owner = try owner(ofAny: found.keys.sorted()) else { return false }
    let files = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.files(of: owner) }
    var (rows, trashed): ([Int64], [TrashRecord.File]) = ([], [])
    for (number, file) in files.enumerated() {
      if let trashPath = found[file.row] {
        rows.append(file.row)
        trashed.append(TrashRecord.File(number: number, path: file.path, trashPath: trashPath))
      } else if try exists(file.path) {
        return false
      }
    }
    let sidecars = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.ownSidecars(of: owner, besides: [])
    }
    let recognised = Set(found.values)
    var others = trashPaths.filter { path in !recognised.contains(path) }
    for (index, sidecar) in sidecars.enumerated() {
      var place = found[sidecar.row]
      if place == nil {
        // A sidecar belongs to the asset by its name, whatever its content.
        let name = LibraryPath.name(of: sidecar.path)
        let other = others.firstIndex { path in LibraryPath.name(of: path) == name }
        if let other { place = others.remove(at: other) }
      }
      guard let trashPath = place else { continue }
      rows.append(sidecar.row)
      trashed.append(
        TrashRecord.File(
          number: TrashRecord.File.firstSidecar + index, path: sidecar.path, trashPath: trashPath))
    }
    let now = Timestamp.now.milliseconds
    let (ownRows, ownFiles) = (rows, trashed)
    try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.recordDeletion(of: owner, rows: ownRows, files: ownFiles, now: now)
    }
    return true
  }

  /// The asset that one of the files belongs to; sidecars belong to none.
  private func owner(ofAny rows: [Int64]) throws(LibraryFilesError) -> LocalIdentifier? {
    for row in rows {
      let owner = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.asset(ofFile: row) }
      if let owner { return owner }
    }
    return nil
  }

  /// The row of the missing file that was moved to a path in the trash; `nil` if there is none, or more than one.
  /// Another file may have its path since.
  private func missingFile(like trashPath: [UInt8]) throws(LibraryFilesError) -> Int64? {
    let name = LibraryPath.name(of: trashPath)
    let folder = try? root.open(LibraryPath.folder(of: trashPath), isFolder: true)
    guard let identity = try? folder?.entry(name).identity else { return nil }
    let fingerprint = readFingerprint(at: trashPath)
    var known = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.knownFiles(like: identity) }
    if known.isEmpty, let fingerprint {
      // The library may have been copied with its trash.
      known = try inCatalogue { catalogue throws(AssetSourceError) in
        try catalogue.knownFiles(like: identity, with: fingerprint)
      }
      known.removeAll { LibraryPath.name(of: $0.path) != name }
    }
    var missing: [Int64] = []
    for file in known where file.hasPath {
      if try !hasFile(at: file.path, with: fingerprint) { missing.append(file.id) }
    }
    return missing.count == 1 ? missing[0] : nil
  }

  /// Whether the file at a path has this fingerprint. True also for a file that can't be read.
  private func hasFile(
    at path: [UInt8], with fingerprint: FileFingerprint?
  ) throws(LibraryFilesError) -> Bool {
    guard try exists(path) else { return false }
    guard let fingerprint, let found = readFingerprint(at: path) else { return true }
    return found == fingerprint
  }

  /// The fingerprint of a file; `nil` if it can't be read.
  private func readFingerprint(at path: [UInt8]) -> FileFingerprint? {
    guard let file = try? root.open(path), file.isRegularFile else { return nil }
    return try? FileFingerprint(of: file)
  }

  // MARK: Deleted again since the backup

  /// Updates the record of an asset that was in the trash or missing at the time of the backup, came back, and was
  /// deleted again: its files are in a folder of the trash that has no record.
  private func updateRecordIfDeletedAgain(_ trashPaths: [[UInt8]]) throws(LibraryFilesError) -> Bool {
    for trashPath in trashPaths {
      guard let fingerprint = readFingerprint(at: trashPath) else { continue }
      let records = try inCatalogue { catalogue throws(AssetSourceError) in
        try catalogue.trashRecords(with: fingerprint)
      }
      for record in records where try isGone(record) {
        let files = try files(of: record, among: trashPaths)
        guard files.first?.number == 0 else { continue }
        let now = Timestamp.now.milliseconds
        try inCatalogue { catalogue throws(AssetSourceError) in
          try catalogue.recordDeletion(of: record, files: files, now: now)
        }
        logUnrecorded(trashPaths, besides: files, of: record)
        return true
      }
    }
    return false
  }

  /// Logs the files of a folder of the trash that are not in the record of their asset, such as a video that joined its
  /// picture after the backup. They stay there when the asset is restored.
  private func logUnrecorded(_ trashPaths: [[UInt8]], besides files: [TrashRecord.File], of record: TrashRecord) {
    let recorded = Set(files.map(\.trashPath))
    for trashPath in trashPaths where !recorded.contains(trashPath) {
      logger.warning(
        "file in the trash is not recorded",
        metadata: ["asset": "\(record.identifier)", "path": "\(LibraryPath.display(trashPath))"])
    }
  }

  /// Whether the files of a record are neither at their recorded paths in the trash nor back in the library.
  private func isGone(_ record: TrashRecord) throws(LibraryFilesError) -> Bool {
    guard let primary = record.files.first else { return false }
    // A missing asset has no file in the trash.
    if record.isRestorable {
      guard try canLocateFiles(of: record) else { return false }
      for file in record.files where try exists(file.trashPath) { return false }
    }
    return try !isAtItsPath(primary, of: record)
  }

  /// The files of a record that are at these paths in the trash, perhaps under other names, because a restoration may
  /// rename files.
  private func files(
    of record: TrashRecord, among trashPaths: [[UInt8]]
  ) throws(LibraryFilesError) -> [TrashRecord.File] {
    var others = trashPaths
    var found: [TrashRecord.File] = []
    for file in record.files {
      let original = try inCatalogue { catalogue throws(AssetSourceError) in
        try catalogue.original(of: file, in: record)
      }
      for (index, trashPath) in others.enumerated() {
        // A sidecar belongs to the asset by its name, whatever its content.
        var isSame = file.isSidecar && LibraryPath.name(of: trashPath) == LibraryPath.name(of: file.path)
        if !isSame, let original { isSame = try isOriginal(original, at: trashPath) }
        guard isSame else { continue }
        found.append(TrashRecord.File(number: file.number, path: file.path, trashPath: trashPath))
        others.remove(at: index)
        break
      }
    }
    return found
  }

  // MARK: Restored since the backup

  /// - Returns: the number of restored assets, and whether all disks of the trash could be read.
  private func reconcileRecords() throws(LibraryFilesError) -> (assets: Int, isComplete: Bool) {
    var (count, isComplete) = (0, true)
    var last: Int64 = 0
    while true {
      let (row, limit) = (last, Self.pageSize)
      let records = try inCatalogue { catalogue throws(AssetSourceError) in
        try catalogue.trashRecords(deletedBefore: .max, after: row, limit: limit)
      }
      guard let end = records.last else { return (count, isComplete) }
      last = end.id
      for record in records where record.isRestorable {
        guard try canLocateFiles(of: record) else {
          isComplete = false
          continue
        }
        if try restoreIfBack(record) { count += 1 }
      }
    }
  }

  /// Restores an asset whose files are back in the library. If they are neither in the trash nor at their paths, the
  /// asset is missing: the scan finds its file at another path, or it was removed for good.
  private func restoreIfBack(_ record: TrashRecord) throws(LibraryFilesError) -> Bool {
    for file in record.files where try exists(file.trashPath) { return false }
    guard let primary = record.files.first else { return false }
    guard try isAtItsPath(primary, of: record) else {
      // If the trash folder is missing, the library was copied without it, and it may be copied later.
      guard try exists(LibraryPath.folder(of: LibraryPath.folder(of: primary.trashPath))) else { return false }
      let now = Timestamp.now.milliseconds
      try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.recordMissing(record, now: now) }
      return false
    }
    for file in record.files {
      if try isAtItsPath(file, of: record) {
        try recordCopy(file, of: record)
      } else {
        try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.delete(file, of: record) }
      }
    }
    // The asset returns as if its deletion had not been committed.
    try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.revertDeletion(record, moved: []) }
    return true
  }
}
