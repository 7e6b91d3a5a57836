import Foundation
import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// Tones, curves and effects, compared with formulas written out here.
@Suite("Tones of adjustments")
struct AdjustmentToneTests {
  private static func png(_ pixels: Pixels) -> [UInt8] { PNGFile(.rgb(depth: 8)).encoded(pixels) }

  private static let whole = ImageRequest(format: .png)

  private static func decode(_ v: Double) -> Double { v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4) }
  private static func encode(_ v: Double) -> Double { v <= 0.0031308 ? v * 12.92 : 1.055 * pow(v, 1 / 2.4) - 0.055 }
  private static func limited(_ v: Double) -> Double { min(max(v, 0), 1) }

  typealias Color = (r: Double, g: Double, b: Double)

  private static func luminance(_ c: Color) -> Double { 0.2126 * c.r + 0.7152 * c.g + 0.0722 * c.b }

  struct Formula: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let operations: [AdjustmentOperation]
    /// Of encoded values 0...1.
    let expected: @Sendable (Color) -> Color

    init(_ name: String, _ operations: [AdjustmentOperation], _ expected: @escaping @Sendable (Color) -> Color) {
      (testDescription, self.operations, self.expected) = (name, operations, expected)
    }

    static func linear(
      _ name: String, _ operations: [AdjustmentOperation], _ expected: @escaping @Sendable (Color) -> Color
    ) -> Formula {
      Formula(name, operations) { color in
        let light = expected((decode(color.r), decode(color.g), decode(color.b)))
        return (encode(limited(light.r)), encode(limited(light.g)), encode(limited(light.b)))
      }
    }

    static func each(
      _ name: String, _ operations: [AdjustmentOperation], _ expected: @escaping @Sendable (Double) -> Double
    ) -> Formula { Formula(name, operations) { (expected($0.r), expected($0.g), expected($0.b)) } }
  }

  static let formulas: [Formula] = {
    var all: [Formula] = []
    all.append(.linear("exposure doubles the light", [.tone(.exposure, 1)]) { (2 * $0.r, 2 * $0.g, 2 * $0.b) })
    all.append(
      .linear("two exposures add up", [.tone(.exposure, -1.5), .tone(.exposure, 0.5)]) {
        ($0.r / 2, $0.g / 2, $0.b / 2)
      })
    all.append(.each("brightness is a gamma", [.tone(.brightness, 1)]) { pow($0, 0.5) })
    all.append(.each("whites become white earlier", [.tone(.whites, 1)]) { $0 / 0.75 })
    all.append(.each("blacks become black earlier", [.tone(.blacks, -1)]) { ($0 - 0.15) / 0.85 })
    all.append(.each("blacks rise", [.tone(.blacks, 1)]) { 0.15 + 0.85 * $0 })
    all.append(.each("shadows rise most at a third", [.tone(.shadows, 1)]) { $0 + 0.9 * $0 * (1 - $0) * (1 - $0) })
    all.append(.each("highlights fall most at two thirds", [.tone(.highlights, -1)]) { $0 - 0.9 * $0 * $0 * (1 - $0) })
    all.append(.each("contrast and its opposite cancel", [.tone(.contrast, 0.8), .tone(.contrast, -0.8)]) { $0 })
    all.append(
      .each("contrast is a logistic curve", [.tone(.contrast, 1)]) { v in
        func s(_ v: Double) -> Double { 1 / (1 + exp(-6 * (v - 0.5))) }
        return (s(v) - s(0)) / (s(1) - s(0))
      })
    all.append(
      .linear("no saturation is the luminance", [.tone(.saturation, -1)]) { c in
        let y = luminance(c)
        return (y, y, y)
      })
    all.append(
      .linear("black and white by halves", [.tone(.blackAndWhite, 0.5)]) { c in
        let y = luminance(c)
        return ((c.r + y) / 2, (c.g + y) / 2, (c.b + y) / 2)
      })
    all.append(
      .linear("two saturations multiply", [.tone(.saturation, 0.5), .tone(.saturation, -0.5)]) { c in
        let y = luminance(c)
        func mixed(_ v: Double, _ f: Double) -> Double { limited(y + f * (v - y)) }
        return (mixed(c.r, 0.75), mixed(c.g, 0.75), mixed(c.b, 0.75))
      })
    all.append(
      .linear("vibrance spares pure colours", [.tone(.vibrance, 1)]) { c in
        let y = luminance(c)
        let f = 1 + min(c.r, c.g, c.b) / max(c.r, c.g, c.b, 1e-6)
        return (y + f * (c.r - y), y + f * (c.g - y), y + f * (c.b - y))
      })
    all.append(
      .linear("warmth", [.tone(.warmth, 1)]) { c in
        let gains = (pow(2, 0.4), 1.0, pow(2, -0.4))
        let y = luminance(gains)
        return (c.r * gains.0 / y, c.g / y, c.b * gains.2 / y)
      })
    all.append(
      .linear("tint", [.tone(.tint, 1)]) { c in
        let gains = (1.0, pow(2, -0.4), 1.0)
        let y = luminance(gains)
        return (c.r / y, c.g * gains.1 / y, c.b / y)
      })
    all.append(
      .each("a straight curve changes nothing", [.toneCurve(.rgb, ToneCurve([.init(0, 0), .init(1, 1)])!)]) { $0 })
    all.append(
      Formula("a curve of one channel", [.toneCurve(.green, ToneCurve([.init(0, 1), .init(1, 0)])!)]) {
        ($0.r, 1 - $0.g, $0.b)
      })
    all.append(
      .each(
        "in the order of the list", [.tone(.blacks, 1), .toneCurve(.rgb, ToneCurve([.init(0, 1), .init(1, 0)])!)]
      ) { 1 - (0.15 + 0.85 * $0) })
    return all
  }()

  /// Every level of gray, and colours.
  private static let colors: Pixels = {
    var pixels = Pixels(width: 256, height: 9, channels: 3)
    for x in 0..<256 {
      let shades: [(Int, Int, Int)] = [
        (x, x, x), (x, 0, 0), (0, x, 0), (0, 0, x), (x, 255 - x, 128), (255, x, x), (x, 255, 64), (40, 200, x),
        (x, x / 2, 0),
      ]
      for (y, shade) in shades.enumerated() {
        for (c, level) in [shade.0, shade.1, shade.2].enumerated() {
          pixels.bytes[(y * 256 + x) * 3 + c] = UInt8(level)
        }
      }
    }
    return pixels
  }()

  @Test("each tone is what its formula says, within a level", arguments: formulas)
  func formula(_ one: Formula) throws {
    let pixels = try renderAdjusted(Self.png(Self.colors), Self.whole, one.operations).pixels
    try #require(pixels.channels == 3)
    var worst = 0.0
    for i in stride(from: 0, to: pixels.bytes.count, by: 3) {
      let from = Self.colors.bytes
      let expected = one.expected((Double(from[i]) / 255, Double(from[i + 1]) / 255, Double(from[i + 2]) / 255))
      for (c, level) in [expected.r, expected.g, expected.b].enumerated() {
        worst = max(worst, abs(Self.limited(level) * 255 - Double(pixels.bytes[i + c])))
      }
    }
    #expect(worst <= 1.01, "\(worst) levels")
  }

  private static let least = Double.leastNonzeroMagnitude

  @Test(
    "a curve with points at a tiny distance from each other renders as with a small one",
    arguments: [(0.5, least), (0.5, 2000 * least), (0.5, 1e-160), (least, 0.6), (1e-160, 0.6)])
  func closePoints(_ x: Double, _ y: Double) throws {
    func levels(_ x: Double, _ y: Double, after before: [AdjustmentOperation]) throws -> [UInt8] {
      let curve = try #require(ToneCurve([.init(0, 0), .init(x, y), .init(1, 1)]))
      return try renderAdjusted(Self.png(Self.colors), Self.whole, before + [.toneCurve(.rgb, curve)]).pixels.bytes
    }
    let before: [[AdjustmentOperation]] = [[], [.tone(.saturation, 0.1)], [.vignette(amount: 0.5, radius: 0.5)]]
    for operations in before {
      let expected = try levels(max(x, 1e-12), max(y, 1e-12), after: operations)
      let found = try levels(x, y, after: operations)
      let difference = zip(found, expected).map { abs(Int($0) - Int($1)) }.max()
      #expect(difference.map { $0 <= 1 } == true && expected.contains { $0 > 100 })
    }
  }

  @Test("a vignette darkens the corners by two stops at most, and nothing inside its radius")
  func vignette() throws {
    let flat = Pixels(width: 201, height: 101, channels: 3, bytes: [UInt8](repeating: 200, count: 201 * 101 * 3))
    let pixels = try renderAdjusted(Self.png(flat), Self.whole, [.vignette(amount: 1, radius: 0.5)]).pixels
    func level(_ x: Int, _ y: Int) -> Double { Double(pixels.bytes[(y * 201 + x) * 3]) }
    #expect(level(100, 50) == 200 && level(130, 60) == 200)
    #expect(abs(level(0, 0) - 255 * Self.encode(Self.decode(200 / 255.0) / 4)) < 4)
    #expect(level(0, 0) == level(200, 100) && level(0, 100) == level(200, 0))
    // A crop after it keeps where it was.
    let part = try renderAdjusted(
      Self.png(flat), Self.whole,
      [.vignette(amount: 1, radius: 0.5), .crop(UnitRect(x: 0, y: 0, width: 0.5, height: 0.5))]
    ).pixels
    #expect(abs(Double(part.bytes[0]) - level(0, 0)) <= 1)
    let end = Double(part.bytes[part.bytes.count - 1])
    #expect(end == 200)
  }

  @Test("sharpening raises the contrast of an edge, and leaves flat areas")
  func sharpness() throws {
    var edge = Pixels(width: 1600, height: 40, channels: 3)
    for i in 0..<edge.bytes.count { edge.bytes[i] = i / 3 % 1600 < 800 ? 80 : 160 }
    let pixels = try renderAdjusted(Self.png(edge), Self.whole, [.tone(.sharpness, 1)]).pixels
    func level(_ x: Int, _ y: Int = 20) -> UInt8 { pixels.bytes[(y * 1600 + x) * 3] }
    #expect(level(799) < 70 && level(800) > 170)
    #expect(level(100) == 80 && level(1500) == 160 && level(790) == 80)
    #expect(level(799, 0) == level(799) && level(799, 39) == level(799), "rows at the edge are repeated")
  }

  @Test("noise reduction removes noise and keeps an edge")
  func noiseReduction() throws {
    var noisy = Pixels(width: 1600, height: 60, channels: 3)
    var state: UInt32 = 1
    for i in 0..<noisy.bytes.count {
      state = state &* 1_664_525 &+ 1_013_904_223
      let level = i / 3 % 1600 < 800 ? 60 : 190
      noisy.bytes[i] = UInt8(level + Int(state >> 24) % 17 - 8)
    }
    let pixels = try renderAdjusted(Self.png(noisy), Self.whole, [.tone(.noiseReduction, 0.6)]).pixels
    func deviation(_ picture: Pixels) -> Double {
      var sum = 0.0
      for y in 10..<50 {
        for x in 100..<700 { sum += pow(Double(picture.bytes[(y * 1600 + x) * 3]) - 60, 2) }
      }
      return (sum / 24_000).squareRoot()
    }
    #expect(deviation(pixels) < 0.6 * deviation(noisy), "\(deviation(pixels)) of \(deviation(noisy))")
    func mean(_ x: Int) -> Double {
      var sum = 0.0
      for y in 0..<60 { sum += Double(pixels.bytes[(y * 1600 + x) * 3]) }
      return sum / 60
    }
    #expect(mean(799) < 66 && mean(800) > 184)
  }
}
