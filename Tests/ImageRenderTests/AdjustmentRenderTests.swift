import Foundation
import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// Adjusted pictures, compared with formulas written out here, with pixels that were moved directly, and with themselves
/// at another size.
@Suite("Rendering adjustments")
struct AdjustmentRenderTests {
  private static func rendered(
    _ file: [UInt8], _ request: ImageRequest, _ operations: [AdjustmentOperation], keepsAlpha: Bool = false
  ) throws -> (image: RenderedImage, pixels: Pixels) {
    let source = MemoryByteSource(file)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    let plan = RenderPlanner().plan(header, header.sized(request, Adjustments(operations)))
    let renderer = try Renderer(plan, source: source, limits: CodecLimits(), stop: StopFlag())
    let image = try #require(try renderer.resume())
    let decoded = try #require(Pixels.decoded(image.bytes))
    #expect(image.size == PixelSize(width: decoded.pixels.width, height: decoded.pixels.height))
    #expect(image.size == plan.outputSize)
    return (image, keepsAlpha ? decoded.pixels : decoded.pixels.channels(3))
  }

  private static func png(_ pixels: Pixels) -> [UInt8] { PNGFile(.rgb(depth: 8)).encoded(pixels) }

  private static let whole = ImageRequest(format: .png)
  private static let scene = Scene(seed: 7, grain: 6).pixels(width: 1600, height: 1200)
  private static let file = JPEGFile { $0.quality = 95 }.encoded(scene)

  // MARK: Every size shows the same

  struct Consistent: CustomTestStringConvertible {
    let operations: [AdjustmentOperation]
    var testDescription: String { operations.map(\.type).joined(separator: ", ") }
  }

  private static let curve = ToneCurve([.init(0, 0.05), .init(0.3, 0.2), .init(0.7, 0.85), .init(1, 1)])!

  static let everyOperation: [Consistent] = {
    var all: [AdjustmentOperation] = []
    for tone in ToneOperation.allCases {
      for limit in [tone.range.lowerBound, tone.range.upperBound] where limit != 0 {
        all.append(.tone(tone, tone == .exposure ? limit / 5 : limit * 0.7))
      }
    }
    all.append(.crop(UnitRect(x: 0.1, y: 0.2, width: 0.6, height: 0.5)))
    all += [.straighten(degrees: 7), .straighten(degrees: -30), .rotate(quarterTurns: 1), .flip(.horizontal)]
    all.append(.perspective(Homography([0.8, 0.05, 0.1, 0.05, 0.8, 0.05, 0.1, 0.05, 1])))
    all += [.toneCurve(.rgb, curve), .toneCurve(.blue, curve)]
    all += [.vignette(amount: 0.8, radius: 0.3), .vignette(amount: -0.5, radius: 0)]
    let chain: [AdjustmentOperation] = [
      .vignette(amount: 1, radius: 0), .straighten(degrees: 5), .rotate(quarterTurns: 3),
      .crop(UnitRect(x: 0, y: 0.5, width: 0.5, height: 0.5)), .tone(.warmth, 0.5), .tone(.saturation, -0.4),
      .tone(.sharpness, 0.5),
    ]
    return all.map { Consistent(operations: [$0]) } + [Consistent(operations: chain)]
  }()

  @Test("at 400 pixels it shows what the full size shows when that is scaled to 400 pixels", arguments: everyOperation)
  func consistent(_ one: Consistent) throws {
    let small = try Self.rendered(Self.file, request(400, 400), one.operations)
    let full = try Self.rendered(Self.file, Self.whole, one.operations)
    let scaled = try render(full.image.bytes, request(400, 400)).pixels
    #expect(abs(small.pixels.width - scaled.width) <= 1 && abs(small.pixels.height - scaled.height) <= 1)
    let same = try #require(scaled.width == small.pixels.width && scaled.height == small.pixels.height ? scaled : nil)
    let psnr = try #require(small.pixels.channels(3).psnr(against: same.channels(3)))
    #expect(psnr > 33, "\(psnr) dB")
    // Their radius is less than a pixel at this size.
    if one.operations.contains(where: \.readsNeighbours) { return }
    if let change = try? Self.rendered(Self.file, request(400, 400), []).pixels, change.width == small.pixels.width,
      change.height == small.pixels.height
    {
      let difference = try #require(change.channels(3).meanDifference(from: small.pixels.channels(3)))
      #expect(difference > 0.05, "it changes nothing")
    }
  }

