import AssetLibrary
import PhotoModel

extension Problem {
  init(_ error: LibraryFilesError) {
    switch error {
    case .readOnly:
      self.init(
        409, "library-read-only", "The library is read-only",
        detail: "Its folder is mounted so, or the daemon was started with readOnly; nothing in it can be changed.")
    case .insufficientStorage:
      self.init(
        507, "insufficient-storage", "There is no room",
        detail: "The library's disk is full, its quota used up, or less would be left free than upload.reserveBytes.")
    case .noSuchAsset: self = .assetNotFound
    case .notInTrash:
      self.init(
        404, "not-in-trash", "Not in the trash",
        detail: "There is no asset of that name in the trash; it may have been purged.")
    case .noSuchFile:
      self.init(
        404, "file-not-found", "No such file", detail: "There is no such file in the library, or it is no longer there."
      )
    case .notMedia(let what):
      self.init(
        415, "format-unsupported", "Not a picture or video",
        detail: "By its content it is no picture or video that photod knows: \(what).")
    case .damagedMedia(let what):
      self.init(422, "image-unreadable", "The file can't be read", detail: "It is damaged: \(what).")
    case .failed:
      self.init(
        500, "library-failed", "The library failed",
        detail: "A file could not be written or moved; the daemon's log says why.")
    case .catalogue(let error): self.init(error)
    }
  }
}
