// Creates assets from staged uploads, in change lists or one at a time. Like a move to the trash, this has three steps:
//
//     intent: path and inode of the file     the next start moves the file back, and the staged upload is as before
//     file moved, folders synced             the same
//     committed: asset created, record gone  complete
//
// If the path is on another disk, the file is copied there, and the staged file stays until the commit. For a bucket,
// see LibraryFiles+BucketUploads.

import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryFolder
import LibraryScan
import Logging
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension LibraryFiles {
  /// Creates an asset from a staged upload, with the same rules as ``add(_:named:for:)``. Repeated for `stagedSeconds`,
  /// it returns that asset again.
  package func addStaged(
    _ identifier: UploadIdentifier, for principal: Principal, now: ContinuousClock.Instant = .now
  ) throws(LibraryFilesError) -> UploadedAsset {
    let prepared: PendingFileChanges
    do throws(FileChangeFailure) {
      prepared = try prepare([.createFromUpload(identifier)], for: principal)
    } catch {
      if case .noSuchUpload = error.reason, let earlier = try earlierResult(of: identifier, for: principal, now: now) {
        return earlier
      }
      throw error.reason
    }
    // A repeated request waits for the lock until here, and then finds the outcome.
    defer { prepared.end() }
    fault(.filesMoved)
    let created: LocalIdentifier
    do throws(AssetSourceError) {
      created = try catalogue.commitUpload(prepared, for: principal)
    } catch {
      revert(prepared, commitFailure: error)
      throw .catalogue(error)
    }
    // Before the asset is read: if that fails, the upload is used up all the same, and the request can be repeated.
    committed(prepared)
    var isNew = true
    if case .createFromUpload(let change) = prepared.steps.first, case .existing = change.content { isNew = false }
    let isRepeated = !isNew && isUnseenUpload(created, of: principal, now: now)
    finished.add(
      FinishedUploads.Outcome(owner: principal.name, asset: created, isNew: isNew || isRepeated, time: now),
      of: identifier)
    if isNew { noteUpload(created, by: principal, now: now) }
    let asset = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.createdAsset(created, for: principal)
    }
    return UploadedAsset(asset: asset, isNew: isNew || isRepeated, isRepeated: isRepeated)
  }

  /// The result of an earlier request for the same staged upload. `nil`: there is none, or its asset is gone.
  private func earlierResult(
    of identifier: UploadIdentifier, for principal: Principal, now: ContinuousClock.Instant
  ) throws(LibraryFilesError) -> UploadedAsset? {
    guard let outcome = finished.outcome(of: identifier, owner: principal.name, now: now) else { return nil }
    // A limited caller does not see the new asset, and gets only its identifier and version.
    let isUnseen = outcome.isNew && principal.visibility != .everything
    let viewer = isUnseen ? principal.seeingEverything : principal
    let asset = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.asset(outcome.asset, for: viewer)
    }
    return asset.map { UploadedAsset(asset: $0, isNew: outcome.isNew, isRepeated: true) }
  }

  package func committed(_ changes: PendingFileChanges) {
    for step in changes.steps {
      if let upload = step.upload { forgetStaged(upload.identifier) }
    }
    refreshMomentsLater()
  }

  // MARK: Preparing

  /// A staged upload on its way into the library.
  struct StagedPlan: Sendable {
    let upload: StagedUpload
    let file: LibraryFile
    let media: ProbedMedia
    var destination: Destination
    /// The asset that it belongs to, as the sender knows.
    var partner: LocalIdentifier?
    /// See ``NewFile``.
    var needsOwnStem = false

    func newFile(for principal: Principal) -> NewFile {
      NewFile(
        media: media, size: file.size, principal: principal, needsOwnStem: needsOwnStem, hasPartner: partner != nil)
    }
  }

  enum Destination: Sendable {
    /// A new file.
    case path([UInt8])
    /// An asset with the same content.
    case existing(LocalIdentifier)
    /// An earlier entry of the same list, by its index, has the same content.
    case likeEntry(Int)

    /// Where a new file goes.
    var path: [UInt8]? {
      if case .path(let path) = self { path } else { nil }
    }
  }

  /// Checks a staged upload and finds its path.
  ///
  /// - Parameters:
  ///   - partner: the asset that it belongs to, as the sender knows.
  ///   - needsOwnStem: other files of its asset follow, if it is a new one: see ``NewFile``.
  ///   - day: the day of the asset, if not that of the file.
  ///   - others: the staged uploads of earlier entries of the list, by their index.
  func plan(
    _ identifier: UploadIdentifier, beside partner: LocalIdentifier?, needsOwnStem: Bool, on day: Int?,
    after others: [Int: StagedPlan], for principal: Principal
  ) throws(LibraryFilesError) -> StagedPlan {
    if others.values.contains(where: { $0.upload.identifier == identifier }) { throw .uploadNamedTwice(identifier) }
    let upload = try stagedUpload(identifier, for: principal)
    let file = try stagedFile(identifier)
    guard upload.isComplete, file.size == upload.length else { throw .uploadIncomplete(offset: file.size) }
    if file.size == 0 { throw .damagedMedia("it is empty") }
    let (media, name) = try probe(file, named: upload.filename)
    func plan(_ destination: Destination) -> StagedPlan {
      StagedPlan(upload: upload, file: file, media: media, destination: destination, partner: partner)
    }
    if let asset = try asset(like: file, media, for: principal, asPartOf: partner) {
      return plan(.existing(asset.localIdentifier))
    }
    for (index, other) in others where principal.may(.read) && other.destination.path != nil {
      if other.media.fingerprint == media.fingerprint, Self.hasSameBytes(file, other.file) {
        return plan(.likeEntry(index))
      }
    }
    let wanted: [UInt8]
    var new = NewFile(media: media, size: file.size, principal: principal)
    if let beside = try path(beside: partner, named: name, for: principal) {
      wanted = beside
      new.hasPartner = true
    } else {
      wanted = try uploadPath(for: name, media, on: day, for: principal)
      new.needsOwnStem = needsOwnStem
    }
    try checkDisk(of: wanted)
    let taken = Set(others.values.compactMap(\.destination.path))
    // A caller who may not read must not learn that the library has the content.
    let free = try newPath(like: wanted, for: new, except: taken, content: principal.may(.read) ? file : nil)
    var result = plan(.path(free))
    result.needsOwnStem = new.needsOwnStem
    return result
  }

  /// The folder and the stem of an asset's original, with the extension of a name; `nil` if there is no such asset.
  private func path(
    beside asset: LocalIdentifier?, named name: [UInt8], for principal: Principal
  ) throws(LibraryFilesError) -> [UInt8]? {
    guard let asset else { return nil }
    let found = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.asset(asset, for: principal) }
    guard let original = found?.original.path else { return nil }
    let (stem, _) = LibraryPath.split(LibraryPath.name(of: original))
    return LibraryPath.join(LibraryPath.folder(of: original), Array(stem + LibraryPath.split(name).fileExtension))
  }

  /// This path, or a free name next to it, for a new file.
  ///
  /// - Parameter content: the new file, if a path counts as free also when its object has the same bytes and no asset.
  func newPath(
    like wanted: [UInt8], for file: NewFile, except taken: Set<[UInt8]> = [], content: LibraryFile? = nil
  ) throws(LibraryFilesError) -> [UInt8] {
    var number = 0
    while let path = try nextPath(like: wanted, for: file, except: taken, after: &number) {
      if try !exists(path) { return path }
      if let content, try hasObjectWithoutAsset(at: path, like: content) { return path }
    }
    throw .failed(path: wanted, SystemError(code: EEXIST))
  }

  // MARK: Moving

  /// Moves the file of a staged upload, whose intent is already written, into the library.
  ///
  /// - Returns: the file at its path.
  func place(_ plan: StagedPlan, for principal: Principal) throws(LibraryFilesError) -> ProbedFile {
    if let bucket { return try place(plan, in: bucket, for: principal) }
    guard var path = plan.destination.path else { preconditionFailure("only new files are moved") }
    for _ in 1...Self.maximumNameAttempts {
      do throws(SystemError) {
        do throws(SystemError) {
          guard try trash.move(Self.stagedPath(plan.upload.identifier), to: path) else {
            throw SystemError(code: ENOENT)
          }
        } catch {
          guard error.code == EXDEV else { throw error }
          try copy(plan, to: path)
        }
        fault(.moved)
        // The identity at its final path, which scans compare with.
        let opened = try root.open(path)
        var file = ProbedFile(path: path, identity: opened.identity, finding: .media(plan.media))
        file.changeTimeNanoseconds = opened.changeTimeNanoseconds
        return file
      } catch {
        if error.code == ENOENT { throw .noSuchUpload(plan.upload.identifier) }
        guard error.code == EEXIST else { throw failure(error, in: LibraryPath.folder(of: path), at: path) }
      }
      // Another program has taken the path since.
      path = try newPath(like: path, for: plan.newFile(for: principal))
      try setPlacement(StagedUpload.Placement(path: path, inode: plan.file.identity.inode), of: plan.upload)
    }
    throw .failed(path: path, SystemError(code: EEXIST))
  }

  /// Copies the file of a staged upload to another disk, which is mounted at the folder of this path.
  private func copy(_ plan: StagedPlan, to path: [UInt8]) throws(SystemError) {
    let folderPath = LibraryPath.folder(of: path)
    let folder = try root.openMakingFolders(folderPath)
    let copy = try IncomingFile.copy(
      of: plan.file.descriptor, to: folder, at: folderPath, root: root, reserveBytes: options.reserveBytes)
    let placement = StagedUpload.Placement(path: path, inode: try copy.file().identity.inode)
    do throws(AssetSourceError) {
      try catalogue.setPlacement(placement, of: plan.upload)
    } catch {
      logger.error("recording where an upload is moved to failed", metadata: ["error": "\(error)"])
      throw SystemError(code: EIO)
    }
    try copy.place(in: folder, as: LibraryPath.name(of: path))
    try folder.sync()
  }

  func setPlacement(
    _ placement: StagedUpload.Placement?, of upload: StagedUpload
  ) throws(LibraryFilesError) {
    try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.setPlacement(placement, of: upload) }
  }

  // MARK: Reverting

  /// Reverts the intent of a change that was not committed, whether the file was moved or not. In a bucket, the object
  /// stays: see LibraryFiles+BucketUploads. Call with the lock held.
  func recover(_ upload: StagedUpload) throws(LibraryFilesError) {
    guard let placement = upload.placement else { return }
    if bucket == nil {
      guard try isRecordedDiskMounted(at: placement.path) else {
        logger.warning("recovery postponed: a disk is missing", metadata: ["upload": "\(upload.identifier)"])
        return
      }
      try moveBack(upload, from: placement)
    }
    try setPlacement(nil, of: upload)
    fault(.recovered)
  }

  private func moveBack(
    _ upload: StagedUpload, from placement: StagedUpload.Placement
  ) throws(LibraryFilesError) {
    // A file with another inode is another program's.
    guard inode(at: placement.path) == placement.inode else { return }
    let staged = Self.stagedPath(upload.identifier)
    guard try exists(staged) else {
      _ = try move(placement.path, to: staged)
      return
    }
    // A copy on another disk.
    try inFileSystem { () throws(SystemError) in
      let folder = try root.open(LibraryPath.folder(of: placement.path), isFolder: true)
      try folder.remove(LibraryPath.name(of: placement.path))
      try folder.sync()
    }
  }

  private func inode(at path: [UInt8]) -> UInt64? {
    let entry = try? root.open(LibraryPath.folder(of: path), isFolder: true).entry(LibraryPath.name(of: path))
    return entry?.identity.inode
  }

  /// Reverts the staged upload of a step, if it has one.
  func recoverUpload(of step: PendingFileChanges.Step) throws(LibraryFilesError) {
    guard let identifier = step.upload?.identifier else { return }
    let found = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.stagedUpload(identifier) }
    if let found { try recover(found) }
  }
}
