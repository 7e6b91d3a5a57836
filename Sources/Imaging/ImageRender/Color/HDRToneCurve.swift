// The curves of high dynamic range for a screen of standard range: each channel's light is compressed by the roll-off
// of ITU-R BT.2390-11 §5.4.1, from a display of 1,000 cd/m² to one whose white is 203 cd/m², the reference white of
// BT.2408. Light up to 90 cd/m² is unchanged.

import ImageCodec

#if canImport(Glibc)
  import Glibc
#endif

enum HDRToneCurve {
  /// In cd/m²: the brightest light that stays distinguishable.
  private static let sourcePeak = 1000.0
  private static let entries = 4096

  /// The light, 0...65535, of equally spaced samples 0...1; `nil` for a curve of standard range.
  static func curve(_ transfer: ColorCalibration.Transfer) -> [UInt16]? {
    let luminance: (Double) -> Double
    switch transfer {
    case .sRGB, .power: return nil
    case .perceptualQuantizer: luminance = BT2100.luminance(pq:)
    case .hybridLogGamma: luminance = hybridLogGamma
    }
    return (0..<entries).map { entry in
      let light = rolledOff(luminance(Double(entry) / Double(entries - 1))) / BT2100.white
      return UInt16((min(1, max(0, light)) * 65535).rounded())
    }
  }

  /// Scene light, then the system gamma for each channel.
  private static func hybridLogGamma(_ sample: Double) -> Double {
    BT2100.hlgPeak * pow(BT2100.sceneLight(hlg: sample), BT2100.hlgGamma)
  }

  /// Luminance up to the source's peak becomes luminance up to white. BT.2390-11 §5.4.1, in shares of the source's peak
  /// in PQ.
  private static func rolledOff(_ luminance: Double) -> Double {
    let peak = BT2100.pq(luminance: sourcePeak)
    let sample = min(1, BT2100.pq(luminance: luminance) / peak)
    let most = BT2100.pq(luminance: BT2100.white) / peak
    let knee = 1.5 * most - 0.5
    guard sample > knee else { return luminance }
    let t = (sample - knee) / (1 - knee)
    let (t2, t3) = (t * t, t * t * t)
    let rolled =
      (2 * t3 - 3 * t2 + 1) * knee + (t3 - 2 * t2 + t) * (1 - knee) + (3 * t2 - 2 * t3) * most
    return BT2100.luminance(pq: rolled * peak)
  }
}
