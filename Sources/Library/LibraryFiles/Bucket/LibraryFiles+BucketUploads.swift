// Uploads to a library that is a bucket. The order of the steps ensures that a kill leaves a complete photograph or
// none:
//
//     received and checked in the data folder         a kill leaves nothing in the bucket
//     put, replacing nothing                          after a kill the next scan finds the object
//     recorded in the catalogue, response sent
//
// The object is put without the lock, because this may take minutes, and scans and change lists need the lock. An
// object that was put is never removed again: another daemon that shares the bucket may have received the same
// photograph meanwhile and use this object, or may have put it. If the upload fails after that, the object stays: a
// repeated upload by a caller with the read scope uses it, or else the next scan makes it an asset.

import ImageCodec
import LibraryCatalogue
import LibraryFolder
import LibraryScan
import Logging
import ObjectStores
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension LibraryFiles {
  /// Where the file of an upload is.
  private enum UploadPlace {
    case object(path: [UInt8])
    /// An earlier upload of the same content.
    case earlier(UploadedAsset)
  }

  /// Makes an asset of a received file, which is checked and whose content is new.
  func add(
    _ file: LibraryFile, _ media: ProbedMedia, at wanted: [UInt8], in bucket: LibraryBucket, for principal: Principal
  ) throws(LibraryFilesError) -> UploadedAsset {
    let path: [UInt8]
    switch try place(file, media, at: wanted, in: bucket, for: principal) {
    case .object(let placed): path = placed
    case .earlier(let upload): return upload
    }
    let key = try bucket.key(path)
    fault(.placed)
    let lock = try acquireLock()
    defer { lock.unlock() }
    // A scan may have found the object first. If not, a concurrent upload of the same content may have finished first.
    if try !isKnown(path), let earlier = try earlierUpload(like: file, media, for: principal) { return earlier }
    guard let identity = try bucket.identity(at: path) else { throw .noSuchFile(path) }
    let found = ProbedFile(path: path, identity: identity, finding: .media(media))
    let asset = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.addUpload(found, for: principal)
    }
    refreshMomentsLater()
    fault(.recorded)
    bucket.stored(key, identity, file)
    noteUpload(asset.localIdentifier, by: principal)
    return UploadedAsset(asset: asset, isNew: true)
  }

  /// Puts an object at this path or at a free name next to it. An object with the same bytes and without an asset is
  /// used: an interrupted upload left it, or the store's response to this upload was lost.
  private func place(
    _ file: LibraryFile, _ media: ProbedMedia, at wanted: [UInt8], in bucket: LibraryBucket, for principal: Principal
  ) throws(LibraryFilesError) -> UploadPlace {
    let object = try object(file)
    let new = NewFile(media: media, size: file.size, principal: principal)
    var number = 0
    while let path = try nextPath(like: wanted, for: new, after: &number) {
      let found = try bucket.head(path)
      // Look again before each put: since the name was chosen, a concurrent upload may have recorded this content.
      if let earlier = try earlierUpload(like: file, media, for: principal) { return .earlier(earlier) }
      if let found {
        if principal.may(.read), object.hasBytes(of: found), try !isKnown(path) { return .object(path: path) }
        continue
      }
      if try bucket.put(object, at: path) { return .object(path: path) }
      // The object has appeared since `head`: the store wrote it and its response was lost, or another program wrote
      // it, or a concurrent upload.
      if let found = try bucket.head(path), object.hasBytes(of: found), try !isKnown(path) {
        return .object(path: path)
      }
    }
    throw .failed(path: wanted, SystemError(code: EEXIST))
  }

  // MARK: Staged uploads
  //
  // If the change of a staged upload fails, the object that was put for it stays without an asset, as after an
  // interrupted upload.

  /// Puts the file of a staged upload, whose intent is already written, or uses an object with the same bytes and
  /// without an asset. The staged file stays until the change is committed.
  func place(
    _ plan: StagedPlan, in bucket: LibraryBucket, for principal: Principal
  ) throws(LibraryFilesError) -> ProbedFile {
    guard let wanted = plan.destination.path else { preconditionFailure("only new files are placed") }
    let object = try object(plan.file)
    var path = wanted
    for _ in 1...Self.maximumNameAttempts {
      var isThere = try bucket.put(object, at: path)
      if !isThere, let found = try bucket.head(path), object.hasBytes(of: found) { isThere = try !isKnown(path) }
      if isThere {
        fault(.moved)
        guard let identity = try bucket.identity(at: path) else { throw .noSuchFile(path) }
        bucket.stored(try bucket.key(path), identity, plan.file)
        return ProbedFile(path: path, identity: identity, finding: .media(plan.media))
      }
      // Another program has taken the path since.
      path = try newPath(like: path, for: plan.newFile(for: principal))
      try setPlacement(StagedUpload.Placement(path: path, inode: plan.file.identity.inode), of: plan.upload)
    }
    throw .failed(path: wanted, SystemError(code: EEXIST))
  }

  /// Whether a path has an object with the bytes of this file and without an asset. Reads the whole file if the sizes
  /// are equal.
  func hasObjectWithoutAsset(at path: [UInt8], like file: LibraryFile) throws(LibraryFilesError) -> Bool {
    guard bucket != nil, try !isKnown(path) else { return false }
    return try hasSameBytes(file, at: path)
  }

  /// A local file with its checksum, to put it or to compare it with an object. Reads the whole file.
  func object(_ file: LibraryFile) throws(LibraryFilesError) -> ObjectFile {
    do throws(ByteSourceError) {
      return try ObjectFile(file)
    } catch {
      switch error {
      case .readFailed(let code): throw .failed(path: [], SystemError(code: code))
      }
    }
  }
}
