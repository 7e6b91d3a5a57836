// The curves of high dynamic range for a screen of standard range: each channel's light is compressed by the roll-off of
// ITU-R BT.2390-11 §5.4.1, from a display of 1,000 cd/m² to one whose white is 203 cd/m², the reference white of BT.2408.
// Light up to 90 cd/m² stays as it is.

import ImageCodec

#if canImport(Glibc)
  import Glibc
#endif

enum HDRToneCurve {
  /// In cd/m²: the brightest light that stays distinguishable, and the white of the screen.
  private static let sourcePeak = 1000.0
  private static let white = 203.0
  private static let entries = 4096

  /// The light, 0...65535, of equally spaced samples 0...1; `nil` for a curve of standard range.
  static func curve(_ transfer: ColorCalibration.Transfer) -> [UInt16]? {
    let luminance: (Double) -> Double
    switch transfer {
    case .sRGB, .power: return nil
    case .perceptualQuantizer: luminance = perceptualQuantizer
    case .hybridLogGamma: luminance = hybridLogGamma
    }
    return (0..<entries).map { entry in
      let light = rolledOff(luminance(Double(entry) / Double(entries - 1))) / white
      return UInt16((min(1, max(0, light)) * 65535).rounded())
    }
  }

  // SMPTE ST 2084 §5; ITU-R BT.2100-2 table 4.
  private static let (m1, m2) = (2610.0 / 16384, 2523.0 / 4096 * 128)
  private static let (c1, c2, c3) = (3424.0 / 4096, 2413.0 / 4096 * 32, 2392.0 / 4096 * 32)

  /// cd/m² of a sample.
  private static func perceptualQuantizer(_ sample: Double) -> Double {
    let root = pow(sample, 1 / m2)
    return 10_000 * pow(max(0, root - c1) / (c2 - c3 * root), 1 / m1)
  }

  private static func quantized(_ luminance: Double) -> Double {
    let power = pow(luminance / 10_000, m1)
    return pow((c1 + c2 * power) / (1 + c3 * power), m2)
  }

  /// ITU-R BT.2100-2 table 5: scene light, then the system gamma of 1.2 for a display of 1,000 cd/m².
  private static func hybridLogGamma(_ sample: Double) -> Double {
    let (a, b, c) = (0.178_832_77, 0.284_668_92, 0.559_910_73)
    let scene = sample <= 0.5 ? sample * sample / 3 : (exp((sample - c) / a) + b) / 12
    return sourcePeak * pow(scene, 1.2)
  }

  /// Luminance up to the source's peak becomes luminance up to white. BT.2390-11 §5.4.1, in shares of the source's peak
  /// in PQ.
  private static func rolledOff(_ luminance: Double) -> Double {
    let peak = quantized(sourcePeak)
    let sample = min(1, quantized(luminance) / peak)
    let most = quantized(white) / peak
    let knee = 1.5 * most - 0.5
    guard sample > knee else { return luminance }
    let t = (sample - knee) / (1 - knee)
    let (t2, t3) = (t * t, t * t * t)
    let rolled =
      (2 * t3 - 3 * t2 + 1) * knee + (t3 - 2 * t2 + t) * (1 - knee) + (3 * t2 - 2 * t3) * most
    return perceptualQuantizer(rolled * peak)
  }
}
