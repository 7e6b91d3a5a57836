// The request to an encoder process: to encode rows, or to transcode a JPEG.

import CPhotodDecoder
import PhotoModel

/// One encode: the shape of the rows, and the settings of the codec.
package struct EncodeRequest: Sendable, Hashable {
  /// The samples of the rows, 8 bits each unless they are deep.
  package enum Samples: Sendable, Hashable {
    case gray, rgb
    /// Alpha is not multiplied.
    case rgba
    /// 16 bits in native byte order.
    case deepRGB, deepRGBA

    fileprivate var decoded: DecodeRequest.Samples {
      switch self {
      case .gray: .planar(.none, bitDepth: 8, hasAlpha: false)
      case .rgb: .rgb
      case .rgba: .rgba
      case .deepRGB: .deepRGB
      case .deepRGBA: .deepRGBA
      }
    }
  }

  /// How the codec stores deep samples.
  package struct DeepCoding: Sendable, Hashable {
    /// Bits of a coded sample: 10 in AV1.
    var bits: Int
    /// The brightest light of the picture in cd/m², for JPEG XL.
    var peakLuminance: Int

    package init(bits: Int, peakLuminance: Int) {
      self.bits = bits
      self.peakLuminance = peakLuminance
    }
  }

  /// Code points of H.273 that an AV1 picture carries, or a JPEG XL of deep samples.
  package struct ColorCodes: Sendable, Hashable {
    var primaries: Int
    var transfer: Int
    var matrix: Int

    package init(primaries: Int, transfer: Int, matrix: Int) {
      self.primaries = primaries
      self.transfer = transfer
      self.matrix = matrix
    }
  }

  /// The request in the form of a decode request; the rows go in the other direction.
  let request: DecodeRequest
  /// The ICC profile of a JPEG XL's rows; else empty.
  let profile: [UInt8]
  /// Whether the picture arrives as rows; else it is the payload.
  let hasRows: Bool
  /// Strips, each coded while the rows of the next ones arrive; 1 for a whole picture.
  let stripCount: Int
  /// The maximum size of an accepted coded picture.
  let maximumBytes: Int

  var codec: DecoderCodec { request.codec }
  package var size: PixelSize { request.size }

  /// - Parameters:
  ///   - setting: the codec's own number: WebP's quality, the quantizer of AV1, the distance of JPEG XL.
  ///   - effort: WebP's method, the speed of AV1, the effort of JPEG XL.
  ///   - stripRows: rows that are coded together; `nil` for all.
  ///   - hasFullChroma: AV1 only: chroma has the size of luma.
  ///   - deepCoding: of deep samples; ignored for others.
  ///   - memoryLimitBytes: the bytes that the worker may allocate.
  ///   - maximumBytes: the maximum size of an accepted coded picture.
  package init(
    codec: DecoderCodec, size: PixelSize, samples: Samples, setting: Double, effort: Int, stripRows: Int? = nil,
    hasFullChroma: Bool = false, colors: ColorCodes = ColorCodes(primaries: 2, transfer: 2, matrix: 2),
    deepCoding: DeepCoding = DeepCoding(bits: 10, peakLuminance: 10_000), profile: [UInt8] = [], memoryLimitBytes: Int,
    maximumBytes: Int
  ) {
    let stripRows = stripRows ?? size.height
    stripCount = (size.height + stripRows - 1) / stripRows
    let parameters = encoder_parameters(
      hundredths: UInt32(clamping: Int((setting * 100).rounded())), effort: UInt32(clamping: effort),
      has_full_chroma: hasFullChroma ? 1 : 0, primaries: UInt32(clamping: colors.primaries),
      transfer: UInt32(clamping: colors.transfer), matrix: UInt32(clamping: colors.matrix),
      strip_rows: UInt32(clamping: stripRows), coded_bits: UInt32(clamping: deepCoding.bits),
      peak_luminance: UInt32(clamping: deepCoding.peakLuminance),
      is_transcoding: 0, keeps_reconstruction: 0)
    request = DecodeRequest(
      codec: codec, samples: samples.decoded, codedSize: size, size: size,
      tiles: [.init(picture: profile.isEmpty ? [] : [ByteRange(offset: 0, length: profile.count)])],
      parameters: withUnsafeBytes(of: parameters) { Array($0) }, memoryLimitBytes: memoryLimitBytes,
      cpuSeconds: Self.cpuSeconds(size))
    self.profile = profile
    hasRows = true
    self.maximumBytes = maximumBytes
  }

  /// A JPEG that becomes a JPEG XL with the same coefficients.
  ///
  /// - Parameters:
  ///   - file: the JPEG's range of the payload.
  ///   - size: the size that the JPEG must have.
  ///   - keepsReconstruction: whether the JPEG can be reconstructed from the JPEG XL.
  package init(
    transcoding file: ByteRange, size: PixelSize, by codec: DecoderCodec = .jxlEncoder, effort: Int,
    keepsReconstruction: Bool, memoryLimitBytes: Int, maximumBytes: Int
  ) {
    var parameters = encoder_parameters()
    parameters.effort = UInt32(clamping: effort)
    parameters.is_transcoding = 1
    parameters.keeps_reconstruction = keepsReconstruction ? 1 : 0
    request = DecodeRequest(
      codec: codec, samples: .rgb, codedSize: size, size: size, tiles: [.init(picture: [file])],
      parameters: withUnsafeBytes(of: parameters) { Array($0) }, memoryLimitBytes: memoryLimitBytes,
      cpuSeconds: Self.cpuSeconds(size))
    profile = []
    hasRows = false
    stripCount = 1
    self.maximumBytes = maximumBytes
  }

  private static func cpuSeconds(_ size: PixelSize) -> Int {
    2 + min(size.width.multipliedClamped(by: size.height) / 250_000, 3600)
  }
}
