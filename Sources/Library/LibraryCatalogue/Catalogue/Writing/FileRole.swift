import ImageCodec
import PhotoModel

/// The role of a file in its asset: PHAssetResourceType.
enum FileRole: String, Sendable, Hashable {
  case photo, video, alternatePhoto, pairedVideo
}

extension ProbedMedia {
  /// The role of the file as the primary file of an asset.
  var primaryRole: FileRole { mediaType == .video ? .video : .photo }

  /// Whether the file can have this role as a companion of another primary file.
  func canHaveRole(_ role: FileRole?) -> Bool {
    switch role {
    case .alternatePhoto: isRAW
    case .pairedVideo: mediaType == .video
    case .photo, .video, nil: false
    }
  }
}

func isRAWType(_ uniformTypeIdentifier: String) -> Bool {
  MediaFormat(uniformTypeIdentifier: uniformTypeIdentifier)?.isRAW ?? false
}
