import MediaMetadata
import PhotoModel

extension OriginalFiles {
  /// The ctime of an open file of the library. 0 for a copy of a remote original: the store's identity is verified, and
  /// the ctime of the copy changes when it is evicted.
  func changeTime(of original: ServableOriginal) -> Int64 { originals.downloader == nil ? original.source.changed : 0 }

  /// Whether an open file is certainly what it was when it was opened.
  func isUnchanged(_ original: ServableOriginal) -> Bool {
    originals.downloader == nil ? original.source.isUntouched : original.source.isUnchanged
  }
}

extension OriginalFiles.Failure {
  /// The reason for ``ArchivePlan/errorsName``.
  var text: String {
    switch self {
    case .notOpened(.changed): "the file has changed and is not scanned yet"
    case .notOpened(.inCloud): "the file is in a remote store and not on this machine"
    case .notOpened(.notFound), .notOpened(.failed), .placesRemain(.readFailed):
      "the file is missing or can't be read"
    case .placesRemain: "the places in the file can't be removed"
    }
  }
}
