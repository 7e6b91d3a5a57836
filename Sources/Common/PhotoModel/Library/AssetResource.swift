/// PHAssetResourceType: what a file is to its asset.
package enum AssetResourceType: String, Sendable, Hashable, CaseIterable {
  case photo, video, audio
  /// The RAW file of a photograph that has a JPEG or HEIC too.
  case alternatePhoto
  /// The video of a live photo.
  case pairedVideo
  case fullSizePhoto, adjustmentData, adjustmentBasePhoto
  /// Metadata beside a file, such as `IMG_1.xmp`.
  case sidecar
}

/// A file that belongs to an asset.
package struct AssetResource: Sendable, Hashable {
  package let type: AssetResourceType
  /// Whether the asset's own properties come from this file.
  package let isPrimary: Bool
  /// `nil` if the file's type is not known.
  package let uniformTypeIdentifier: String?
  package let file: OriginalFile

  package init(type: AssetResourceType, isPrimary: Bool, uniformTypeIdentifier: String?, file: OriginalFile) {
    self.type = type
    self.isPrimary = isPrimary
    self.uniformTypeIdentifier = uniformTypeIdentifier
    self.file = file
  }
}
