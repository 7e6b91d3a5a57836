import CPhotodDecoder
import PhotoModel

extension DecodeRequest {
  /// A region of a JPEG XL picture, in planes.
  ///
  /// - Parameters:
  ///   - codestream: the ranges that are the codestream, in order.
  ///   - region: the rows that are wanted, in pixels of which each is the average of `step` times `step`.
  ///   - step: 1, 2, 4 or 8.
  ///   - colors: `nil` for those of the codestream.
  ///   - bitDepth: of the rows: 8 or 16.
  ///   - workingBytes: what libjxl may allocate besides the codestream and the rows.
  package static func jxl(
    codestream: [ByteRange], codedSize: PixelSize, region: PixelRect, step: Int, colors: RGBPrimaries?, isGray: Bool,
    bitDepth: Int, hasAlpha: Bool, workingBytes: Int
  ) -> DecodeRequest {
    let tile = Tile(picture: codestream)
    let parameters = decoder_jxl_parameters(
      is_profile: 0, primaries: UInt32(colors?.code ?? Int(DECODER_JXL_AS_CODED)), step: UInt32(clamping: step),
      x: UInt32(clamping: region.x), y: UInt32(clamping: region.y))
    return DecodeRequest(
      codec: .jxl, samples: .planar(isGray ? .none : .full, bitDepth: bitDepth, hasAlpha: hasAlpha),
      codedSize: codedSize, size: region.size, tiles: [tile], parameters: bytes(parameters),
      memoryLimitBytes: DecodeLimits.jxl(
        region.size, channels: (isGray ? 1 : 3) + (hasAlpha ? 1 : 0),
        sampleBytes: step > 1 ? 4 : bitDepth > 8 ? 2 : 1, workingBytes: workingBytes, payload: tile.byteCount),
      cpuSeconds: DecodeLimits.jxlSeconds(codedSize))
  }

  /// The ICC profile of a JPEG XL picture, as rows of bytes: its length in four bytes, most significant first, then the
  /// profile, if there is room for it.
  package static func jxlProfile(codestream: [ByteRange], codedSize: PixelSize, rows: PixelSize) -> DecodeRequest {
    let tile = Tile(picture: codestream)
    return DecodeRequest(
      codec: .jxl, samples: .planar(.none, bitDepth: 8, hasAlpha: false), codedSize: codedSize, size: rows,
      tiles: [tile],
      parameters: bytes(decoder_jxl_parameters(is_profile: 1, primaries: 0, step: 1, x: 0, y: 0)),
      memoryLimitBytes: DecodeLimits.jxl(
        rows, channels: 1, sampleBytes: 1, workingBytes: DecodeLimits.jxlProfileBytes, payload: tile.byteCount),
      cpuSeconds: DecodeLimits.jxlSeconds(rows))
  }

  private static func bytes(_ parameters: decoder_jxl_parameters) -> [UInt8] {
    withUnsafeBytes(of: parameters) { Array($0) }
  }
}

extension RGBPrimaries {
  fileprivate var code: Int {
    switch self {
    case .sRGB: Int(DECODER_JXL_SRGB)
    case .displayP3: Int(DECODER_JXL_DISPLAY_P3)
    case .bt2020: Int(DECODER_JXL_BT2020)
    }
  }
}
