import CLCMS2
import ImageCodec

/// Converts the stored samples of a picture to linear light and back, by the curves of its profile, else by sRGB's.
/// Averaging linear light instead of stored samples keeps the mean brightness of a scaled picture.
///
/// Light and stored values are 0...255.
final class LinearLight: Sendable {
  /// Steps of the table from light to stored values. It is indexed by the square root of light, over which the curves
  /// are nearly straight.
  private static let steps = 8192

  /// The light of each stored sample, for each colour channel or once for all: 256 entries, or 65,536.
  private let decoding: [[Float]]
  /// Entry i is the stored value of the light `255 * (i / steps)²`. One entry more is only for interpolation at the
  /// end.
  private let encoding: [[Float]]

  /// For pictures of 8 bits without a profile. The way from light to stored values is as exact as with 16 bits.
  static let sRGB = LinearLight([ToneFunctions.decode], bitsPerChannel: 8)
  private static let deepSRGB = LinearLight([ToneFunctions.decode], bitsPerChannel: 16)

  /// For pictures without a profile.
  static func withoutProfile(bitsPerChannel: Int) -> LinearLight { bitsPerChannel == 16 ? deepSRGB : sRGB }

  /// Light of a stored value, both 0...1.
  typealias Curve = (Double) -> Double

  /// - Parameters:
  ///   - color: of the picture. A profile without curves, such as that of a printer, is treated as sRGB.
  ///   - isHDR: whether PQ and HLG keep their high dynamic range.
  static func of(_ color: SourceColor, _ rows: RowFormat, isHDR: Bool = false) -> LinearLight {
    if isHDR, color.profile == nil, let transfer = color.calibration?.transfer {
      switch transfer {
      case .perceptualQuantizer: return LinearLight([{ BT2100.luminance(pq: $0) / BT2100.pqPeak }], rows)
      case .hybridLogGamma: return LinearLight([BT2100.sceneLight(hlg:)], rows)
      case .sRGB, .power: break
      }
    }
    do throws(ProfileError) {
      if let bytes = color.profile {
        return LinearLight(try curves(ICCProfile(bytes, for: rows.model, LCMSContext())), rows)
      }
      if let calibration = color.calibration {
        return LinearLight(try curves(ICCProfile(calibration, for: rows.model, LCMSContext())), rows)
      }
    } catch {
      // The profile is ignored, with a warning, where colours are converted.
    }
    return withoutProfile(bitsPerChannel: rows.bitsPerChannel)
  }

  private convenience init(_ curves: [Curve], _ rows: RowFormat) {
    self.init(curves.isEmpty ? [ToneFunctions.decode] : curves, bitsPerChannel: rows.bitsPerChannel)
  }

  private init(_ curves: [Curve], bitsPerChannel: Int) {
    let most = bitsPerChannel == 16 ? 65535 : 255
    decoding = curves.map { curve in (0...most).map { Float(255 * curve(Double($0) / Double(most))) } }
    encoding = curves.map(Self.inverse)
  }

  /// The table from light to stored values: the inverse of a curve.
  private static func inverse(_ curve: Curve) -> [Float] {
    // The light of evenly spaced values, made to never fall: a falling curve has no inverse.
    let points = 65536
    var light = (0...points).map { curve(Double($0) / Double(points)) }
    for i in 1...points { light[i] = max(light[i], light[i - 1]) }
    var next = 1
    return (0...steps + 1).map { i in
      let root = Double(i) / Double(steps)
      let wanted = min(root * root, light[points])
      while next < points && light[next] < wanted { next += 1 }
      let (low, high) = (light[next - 1], light[next])
      let share = high > low ? min(max((wanted - low) / (high - low), 0), 1) : 0
      return Float(255 * (Double(next - 1) + share) / Double(points))
    }
  }

  /// The curves of an RGB or gray profile; empty if it has none.
  static func curves(_ profile: ICCProfile) -> [Curve] {
    let isGray = cmsGetColorSpace(profile.handle) == cmsSigGrayData
    let tags = isGray ? [cmsSigGrayTRCTag] : [cmsSigRedTRCTag, cmsSigGreenTRCTag, cmsSigBlueTRCTag]
    let curves = tags.compactMap { cmsReadTag(profile.handle, $0) }
    guard curves.count == tags.count else { return [] }
    // The closures are called before the profile is closed, by the initializer.
    return curves.map { pointer in
      let curve = OpaquePointer(pointer)
      return { value in
        withExtendedLifetime(profile) { min(max(Double(cmsEvalToneCurveFloat(curve, Float(value))), 0), 1) }
      }
    }
  }

  /// Bytes of the tables.
  var bytes: Int { (decoding + encoding).reduce(0) { $0 + $1.count * MemoryLayout<Float>.stride } }

  /// Bytes that are needed while the tables of a picture are made; an upper estimate.
  static func byteCount(bitsPerChannel: Int) -> Int {
    ((bitsPerChannel == 16 ? 65536 : 256) + steps + 2) * 3 * 4 + 65537 * 8
  }

  /// Converts samples to four floats of light a pixel: (r a, g a, b a, a), gray in all three; a = 255 without alpha.
  ///
  /// - Parameter channels: of the samples, 1...4.
  func load<Sample: FixedWidthInteger>(
    _ samples: UnsafePointer<Sample>, channels: Int, to line: UnsafeMutablePointer<Float>, width: Int
  ) {
    let colors = channels < 3 ? 1 : 3
    let hasAlpha = channels % 2 == 0
    let alphaScale = Float(255) / Float(Sample.max)
    decoding[0].withUnsafeBufferPointer { first in
      decoding[min(1, decoding.count - 1)].withUnsafeBufferPointer { second in
        decoding[decoding.count - 1].withUnsafeBufferPointer { third in
          for x in 0..<width {
            let from = samples + x * channels
            let to = line + x * 4
            to[0] = first[Int(from[0])]
            to[1] = colors == 1 ? to[0] : second[Int(from[1])]
            to[2] = colors == 1 ? to[0] : third[Int(from[2])]
            to[3] = 255
            guard hasAlpha else { continue }
            let alpha = Float(from[channels - 1]) * alphaScale
            for c in 0..<3 { to[c] *= alpha * (1 / 255) }
            to[3] = alpha
          }
        }
      }
    }
  }

  /// The stored value of some light of a colour channel. Light outside of 0...255 is clamped.
  @inline(__always)
  func stored(_ light: Float, channel: Int) -> Float {
    let position = (min(max(light, 0), 255) * (1 / 255)).squareRoot() * Float(Self.steps)
    let entry = Int(position)
    let share = position - Float(entry)
    return encoding[min(channel, encoding.count - 1)].withUnsafeBufferPointer { table in
      table[entry] + (table[entry + 1] - table[entry]) * share
    }
  }
}
