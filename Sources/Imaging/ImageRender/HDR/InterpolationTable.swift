/// A function of samples 0...65535, as values at equal steps with straight lines between them.
struct InterpolationTable: Sendable {
  private static let steps = 4096
  static let byteCount = (steps + 2) * 4

  /// One entry more than steps + 1, only for interpolation at the end.
  private let values: [Float]

  /// - Parameter function: of samples 0...1.
  init(_ function: (Double) -> Double) {
    values = (0...Self.steps + 1).map { Float(function(min(1, Double($0) / Double(Self.steps)))) }
  }

  /// - Parameter sample: 0...65535.
  @inline(__always)
  subscript(sample: Float) -> Float {
    let position = sample * (Float(Self.steps) / 65535)
    let entry = Int(position)
    return values[entry] + (values[entry + 1] - values[entry]) * (position - Float(entry))
  }
}

/// PQ samples of light, from a table over the bits of floating-point numbers: as exact in the dark as in the bright.
struct PQTable: Sendable {
  /// The bits of a fraction that choose an entry. The others choose a place on the line to the next one.
  private static let entryBits: UInt32 = 8
  private static let lineBits = 23 - entryBits
  /// Darker light has less than a step of 10 bits: there the samples are proportional to light.
  private static let darkest: Float = 0x1p-31

  static let shared = PQTable()
  private let values: [Float]

  private init() {
    let entries = Int((Float(1).bitPattern - Self.darkest.bitPattern) >> Self.lineBits) + 2
    values = (0..<entries).map { entry in
      let light = Float(bitPattern: Self.darkest.bitPattern + UInt32(entry) << Self.lineBits)
      return Float(BT2100.pq(luminance: Double(light) * BT2100.pqPeak))
    }
  }

  /// The sample, 0...1.
  ///
  /// - Parameter light: in shares of 10,000 cd/m², at least 0; more than 1 is 1.
  @inline(__always)
  func sample(_ light: Float) -> Float {
    guard light > Self.darkest else { return values[0] * (light * (1 / Self.darkest)) }
    let bits = min(light, 1).bitPattern - Self.darkest.bitPattern
    let entry = Int(bits >> Self.lineBits)
    let share = Float(bits & (1 << Self.lineBits - 1)) * (1 / Float(1 << Self.lineBits))
    return values[entry] + (values[entry + 1] - values[entry]) * share
  }
}
