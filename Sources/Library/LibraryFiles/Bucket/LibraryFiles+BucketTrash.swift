// The steps of the trash of a bucket that a folder does not need: a move is a copy and a deletion, so a kill leaves two
// objects, and a moved object has a new time, which is part of its identity in the catalogue.

import ImageCodec
import LibraryCatalogue
import LibraryFolder
import Logging
import ObjectStores
import PhotoModel
import Primitives

extension LibraryFiles {
  /// A pass ends after the page in which it has removed this many objects without a record.
  static let sweepLimit = 1000

  /// Undoes a move to the trash that was interrupted between copy and deletion: removes the copy in the trash if the
  /// original object still exists. Returns whether it did.
  func removeTrashedCopy(of file: TrashRecord.File, in record: TrashRecord) throws(LibraryFilesError) -> Bool {
    guard let bucket, let found = try bucket.head(file.path) else { return false }
    let original = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.original(of: file, in: record)
    }
    guard let original, original.identity.isIdentity(of: found.identity, try bucket.key(file.path)) else {
      return false
    }
    try bucket.remove(file.trashPath)
    return true
  }

  /// Undoes a restoration that was interrupted between copy and deletion: removes the copy in the library, unless a
  /// scan has made it an asset.
  func removeRestoredCopy(of file: TrashRecord.File) throws(LibraryFilesError) {
    guard let bucket, let trashed = try bucket.head(file.trashPath), let found = try bucket.head(file.path),
      found.isCopy(of: trashed), try !isKnown(file.path)
    else { return }
    try bucket.remove(file.path)
  }

  /// Records the new identity of a moved object, in the trash record and, if the asset is in the library, in its row.
  func recordMove(of file: TrashRecord.File, in record: TrashRecord) throws(LibraryFilesError) {
    guard let bucket, let identity = try bucket.identity(at: file.path) else { return }
    try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.updateIdentity(of: file, in: record, to: identity)
    }
  }

  /// Removes objects without a record from this catalogue's trash, for example after the catalogue was restored from a
  /// backup. They are kept for `trashDays`, and for at least a day.
  func sweepTrash(of bucket: LibraryBucket, now: Timestamp, stop: StopFlag) throws(LibraryFilesError) {
    let seconds = Int64(max(1, options.trashDays)) * CivilDate.millisecondsPerDay / 1000
    let folder = try bucket.key(bucket.trashFolder)
    var position: ObjectPage.Position?
    var count = 0
    repeat {
      let page: ObjectPage
      do throws(ObjectStoreError) {
        page = try bucket.store.waitForPage(below: folder, from: position, stop: stop)
      } catch {
        // The wait for the store ended because the purge was stopped. A later one finds the rest.
        if stop.isRaised && error == .cancelled { break }
        throw LibraryFilesError(error, at: bucket.trashFolder)
      }
      for entry in page.entries {
        guard let modified = entry.modified, modified < now.milliseconds / 1000 - seconds else { continue }
        let isRecorded = try inCatalogue { catalogue throws(AssetSourceError) in
          try catalogue.isInTrash(entry.key.bytes)
        }
        if isRecorded { continue }
        try bucket.removeTrashed(entry.key)
        count += 1
      }
      position = page.next
    } while position != nil && count < Self.sweepLimit && !stop.isRaised
    if count > 0 { logger.notice("objects without a record removed from the trash", metadata: ["objects": "\(count)"]) }
  }

  /// Probes an object that becomes an asset, with range requests.
  func probe(_ path: [UInt8], in bucket: LibraryBucket) throws(LibraryFilesError) -> ProbedFile {
    let key = try bucket.key(path)
    guard let found = try bucket.head(path) else { throw .noSuchFile(path) }
    let identity = FileIdentity(ObjectPage.Entry(key: key, identity: found.identity, modified: found.modified))
    let object = RangedObject(key, of: found.identity, in: bucket.store)
    do throws(CodecError) {
      let media = try mediaProbe.media(of: object, identity, at: path)
      return ProbedFile(path: path, identity: identity, finding: .media(media))
    } catch {
      if let failure = object.failure, failure != .limitExceeded(.objectBytes) {
        throw LibraryFilesError(failure, at: path)
      }
      return ProbedFile(path: path, identity: identity, finding: .unreadable(error.description))
    }
  }
}
