// Staged uploads: files that clients send in several requests, and from which assets are created later.
//
//     create     the file .photod-staged/ID, then its record in the catalogue
//     append     bytes are written to the file; before the response they are synced
//     complete   the bytes are synced, then the record says so
//     delete     the record goes, then the file
//
// The offset is the size of the file, so a process that is killed loses no byte that it has written. A client gets an
// offset only after the file was synced. A file without a record is removed when it expires, as uploads do.

import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// How much of a staged upload was received.
package struct StagedUploadProgress: Sendable, Hashable {
  /// Bytes that are received and synced.
  package let offset: Int64
  /// In bytes, if it is known.
  package let length: Int64?
  package let isComplete: Bool
}

extension LibraryFiles {
  /// Between two searches for expired uploads, a staged upload ages by at most 1/4 of its lifetime or this many
  /// milliseconds, whichever is more. Longer than the interval of these searches.
  private static let minimumAgingMilliseconds: Int64 = 10 * 60 * 1000
  private static let uploadAgingDivisor: Int64 = 4

  /// Scans skip hidden folders.
  static let stagedFolder = [UInt8](".photod-staged".utf8)

  static func stagedPath(_ identifier: UploadIdentifier) -> [UInt8] {
    LibraryPath.join(stagedFolder, Array(identifier.rawValue.utf8))
  }

  // MARK: Creating and appending

