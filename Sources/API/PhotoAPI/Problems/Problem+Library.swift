import ImageService
import LibraryCatalogue
import PhotoModel
import PhotoPredicate

// Problems of the library: things that do not exist for the caller, and errors of the catalogue and of library files. A
// problem names a missing object by the parameter that usually has its identifier, and by `naming` elsewhere.

extension Problem {
  static let assetNotFound = Problem(
    404, "asset-not-found", "No such asset",
    detail: "There is no asset with that localIdentifier. GET /v1/assets lists all assets.",
    parameter: "localIdentifier")

  /// - Parameter name: the localIdentifier that the client sent, of any length.
  static func assetNotFound(named name: String) -> Problem {
    Problem(
      404, "asset-not-found", "No such asset",
      detail: "There is no asset with the localIdentifier \(name.prefix(64)).")
  }

  private static func tooManyHandles(_ detail: String) -> Problem {
    Problem(429, "too-many-handles", "Too many handles", detail: detail, fields: ["Retry-After": "60"])
  }

  static let collectionNotFound = Problem(
    404, "collection-not-found", "No such collection",
    detail: "No collection has that localIdentifier, or it is of the wrong type. GET /v1/collections lists them.",
    parameter: "collection")

  static let fetchResultNotFound = Problem(
    404, "fetch-result-not-found", "No such fetch result",
    detail: "You have no such fetch result, or its lease has ended. POST /v1/fetchResults creates one.",
    parameter: "fetchResult")

  static let fetchResultOfCollections = Problem(
    400, "fetch-result-of-collections", "A fetch result of collections",
    detail: "The fetch result lists collections, not assets. GET /v1/fetchResults/{id}/collections reads it.",
    parameter: "fetchResult")

  static let fetchResultOfAssets = Problem(
    400, "fetch-result-of-assets", "A fetch result of assets",
    detail: "The fetch result lists assets, not collections. GET /v1/fetchResults/{id}/assets reads it.",
    parameter: "fetchResult")

  static let transientCollectionNotFound = Problem(
    404, "collection-not-found", "No such collection",
    detail: "You have no such transient collection, or its lease has ended. GET /v1/transientCollections lists yours.",
    parameter: "transientCollection")

  static let cachingManagerNotFound = Problem(
    404, "caching-manager-not-found", "No such caching manager",
    detail: "You have no such caching manager, or its lease has ended. POST /v1/cachingManagers creates one; "
      + "the manager default always exists.", parameter: "cachingManager")

  init(_ error: AssetSourceError) {
    switch error {
    case .malformedCursor:
      self = .invalidParameter(
        "The cursor was issued for another query or order, or not by this daemon. Start again without it.",
        parameter: "cursor")
    case .noSuchCollection: self = .collectionNotFound
    case .issuerLostAccess: self = .issuerLostAccess
    case .queryTooExpensive:
      self.init(
        503, "query-too-expensive", "The query is too expensive",
        detail:
          "It took longer than fetch.deadlineMilliseconds. Sort by date, and filter by what has an index: dates, "
          + "albums, favourites, videos or search text.",
        fields: ["Retry-After": "5"])
    case .tooManyAssets:
      // The free space is not reported: it would reveal how many assets other callers hold.
      self = .tooManyHandles(
        "There is no room for so many assets in fetch results. Delete handles that you no longer need, or fetch "
          + "less, as with fetchLimit.")
    case .noSuchAsset(let identifier):
      self = .assetNotFound(named: identifier.rawValue).naming("assets")
    case .storageFailed(.full, _): self = .insufficientStorage
    case .storageFailed(.readOnly, _): self = .libraryReadOnly
    case .storageFailed(.outOfDescriptors, _): self = .outOfDescriptors
    case .storageFailed(.busy, _):
      self.init(
        503, "overloaded", "The catalogue is busy",
        detail: "Another process is writing to the catalogue. Retry after the time in Retry-After.",
        fields: ["Retry-After": "5"])
    case .catalogueFailed, .storageFailed:
      self.init(
        500, "catalogue-failed", "The catalogue failed",
        detail: "The catalogue could not be read or written. See the daemon's log.")
    }
  }

  init(_ error: PredicateError, parameter: String) {
    self = .invalidParameter(error.description, parameter: parameter)
  }

  init<Value>(_ refusal: LeaseTable<Value>.Refusal) {
    switch refusal {
    case .tooMany(let limit):
      self = .tooManyHandles(
        "At most \(limit) fetch results, or transient collections, are allowed (fetchResults.handlesPerCaller for one "
          + "caller, fetchResults.handles for all). "
          + "Delete some that you no longer need, or let their leases end.")
    case .tooLarge(let bytes):
      self = .tooManyHandles(
        "All handles together would exceed \(bytes) bytes. Delete handles that you don't need, or fetch less.")
    case .tooLargeForOwner(let bytes):
      self = .tooManyHandles(
        "The handles of one caller would exceed \(bytes) bytes. Delete handles that you don't need, or fetch less.")
    }
  }

