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
  /// Objects of the trash without a record that one pass removes.
  static let sweptObjects = 1000

  /// After a kill between the two steps of a move to the trash: whether the object of the library is still there. Then
  /// its copy is removed.
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

  /// After a kill between the two steps of a move back to the library: removes the copy there, unless a scan has made it
  /// an asset.
  func removeRestoredCopy(of file: TrashRecord.File) throws(LibraryFilesError) {
    guard let bucket, let trashed = try bucket.head(file.trashPath), let found = try bucket.head(file.path),
      found.isCopy(of: trashed), try !isKnown(file.path)
    else { return }
    try bucket.remove(file.path)
  }

  /// Records the identity that an object got by a move, in the record of its asset and, if its asset is in the library,
  /// there.
  func recordMove(of file: TrashRecord.File, in record: TrashRecord) throws(LibraryFilesError) {
    guard let bucket, let identity = try bucket.identity(at: file.path) else { return }
    try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.updateIdentity(of: file, in: record, to: identity)
    }
  }

  /// Removes objects of this catalogue's trash that have no record: those of a catalogue that was restored from a backup,
  /// for example. They stay as long as other objects in the trash, and at least a day.
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
    } while position != nil && count < Self.sweptObjects && !stop.isRaised
    if count > 0 { logger.notice("objects without a record removed from the trash", metadata: ["objects": "\(count)"]) }
  }

  /// A file in the library that becomes an asset, read by ranges.
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
