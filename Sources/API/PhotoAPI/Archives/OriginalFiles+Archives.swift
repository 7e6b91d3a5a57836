import MediaMetadata
import PhotoModel

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
