/// One step of an edit that leaves the original unchanged.
///
/// Positions are in the unit square of the picture that the previous steps produced: (0, 0) is its top left corner. The
/// guide Adjustments has the mathematics of each operation.
package enum AdjustmentOperation: Sendable, Hashable {
  case crop(UnitRect)
  /// Turns the picture clockwise, and cuts out the largest centred rectangle of the same aspect ratio that has no empty
  /// corners; -45...45.
  case straighten(degrees: Double)
  /// Clockwise; 1...3.
  case rotate(quarterTurns: Int)
  case flip(FlipAxis)
  /// Maps a point of the picture after this step to the point of the picture before it that is shown there. Without an
  /// aspect ratio, width by height, the result has that of the picture before.
  case perspective(Homography, aspectRatio: Double? = nil)
  case tone(ToneOperation, Double)
  case toneCurve(CurveChannel, ToneCurve)
  /// Darkens the corners if `amount` is positive, else brightens them. Begins at `radius`: 0 is the centre, 1 a corner.
  case vignette(amount: Double, radius: Double)

  package enum FlipAxis: String, Sendable, Hashable, CaseIterable {
    /// Left becomes right.
    case horizontal
    /// Top becomes bottom.
    case vertical
  }

  package enum CurveChannel: String, Sendable, Hashable, CaseIterable {
    case rgb, red, green, blue
  }
}

/// The operations that have one number.
package enum ToneOperation: String, Sendable, Hashable, CaseIterable, Codable {
  case exposure, brightness, contrast, highlights, shadows, whites, blacks, saturation, vibrance, warmth, tint
  case sharpness, noiseReduction, blackAndWhite

  /// The JSON member that has the number.
  var member: String { self == .exposure ? "ev" : "amount" }

  package var range: ClosedRange<Double> {
    switch self {
    case .exposure: -5...5
    case .sharpness, .noiseReduction, .blackAndWhite: 0...1
    default: -1...1
    }
  }

  /// Whether a pixel depends on the pixels around it.
  package var readsNeighbours: Bool { self == .sharpness || self == .noiseReduction }
}

/// A function from 0...1 to 0...1 through points, by monotone cubic interpolation.
package struct ToneCurve: Sendable, Hashable {
  package struct Point: Sendable, Hashable {
    var x: Double
    var y: Double

    package init(_ x: Double, _ y: Double) {
      self.x = x
      self.y = y
    }
  }

  /// At least two; x rises from 0 to 1.
  package let points: [Point]
  /// The slope at each point.
  private let slopes: [Double]

  /// - Parameter points: at least two, with x rising from 0 to 1; `nil` for others.
  package init?(_ points: [Point]) {
    guard points.count >= 2, points.first?.x == 0, points.last?.x == 1,
      points.allSatisfy({ (0...1).contains($0.y) }), zip(points, points.dropFirst()).allSatisfy({ $0.x < $1.x })
    else { return nil }
    self.points = points
    slopes = Self.slopes(points)
  }

  /// Fritsch and Carlson, "Monotone piecewise cubic interpolation" (SIAM Journal on Numerical Analysis 17, 1980):
  /// slopes with which no overshoot occurs between two points.
  private static func slopes(_ points: [Point]) -> [Double] {
    let secants = zip(points, points.dropFirst()).map { bounded(($1.y - $0.y) / ($1.x - $0.x)) }
    var slopes = points.indices.map { (i: Int) -> Double in
      switch i {
      case 0: secants[0]
      case points.count - 1: secants[i - 1]
      default: secants[i - 1] * secants[i] <= 0 ? 0 : (secants[i - 1] + secants[i]) / 2
      }
    }
    for (i, secant) in secants.enumerated() {
      guard secant != 0 else {
        (slopes[i], slopes[i + 1]) = (0, 0)
        continue
      }
      let (a, b) = (slopes[i] / secant, slopes[i + 1] / secant)
      let length = (a * a + b * b).squareRoot()
      guard length > 3 else { continue }
      (slopes[i], slopes[i + 1]) = (3 / length * a * secant, 3 / length * b * secant)
    }
    return slopes
  }

  /// The slope, limited so that its ratios to others, and their squares, are finite numbers. The change is too small to
  /// be seen.
  private static func bounded(_ slope: Double) -> Double {
    if slope == 0 { return 0 }
    let magnitude = min(max(slope.magnitude, 1e-9), 1e9)
    return slope < 0 ? -magnitude : magnitude
  }

  /// The value at `x`, which is clamped to 0...1.
  package func callAsFunction(_ x: Double) -> Double {
    let x = min(max(x, 0), 1)
    let i = min(points.lastIndex(where: { $0.x <= x }) ?? 0, points.count - 2)
    let (from, to) = (points[i], points[i + 1])
    let length = to.x - from.x
    let t = (x - from.x) / length
    let (t2, t3) = (t * t, t * t * t)
    let value =
      (2 * t3 - 3 * t2 + 1) * from.y + (t3 - 2 * t2 + t) * length * slopes[i] + (3 * t2 - 2 * t3) * to.y
      + (t3 - t2) * length * slopes[i + 1]
    return min(max(value, 0), 1)
  }
}
