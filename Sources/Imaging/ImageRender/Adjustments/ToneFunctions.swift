// The mathematics of tone operations that depend on one channel at a time, for values 0...1. The guide Adjustments
// explains each and names its source.

#if canImport(Glibc)
  import Glibc
#endif

enum ToneFunctions {
  typealias Function = @Sendable (Double) -> Double

  /// Luminance of linear sRGB (IEC 61966-2-1), also used as the weights of luma.
  static let luminance: [Double] = [0.2126, 0.7152, 0.0722]

  /// The nearest value in 0...1; 0 for NaN, which `max` returns only as its first argument.
  static func clamped(_ value: Double) -> Double { min(max(0, value), 1) }

  /// sRGB to linear light (IEC 61966-2-1).
  static let decode: Function = { $0 <= 0.04045 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4) }

  /// Linear light to sRGB.
  static let encode: Function = { $0 <= 0.0031308 ? $0 * 12.92 : 1.055 * pow($0, 1 / 2.4) - 0.055 }

  /// In linear light.
  static func gain(_ factor: Double) -> Function { { $0 * factor } }

  /// A gamma curve: black and white stay.
  static func brightness(_ amount: Double) -> Function {
    let exponent = pow(2, -amount)
    return { pow($0, exponent) }
  }

  /// A logistic curve about the middle, scaled so that black and white stay; its inverse for a negative amount.
  static func contrast(_ amount: Double) -> Function {
    let slope = 6 * amount.magnitude
    guard slope > 1e-6 else { return { $0 } }
    @Sendable func logistic(_ value: Double) -> Double { 1 / (1 + exp(slope * (0.5 - value))) }
    let low = logistic(0)
    let height = logistic(1) - low
    if amount > 0 { return { (value: Double) -> Double in (logistic(value) - low) / height } }
    return { (value: Double) -> Double in
      let inside = low + value * height
      return 0.5 - log(1 / inside - 1) / slope
    }
  }

  /// A bump over the bright half; its slope stays positive.
  static func highlights(_ amount: Double) -> Function {
    let height = 0.9 * amount
    return { (value: Double) -> Double in value + height * value * value * (1 - value) }
  }

  /// A bump over the dark half; its slope stays positive.
  static func shadows(_ amount: Double) -> Function {
    let height = 0.9 * amount
    return { (value: Double) -> Double in value + height * value * (1 - value) * (1 - value) }
  }

  /// Positive: lowers the value that becomes white. Negative: darkens white.
  static func whites(_ amount: Double) -> Function {
    let factor = amount > 0 ? 1 / (1 - 0.25 * amount) : 1 + 0.25 * amount
    return { $0 * factor }
  }

  /// Negative: raises the value that becomes black. Positive: lightens black.
  static func blacks(_ amount: Double) -> Function {
    let level = 0.15 * amount.magnitude
    let rest = 1 - level
    if amount < 0 { return { (value: Double) -> Double in (value - level) / rest } }
    return { (value: Double) -> Double in level + value * rest }
  }

  /// The gains of the channels for a white balance, in linear light, with unchanged luminance of gray. Positive warmth
  /// is redder, positive tint is more magenta.
  static func balance(warmth: Double, tint: Double) -> [Double] {
    let gains: [Double] = [pow(2, 0.4 * warmth), pow(2, -0.4 * tint), pow(2, -0.4 * warmth)]
    let gray = gains[0] * luminance[0] + gains[1] * luminance[1] + gains[2] * luminance[2]
    return gains.map { $0 / gray }
  }

  /// Scales the distance from the luminance, in linear light: 0 leaves gray.
  static func saturation(_ factor: Double) -> [Double] {
    var matrix: [Double] = []
    for row in 0..<3 {
      for column in 0..<3 { matrix.append((1 - factor) * luminance[column] + (row == column ? factor : 0)) }
    }
    return matrix
  }

  /// The gain of a vignette in linear light at the square of the distance from the centre, 1 in a corner: two stops at
  /// most.
  static func vignette(_ amount: Double, radius: Double) -> Function {
    { square in
      let t = clamped((square.squareRoot() - radius) / max(1 - radius, 1e-3))
      return pow(2, -2 * amount * t * t * (3 - 2 * t))
    }
  }
}

extension ToneFunctions {
  static func powerOfTwo(_ exponent: Double) -> Double { pow(2, exponent) }

  /// Not normalised.
  static func gaussian(_ deviations: Double) -> Double { exp(-deviations * deviations / 2) }
}
