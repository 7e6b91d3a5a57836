/// PHAssetResourceType: the role of a file in its asset.
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

/// A file that belongs to an asset, or a part of one.
package struct AssetResource: Sendable, Hashable {
  package let type: AssetResourceType
  /// Whether the asset's own properties come from this file.
  package let isPrimary: Bool
  /// `nil` if the file's type is not known.
  package let uniformTypeIdentifier: String?
  package let file: OriginalFile
  /// The part of the file, such as the video in a motion photo; `nil`: all of it.
  package let slice: ByteRange?
  /// The ctime of the file when it was last read, in nanoseconds since 1970; 0: not known.
  package let changeTimeNanoseconds: Int64

  package init(
    type: AssetResourceType, isPrimary: Bool, uniformTypeIdentifier: String?, file: OriginalFile,
    slice: ByteRange? = nil, changeTimeNanoseconds: Int64 = 0
  ) {
    self.type = type
    self.isPrimary = isPrimary
    self.uniformTypeIdentifier = uniformTypeIdentifier
    self.file = file
    self.slice = slice
    self.changeTimeNanoseconds = changeTimeNanoseconds
  }

  /// The primary file of an asset.
  package init(primaryOf asset: Asset) {
    self.init(
      type: asset.mediaType == .video ? .video : .photo, isPrimary: true,
      uniformTypeIdentifier: asset.uniformTypeIdentifier, file: asset.original)
  }

  /// Whether the content version of the asset changes with this file.
  package var hasPixels: Bool { isPrimary || type == .alternatePhoto || slice != nil }

  /// The length in bytes.
  package var size: Int64 { Int64(range.count) }

  /// The bytes of the file, at most up to its end.
  package var range: Range<Int64> {
    let whole = 0..<file.identity.size
    return slice.map { ($0.offset..<$0.offset + Int64($0.length)).clamped(to: whole) } ?? whole
  }

  /// The name for a download: that of the file, with the extension of a video for a video in a picture.
  package var filename: String {
    let name = file.displayName
    guard slice != nil else { return name }
    let stem = name.lastIndex(of: ".").map { name[..<$0] } ?? name[...]
    return (stem.isEmpty ? name : String(stem)) + ".mp4"
  }
}

/// An asset and its files.
package struct AssetFiles: Sendable, Hashable {
  package let asset: Asset
  /// The primary one first.
  package let resources: [AssetResource]

  package init(asset: Asset, resources: [AssetResource]) {
    self.asset = asset
    self.resources = resources
  }
}
