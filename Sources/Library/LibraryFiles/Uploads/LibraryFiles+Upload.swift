// Stores uploads. The order of the steps ensures that a crash leaves a complete photograph or none:
//
//     written and checked, without a name              a crash leaves nothing behind
//     synced, named, the name synced                   after a crash the next scan finds the file
//     recorded in the catalogue, response sent

import ImageCodec
import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// The result of an upload.
package struct UploadedAsset: Sendable {
  package let asset: Asset
  /// Whether the asset is new to the sender; otherwise it sees one with the same content.
  package let isNew: Bool
  /// The request for it was repeated: the asset is the result of an earlier one.
  package internal(set) var isRepeated = false
}

/// A file that is about to get a path in the library.
struct NewFile: Sendable {
  let media: ProbedMedia
  let size: Int64
  let principal: Principal
  /// Sidecars or other files of its asset follow, with its stem. No other file in the folder may have that.
  var needsOwnStem = false
  /// It is known to belong to an asset, whose stem it gets.
  var hasPartner = false

  /// Its content, which may be that of a missing file that it brings back: only for a principal who sees every asset.
  var returningContent: FileFingerprint? {
    principal.may(.read) && principal.visibility == .everything ? media.fingerprint : nil
  }
}

extension LibraryFiles {
  /// Begins to receive a file.
  ///
  /// - Parameter length: its length in bytes, if known.
  package func receive(length: Int64?) throws(LibraryFilesError) -> IncomingFile {
    if isReadOnly { throw .readOnly }
    try checkLength(length)
    let file = try inFileSystem { () throws(SystemError) in
      try IncomingFile(in: root.open([], isFolder: true), root: root, reserveBytes: options.reserveBytes)
    }
    try file.checkSpace(for: length ?? 0)
    return file
  }

  /// Makes an asset of a completely received file, durably. If the principal may see an asset with the same content,
  /// that asset is returned instead. For a principal without the read scope, the library is not searched for the
  /// content: each upload becomes a new asset, and no existing asset is returned, joined or changed.
  ///
  /// - Parameter name: the filename that the sender gave.
  package func add(
    _ file: IncomingFile, named name: String?, for principal: Principal
  ) throws(LibraryFilesError) -> UploadedAsset {
    let opened = try inFileSystem { () throws(SystemError) in try file.file() }
    let (media, name) = try probe(opened, named: name)
    if let earlier = try earlierUpload(like: opened, media, for: principal) { return earlier }
    // Sync before taking the lock, while no other caller waits.
    try inFileSystem { () throws(SystemError) in try file.sync() }
    fault(.synced)
    let wanted = try uploadPath(for: name, media, like: opened, for: principal)
    if let bucket { return try add(opened, media, at: wanted, in: bucket, for: principal) }
    try checkDisk(of: wanted)
    let lock = try acquireLock()
    defer { lock.unlock() }
    // A concurrent upload of the same content may have finished first.
    if let earlier = try earlierUpload(like: opened, media, for: principal) { return earlier }
    let (path, isOurs) = try place(file, opened, media, at: wanted, for: principal)
    do throws(LibraryFilesError) {
      let asset = try record(media, at: path, for: principal)
      fault(.recorded)
      noteUpload(asset.localIdentifier, by: principal)
      return UploadedAsset(asset: asset, isNew: true)
    } catch {
      if isOurs, !mayBeRecorded(path) { removeWithoutAsset(path) }
      throw error
    }
  }

  /// Removes a file that got its path and no asset, because the sender would create a duplicate by retrying.
  private func removeWithoutAsset(_ path: [UInt8]) {
    do throws(SystemError) {
      try root.open(LibraryPath.folder(of: path), isFolder: true).remove(LibraryPath.name(of: path))
    } catch {
      // The next scan makes it an asset.
      logger.error(
        "removing a file without an asset failed",
        metadata: ["path": "\(LibraryPath.display(path))", "error": "\(error)"])
    }
  }

