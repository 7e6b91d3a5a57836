import AssetLibrary
import PhotoModel

extension Problem {
  init(_ error: LibraryFilesError) {
    switch error {
    case .readOnly:
      self.init(
        409, "library-read-only", "The library is read-only",
        detail: "The setting readOnly is on, or the library's file system is mounted read-only.")
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
    case .failed:
      self.init(
        500, "library-failed", "The library failed",
        detail: "A file could not be written or moved. See the daemon's log.")
    case .catalogue(let error): self.init(error)
    }
  }
}