  /// Creates a staged upload without bytes.
  ///
  /// - Parameters:
  ///   - name: the filename that the sender gave.
  ///   - length: in bytes, if it is known. That many bytes are reserved.
  package func stage(
    named name: String?, length: Int64?, for principal: Principal, now: Timestamp = .now
  ) throws(LibraryFilesError) -> StagedAppend {
    if isReadOnly { throw .readOnly }
    try checkLength(length)
    let upload = StagedUpload(
      identifier: UploadIdentifier(), owner: principal.name, filename: name, length: length, usedDate: now)
    // Before the file is created: the removal of files without a record spares those in the table.
    try staged.add(upload.identifier, owner: principal.name, bytes: length ?? 0)
    do throws(LibraryFilesError) {
      let folder = try makeFolder(Self.stagedFolder, isPrivate: true)
      let file = try inFileSystem(at: Self.stagedFolder) { () throws(SystemError) in
        let file = try LibraryFile(owning: folder.create(Array(upload.identifier.rawValue.utf8)))
        try folder.sync()
        return file
      }
      try file.checkSpace(for: length ?? 0, leaving: options.reserveBytes)
      try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.insert(upload) }
      let append = StagedAppend(upload, length: length, file, staged, reserveBytes: options.reserveBytes)
      staged.setAppend(append, to: upload.identifier)
      return append
    } catch {
      removeStagedFile(upload.identifier)
      staged.remove(upload.identifier)
      throw error
    }
  }

  /// Begins to append to a staged upload. Another request that still appends to it ends.
  ///
  /// - Parameters:
  ///   - offset: the offset at which the sender continues. It must be the one that the staged upload has.
  ///   - bytes: the number of bytes that the sender announces, if it does.
  ///   - length: the length of the whole file, if the sender gives it. It must not differ from a length that is known
  ///     already.
  ///   - isEnd: the file ends with these bytes.
  package func append(
    to identifier: UploadIdentifier, at offset: Int64, bytes: Int64? = nil, length: Int64? = nil, isEnd: Bool = false,
    for principal: Principal
  ) throws(LibraryFilesError) -> StagedAppend {
    if isReadOnly { throw .readOnly }
    let upload = try stagedUpload(identifier, for: principal)
    staged.setAppend(nil, to: identifier)
    let file = try stagedFile(identifier)
    if upload.isComplete { throw .uploadComplete(offset: file.size) }
    if file.size != offset { throw .uploadOffsetMismatch(offset: file.size) }
    if let known = upload.length ?? length {
      let isWrong = bytes.map { isEnd ? $0 != known - offset : $0 > known - offset } ?? (known < offset)
      if isWrong || (length ?? known) != known { throw .uploadLengthMismatch(length: known, offset: offset) }
    }
    let append = StagedAppend(upload, length: length, file, staged, reserveBytes: options.reserveBytes)
    if let bytes { try append.checkRoom(for: bytes) }
    staged.setAppend(append, to: identifier)
    // Another request may have appended since the file was opened. From here on, none does.
    guard file.isUnchanged else { throw .uploadOffsetMismatch(offset: try stagedFile(identifier).size) }
    return append
  }

  /// Ends a request that has appended: syncs its bytes. The staged upload is complete if this was the end of the file,
  /// or if its length is reached.
  ///
  /// - Parameter isEnd: the sender has sent all it had, and says that the file ends here.
  package func finish(
    _ append: StagedAppend, isEnd: Bool, now: Timestamp = .now
  ) throws(LibraryFilesError) -> StagedUploadProgress {
    let upload = append.upload
    if append.isSuperseded { throw .uploadSuperseded }
    try append.sync()
    let offset = append.offset
    if isEnd, let length = append.length, length != offset {
      throw .uploadLengthMismatch(length: length, offset: offset)
    }
    let isComplete = isEnd || offset == append.length
    let length = isComplete ? offset : append.length
    let exists = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.update(upload.identifier, length: length, isComplete: isComplete, usedDate: now)
    }
    guard exists else { throw .noSuchUpload(upload.identifier) }
    return StagedUploadProgress(offset: offset, length: length, isComplete: isComplete)
  }

  // MARK: State and removal

  /// How much of a staged upload was received.
  ///
  /// - Parameters:
  ///   - principal: its owner, or an administrator who sees the whole library.
  ///   - endsAppend: its owner wants to continue: a request that still appends to it ends, so that the offset stays.
  ///     No effect for an administrator who is not the owner.
  package func progress(
    of identifier: UploadIdentifier, for principal: Principal, endsAppend: Bool = false
  ) throws(LibraryFilesError) -> StagedUploadProgress {
    let upload = try stagedUpload(identifier, for: principal, isAdministered: true)
    if endsAppend, upload.owner == principal.name { staged.setAppend(nil, to: identifier) }
    let file = try stagedFile(identifier)
    try inFileSystem { () throws(SystemError) in try file.sync() }
    return StagedUploadProgress(offset: file.size, length: upload.length, isComplete: upload.isComplete)
  }

  /// Deletes a staged upload.
  ///
  /// - Parameter principal: its owner, or an administrator who sees the whole library.
  package func deleteStaged(
    _ identifier: UploadIdentifier, for principal: Principal
  ) throws(LibraryFilesError) {
    if isReadOnly { throw .readOnly }
    let lock = try acquireLock()
    defer { lock.unlock() }
    try recoverUnfinished()
    try deleteStaged([try stagedUpload(identifier, for: principal, isAdministered: true)])
  }

  /// Removes staged uploads that have received nothing for `stagedSeconds`, and such files without a record.
  ///
  /// - Parameter stop: wait for other callers that move files until this is raised, instead of `lockTimeout`.
  /// - Returns: the number of removed staged uploads.
  @discardableResult
  package func removeExpiredUploads(
    now: Timestamp = .now, until stop: StopFlag? = nil
  ) throws(LibraryFilesError) -> Int {
    if isReadOnly { return 0 }
    let lifetime = Int64(options.stagedSeconds) * 1000
    let limit = Timestamp(milliseconds: now.milliseconds - lifetime)
    let lock = try acquireLock(until: stop)
    defer { lock.unlock() }
    try recoverUnfinished()
    let agingLimit = max(lifetime / Self.uploadAgingDivisor, Self.minimumAgingMilliseconds)
    try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.countUploadTime(until: now.milliseconds, atMost: agingLimit)
    }
    var expired = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.stagedUploads(usedBefore: limit)
    }
    // The record is written at the end of a request, which may have begun long before. The modification time may be the
    // date of the photograph, which a client or an import has set.
    expired.removeAll { upload in
      let changed = (try? root.open(Self.stagedPath(upload.identifier)))?.changeTimeNanoseconds
      return staged.isAppending(to: upload.identifier) || (changed ?? 0) / 1_000_000 >= limit.milliseconds
    }
    try deleteStaged(expired)
    removeUnrecordedFiles(unchangedSince: limit)
    if !expired.isEmpty { logger.info("expired staged uploads removed", metadata: ["uploads": "\(expired.count)"]) }
    return expired.count
  }

  /// Call with the lock held, and only for uploads without an intent.
  private func deleteStaged(_ uploads: [StagedUpload]) throws(LibraryFilesError) {
    if uploads.isEmpty { return }
    for upload in uploads { staged.setAppend(nil, to: upload.identifier) }
    try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.delete(uploads) }
    for upload in uploads { forgetStaged(upload.identifier) }
  }

  /// Removes the file of a staged upload whose record is gone.
  func forgetStaged(_ identifier: UploadIdentifier) {
    removeStagedFile(identifier)
    staged.remove(identifier)
  }

  // MARK: Records and files

  /// - Parameter isAdministered: whether an administrator who sees the whole library may use the uploads of others.
  func stagedUpload(
    _ identifier: UploadIdentifier, for principal: Principal, isAdministered: Bool = false
  ) throws(LibraryFilesError) -> StagedUpload {
    let found = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.stagedUpload(identifier) }
    let isAdministrator = isAdministered && principal.may(.admin) && principal.visibility == .everything
    guard let found, found.owner == principal.name || isAdministrator else { throw .noSuchUpload(identifier) }
    return found
  }

  /// The file of a staged upload, open for appending.
  func stagedFile(_ identifier: UploadIdentifier) throws(LibraryFilesError) -> LibraryFile {
    do throws(SystemError) {
      let folder = try root.open(Self.stagedFolder, isFolder: true)
      return try LibraryFile(owning: folder.openForAppending(Array(identifier.rawValue.utf8)))
    } catch {
      if error.code == ENOENT { throw .noSuchUpload(identifier) }
      throw LibraryFilesError(error, at: Self.stagedPath(identifier))
    }
  }

  private func removeStagedFile(_ identifier: UploadIdentifier) {
    do throws(SystemError) {
      try root.open(Self.stagedFolder, isFolder: true).remove(Array(identifier.rawValue.utf8))
    } catch {
      // The file remains without a record, so a later pass removes it.
      if error.code != ENOENT {
        logger.warning("removing a staged upload failed", metadata: ["upload": "\(identifier)", "error": "\(error)"])
      }
    }
  }

  /// Removes files that have no record: a process ended while it made or removed them. The record may also be in the
  /// catalogue of another data folder, so a file stays as long as an upload that receives nothing.
  private func removeUnrecordedFiles(unchangedSince limit: Timestamp) {
    do {
      let folder: LibraryFile
      do throws(SystemError) {
        folder = try root.open(Self.stagedFolder, isFolder: true)
      } catch {
        if error.code == ENOENT { return }
        throw error
      }
      var names = try FolderNames(of: folder) { _, _ in false }
      while let (name, isFolder) = names.next() {
        guard !isFolder, let identifier = UploadIdentifier(String(decoding: name, as: UTF8.self)) else { continue }
        if staged.contains(identifier) { continue }
        if try catalogue.stagedUpload(identifier) != nil { continue }
        // A client may have set the modification time. Another process may have removed the file.
        guard let changed = (try? folder.entry(name))?.changeTimeNanoseconds else { continue }
        if changed / 1_000_000 < limit.milliseconds { try folder.remove(name) }
      }
    } catch {
      logger.warning("removing unrecorded uploads failed", metadata: ["error": "\(error)"])
    }
  }

  /// Counts the staged uploads of earlier processes.
  func countStagedUploads() {
    do {
      for upload in try catalogue.stagedUploads() {
        let size = (try? root.open(Self.stagedPath(upload.identifier)))?.size ?? 0
        staged.load(upload.identifier, owner: upload.owner, bytes: max(size, upload.length ?? 0))
      }
    } catch {
      logger.error("counting staged uploads failed", metadata: ["error": "\(error)"])
    }
  }
}
