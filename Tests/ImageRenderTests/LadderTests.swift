import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// Compares frames from a rung of the derivative ladder with frames from the original.
@Suite("The derivative ladder")
struct LadderTests {
  private static let ladder = DerivativeLadder.standard
  private static let upright = PixelSize(width: 1400, height: 1050)

  private static func header(_ file: [UInt8]) throws -> ImageHeader {
    try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
  }

  /// The rung's file, and the size of the original picture.
  private static func made(_ rung: DerivativeLadder.Rung, of file: [UInt8]) throws -> (
    file: [UInt8], upright: PixelSize
  ) {
    let header = try header(file)
    let image = try render(file, ladder.request(for: rung, of: header.uprightSize, hasAlpha: header.hasAlpha)).image
    return (image.bytes, header.uprightSize)
  }

  private static func frame(_ derivative: [UInt8], _ upright: PixelSize, _ request: ImageRequest) throws
    -> RenderedImage
  {
    let plan = RenderPlanner().derivativePlan(try header(derivative), SizedRequest(request, upright: upright))
    let renderer = try Renderer(plan, source: MemoryByteSource(derivative), limits: CodecLimits(), stop: StopFlag())
    return try renderer.render()
  }

  struct Choice: CustomTestStringConvertible {
    let testDescription: String
    var upright = PixelSize(width: 4000, height: 3000)
    let request: ImageRequest
    var hasAlpha = false
    let side: Int?
  }

  private static func quality(_ quality: Int) -> ImageRequest {
    ImageRequest(targetSize: .size(PixelSize(width: 200, height: 200)), format: .jpeg, quality: quality)
  }

  static let choices = [
    Choice(testDescription: "a thumbnail", request: request(100, 100, .aspectFit, .jpeg), side: 250),
    Choice(testDescription: "the largest fit from rung 250", request: request(267, 267, .aspectFit, .jpeg), side: 250),
    Choice(testDescription: "a pixel larger needs rung 500", request: request(268, 268, .aspectFit, .jpeg), side: 500),
    Choice(
      testDescription: "the largest square from rung 250", request: request(200, 200, .aspectFill, .jpeg), side: 250),
    Choice(
      testDescription: "a pixel larger square needs rung 500", request: request(201, 201, .aspectFill, .jpeg), side: 500
    ),
    Choice(
      testDescription: "the largest square from rung 500", request: request(400, 400, .aspectFill, .jpeg), side: 500),
    Choice(
      testDescription: "a square too large for any rung", request: request(401, 401, .aspectFill, .jpeg), side: nil),
    Choice(
      testDescription: "the largest square of a wide picture", upright: PixelSize(width: 5312, height: 2988),
      request: request(400, 400, .aspectFill, .jpeg), side: 500),
    Choice(
      testDescription: "the largest square from rung 250 of a portrait", upright: PixelSize(width: 3000, height: 4500),
      request: request(200, 200, .aspectFill, .jpeg), side: 250),
    Choice(testDescription: "the largest fit from rung 500", request: request(533, 533, .aspectFit, .jpeg), side: 500),
    Choice(testDescription: "a fit too large for any rung", request: request(534, 534, .aspectFit, .jpeg), side: nil),
    Choice(
      testDescription: "a rung's own size needs more pixels than the rung has",
      request: request(667, 500, .aspectFit, .jpeg), side: nil),
    Choice(testDescription: "the maximum size", request: ImageRequest(format: .jpeg), side: nil),
    Choice(
      testDescription: "a crop of half the sides, small",
      request: request(100, 100, .aspectFit, .jpeg, crop: UnitRect(x: 0.5, y: 0, width: 0.5, height: 0.5)), side: 250),
    Choice(
      testDescription: "a crop of half the sides, larger",
      request: request(200, 200, .aspectFit, .jpeg, crop: UnitRect(x: 0.5, y: 0, width: 0.5, height: 0.5)), side: 500),
    Choice(
      testDescription: "a crop that no rung resolves",
      request: request(200, 200, .aspectFit, .jpeg, crop: UnitRect(x: 0.5, y: 0, width: 0.2, height: 0.2)), side: nil),
    Choice(
      testDescription: "a panorama with aspectFill", upright: PixelSize(width: 9000, height: 1500),
      request: request(100, 100, .aspectFill, .jpeg), side: 500),
    Choice(
      testDescription: "a panorama's rung is limited by its longer side", upright: PixelSize(width: 9000, height: 1500),
      request: request(200, 200, .aspectFill, .jpeg), side: nil),
    Choice(
      testDescription: "a small original has only the small rung", upright: PixelSize(width: 800, height: 600),
      request: request(100, 100, .aspectFit, .jpeg), side: 250),
    Choice(
      testDescription: "a fit too large for a small original's rung", upright: PixelSize(width: 800, height: 600),
      request: request(300, 300, .aspectFit, .jpeg), side: nil),
    Choice(
      testDescription: "an original hardly larger than a rung has none", upright: PixelSize(width: 500, height: 400),
      request: request(100, 100, .aspectFit, .jpeg), side: nil),
    Choice(testDescription: "the usual quality", request: quality(82), side: 250),
    Choice(testDescription: "better quality needs the larger rung", request: quality(83), side: 500),
    Choice(testDescription: "the best quality from a rung", request: quality(90), side: 500),
    Choice(testDescription: "better quality than any rung", request: quality(91), side: nil),
    Choice(testDescription: "a PNG from an original without alpha", request: request(100, 100), side: nil),
    Choice(testDescription: "a PNG with alpha", request: request(100, 100), hasAlpha: true, side: 250),
    Choice(
      testDescription: "a JPEG from an original with alpha", request: request(100, 100, .aspectFit, .jpeg),
      hasAlpha: true,
      side: 250),
  ]

