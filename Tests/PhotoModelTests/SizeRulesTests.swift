import PhotoModel
import Testing

@Suite("Size rules")
struct SizeRulesTests {
  struct Case: CustomTestStringConvertible {
    let testDescription: String
    let upright: PixelSize
    let request: ImageRequest
    let frame: PixelRect
    let scaled: PixelSize
    let window: PixelRect

    /// - Parameters:
    ///   - frame: where it is not the whole picture.
    ///   - offset: where the window lies in the scaled frame, if not at its origin.
    ///   - scaled: where the window is not all of it.
    init(
      _ name: String, _ width: Int, _ height: Int, _ target: (Int, Int)?, _ contentMode: ContentMode = .aspectFit,
      _ resizeMode: ResizeMode = .exact, rect: UnitRect? = nil, frame: (Int, Int, Int, Int)? = nil,
      scaled: (Int, Int)? = nil, offset: (Int, Int) = (0, 0), is output: (Int, Int)
    ) {
      testDescription = name
      upright = PixelSize(width: width, height: height)
      request = ImageRequest(
        targetSize: target.map { .size(PixelSize(width: $0.0, height: $0.1)) } ?? .maximum, contentMode: contentMode,
        resizeMode: resizeMode, normalizedCropRect: rect)
      self.frame = frame.map { PixelRect(x: $0.0, y: $0.1, width: $0.2, height: $0.3) } ?? PixelRect(upright)
      self.scaled = PixelSize(width: scaled?.0 ?? output.0, height: scaled?.1 ?? output.1)
      window = PixelRect(x: offset.0, y: offset.1, width: output.0, height: output.1)
    }
  }

  static let cases = [
    Case("fit: the width decides", 4000, 3000, (400, 400), is: (400, 300)),
    Case("fit: the height decides", 3000, 4000, (400, 400), is: (300, 400)),
    Case("fit: sides are rounded to nearest", 1001, 667, (400, 400), is: (400, 267)),
    Case("fit: a half is rounded up", 200, 101, (100, 100), is: (100, 51)),
    Case("fit: never less than one pixel", 10_000, 3, (100, 100), is: (100, 1)),
    Case("fit: nothing is enlarged", 300, 200, (400, 400), is: (300, 200)),
    Case("fit: the same size is the same size", 400, 300, (400, 300), is: (400, 300)),
    Case("fit: a target with one short side", 4000, 3000, (4000, 30), is: (40, 30)),
    Case(
      "fill: cropped at the sides", 4000, 3000, (300, 300), .aspectFill, scaled: (400, 300), offset: (50, 0),
      is: (300, 300)),
    Case(
      "fill: cropped above and below", 3000, 4000, (300, 300), .aspectFill, scaled: (300, 400), offset: (0, 50),
      is: (300, 300)),
    Case(
      "fill: an odd rest goes right", 4000, 3000, (200, 200), .aspectFill, scaled: (267, 200), offset: (33, 0),
      is: (200, 200)),
    Case(
      "fill: at the source's own scale", 1001, 600, (600, 600), .aspectFill, scaled: (1001, 600), offset: (200, 0),
      is: (600, 600)),
    Case(
      "fill: one side too small is cropped at its own scale", 1000, 200, (400, 400), .aspectFill, scaled: (1000, 200),
      offset: (400, 0), is: (200, 200)),
    Case(
      "fill: both sides too small", 100, 80, (400, 200), .aspectFill, scaled: (100, 80), offset: (0, 15), is: (100, 50)),
    Case("fill: the same aspect ratio needs no crop", 4000, 3000, (400, 300), .aspectFill, is: (400, 300)),
    Case("fast: the smallest eighth that covers the fit", 4000, 3000, (400, 400), .aspectFit, .fast, is: (500, 375)),
    Case("fast: just too large for an eighth", 4000, 3000, (501, 501), .aspectFit, .fast, is: (1000, 750)),
    Case("fast: fill is covered, not cropped", 4000, 3000, (400, 400), .aspectFill, .fast, is: (1000, 750)),
    Case("fast: the full size when asked for more", 4000, 3000, (5000, 5000), .aspectFit, .fast, is: (4000, 3000)),
    Case("none: the target is ignored", 4000, 3000, (10, 10), .aspectFill, .none, is: (4000, 3000)),
    Case("max: the resize mode is ignored", 4000, 3000, nil, .aspectFill, .fast, is: (4000, 3000)),
    Case(
      "crop: a quarter", 4000, 3000, nil, rect: UnitRect(x: 0.5, y: 0.5, width: 0.5, height: 0.5),
      frame: (2000, 1500, 2000, 1500), is: (2000, 1500)),
    Case(
      "crop: then the size rules", 4000, 3000, (200, 200), rect: UnitRect(x: 0.25, y: 0, width: 0.5, height: 1),
      frame: (1000, 0, 2000, 3000), is: (133, 200)),
    Case(
      "crop: then a centre crop inside it", 4000, 3000, (100, 100), .aspectFill,
      rect: UnitRect(x: 0, y: 0, width: 1, height: 0.5), frame: (0, 0, 4000, 1500), scaled: (267, 100), offset: (83, 0),
      is: (100, 100)),
    Case(
      "crop: at least one pixel", 10, 10, nil, rect: UnitRect(x: 0.999, y: 0.999, width: 0.001, height: 0.001),
      frame: (9, 9, 1, 1), is: (1, 1)),
  ]

