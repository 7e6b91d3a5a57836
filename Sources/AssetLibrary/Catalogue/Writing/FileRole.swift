import ImageCodec
import PhotoModel

/// PHAssetResourceType: what a file is to its asset.
enum FileRole: String, Sendable, Hashable {
  case photo, video, alternatePhoto, pairedVideo
}

extension ProbedMedia {
  /// What it is in an asset of its own.
  var ownRole: FileRole { mediaType == .video ? .video : .photo }

  /// Whether it can be that in an asset whose picture is another file.
  func canBe(_ role: FileRole?) -> Bool {
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