  init(_ error: CachingManagerRegistry.CachingError) {
    switch error {
    case .tooManyManagers(let limit):
      self = .tooManyHandles(
        "The limit of \(limit) caching managers is reached. Delete some that you no longer need, or wait until "
          + "their leases end.")
    case .library(let error): self.init(error)
    }
  }

  init(_ error: LibraryFilesError) {
    switch error {
    case .readOnly:
      self.init(
        409, "library-read-only", "The library is read-only",
        detail:
          "The setting readOnly is on, the library's file system is mounted read-only, or the library is on a web "
          + "server.")
    case .busy:
      self.init(
        503, "overloaded", "Files can't be moved now",
        detail: "A scan reads files of the library, or another process moves some, for longer than usual. Nothing was "
          + "changed. Retry after the time in Retry-After.", fields: ["Retry-After": "5"])
    case .storeFailed(let failure): self.init(failure)
    case .insufficientStorage:
      self.init(
        507, "insufficient-storage", "Insufficient storage",
        detail:
          "The library's disk is full, its quota is used up, or less than upload.minimumFreeBytes would remain free.")
    case .noSuchAsset: self = .assetNotFound
    case .notInTrash:
      self.init(
        404, "not-in-trash", "Not in the trash",
        detail: "The trash contains no asset with that localIdentifier. It may have been purged.")
    case .diskMissing:
      self.init(
        409, "disk-missing", "A disk is missing",
        detail:
          "The disk of this file or folder is not mounted, or photod may not read it: its files can't be moved, and a "
          + "file stored there now would be hidden when the disk is mounted again. Make it available, then retry.")
    case .linkedFile:
      self.init(
        409, "linked-file", "The file of another asset",
        detail:
          "The asset's path leads through a link to a file that is an asset of its own. Delete that asset, or the link."
      )
    case .linkedFolder:
      self.init(
        409, "linked-folder", "A folder is a link out of the library",
        detail:
          "The folder that would get the file, or .photod-trash or .photod-staged, is a symbolic link that leaves the "
          + "library. Replace it by a mount or by the folder. The daemon's log names it.")
    case .fileReplaced:
      self.init(
        409, "file-replaced", "Another file has the asset's path",
        detail:
          "Another program has moved or replaced the asset's file since the last scan. Get the asset again after the "
          + "next scan, and retry if it is still the one to delete."
      )
    case .fileRenamed:
      self.init(
        503, "overloaded", "The asset's file was renamed",
        detail: "Another program has just renamed the asset's file, and its new path is not scanned yet. "
          + "Nothing was changed. Retry after the time in Retry-After.", fields: ["Retry-After": "1"])
    case .noSuchFile:
      self.init(
        404, "file-not-found", "No such file", detail: "The library contains no such file, or it was deleted."
      )
    case .notMedia(let what):
      self.init(
        415, "format-unsupported", "Not a picture or video",
        detail: "The file's content is not a supported picture or video: \(what).")
    case .damagedMedia(let what):
      self.init(422, "image-unreadable", "The file can't be read", detail: "The file is damaged: \(what).")
    case .noSuchUpload, .uploadIncomplete, .uploadComplete, .uploadOffsetMismatch, .uploadLengthMismatch,
      .uploadSuperseded, .uploadNamedTwice, .tooManyUploads, .stagedStorageFull:
      self = Self.stagedUpload(error)
    case .failed(_, let error) where error.isOutOfDescriptors: self = .outOfDescriptors
    case .failed(_, let error) where error.isPermissionDenied:
      self.init(
        409, "library-read-only", "The library is read-only",
        detail:
          "The user that photod runs as lacks a permission for this file, its folder, or a folder of photod's own: "
          + ".photod-trash, .photod-staged or .photod-uploads. The daemon's log names the file.")
    case .failed:
      self.init(
        500, "library-failed", "The library failed",
        detail: "A file could not be written or moved. See the daemon's log.")
    case .catalogue(let error): self.init(error)
    }
  }
}

extension Problem {
  private init(_ failure: LibraryStoreFailure) {
    switch failure {
    case .timedOut:
      self.init(
        504, "library-store-timed-out", "The library's store did not answer in time",
        detail: "Nothing was changed in the library. Try again later.")
    case .suspended(let retryAfter):
      self.init(
        503, "original-store-unavailable", "The remote store is unavailable",
        detail: "The remote store failed repeatedly. Retry after the time in Retry-After. Nothing was changed.",
        fields: ["Retry-After": "\(max(1, retryAfter.components.seconds))"])
    case .fileTooLarge(let limit):
      self.init(
        413, "file-too-large", "The file is too large",
        detail: "The library is a bucket, and an object that photod writes or moves has at most \(limit) bytes.")
    case .failed:
      self.init(
        502, "library-store-failed", "The library's store failed",
        detail: "The remote store failed, or refused the request, and nothing was changed in the library. See the "
          + "daemon's log.")
    }
  }
}
