// Reads the colours of a JPEG XL codestream (ISO/IEC 18181-1 §E.2), whose numbers are mostly those of ITU-T H.273.

/// The colours in the header of a codestream.
package struct JXLColors: Sendable, Hashable {
  var isGray = false
  /// Whether the codestream has an ICC profile, after the header and compressed: only a decoder can read it.
  package var hasProfile = false
  /// `nil` if the profile has them.
  var primaries: ColorCalibration.Primaries? = .bt709
  var transfer = ColorCalibration.Transfer.sRGB
  /// Whether the curve is one of high dynamic range: PQ or HLG.
  var isHDR: Bool { transfer == .perceptualQuantizer || transfer == .hybridLogGamma }

  static let sRGB = JXLColors()

  package init() {}

  /// - Parameter offset: where the codestream begins in the file, for errors.
  init(_ bits: inout JXLBits, at offset: Int64) throws(CodecError) {
    if bits.flag() { return }
    hasProfile = bits.flag()
    let space = bits.enumerated()
    isGray = space == 1
    // Without a profile, 2 is XYB without a colour space to convert it to.
    guard space <= 1 || hasProfile else { throw .unsupported("a JPEG XL picture in unknown colours") }
    if hasProfile {
      primaries = nil
      return
    }
    let white = try Self.white(&bits, at: offset)
    primaries = isGray ? Self.with(white, .bt709) : try Self.primaries(&bits, white, at: offset)
    readTransfer(&bits)
    // The rendering intent.
    _ = bits.enumerated()
  }

  private static func white(_ bits: inout JXLBits, at offset: Int64) throws(CodecError) -> ColorCalibration.Point {
    switch bits.enumerated() {
    case 1: return ColorCalibration.Primaries.bt709.white
    case 2: return Self.point(&bits)
    case 10: return ColorCalibration.Point(1.0 / 3, 1.0 / 3)
    case 11: return ColorCalibration.Point(0.314, 0.351)
    default: throw .malformed("a JPEG XL codestream with an unknown white point", offset: offset)
    }
  }

  private static func primaries(
    _ bits: inout JXLBits, _ white: ColorCalibration.Point, at offset: Int64
  ) throws(CodecError) -> ColorCalibration.Primaries {
    switch bits.enumerated() {
    case 1: return with(white, .bt709)
    case 2:
      let red = point(&bits)
      let green = point(&bits)
      return ColorCalibration.Primaries(white: white, red: red, green: green, blue: point(&bits))
    case 9: return with(white, .bt2020)
    case 11: return with(white, .displayP3)
    default: throw .malformed("a JPEG XL codestream with unknown primaries", offset: offset)
    }
  }

  /// §E.2.4: an exponent of the inverse curve in ten millionths, or a number.
  private mutating func readTransfer(_ bits: inout JXLBits) {
    if bits.flag() {
      let exponent = Double(bits.number(24)) / 10_000_000
      // §E.2.4: at most 1. A curve beyond that of any display counts as sRGB's.
      if (0.1...1).contains(exponent) { transfer = .power(1 / exponent) }
      return
    }
    switch bits.enumerated() {
    case 8: transfer = .power(1)
    case 16: transfer = .perceptualQuantizer
    case 18: transfer = .hybridLogGamma
    case 17: transfer = .power(2.6)
    // 1, of video, and 13, sRGB: see CodePoints.calibration.
    default: break
    }
  }

  private static func point(_ bits: inout JXLBits) -> ColorCalibration.Point {
    let x = bits.coordinate()
    return ColorCalibration.Point(x, bits.coordinate())
  }

  private static func with(
    _ white: ColorCalibration.Point, _ primaries: ColorCalibration.Primaries
  ) -> ColorCalibration.Primaries {
    var primaries = primaries
    primaries.white = white
    return primaries
  }
}