  @Test("crop, scaled size and output rectangle of each case", arguments: cases)
  func table(_ row: Case) {
    let rules = SizeRules(row.request, upright: row.upright)
    #expect(rules.crop == row.frame)
    #expect(rules.scaled == row.scaled)
    #expect(rules.outputRect == row.window)
  }

  @Test("a picture that fills its target has exactly its size, but no side is enlarged")
  func filledTarget() {
    func output(_ width: Int, _ height: Int, rect: UnitRect? = nil) -> SizeRules {
      var request = ImageRequest(
        targetSize: .size(PixelSize(width: width, height: height)), normalizedCropRect: rect)
      request.fillsTarget = true
      return SizeRules(request, upright: PixelSize(width: 400, height: 300))
    }
    #expect(output(100, 200).outputRect == PixelRect(x: 0, y: 0, width: 100, height: 200))
    #expect(output(100, 500).output == PixelSize(width: 100, height: 300))
    let part = output(50, 40, rect: UnitRect(x: 0.5, y: 0, width: 0.5, height: 0.5))
    #expect(part.crop == PixelRect(x: 200, y: 0, width: 200, height: 150))
    #expect(part.scaled == PixelSize(width: 50, height: 40) && part.output == part.scaled)
  }

  @Test("the output of random requests is inside the picture and the target, not enlarged and not empty")
  func properties() {
    var generator = Lehmer(seed: 42)
    for _ in 0..<20_000 {
      let upright = PixelSize(width: generator.int(1...9000), height: generator.int(1...9000))
      let target = PixelSize(width: generator.int(1...2000), height: generator.int(1...2000))
      let request = ImageRequest(
        targetSize: .size(target), contentMode: generator.pick([.aspectFit, .aspectFill]),
        resizeMode: generator.pick([.exact, .fast, .none]))
      let rules = SizeRules(request, upright: upright)
      let (window, scaled, region) = (rules.outputRect, rules.scaled, rules.region)
      #expect(window.x >= 0 && window.y >= 0 && window.width >= 1 && window.height >= 1)
      #expect(window.x + window.width <= scaled.width && window.y + window.height <= scaled.height)
      #expect(scaled.width <= upright.width && scaled.height <= upright.height)
      #expect(region.x >= 0 && region.x + region.width <= Double(upright.width) + 1e-6)
      #expect(region.y >= 0 && region.y + region.height <= Double(upright.height) + 1e-6)
      if request.resizeMode == .exact {
        #expect(rules.output.width <= target.width && rules.output.height <= target.height)
      }
    }
  }
}

/// A small generator with a seed, so that a failure can be reproduced.
struct Lehmer {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 2 &+ 1 }

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 33
  }

  mutating func int(_ range: ClosedRange<Int>) -> Int { range.lowerBound + Int(next() % UInt64(range.count)) }

  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[int(0...elements.count - 1)] }
}