  /// The metadata of a received file, and its sanitized name with the extension of its type.
  func probe(
    _ file: LibraryFile, named name: String?
  ) throws(LibraryFilesError) -> (media: ProbedMedia, name: [UInt8]) {
    do throws(CodecError) {
      let media = try probe.media(of: file, at: UploadFilename.file(name, fileExtension: ""))
      let format = MediaFormat(uniformTypeIdentifier: media.uniformTypeIdentifier)
      return (media, UploadFilename.file(name, fileExtension: format?.filenameExtension ?? "bin"))
    } catch {
      throw LibraryFilesError(error)
    }
  }

  /// Places the file at this path or at a free name next to it. Returns the path, and whether the file there is this
  /// upload. For a principal with the read scope it may be another file of the same content that has no asset: a
  /// process that ended before recording its upload leaves such a file.
  private func place(
    _ file: IncomingFile, _ opened: LibraryFile, _ media: ProbedMedia, at wanted: [UInt8], for principal: Principal
  ) throws(LibraryFilesError) -> (path: [UInt8], isOurs: Bool) {
    let folderPath = LibraryPath.folder(of: wanted)
    let folder = try makeFolder(folderPath)
    let new = NewFile(media: media, size: opened.size, principal: principal)
    var file = file
    var number = 0
    while let path = try nextPath(like: wanted, for: new, after: &number) {
      let name = LibraryPath.name(of: path)
      do throws(SystemError) {
        do throws(SystemError) {
          try file.place(in: folder, as: name)
        } catch {
          guard error.code == EXDEV else { throw error }
          // Another disk is mounted at this folder.
          file = try file.copy(to: folder, at: folderPath)
          try file.place(in: folder, as: name)
        }
      } catch {
        if error.code != EEXIST { throw LibraryFilesError(error, at: wanted) }
        if principal.may(.read), try isOrphan(path, like: opened) { return (path, false) }
        continue
      }
      fault(.named)
      do throws(SystemError) {
        try folder.sync()
      } catch {
        removeWithoutAsset(path)
        throw LibraryFilesError(error, at: wanted)
      }
      fault(.placed)
      return (path, true)
    }
    throw .failed(path: wanted, SystemError(code: EEXIST))
  }

  /// The next alternative of a path that is not reserved. Another file may be there that the catalogue does not know.
  /// `nil` after ``maximumNameAttempts``.
  ///
  /// - Parameters:
  ///   - taken: further paths that are not free.
  ///   - number: in, the number of the previous alternative, at first 0; out, that of the returned one.
  func nextPath(
    like wanted: [UInt8], for file: NewFile, except taken: Set<[UInt8]> = [], after number: inout Int
  ) throws(LibraryFilesError) -> [UInt8]? {
    let folder = LibraryPath.folder(of: wanted)
    while number < Self.maximumNameAttempts {
      number += 1
      let path = LibraryPath.join(folder, LibraryPath.alternative(number, to: LibraryPath.name(of: wanted)))
      if taken.contains(path) { continue }
      if try !isReserved(path, for: file) { return path }
      number = try nextNumber(after: number, like: wanted, for: file) - 1
    }
    return nil
  }

