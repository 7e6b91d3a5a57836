// The curves of high dynamic range: PQ (SMPTE ST 2084) and HLG (ARIB STD-B67), by the tables of ITU-R BT.2100-2, and
// the level of white by ITU-R BT.2408.

#if canImport(Glibc)
  import Glibc
#endif

enum BT2100 {
  /// The light of a PQ sample of 1, in cd/m².
  static let pqPeak = 10_000.0
  /// The light of an HLG sample of 1, in cd/m², on the display for which its gamma of 1.2 holds.
  static let hlgPeak = 1000.0
  /// The light of the white of a picture of standard range, in cd/m².
  static let white = 203.0
  /// HLG's system gamma.
  static let hlgGamma = 1.2
  /// The shares of red, green and blue in luminance.
  static let luminance = SIMD3<Float>(0.2627, 0.6780, 0.0593)

  // ST 2084 §5, BT.2100 table 4.
  private static let (m1, m2) = (2610.0 / 16384, 2523.0 / 4096 * 128)
  private static let (c1, c2, c3) = (3424.0 / 4096, 2413.0 / 4096 * 32, 2392.0 / 4096 * 32)

  /// cd/m² of a PQ sample 0...1.
  static func luminance(pq sample: Double) -> Double {
    let root = pow(sample, 1 / m2)
    return pqPeak * pow(max(0, root - c1) / (c2 - c3 * root), 1 / m1)
  }

  /// The PQ sample of cd/m², 0...10,000.
  static func pq(luminance: Double) -> Double {
    let power = pow(luminance / pqPeak, m1)
    return pow((c1 + c2 * power) / (1 + c3 * power), m2)
  }

  /// The light of the scene, 0...1, of an HLG sample 0...1: the inverse OETF of table 5.
  static func sceneLight(hlg sample: Double) -> Double {
    let (a, b, c) = (0.178_832_77, 0.284_668_92, 0.559_910_73)
    return sample <= 0.5 ? sample * sample / 3 : (exp((sample - c) / a) + b) / 12
  }
}
