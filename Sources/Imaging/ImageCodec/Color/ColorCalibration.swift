/// Colours described by numbers instead of a profile: PNG's gAMA, cHRM and cICP, EXIF's Adobe RGB.
package struct ColorCalibration: Sendable, Hashable {
  /// The conversion of a sample to light, both 0...1.
  package enum Transfer: Sendable, Hashable {
    /// IEC 61966-2-1.
    case sRGB
    /// light = sample to the power of this.
    case power(Double)
    /// The curves of high dynamic range, SMPTE ST 2084 and ARIB STD-B67 (ITU-R BT.2100). They are shown on screens of
    /// standard range: see `HDRToneCurve`.
    case perceptualQuantizer
    case hybridLogGamma
  }

  /// A chromaticity, CIE 1931 x and y.
  package struct Point: Sendable, Hashable {
    package var x: Double
    package var y: Double

    package init(_ x: Double, _ y: Double) {
      self.x = x
      self.y = y
    }
  }

  /// The chromaticities of white and the three primaries.
  package struct Primaries: Sendable, Hashable {
    package var white, red, green, blue: Point

    package init(white: Point, red: Point, green: Point, blue: Point) {
      self.white = white
      self.red = red
      self.green = green
      self.blue = blue
    }

    private static let d65 = Point(0.3127, 0.3290)

    /// Those of sRGB and ITU-R BT.709.
    package static let bt709 = Primaries(
      white: d65, red: Point(0.64, 0.33), green: Point(0.30, 0.60), blue: Point(0.15, 0.06))
    /// Those of ITU-R BT.2020.
    package static let bt2020 = Primaries(
      white: d65, red: Point(0.708, 0.292), green: Point(0.170, 0.797), blue: Point(0.131, 0.046))
    /// Those of Display P3 (SMPTE EG 432-1).
    package static let displayP3 = Primaries(
      white: d65, red: Point(0.680, 0.320), green: Point(0.265, 0.690), blue: Point(0.150, 0.060))
    /// Those of Adobe RGB (1998).
    package static let adobeRGB = Primaries(
      white: d65, red: Point(0.64, 0.33), green: Point(0.21, 0.71), blue: Point(0.15, 0.06))

    /// The largest difference between corresponding coordinates.
    fileprivate func distance(to other: Primaries) -> Double {
      let pairs = [(white, other.white), (red, other.red), (green, other.green), (blue, other.blue)]
      return pairs.map { max(abs($0.0.x - $0.1.x), abs($0.0.y - $0.1.y)) }.max() ?? 0
    }
  }

  package var transfer: Transfer
  package var primaries: Primaries

  package init(transfer: Transfer, primaries: Primaries) {
    self.transfer = transfer
    self.primaries = primaries
  }

  /// The meaning of DCF's optional colour space ("R03"): Adobe RGB (1998) §4.3.1.2 gives the exponent 2.19921875.
  package static let adobeRGB = ColorCalibration(transfer: .power(2.199_218_75), primaries: .adobeRGB)

  /// Whether the calibration is close enough to sRGB to be treated as sRGB. Files without an sRGB chunk express sRGB as
  /// a gAMA of 45455 (PNG third edition §11.3.2.5 has the same value beside an sRGB chunk); libpng uses the same
  /// tolerances, 5% and 0.01.
  package var isSRGB: Bool { hasSRGBTransfer && primaries.distance(to: .bt709) <= 0.01 }

  /// Whether the transfer curve is close to sRGB's; enough for gray, where primaries have no meaning.
  package var hasSRGBTransfer: Bool {
    switch transfer {
    case .sRGB: true
    case .power(let exponent): abs(exponent / 2.2 - 1) <= 0.05
    case .perceptualQuantizer, .hybridLogGamma: false
    }
  }

  /// Whether brighter light is described than white. No profile can describe it to all readers, so such pictures are
  /// converted to sRGB.
  package var isHDR: Bool { transfer == .perceptualQuantizer || transfer == .hybridLogGamma }
}
