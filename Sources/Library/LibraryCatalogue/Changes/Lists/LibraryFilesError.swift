import LibraryFolder
import PhotoModel

/// Why a library file was not written, moved or removed. Nothing was changed.
package enum LibraryFilesError: Error, Sendable, Equatable {
  /// The library is read-only, by the settings or by its mount.
  case readOnly
  /// The wait for `files.lock` was too long: other callers are moving files, or a scan is reading some.
  case busy
  /// No such asset, or none that the principal may see.
  case noSuchAsset(LocalIdentifier)
  /// No such asset in the trash, or none that the principal may see.
  case notInTrash(LocalIdentifier)
  /// No such file in the library, or the path leaves the library.
  case noSuchFile([UInt8])
  /// The disk that a scan found at the path is not mounted.
  case diskMissing([UInt8])
  /// The path leads through a link to the file of another asset.
  case linkedFile([UInt8])
  /// This folder is a link out of the library, so no file is stored or moved through it.
  case linkedFolder([UInt8])
  /// Since the last scan, another file has taken the path of the asset's file.
  case fileReplaced([UInt8])
  /// The asset's file was renamed a moment ago, and its new path is not scanned yet.
  case fileRenamed([UInt8])
  /// The upload or the named file is not a supported picture or video; the value is the reason.
  case notMedia(String)
  /// The file is a picture or video, but damaged.
  case damagedMedia(String)
  /// The disk is full, the quota is used up, or less than `upload.minimumFreeBytes` is free.
  case insufficientStorage
  /// The staged upload does not exist, or belongs to another principal.
  case noSuchUpload(UploadIdentifier)
  /// The staged upload has not received all its bytes yet, so no asset can be made of it.
  case uploadIncomplete(offset: Int64)
  /// The staged upload is complete and takes no more bytes.
  case uploadComplete(offset: Int64)
  /// The bytes do not continue the staged upload, which has this many.
  case uploadOffsetMismatch(offset: Int64)
  /// The request's bytes or its length do not agree with the length of the staged upload.
  case uploadLengthMismatch(length: Int64, offset: Int64)
  /// Another request has continued, read or ended the staged upload.
  case uploadSuperseded
  /// A change list names the staged upload twice.
  case uploadNamedTwice(UploadIdentifier)
  /// The principal has this many staged uploads, which is the limit.
  case tooManyUploads(limit: Int)
  /// All staged uploads together would have more bytes than the limit.
  case stagedStorageFull(limit: Int64)
  /// The store of a library that is a bucket failed, or refused the request.
  case storeFailed(LibraryStoreFailure)
  /// A system call failed on this path below the root.
  case failed(path: [UInt8], SystemError)
  case catalogue(AssetSourceError)
}

/// Why the store of a library did not write, move or remove an object.
package enum LibraryStoreFailure: Error, Sendable, Equatable {
  case timedOut
  /// The store failed repeatedly. It gets no requests until this time has passed.
  case suspended(retryAfter: Duration)
  /// The store takes objects of at most this many bytes.
  case fileTooLarge(limit: Int64)
  /// The text is for the log.
  case failed(String)
}