  /// The next number whose path may be free. The paths of known files are skipped by one query, because thousands of
  /// photographs may have one name.
  private func nextNumber(
    after number: Int, like wanted: [UInt8], for file: NewFile
  ) throws(LibraryFilesError) -> Int {
    let first = number + 1
    guard first < Self.maximumNameAttempts else { return first }
    var end = 10
    while end <= first { end *= 10 }
    let numbers = first...min(end - 1, Self.maximumNameAttempts)
    return try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.firstFreeNumber(in: numbers, for: wanted, besides: file.returningContent)
    }
  }

  /// Whether a new file at a free path would take over what belongs to another one: the row, and so the asset, of a
  /// file that is missing or was moved and not found yet; or a sidecar with its edit, unless the new file may be the
  /// RAW file, the picture or the video of the same photograph. A file that needs its own stem shares it with no other
  /// file. Any other file shares it only with files of the photograph that it joins: so the parts of one photograph,
  /// which follow each other in any order, get one number.
  private func isReserved(_ path: [UInt8], for file: NewFile) throws(LibraryFilesError) -> Bool {
    if try isKnown(path) { return try !isLost(file, at: path) }
    if try isStemTaken(of: path, by: file) { return true }
    if bucket != nil { return false }
    for sidecar in SidecarPaths.beside(path) where try exists(sidecar.path) {
      if file.needsOwnStem { return true }
      return try inCatalogue { catalogue throws(AssetSourceError) in
        try !catalogue.hasCounterpart(of: file.media, at: path)
      }
    }
    return false
  }

  /// Whether the known file of a path is missing and had this content: then the upload brings it back. Only for a
  /// principal who sees every asset.
  private func isLost(_ file: NewFile, at path: [UInt8]) throws(LibraryFilesError) -> Bool {
    guard let fingerprint = file.returningContent else { return false }
    return try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.files(with: fingerprint, size: file.size)
    }.contains { $0.path == path }
  }

  func isKnown(_ path: [UInt8]) throws(LibraryFilesError) -> Bool {
    try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.knownFile(at: path) } != nil
  }

  private func isStemTaken(of path: [UInt8], by file: NewFile) throws(LibraryFilesError) -> Bool {
    if file.needsOwnStem {
      return try inCatalogue { catalogue throws(AssetSourceError) in
        try catalogue.isStemTaken(of: path, by: file.media)
      }
    }
    // A number would show a caller who does not see every asset which names exist.
    guard file.principal.may(.read), file.principal.visibility == .everything, !file.hasPartner else { return false }
    return try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.hasStrangers(beside: path, of: file.media)
    }
  }

  private func isOrphan(_ path: [UInt8], like file: LibraryFile) throws(LibraryFilesError) -> Bool {
    guard try !isKnown(path), let other = try? root.open(path), other.isRegularFile, Self.hasSameBytes(file, other)
    else {
      return false
    }
    try inFileSystem { () throws(SystemError) in try other.sync() }
    return true
  }

  private func record(
    _ media: ProbedMedia, at path: [UInt8], for principal: Principal
  ) throws(LibraryFilesError) -> Asset {
    // The identity at its final path, which scans compare with.
    let opened = try inFileSystem { () throws(SystemError) in try root.open(path) }
    var file = ProbedFile(path: path, identity: opened.identity, finding: .media(media))
    file.changeTimeNanoseconds = opened.changeTimeNanoseconds
    let asset = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.addUpload(file, for: principal) }
    refreshMomentsLater()
    return asset
  }

  /// Whether the catalogue has the uploaded file at this path, or can't be read. A failed call may have failed after
  /// its commit; then the file must stay. If it stays without a row, the next scan makes it an asset.
  private func mayBeRecorded(_ path: [UInt8]) -> Bool {
    do throws(LibraryFilesError) {
      let known = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.knownFile(at: path) }
      // The path may also have the row of a missing file.
      guard let known else { return false }
      return try inFileSystem { () throws(SystemError) in try root.open(path).identity } == known.identity
    } catch {
      logger.error(
        "uploaded file kept; catalogue state unknown",
        metadata: ["path": "\(LibraryPath.display(path))", "error": "\(error)"])
      return true
    }
  }

  /// Removes the unfinished uploads of previous processes.
  func removeAbandonedUploads() {
    guard !isReadOnly else { return }
    do throws(SystemError) {
      try IncomingFile.removeAbandonedUploads(of: root)
    } catch {
      logger.warning("removing unfinished uploads failed", metadata: ["error": "\(error)"])
    }
  }
}

extension LibraryFilesError {
  /// Maps a codec error to the reason why an upload is refused.
  fileprivate init(_ error: CodecError) {
    switch error {
    case .unsupported(let what): self = .notMedia(what)
    case .readFailed(let code): self = .failed(path: [], SystemError(code: code))
    case .outOfMemory: self = .failed(path: [], SystemError(code: ENOMEM))
    case .malformed, .truncated, .limitExceeded, .encodingFailed, .stopped, .decoderUnavailable, .decoderFailed,
      .decoderInterrupted, .encoderUnavailable, .encoderInterrupted, .outputTooLarge:
      self = .damagedMedia(error.description)
    }
  }
}