  // MARK: Geometry

  @Test("crops, turns and flips move pixels and change none of them, in every orientation", arguments: 1...8)
  func exactGeometry(_ number: Int) throws {
    let upright = Scene(seed: 2, grain: 30).pixels(width: 48, height: 32)
    let file = JPEGFile {
      $0.sampling = (1, 1)
      $0.exif = EXIFBlock { $0.orientation = number }
    }.encoded(upright.stored(orientation: number))
    let plain = try Self.rendered(file, Self.whole, []).pixels
    let rect = UnitRect(x: 0.25, y: 0.125, width: 0.5, height: 0.5)
    let cropped = plain.cropped(x: 12, y: 4, width: 24, height: 16)
    #expect(try Self.rendered(file, Self.whole, [.crop(rect)]).pixels.bytes == cropped.bytes)
    // Clockwise: the left column becomes the top row.
    let turned = cropped.mapped(width: 16, height: 24) { x, y in (y, 15 - x) }
    #expect(try Self.rendered(file, Self.whole, [.crop(rect), .rotate(quarterTurns: 1)]).pixels.bytes == turned.bytes)
    let flipped = turned.mapped(width: 16, height: 24) { x, y in (15 - x, y) }
    #expect(
      try Self.rendered(file, Self.whole, [.crop(rect), .rotate(quarterTurns: 1), .flip(.horizontal)]).pixels.bytes
        == flipped.bytes)
  }

  @Test("a crop of the request lies in the adjusted picture")
  func composedCrop() throws {
    let upright = Scene(seed: 2, grain: 30).pixels(width: 64, height: 48)
    let half = UnitRect(x: 0.5, y: 0.5, width: 0.5, height: 0.5)
    var request = Self.whole
    request.normalizedCropRect = half
    let pixels = try Self.rendered(Self.png(upright), request, [.crop(half), .flip(.vertical)]).pixels
    let expected = upright.cropped(x: 48, y: 24, width: 16, height: 12).mapped(width: 16, height: 12) { ($0, 11 - $1) }
    #expect(pixels.bytes == expected.bytes)
  }

  @Test("straightening turns the picture clockwise about its centre")
  func straightened() throws {
    // A smooth picture whose value is known at every point.
    func value(_ x: Double, _ y: Double) -> Double { 128 + 50 * sin(x / 23) + 40 * cos(y / 17) }
    var picture = Pixels(width: 240, height: 160, channels: 3)
    for y in 0..<160 {
      for x in 0..<240 {
        for c in 0..<3 {
          picture.bytes[(y * 240 + x) * 3 + c] = UInt8(value(Double(x) + 0.5, Double(y) + 0.5).rounded())
        }
      }
    }
    for degrees in [-20.0, 3, 45] {
      let pixels = try Self.rendered(Self.png(picture), Self.whole, [.straighten(degrees: degrees)]).pixels
      let (sine, cosine) = (sin(degrees * .pi / 180), cos(degrees * .pi / 180))
      var worst = 0.0
      for y in 0..<pixels.height {
        for x in 0..<pixels.width {
          let (dx, dy) = (Double(x) + 0.5 - Double(pixels.width) / 2, Double(y) + 0.5 - Double(pixels.height) / 2)
          let expected = value(120 + cosine * dx + sine * dy, 80 - sine * dx + cosine * dy)
          worst = max(worst, abs(expected - Double(pixels.bytes[(y * pixels.width + x) * 3])))
        }
      }
      #expect(worst < 4, "\(degrees): \(worst)")
    }
  }

  @Test("straightening mixes no colour of transparent pixels into opaque ones", arguments: [false, true])
  func straightenedAlpha(_ isGray: Bool) throws {
    var picture = Pixels(width: 120, height: 90, channels: 4)
    for y in 30..<60 {
      for x in 40..<80 {
        for c in 0..<4 { picture.bytes[(y * 120 + x) * 4 + c] = c == 3 ? 255 : 200 }
      }
    }
    let file = PNGFile(isGray ? .grayAlpha(depth: 8) : .rgba(depth: 8)).encoded(picture)
    let pixels = try Self.rendered(file, Self.whole, [.straighten(degrees: 7)], keepsAlpha: true).pixels
    let alpha = pixels.channels - 1
    var counts = (edge: 0, opaque: 0)
    for at in stride(from: 0, to: pixels.bytes.count, by: pixels.channels) where pixels.bytes[at + alpha] > 0 {
      if pixels.bytes[at + alpha] == 255 { counts.opaque += 1 } else { counts.edge += 1 }
      for c in 0..<alpha { #expect((199...201).contains(pixels.bytes[at + c]), "alpha \(pixels.bytes[at + alpha])") }
    }
    #expect(counts.edge > 60 && counts.opaque > 800, "\(counts)")
  }

  @Test(
    "a very large reduction keeps the picture's colour and its opacity",
    arguments: [(40_000, 1), (40_000, 2), (12_000, 2)])
  func largeReduction(_ width: Int, _ side: Int) throws {
    var picture = Pixels(width: width, height: 2, channels: 4)
    for at in picture.bytes.indices { picture.bytes[at] = at % 4 == 3 ? 255 : 128 }
    var request = Self.whole
    request.targetSize = .size(PixelSize(width: side, height: side))
    let pixels = try Self.rendered(PNGFile(.rgba(depth: 8)).encoded(picture), request, [], keepsAlpha: true).pixels
    for (at, value) in pixels.bytes.enumerated() {
      #expect(value == (pixels.channels == 4 && at % 4 == 3 ? 255 : 128), "\(pixels.bytes)")
    }
  }

  @Test("a perspective shows each point that its matrix maps to")
  func perspective() throws {
    func value(_ x: Double, _ y: Double) -> Double { 128 + 60 * sin(x * 9) + 50 * cos(y * 7) }
    var picture = Pixels(width: 200, height: 200, channels: 3)
    for y in 0..<200 {
      for x in 0..<200 {
        let level = UInt8(value((Double(x) + 0.5) / 200, (Double(y) + 0.5) / 200).rounded())
        for c in 0..<3 { picture.bytes[(y * 200 + x) * 3 + c] = level }
      }
    }
    let map = Homography([0.7, 0.1, 0.1, 0.05, 0.8, 0.1, 0.2, -0.1, 1])
    let pixels = try Self.rendered(Self.png(picture), Self.whole, [.perspective(map)]).pixels
    var worst = 0.0
    for y in 0..<pixels.height {
      for x in 0..<pixels.width {
        let point = map.point((Double(x) + 0.5) / Double(pixels.width), (Double(y) + 0.5) / Double(pixels.height))
        let level = Double(pixels.bytes[(y * pixels.width + x) * 3])
        worst = max(worst, abs(value(point.x, point.y) - level))
      }
    }
    #expect(worst < 4, "\(worst)")
  }

  // MARK: Tones

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
    let pixels = try Self.rendered(Self.png(Self.colors), Self.whole, one.operations).pixels
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

  @Test("a vignette darkens the corners by two stops at most, and nothing inside its radius")
  func vignette() throws {
    let flat = Pixels(width: 201, height: 101, channels: 3, bytes: [UInt8](repeating: 200, count: 201 * 101 * 3))
    let pixels = try Self.rendered(Self.png(flat), Self.whole, [.vignette(amount: 1, radius: 0.5)]).pixels
    func level(_ x: Int, _ y: Int) -> Double { Double(pixels.bytes[(y * 201 + x) * 3]) }
    #expect(level(100, 50) == 200 && level(130, 60) == 200)
    #expect(abs(level(0, 0) - 255 * Self.encode(Self.decode(200 / 255.0) / 4)) < 4)
    #expect(level(0, 0) == level(200, 100) && level(0, 100) == level(200, 0))
    // A crop after it keeps where it was.
    let part = try Self.rendered(
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
    let pixels = try Self.rendered(Self.png(edge), Self.whole, [.tone(.sharpness, 1)]).pixels
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
    let pixels = try Self.rendered(Self.png(noisy), Self.whole, [.tone(.noiseReduction, 0.6)]).pixels
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

  // MARK: Any chain

  @Test(
    "random chains make a picture of the planned size at every size",
    arguments: Sampling.cases(12, of: 0..<120, "adjustments"))
  func randomChains(_ seed: Int) throws {
    var dice = SplitMix(state: UInt64(seed))
    let count = Int.random(in: 1...12, using: &dice)
    var operations: [AdjustmentOperation] = []
    while operations.count < count {
      func unit() -> Double { Double.random(in: 0...1, using: &dice) }
      switch Int.random(in: 0..<9, using: &dice) {
      case 0:
        let (x, y) = (0.8 * unit(), 0.8 * unit())
        operations.append(
          .crop(UnitRect(x: x, y: y, width: max(0.01, (1 - x) * unit()), height: max(0.01, (1 - y) * unit()))))
      case 1: operations.append(.straighten(degrees: unit() * 90 - 45))
      case 2: operations.append(.rotate(quarterTurns: Int.random(in: 1...3, using: &dice)))
      case 3: operations.append(.flip(unit() < 0.5 ? .horizontal : .vertical))
      case 4:
        operations.append(
          .perspective(
            Homography([
              0.6 + 0.2 * unit(), 0.1 * unit(), 0.1, 0.1 * unit(), 0.6 + 0.2 * unit(), 0.1, 0.2 * unit(), 0.2 * unit(),
              1,
            ])))
      case 5: operations.append(.vignette(amount: 2 * unit() - 1, radius: unit()))
      case 6:
        operations.append(
          .toneCurve(AdjustmentOperation.CurveChannel.allCases.randomElement(using: &dice)!, Self.curve))
      default:
        let tone = ToneOperation.allCases.randomElement(using: &dice)!
        operations.append(.tone(tone, Double.random(in: tone.range, using: &dice)))
      }
    }
    let scene = Scene(seed: seed).pixels(width: 160, height: 120)
    let orientation = seed % 8 + 1
    let kinds: [[UInt8]] = [
      JPEGFile { $0.exif = EXIFBlock { $0.orientation = orientation } }.encoded(scene.stored(orientation: orientation)),
      JPEGFile { $0.color = .gray }.encoded(scene.channels(1)),
      PNGFile(.rgba(depth: 8)).encoded(Self.withAlpha(scene) { UInt8($0 % 256) }),
    ]
    for file in kinds {
      for asked in [request(50, 50, .aspectFill), request(90, 33), Self.whole] {
        let pixels = try Self.rendered(file, asked, operations).pixels
        #expect(pixels.width > 0 && pixels.height > 0)
      }
    }
  }

  @Test("a gray picture stays gray, and alpha is unchanged")
  func channels() throws {
    let scene = Scene(seed: 4).pixels(width: 60, height: 40)
    let all = ToneOperation.allCases.map { AdjustmentOperation.tone($0, 0.4) }
    let gray = try Self.rendered(PNGFile(.gray(depth: 8)).encoded(scene), Self.whole, all)
    #expect(Pixels.decoded(gray.image.bytes)?.fileChannels == 1)
    let transparent = Self.withAlpha(scene) { UInt8($0 % 256) }
    let image = try Self.rendered(PNGFile(.rgba(depth: 8)).encoded(transparent), Self.whole, all).image
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels
    let alphas = stride(from: 3, to: pixels.bytes.count, by: 4).map { pixels.bytes[$0] }
    #expect(alphas == stride(from: 3, to: transparent.bytes.count, by: 4).map { transparent.bytes[$0] })
  }

  private static func withAlpha(_ pixels: Pixels, _ alpha: (Int) -> UInt8) -> Pixels {
    var out = Pixels(width: pixels.width, height: pixels.height, channels: 4)
    for i in 0..<pixels.width * pixels.height {
      for c in 0..<3 { out.bytes[i * 4 + c] = pixels.bytes[i * 3 + c] }
      out.bytes[i * 4 + 3] = alpha(i)
    }
    return out
  }
}

extension AdjustmentOperation {
  fileprivate var readsNeighbours: Bool { if case .tone(let tone, _) = self { tone.readsNeighbours } else { false } }
}

/// SplitMix64, by Sebastiano Vigna.
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
    return z ^ z >> 31
  }
}
