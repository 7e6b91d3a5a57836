// The trash: its contents and its purge.

import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel
import Primitives

extension LibraryFiles {
  /// Number of assets that a purge deletes before it releases the lock for others.
  private static let purgeBatch = 16
  /// An asset ages by at most 1/4 of the lifetime between two purges, in case the clock jumped or the machine was off.
  private static let maximumAgingDivisor: Int64 = 4

  /// Milliseconds from the deletion of an asset until it is purged.
  private var trashLifetime: Int64 { Int64(options.trashDays) * CivilDate.millisecondsPerDay }

  /// The assets in the trash, most recently deleted first, one page at a time.
  ///
  /// - Parameters:
  ///   - cursor: the end of the previous page.
  ///   - principal: with limited visibility, only assets that were in its albums are listed.
  package func trashed(
    after cursor: TrashCursor?, limit: Int, for principal: Principal
  ) throws(AssetSourceError) -> (assets: [TrashedAsset], next: TrashCursor?) {
    try catalogue.trashedAssets(after: cursor, limit: limit, purgedAfter: trashLifetime, for: principal)
  }

  /// Deletes assets permanently that were in the trash for longer than `trashDays`. Those on a disk that is not mounted
  /// are kept until a later purge. Throws `busy` if it is stopped while another caller moves files.
  ///
  /// - Returns: the number of purged assets.
  @discardableResult
  package func purge(
    now: Timestamp = .now, stop: StopFlag = StopFlag()
  ) throws(LibraryFilesError) -> Int {
    // A change list whose store failed has left its intents, and so has a start while a disk was missing. The scan may
    // since have found the disk at another mount point.
    if !isReadOnly {
      let lock = try acquireLock(until: stop)
      defer { lock.unlock() }
      try recoverUnfinished()
    }
    if trashLifetime > 0 {
      try inCatalogue { catalogue throws(AssetSourceError) in
        try catalogue.countTrashTime(until: now.milliseconds, atMost: trashLifetime / Self.maximumAgingDivisor)
      }
    }
    let limit = now.milliseconds - trashLifetime
    try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.forgetMissingAssets(removedBefore: limit, now: now.milliseconds)
    }
    var (count, kept) = (0, 0)
    var last: Int64 = 0
    while !stop.isRaised {
      if isReadOnly { return count }
      let start = last
      // Read before the lock is taken, because changes of the library wait for the lock.
      let contents = try contents(deletedBefore: limit, after: start, stop)
      if stop.isRaised { break }
      let lock = try acquireLock(until: stop)
      defer { lock.unlock() }
      let found = try inCatalogue { catalogue throws(AssetSourceError) in
        try catalogue.trashRecords(deletedBefore: limit, after: start, limit: Self.purgeBatch)
      }
      guard let end = found.last else { break }
      last = end.id
      var records: [TrashRecord] = []
      // A record that has become due since waits for the next purge.
      for record in found where contents[record.id] != nil {
        if try correctDate(of: record, after: limit, now: now) { continue }
        // A file of an unmounted disk looks removed. Without its record, it would stay in its trash for good.
        if try canLocateFiles(of: record) { records.append(record) } else { kept += 1 }
      }
      if records.isEmpty { continue }
      let (begun, remembered) = (records, records.flatMap { contents[$0.id] ?? [] })
      try inCatalogue { catalogue throws(AssetSourceError) in
        try catalogue.beginPurge(of: begun, remembering: remembered)
      }
      for record in records {
        fault(.purging)
        try withoutBlockingOthers("\(record.identifier)") { () throws(LibraryFilesError) in
          try purge(record)
          count += 1
        }
      }
    }
    if let bucket, !isReadOnly { try sweepTrash(of: bucket, now: now, stop: stop) }
    if kept > 0 { logger.notice("assets not purged: their disk can't be read", metadata: ["assets": "\(kept)"]) }
    if count > 0 { logger.info("trash purged", metadata: ["assets": "\(count)"]) }
    return count
  }

  /// Corrects the date of a record that is due although its files came to the trash later: a damaged date must not be
  /// enough to delete a file permanently. The deletion created the asset's folder in the trash, and set the ctime of
  /// its files. Neither time ever becomes earlier, but each may become later: the folder's time if another program puts
  /// a file into the folder, or if the file system keeps no time for folders and reports when it was mounted; the ctime
  /// if the library is copied. So the earliest of these times counts.
  ///
  /// - Parameter limit: milliseconds since 1970; an asset that was deleted later is not due.
  /// - Returns: whether the record was corrected, and is not due.
  private func correctDate(
    of record: TrashRecord, after limit: Int64, now: Timestamp
  ) throws(LibraryFilesError) -> Bool {
    // Objects have no folders.
    if bucket != nil { return false }
    var earliest = Int64.max
    for file in record.files where !file.trashPath.isEmpty {
      // A missing file needs no protection.
      guard let folder = try? root.open(LibraryPath.folder(of: file.trashPath), isFolder: true),
        let entry = try? folder.entry(LibraryPath.name(of: file.trashPath))
      else { continue }
      earliest = min(earliest, folder.identity.modified, entry.changeTimeNanoseconds)
    }
    let date = earliest / 1_000_000
    // A time in the future is from a clock that was ahead.
    guard date > limit, date <= now.milliseconds else { return false }
    logger.warning(
      "asset not purged: its files in the trash are newer than its record",
      metadata: ["asset": "\(record.identifier)"])
    try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.setDeletedDate(date, of: record) }
    return true
  }

  /// The contents of the files of the next records that are due, by the rows of the records.
  private func contents(
    deletedBefore milliseconds: Int64, after row: Int64, _ stop: StopFlag
  ) throws(LibraryFilesError) -> [Int64: [PurgedContent]] {
    let records = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.trashRecords(deletedBefore: milliseconds, after: row, limit: Self.purgeBatch)
    }
    var contents: [Int64: [PurgedContent]] = [:]
    for record in records {
      if stop.isRaised { break }
      // The digest of an object would need a download.
      let files = bucket == nil ? record.files.filter { !$0.isSidecar } : []
      contents[record.id] = files.compactMap { content(at: $0.trashPath) }
    }
    return contents
  }

  /// The content of a file in the trash. One that is missing or can't be read is not remembered.
  private func content(at path: [UInt8]) -> PurgedContent? {
    guard let file = try? root.open(path), file.isRegularFile, let fingerprint = try? FileFingerprint(of: file),
      let digest = try? ContentDigest(of: file)
    else { return nil }
    return PurgedContent(fingerprint: fingerprint, digest: digest)
  }

  /// Deletes the files of an asset, then its record.
  func purge(_ record: TrashRecord) throws(LibraryFilesError) {
    for file in record.files {
      if let bucket {
        try bucket.remove(file.trashPath)
      } else {
        do throws(SystemError) {
          try trash.remove(file.trashPath)
        } catch {
          throw LibraryFilesError(error, at: file.trashPath)
        }
      }
      fault(.removed)
    }
    try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.delete(record) }
    fault(.purged)
  }
}
