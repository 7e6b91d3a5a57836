// Image requests whose answer is the original's own bytes: the picture at its full size in the format that it is stored
// in. Sending the file loses no quality, and costs no decode if an earlier one has found the picture to be complete.
// Requests for the data of an asset do not come here: DataRoute sends an original (OriginalFiles) or, for an adjusted
// picture, a render (AdjustedPhotoSender).

import ImageCodec
import ImageService
import PhotoModel

/// Decides whether the file of an asset is the answer to an image request.
struct OriginalAsImage: Sendable {
  let files: OriginalFiles
  let limits: CodecLimits

  /// Whether the file may be the answer, as far as the catalogue knows: the request asks for the largest size without
  /// any change of the picture, and the file has the requested format and is upright.
  static func mayServe(_ wanted: ResolvedRequest) -> Bool {
    let (request, asset) = (wanted.request, wanted.asset)
    let requestsRAW = request.version == .original && asset.isRAW
    let isAdjusted = request.version == .current && asset.hasAdjustments
    let hasFullSize = request.targetSize == .maximum || request.resizeMode == .none
    // The file has its gain map, so the request must keep it.
    let keepsRange = request.dynamicRange == .preserve || request.format != .jpeg || !asset.mayHaveGainMap
    return keepsRange && !request.format.needsWorker && hasFullSize
      && request.deliveryMode == .highQualityFormat
      && request.quality == nil
      && request.normalizedCropRect == nil && request.colorSpace == .preserve && !requestsRAW && !isAdjusted
      && request.rotation == .topLeft && request.tone == .color && asset.orientation == .topLeft && !asset.isAnimated
      && asset.uniformTypeIdentifier == SourceFormat(request.format).uniformTypeIdentifier
  }

  /// The request for a small picture of an asset, whose render decodes the whole file. A cache has this picture, or a
  /// derivative for it, only if the file is complete: so it proves that.
  static func proof(of asset: Asset) -> ResolvedRequest {
    let size = PixelSize(width: 32, height: 32)
    return ResolvedRequest(
      ImageRequest(targetSize: .size(size), format: asset.hasAlpha ? .png : .jpeg), for: asset)
  }

  /// A file that is the answer.
  struct File {
    /// Without its places.
    let opened: ServableOriginal
    let hasGainMap: Bool
  }

  /// The open file; `nil` if the picture has to be rendered. Reads no pixels, so they may be damaged. Blocks on the
  /// file system.
  func file(for wanted: ResolvedRequest) -> File? {
    let opened: ServableOriginal
    let hasGainMap: Bool
    do throws(OriginalFiles.Failure) {
      opened = try files.open(AssetResource(primaryOf: wanted.asset), includesLocation: false)
    } catch {
      // A render needs no places, and reports a missing file.
      return nil
    }
    do throws(CodecError) {
      let header = try ImageHeader.read(from: opened.source, limits: limits)
      hasGainMap = header.gainMap != nil
      // Without a profile, a client would take calibrated colours for sRGB.
      let hasOwnColors = header.format == .png || header.calibration == nil || header.embeddedProfile != nil
      // A render in these formats has the standard range.
      let isHDR = header.calibration?.isHDR == true
      guard header.format == SourceFormat(wanted.request.format), header.orientation == .topLeft,
        header.uprightSize == wanted.asset.pixelSize, header.isWidelyDecodable, header.colorChannels <= 3, hasOwnColors,
        !isHDR
      else { return nil }
    } catch {
      return nil
    }
    do throws(ByteSourceError) {
      let endsWithPicture = try Self.endsWithPicture(opened.source, wanted.request.format)
      return endsWithPicture ? File(opened: opened, hasGainMap: hasGainMap) : nil
    } catch {
      return nil
    }
  }

  /// Whether the file ends where its picture ends: it is not truncated, and contains no video.
  private static func endsWithPicture(
    _ source: any ByteSource, _ format: OutputFormat
  ) throws(ByteSourceError) -> Bool {
    let end: [UInt8] =
      switch format {
      // EOI (T.81 table B.1).
      case .jpeg: [0xFF, 0xD9]
      // An empty IEND with its CRC (PNG third edition §11.2.5).
      case .png: [0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82]
      // Files in these formats may contain much more than a picture.
      case .webp, .avif, .jxl: []
      }
    if end.isEmpty { return false }
    return try source.bytes(at: source.size - Int64(end.count), count: end.count) == end
  }
}

extension SourceFormat {
  fileprivate init(_ format: OutputFormat) {
    switch format {
    case .jpeg: self = .jpeg
    case .png: self = .png
    case .webp: self = .webp
    case .avif: self = .avif
    case .jxl: self = .jxl
    }
  }
}
