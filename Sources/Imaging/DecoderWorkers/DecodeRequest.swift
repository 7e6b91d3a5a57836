// The request to a decoder process: the place of the codec's data in the payload, and the expected rows.

import PhotoModel

/// One decode. Made from a container's header, which photod parses itself: the worker's picture is compared with it.
package struct DecodeRequest: Sendable, Hashable {
  /// The samples of the rows.
  package enum Samples: Sendable, Hashable {
    /// 3 bytes a pixel.
    case rgb
    /// 4 bytes a pixel; alpha is not multiplied.
    case rgba
    /// The same with 2 bytes a sample, in native order: for encoders only.
    case deepRGB, deepRGBA
    /// Luma, then two planes of chroma, then alpha. 1 byte a sample, or 2 in native order with more than 8 bits.
    case planar(ChromaSampling, bitDepth: Int, hasAlpha: Bool)
  }

  /// A part that is coded as a picture of its own, such as a tile of a grid. The ranges are of the payload, in order.
  package struct Tile: Sendable, Hashable {
    var picture: [ByteRange]
    /// WebP: the data of the chunk ALPH.
    var alpha: [ByteRange]

    package init(picture: [ByteRange], alpha: [ByteRange] = []) {
      self.picture = picture
      self.alpha = alpha
    }
  }

  package let codec: DecoderCodec
  package let samples: Samples
  /// The size of each coded tile, and of the rows that are made of it. The rows are smaller only with WebP, which
  /// scales, and with JPEG XL and RAW, whose workers average pixels and send a region.
  package let codedSize: PixelSize
  package let size: PixelSize
  package internal(set) var tiles: [Tile]
  /// HEVC by libde265: the parameter sets, each after its length in four bytes, most significant first. AV1: bitstream
  /// units that come before those of each tile. JPEG XL: a decoder_jxl_parameters. RAW: a decoder_raw_parameters.
  /// libavcodec: the codec's name in four bytes, and its configuration.
  package let parameters: [UInt8]
  /// HEVC: the bytes of a NAL unit's length in the payload.
  let nalLengthBytes: Int
  /// The bytes that the worker may allocate.
  package let memoryLimitBytes: Int
  /// The CPU time that it may use.
  package let cpuSeconds: Int
  /// The tiles are alternatives: only the rows of the first one that is not nearly black are wanted, else those of the
  /// last, and they come as tile 0.
  package var areAlternatives = false

  /// The number of tiles whose rows the worker sends.
  var pictureCount: Int { areAlternatives ? 1 : tiles.count }

  package init(
    codec: DecoderCodec, samples: Samples, codedSize: PixelSize, size: PixelSize, tiles: [Tile],
    parameters: [UInt8] = [], nalLengthBytes: Int = 4, memoryLimitBytes: Int, cpuSeconds: Int
  ) {
    self.codec = codec
    self.samples = samples
    self.codedSize = codedSize
    self.size = size
    self.tiles = tiles
    self.parameters = parameters
    self.nalLengthBytes = nalLengthBytes
    self.memoryLimitBytes = memoryLimitBytes
    self.cpuSeconds = cpuSeconds
  }

  /// The tiles of a HEIC picture that have the size `tileSize`.
  ///
  /// - Parameters:
  ///   - codec: ``DecoderCodec/hevc`` or ``DecoderCodec/avcodec``.
  ///   - parameterSets: NAL units of the item's `hvcC`, without lengths.
  ///   - nalLengthBytes: its lengthSizeMinusOne + 1.
  package static func hevc(
    by codec: DecoderCodec = .hevc, parameterSets: [[UInt8]], nalLengthBytes: Int, tileSize: PixelSize,
    chroma: ChromaSampling, bitDepth: Int, tiles: [Tile]
  ) -> DecodeRequest {
    var parameters: [UInt8] = []
    if codec == .avcodec {
      parameters = Array("hvc1".utf8) + hevcConfiguration(parameterSets, nalLengthBytes: nalLengthBytes)
    } else {
      for set in parameterSets {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: set.count).bigEndian) { parameters += $0 }
        parameters += set
      }
    }
    let samples = Samples.planar(chroma, bitDepth: bitDepth, hasAlpha: false)
    return DecodeRequest(
      codec: codec, samples: samples, codedSize: tileSize, size: tileSize, tiles: tiles, parameters: parameters,
      nalLengthBytes: nalLengthBytes,
      memoryLimitBytes: DecodeLimits.hevc(tileSize, samples, largestTile: tiles.map(\.byteCount).max() ?? 0),
      cpuSeconds: DecodeLimits.cpuSeconds(pixels: tileSize.pixelCount * tiles.count))
  }

  /// The content of an `hvcC` (ISO/IEC 14496-15 §8.3.3.1) with these parameter sets, each in an array of its own. What
  /// describes the stream as a whole is left 0: decoders take it from the parameter sets.
  private static func hevcConfiguration(_ parameterSets: [[UInt8]], nalLengthBytes: Int) -> [UInt8] {
    var bytes: [UInt8] = [1] + Array(repeating: 0, count: 20)
    bytes += [0xFC | UInt8(truncatingIfNeeded: nalLengthBytes - 1), UInt8(truncatingIfNeeded: parameterSets.count)]
    for set in parameterSets {
      bytes += [(set.first ?? 0) >> 1 & 0x3F, 0, 1, UInt8(truncatingIfNeeded: set.count >> 8)]
      bytes.append(UInt8(truncatingIfNeeded: set.count))
      bytes += set
    }
    return bytes
  }

  /// The tiles of an AVIF picture that have the size `tileSize`, as in
  /// ``hevc(by:parameterSets:nalLengthBytes:tileSize:chroma:bitDepth:tiles:)``.
  ///
  /// - Parameter units: bitstream units that come before those of each tile.
  package static func av1(
    units: [UInt8] = [], tileSize: PixelSize, chroma: ChromaSampling, bitDepth: Int, tiles: [Tile]
  ) -> DecodeRequest {
    let samples = Samples.planar(chroma, bitDepth: bitDepth, hasAlpha: false)
    return DecodeRequest(
      codec: .av1, samples: samples, codedSize: tileSize, size: tileSize, tiles: tiles, parameters: units,
      memoryLimitBytes: DecodeLimits.av1(tileSize, samples, largestTile: tiles.map(\.byteCount).max() ?? 0),
      cpuSeconds: DecodeLimits.cpuSeconds(pixels: tileSize.pixelCount * tiles.count))
  }

  /// Key frames of a video.
  ///
  /// - Parameters:
  ///   - codec: four characters, as in the movie's sample description.
  ///   - configuration: of the codec, as the movie stores it.
  package static func video(
    codec: String, configuration: [UInt8], size: PixelSize, chroma: ChromaSampling, bitDepth: Int, frames: [Tile]
  ) -> DecodeRequest {
    let samples = Samples.planar(chroma, bitDepth: bitDepth, hasAlpha: false)
    return DecodeRequest(
      codec: .avcodec, samples: samples, codedSize: size, size: size, tiles: frames,
      parameters: Array(codec.utf8) + configuration,
      memoryLimitBytes: DecodeLimits.video(size, samples, largestFrame: frames.map(\.byteCount).max() ?? 0),
      cpuSeconds: DecodeLimits.cpuSeconds(pixels: size.pixelCount * frames.count))
  }

  /// A WebP picture, or one frame of an animation.
  ///
  /// - Parameters:
  ///   - picture: the data of the chunk `VP8 ` or `VP8L`, without its head.
  ///   - alpha: the data of the chunk `ALPH`; empty if there is none.
  ///   - isLossless: whether the chunk is `VP8L`.
  ///   - size: the rows that are wanted; at most `codedSize`.
  package static func webP(
    picture: [ByteRange], alpha: [ByteRange], isLossless: Bool, codedSize: PixelSize, size: PixelSize,
    samples: Samples
  ) -> DecodeRequest {
    let tile = Tile(picture: picture, alpha: alpha)
    return DecodeRequest(
      codec: .webp, samples: samples, codedSize: codedSize, size: size, tiles: [tile],
      memoryLimitBytes: DecodeLimits.webP(
        codedSize, size, samples, isLossless: isLossless, hasAlpha: !alpha.isEmpty, payload: tile.byteCount),
      cpuSeconds: DecodeLimits.cpuSeconds(pixels: codedSize.pixelCount))
  }
}

extension DecodeRequest.Tile {
  /// The bytes of all ranges; `Int.max` if there are more.
  var byteCount: Int {
    (picture + alpha).reduce(0) { sum, range in
      let (result, overflow) = sum.addingReportingOverflow(max(0, range.length))
      return overflow ? .max : result
    }
  }
}

extension PixelSize {
  fileprivate var pixelCount: Int { width.multipliedClamped(by: height) }
}
