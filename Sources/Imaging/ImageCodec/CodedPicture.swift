import MediaMetadata
import PhotoModel

/// How a picture is coded, for decoders that run in a process of their own or that do not parse the file again.
package indirect enum CodedPicture: Sendable, Hashable {
  case heif(HEIFPicture)
  case webP(WebPPicture)
  case jxl(JXLPicture)
  case gif(GIFPicture)
  case bmp(BMPPicture)
  case tiff(TIFFPage)
  case raw(SensorPicture)
}

extension ImageHeader {
  /// The header of a picture in a container: metadata from `media`, pixels from `picture`.
  init(_ picture: HEIFPicture, _ media: MediaHeader) {
    let configuration = picture.color.configuration
    self.init(
      format: configuration.format, storedSize: picture.crop.size, colorChannels: configuration.chroma == .none ? 1 : 3,
      hasAlpha: picture.alpha != nil, bitsPerChannel: picture.isDeep ? 16 : 8, isProgressive: false, isBuffered: false,
      metadata: media.exif, blocks: media.blocks, embeddedThumbnail: media.thumbnail,
      warnings: media.warnings, embeddedProfile: picture.embeddedProfile, calibration: picture.calibration)
    coded = .heif(picture)
    containerOrientation = picture.orientation
  }

  init(_ picture: WebPPicture, _ media: MediaHeader) {
    self.init(
      format: .webp, storedSize: picture.canvas, colorChannels: 3, hasAlpha: picture.hasAlpha, bitsPerChannel: 8,
      isProgressive: false, isBuffered: false, metadata: media.exif, blocks: media.blocks,
      embeddedThumbnail: media.thumbnail, warnings: media.warnings, embeddedProfile: picture.embeddedProfile)
    coded = .webP(picture)
    containerOrientation = media.orientation
  }

  init(_ picture: JXLPicture, _ media: MediaHeader) {
    self.init(
      format: .jxl, storedSize: picture.header.size, colorChannels: picture.header.isGray ? 1 : 3,
      hasAlpha: picture.header.hasAlpha, bitsPerChannel: picture.header.isDeep ? 16 : 8, isProgressive: false,
      isBuffered: false, metadata: media.exif, blocks: media.blocks,
      embeddedThumbnail: media.thumbnail, warnings: media.warnings,
      embeddedProfile: picture.needsProfile ? .coded : nil, calibration: picture.calibration)
    coded = .jxl(picture)
    containerOrientation = media.orientation
  }

  init(_ picture: GIFPicture, _ media: MediaHeader) {
    self.init(
      format: .gif, storedSize: picture.canvas, colorChannels: 3, hasAlpha: picture.hasAlpha, bitsPerChannel: 8,
      isProgressive: picture.isInterlaced, isBuffered: picture.isInterlaced, metadata: media.exif,
      blocks: media.blocks, warnings: media.warnings)
    coded = .gif(picture)
  }

  init(_ picture: BMPPicture) {
    self.init(
      format: .bmp, storedSize: picture.size, colorChannels: 3, hasAlpha: picture.hasAlpha, bitsPerChannel: 8,
      isProgressive: false, isBuffered: picture.isBuffered, metadata: EXIFSummary(),
      embeddedProfile: picture.embeddedProfile)
    coded = .bmp(picture)
  }

  init(_ page: TIFFPage, _ media: MediaHeader) {
    self.init(
      format: .tiff, storedSize: page.size, colorChannels: page.colorChannels, hasAlpha: page.hasAlpha,
      bitsPerChannel: page.bitsPerChannel, isProgressive: false, isBuffered: false, metadata: media.exif,
      blocks: media.blocks, embeddedThumbnail: media.thumbnail, warnings: media.warnings,
      embeddedProfile: page.embeddedProfile,
      calibration: media.exif.isAdobeRGB && page.colors == .rgb ? .adobeRGB : nil)
    coded = .tiff(page)
    containerOrientation = media.orientation
  }

  /// The header of a smaller picture of the same file that shows the same; smallest first.
  package var thumbnails: [ImageHeader] {
    if case .tiff(let page) = coded {
      return page.reductions.map { reduction in
        var header = self
        header.coded = .tiff(reduction)
        header.storedSize = reduction.size
        header.embeddedProfile = reduction.embeddedProfile
        return header
      }
    }
    guard case .heif(let picture) = coded else { return [] }
    return picture.thumbnails.map { thumbnail in
      var header = self
      header.coded = .heif(thumbnail)
      header.storedSize = thumbnail.crop.size
      header.colorChannels = thumbnail.color.configuration.chroma == .none ? 1 : 3
      header.hasAlpha = false
      header.bitsPerChannel = thumbnail.isDeep ? 16 : 8
      header.embeddedProfile = thumbnail.embeddedProfile
      header.calibration = thumbnail.calibration
      return header
    }
  }
}