  @Test("the smallest suitable rung is chosen, or none", arguments: choices)
  func choice(_ one: Choice) {
    let rung = Self.ladder.rung(for: SizedRequest(one.request, upright: one.upright), hasAlpha: one.hasAlpha)
    #expect(rung?.side == one.side)
  }

  @Test(
    "a rung of a phone photograph needs only a small DCT scale",
    arguments: [
      (4000, 3000, [1, 2]), (4032, 3024, [1, 2]), (3024, 4032, [1, 2]), (6000, 4000, [1, 2]), (8064, 6048, [1, 1]),
    ])
  func scales(_ width: Int, _ height: Int, _ eighths: [Int]) {
    let upright = PixelSize(width: width, height: height)
    let rungs = Self.ladder.rungs(of: upright).map { Self.ladder.request(for: $0, of: upright, hasAlpha: false) }
    #expect(rungs.map { RenderPlanner.eighths(SizeRules($0, upright: upright), scalesDecodes: true) } == eighths)
  }

  @Test(
    "a frame from a rung has the same crop, size and orientation as from the original, and nearly the same pixels",
    arguments: 1...8, [false, true])
  func frames(_ orientation: Int, _ hasAlpha: Bool) throws {
    var card = Pixels.orientationCard(width: Self.upright.width, height: Self.upright.height)
    if hasAlpha {
      var clear = Pixels(width: card.width, height: card.height, channels: 4)
      for i in 0..<card.width * card.height {
        let isFaint = i % card.width < 500 && i / card.width < 300
        clear.bytes.replaceSubrange(i * 4..<i * 4 + 4, with: card.bytes[i * 3..<i * 3 + 3] + [isFaint ? 60 : 255])
      }
      card = clear
    }
    let stored = card.stored(orientation: orientation)
    let exif = EXIFBlock { $0.orientation = orientation }
    let file =
      hasAlpha
      ? PNGFile(.rgba(depth: 8)) { $0.chunks = [PNGChunk("eXIf", Array(exif.bytes.dropFirst(6)))] }.encoded(stored)
      : JPEGFile {
        $0.quality = 95
        $0.exif = exif
      }.encoded(stored)
    let format: OutputFormat = hasAlpha ? .png : .jpeg
    // A PNG needs a larger rung.
    let side = hasAlpha ? 1 : 2
    for wish in [
      request(100 * side, 100 * side, .aspectFit, format), request(140 * side, 120 * side, .aspectFill, format),
      request(
        75 * side, 75 * side, .aspectFit, format, crop: UnitRect(x: 0.25, y: 0.1, width: 0.5, height: 0.6)),
    ] {
      let rung = try #require(
        Self.ladder.rung(for: SizedRequest(wish, upright: Self.upright), hasAlpha: hasAlpha))
      let (derivative, upright) = try Self.made(rung, of: file)
      #expect(upright == Self.upright)
      #expect(try Self.header(derivative).hasAlpha == hasAlpha)
      let made = try Self.frame(derivative, upright, wish)
      let direct = try render(file, wish)
      #expect(made.size == direct.image.size)
      let pixels = try #require(Pixels.decoded(made.bytes)).pixels
      #expect(try #require(pixels.meanDifference(from: direct.pixels)) < 1.5, "\(wish)")
    }
  }

  @Test("a rung carries the original's profile, and frames are converted from it", arguments: ColorSpace.allCases)
  func colors(_ colorSpace: ColorSpace) throws {
    let scene = Scene(seed: 6, grain: 2).pixels(width: 1100, height: 800)
    let file = JPEGFile { $0.profile = ICCFile.displayP3 }.encoded(scene)
    let (derivative, upright) = try Self.made(DerivativeLadder.Rung(side: 500), of: file)
    #expect(ICCFile.embedded(in: derivative) == ICCFile.displayP3)
    var wish = request(300, 300, .aspectFit, .jpeg)
    wish.colorSpace = colorSpace
    let made = try Self.frame(derivative, upright, wish)
    let direct = try render(file, wish)
    #expect(ICCFile.embedded(in: made.bytes) == (colorSpace == .preserve ? ICCFile.displayP3 : nil))
    let pixels = try #require(Pixels.decoded(made.bytes)).pixels
    #expect(try #require(pixels.meanDifference(from: direct.pixels)) < 2.5)
  }

  @Test("a frame larger than its rung has the rung's pixels and the requested shape")
  func degraded() throws {
    let scene = Scene(seed: 6, grain: 2).pixels(width: 1400, height: 1050)
    let file = JPEGFile { _ in }.encoded(scene)
    let (derivative, upright) = try Self.made(DerivativeLadder.Rung(side: 250), of: file)
    let whole = try Self.frame(derivative, upright, request(800, 800, .aspectFit, .jpeg))
    #expect(whole.size == PixelSize(width: 333, height: 250))
    let square = try Self.frame(derivative, upright, request(700, 700, .aspectFill, .png))
    #expect(square.size == PixelSize(width: 250, height: 250))
    let pixels = try #require(Pixels.decoded(square.bytes)).pixels.channels(3)
    let middle = scene.cropped(x: 175, y: 0, width: 1050, height: 1050).averaged(width: 250, height: 250)
    #expect(try #require(pixels.meanDifference(from: middle)) < 4)
  }

  @Test("a degraded frame uses the smallest rung with enough pixels, else the largest")
  func degradedChoice() {
    let upright = PixelSize(width: 4000, height: 3000)
    let all = Self.ladder.rungs(of: upright)
    #expect(all.map(\.side) == [250, 500])
    func side(_ target: Int, among rungs: [DerivativeLadder.Rung]) -> Int? {
      let wanted = SizedRequest(request(target, target, .aspectFit, .png), upright: upright)
      return Self.ladder.degradedRung(among: rungs, for: wanted)?.side
    }
    #expect(side(333, among: all) == 250)
    #expect(side(334, among: all) == 500)
    #expect(side(3000, among: all.reversed()) == 500)
    #expect(side(3000, among: [all[0]]) == 250)
    #expect(side(3000, among: []) == nil)
  }

  @Test("a rung's bytes are sent unchanged only for the whole picture in its own format and colours")
  func asItIs() throws {
    let scene = Scene(seed: 6, grain: 2).pixels(width: 1400, height: 1050)
    func rung(_ profile: [UInt8]?) throws -> ImageHeader {
      let file = JPEGFile { $0.profile = profile }.encoded(scene)
      return try Self.header(Self.made(DerivativeLadder.Rung(side: 500), of: file).file)
    }
    let (plain, described) = (try rung(nil), try rung(ICCFile.displayP3))
    func serves(_ header: ImageHeader, _ request: ImageRequest) -> Bool {
      DerivativeLadder.canServeUnchanged(header, for: SizedRequest(request, upright: Self.upright))
    }
    var converted = request(800, 800, .aspectFit, .jpeg)
    converted.colorSpace = .srgb
    #expect(serves(plain, request(800, 800, .aspectFit, .jpeg)))
    #expect(serves(plain, request(667, 667, .aspectFit, .jpeg)))
    #expect(serves(plain, ImageRequest(format: .jpeg)))
    #expect(serves(plain, converted))
    #expect(serves(described, request(800, 800, .aspectFit, .jpeg)))
    #expect(!serves(described, converted))
    #expect(!serves(plain, request(666, 666, .aspectFit, .jpeg)), "larger than the final frame")
    #expect(!serves(plain, request(800, 800, .aspectFill, .jpeg)), "cropped")
    #expect(!serves(plain, request(800, 800, .aspectFit, .png)))
    let narrow = try Self.header(JPEGFile { _ in }.encoded(Pixels(width: 500, height: 1, channels: 3)))
    let whole = SizedRequest(ImageRequest(), upright: PixelSize(width: 5000, height: 2))
    #expect(!DerivativeLadder.canServeUnchanged(narrow, for: whole), "of another aspect ratio")
    #expect(
      !serves(plain, request(800, 800, .aspectFit, .jpeg, crop: UnitRect(x: 0, y: 0, width: 0.9, height: 0.9))))
  }
}
