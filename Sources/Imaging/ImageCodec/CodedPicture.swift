import MediaMetadata
import PhotoModel

/// How a picture is coded whose decoder runs in a process of its own.
package enum CodedPicture: Sendable, Hashable {
  case heif(HEIFPicture)
  case webP(WebPPicture)
}

extension ImageHeader {
  /// The header of a picture in a container: metadata from `media`, pixels from `picture`.
  init(_ picture: HEIFPicture, _ media: MediaHeader) {
    let configuration = picture.color.configuration
    self.init(
      format: configuration.format, storedSize: picture.crop.size, colorChannels: configuration.chroma == .none ? 1 : 3,
      hasAlpha: picture.alpha != nil, bitsPerChannel: picture.isDeep ? 16 : 8, isProgressive: false, isBuffered: false,
      metadata: media.exif, blocks: media.blocks, facts: media.facts, embeddedThumbnail: media.thumbnail,
      warnings: media.warnings, embeddedProfile: picture.embeddedProfile,
      profileBytes: picture.embeddedProfile?.maximumBytes(CodecLimits()) ?? 0, calibration: picture.calibration)
    coded = .heif(picture)
    containerOrientation = picture.orientation
  }

  init(_ picture: WebPPicture, _ media: MediaHeader) {
    self.init(
      format: .webp, storedSize: picture.canvas, colorChannels: 3, hasAlpha: picture.hasAlpha, bitsPerChannel: 8,
      isProgressive: false, isBuffered: false, metadata: media.exif, blocks: media.blocks, facts: media.facts,
      embeddedThumbnail: media.thumbnail, warnings: media.warnings, embeddedProfile: picture.embeddedProfile,
      profileBytes: picture.embeddedProfile?.maximumBytes(CodecLimits()) ?? 0, calibration: nil)
    coded = .webP(picture)
    containerOrientation = media.orientation
  }

  /// The header of a smaller picture of the same file that shows the same; smallest first.
  package var thumbnails: [ImageHeader] {
    guard case .heif(let picture) = coded else { return [] }
    return picture.thumbnails.map { thumbnail in
      var header = self
      header.coded = .heif(thumbnail)
      header.storedSize = thumbnail.crop.size
      header.colorChannels = thumbnail.color.configuration.chroma == .none ? 1 : 3
      header.hasAlpha = false
      header.bitsPerChannel = thumbnail.isDeep ? 16 : 8
      header.embeddedProfile = thumbnail.embeddedProfile
      header.profileBytes = thumbnail.embeddedProfile?.maximumBytes(CodecLimits()) ?? 0
      header.calibration = thumbnail.calibration
      return header
    }
  }
}
