import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// Adjusted pictures, compared with themselves at another size: each operation, and chains of them.
@Suite("Rendering adjustments")
struct AdjustmentRenderTests {
  private static let whole = ImageRequest(format: .png)
  private static let scene = Scene(seed: 7, grain: 6).pixels(width: 1600, height: 1200)
  private static let file = JPEGFile { $0.quality = 95 }.encoded(scene)

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
    let small = try renderAdjusted(Self.file, request(400, 400), one.operations)
    let full = try renderAdjusted(Self.file, Self.whole, one.operations)
    let scaled = try render(full.image.bytes, request(400, 400)).pixels
    #expect(abs(small.pixels.width - scaled.width) <= 1 && abs(small.pixels.height - scaled.height) <= 1)
    let same = try #require(scaled.width == small.pixels.width && scaled.height == small.pixels.height ? scaled : nil)
    let psnr = try #require(small.pixels.channels(3).psnr(against: same.channels(3)))
    #expect(psnr > 33, "\(psnr) dB")
    // Their radius is less than a pixel at this size.
    if one.operations.contains(where: \.readsNeighbours) { return }
    if let change = try? renderAdjusted(Self.file, request(400, 400), []).pixels, change.width == small.pixels.width,
      change.height == small.pixels.height
    {
      let difference = try #require(change.channels(3).meanDifference(from: small.pixels.channels(3)))
      #expect(difference > 0.05, "it changes nothing")
    }
  }

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
        let pixels = try renderAdjusted(file, asked, operations).pixels
        #expect(pixels.width > 0 && pixels.height > 0)
      }
    }
  }

  struct Part: CustomTestStringConvertible {
    let operations: [AdjustmentOperation]
    var rotation = Orientation.topLeft
    var testDescription: String { operations.map(\.type).joined(separator: ", ") + ", \(rotation)" }
  }

  static let parts: [Part] = [
    Part(operations: [.tone(.sharpness, 1)]),
    Part(operations: [.tone(.noiseReduction, 1)], rotation: .rightTop),
    Part(
      operations: [
        .tone(.noiseReduction, 0.8), .vignette(amount: 0.5, radius: 0.2), .tone(.sharpness, 1), .tone(.sharpness, 0.5),
      ], rotation: .topRight),
    Part(
      operations: [
        .crop(UnitRect(x: 0.1, y: 0.1, width: 0.8, height: 0.8)), .rotate(quarterTurns: 1), .tone(.sharpness, 1),
      ], rotation: .leftBottom),
  ]

  @Test("a part equals that part of the whole picture, also where operations read beyond its edges", arguments: parts)
  func partOfWhole(_ one: Part) throws {
    let original = PixelSize(width: 800, height: 600)
    let file = PNGFile(.rgb(depth: 8)).encoded(Scene(seed: 7, grain: 6).pixels(width: 800, height: 600))
    let adjusted = AdjustedGeometry(Adjustments(one.operations), of: original).size
    for scale in [1, 2] {
      let (width, height) = (adjusted.width / scale, adjusted.height / scale)
      /// The picture before the rotation, which is the last step.
      func picture(_ wanted: ImageRequest) throws -> Pixels {
        var wanted = wanted
        wanted.rotation = one.rotation
        return try renderAdjusted(file, wanted, one.operations).pixels.stored(orientation: one.rotation.rawValue)
      }
      let whole = try picture(request(width, height))
      // In the middle, and at the left and lower edges.
      for (x, y) in [(1, 1), (0, 2)] {
        let crop = UnitRect(x: Double(x) / 4, y: Double(y) / 4, width: 0.5, height: 0.5)
        let part = try picture(request(width / 2, height / 2, crop: crop))
        let expected = whole.cropped(x: x * width / 4, y: y * height / 4, width: width / 2, height: height / 2)
        #expect(part.largestDifference(from: expected) <= 1, "\(x) \(y) at 1/\(scale)")
      }
    }
  }

  @Test("a smaller picture that stands in for the full one shows the part too", arguments: [0.5, 0.1, 0.01])
  func partOfStandIn(_ side: Double) throws {
    let source = MemoryByteSource(JPEGFile().encoded(Scene(seed: 7).pixels(width: 40, height: 30)))
    let thumbnail = try ImageHeader.read(from: source, limits: CodecLimits())
    let header = try ImageHeader.read(from: MemoryByteSource(Self.file), limits: CodecLimits())
    var asked = Self.whole
    asked.normalizedCropRect = UnitRect(x: 0.3, y: 0.3, width: side, height: side)
    let wanted = header.sized(asked, Adjustments([.tone(.sharpness, 1)]))
    let plan = RenderPlanner().thumbnailPlan(thumbnail, content: nil, of: header, wanted)
    let renderer = try Renderer(plan, source: source, limits: CodecLimits(), stop: StopFlag())
    let image = try renderer.render()
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels
    #expect(pixels.width == max(1, Int(40 * side)) && pixels.height == max(1, Int(30 * side)))
    #expect(image.size == plan.outputSize)
  }

  @Test("a gray picture stays gray, and alpha is unchanged")
  func channels() throws {
    let scene = Scene(seed: 4).pixels(width: 60, height: 40)
    let all = ToneOperation.allCases.map { AdjustmentOperation.tone($0, 0.4) }
    let gray = try renderAdjusted(PNGFile(.gray(depth: 8)).encoded(scene), Self.whole, all)
    #expect(Pixels.decoded(gray.image.bytes)?.fileChannels == 1)
    let transparent = Self.withAlpha(scene) { UInt8($0 % 256) }
    let image = try renderAdjusted(PNGFile(.rgba(depth: 8)).encoded(transparent), Self.whole, all).image
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels
    let alphas = stride(from: 3, to: pixels.bytes.count, by: 4).map { pixels.bytes[$0] }
    #expect(alphas == stride(from: 3, to: transparent.bytes.count, by: 4).map { transparent.bytes[$0] })
  }

  @Test("a JPEG of a picture with alpha shows the adjusted picture over plain white", arguments: [false, true])
  func overWhite(_ isGray: Bool) throws {
    let scene = Scene(seed: 4).pixels(width: 90, height: 60)
    let transparent = Self.withAlpha(scene) { UInt8(min(255, $0 % 90 * 4)) }
    let file = PNGFile(isGray ? .grayAlpha(depth: 8) : .rgba(depth: 8)).encoded(transparent)
    let whole = ImageRequest(format: .jpeg, quality: 100)
    let lists: [[AdjustmentOperation]] = [
      [.tone(.exposure, -2)], [.tone(.contrast, 1), .vignette(amount: 1, radius: 0)],
      [.straighten(degrees: 5), .tone(.brightness, -1)],
    ]
    for operations in lists {
      let adjusted = try renderAdjusted(file, Self.whole, operations, keepsAlpha: true).pixels
      let colors = adjusted.channels - 1
      var expected = Pixels(width: adjusted.width, height: adjusted.height, channels: 3)
      for i in 0..<adjusted.width * adjusted.height {
        let from = i * adjusted.channels
        let alpha = Int(adjusted.bytes[from + colors])
        for c in 0..<3 {
          let value = Int(adjusted.bytes[from + min(c, colors - 1)])
          expected.bytes[i * 3 + c] = UInt8((value * alpha + 255 * (255 - alpha) + 127) / 255)
        }
      }
      let shown = try renderAdjusted(file, whole, operations).pixels
      let difference = try #require(shown.meanDifference(from: expected))
      #expect(difference < 2, "\(operations.map(\.type)): \(difference)")
    }
  }

  @Test("a picture in colour that stands in for a gray one gets none of the operations on colours")
  func grayStandIn() throws {
    let scene = Scene(seed: 4).pixels(width: 320, height: 240)
    let file = JPEGFile().encoded(Scene(seed: 4).pixels(width: 80, height: 60))
    func header(_ file: [UInt8]) throws -> ImageHeader {
      try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    }
    let (gray, small) = (try header(JPEGFile { $0.color = .gray }.encoded(scene)), try header(file))
    func frame(_ operations: [AdjustmentOperation]) throws -> [UInt8] {
      let wanted = gray.sized(request(60, 60), Adjustments(operations))
      let plan = RenderPlanner().thumbnailPlan(small, content: nil, of: gray, wanted)
      let renderer = try Renderer(plan, source: MemoryByteSource(file), limits: CodecLimits(), stop: StopFlag())
      return try renderer.render().bytes
    }
    let onColors: [AdjustmentOperation] = [
      .tone(.warmth, 1), .tone(.tint, 0.5), .tone(.saturation, -1), .tone(.vibrance, 1), .tone(.blackAndWhite, 1),
      .toneCurve(.red, Self.curve),
    ]
    let (plain, colored) = (try frame([]), try frame(onColors))
    #expect(plain == colored)
    let (bright, both) = (try frame([.tone(.exposure, 1)]), try frame([.tone(.exposure, 1)] + onColors))
    #expect(bright == both && bright != plain)
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
