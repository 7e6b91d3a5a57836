import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

@Suite("RAW files are rendered by their previews")
struct RAWRenderTests {
  private static let planner = RenderPlanner()

  private static func jpeg(_ width: Int, _ height: Int, _ change: (inout JPEGFile) -> Void = { _ in }) -> [UInt8] {
    JPEGFile(change).encoded(Scene(seed: 5).pixels(width: width, height: height))
  }

  /// A CR3 of 1800x1200, as stored, with previews of 150x100, 600x400 and, as many cameras do it, without a few rows
  /// and columns of the picture.
  private static let file = CR3File {
    ($0.width, $0.height, $0.details.orientation) = (1800, 1200, 6)
    ($0.thumbnail, $0.preview, $0.sample) = (jpeg(150, 100), jpeg(600, 400), jpeg(1792, 1192))
  }.bytes

  private func header(_ bytes: [UInt8]) throws(CodecError) -> ImageHeader {
    try ImageHeader.read(from: MemoryByteSource(bytes), limits: CodecLimits())
  }

  private func render(_ bytes: [UInt8], _ plan: RenderPlan) throws -> RenderedImage {
    let renderer = try Renderer(plan, source: MemoryByteSource(bytes), limits: CodecLimits(), stop: StopFlag())
    return try renderer.render()
  }

  private static let middle = UnitRect(x: 0.25, y: 0.25, width: 0.5, height: 0.5)

  /// The width of the chosen preview, and the size of the frame. The upright picture is 1200x1800.
  static let choices: [(name: String, request: ImageRequest, preview: Int, size: PixelSize)] = [
    ("a tiny frame", request(60, 60), 150, PixelSize(width: 40, height: 60)),
    ("all pixels of the thumbnail", request(150, 150), 150, PixelSize(width: 100, height: 150)),
    ("one pixel more", request(152, 152), 600, PixelSize(width: 101, height: 152)),
    ("a square", request(100, 100, .aspectFill), 150, PixelSize(width: 100, height: 100)),
    ("a larger square", request(101, 101, .aspectFill), 600, PixelSize(width: 101, height: 101)),
    ("the middle", request(60, 60, crop: middle), 150, PixelSize(width: 40, height: 60)),
    ("the middle, larger", request(300, 300, crop: middle), 600, PixelSize(width: 200, height: 300)),
    ("the middle, at full size", request(900, 900, crop: middle), 1792, PixelSize(width: 596, height: 893)),
    ("a large frame", request(1600, 1600), 1792, PixelSize(width: 1067, height: 1600)),
    ("more than there is", request(1800, 1800), 1792, PixelSize(width: 1192, height: 1788)),
    ("the largest size", ImageRequest(format: .jpeg), 1792, PixelSize(width: 1192, height: 1788)),
  ]

  @Test("the smallest preview with the requested pixels is used, and nothing is enlarged", arguments: choices.indices)
  func choice(_ i: Int) throws {
    let (name, request, preview, size) = Self.choices[i]
    let header = try header(Self.file)
    let plan = Self.planner.plan(header, request)
    #expect(plan.header.storedSize.width == preview, "\(name)")
    #expect(abs(plan.outputSize.width - size.width) <= 1 && abs(plan.outputSize.height - size.height) <= 1, "\(name)")
    let isWhole = plan.outputSize == header.sized(request).sizes.output
    #expect(Self.planner.hasPixels(header, header.sized(request)) == isWhole, "\(name)")
    #expect(isWhole == (size.height < 893 || size.height == 1600), "\(name)")
    let image = try render(Self.file, plan)
    #expect(image.size == plan.outputSize && !image.isIncomplete && image.warnings.isEmpty, "\(name)")
  }

  @Test(
    "a frame has the bytes of a frame from the preview as a file of its own",
    arguments: [OutputFormat.jpeg, .png], [ColorSpace.preserve, .srgb])
  func likeJPEG(_ format: OutputFormat, _ space: ColorSpace) throws {
    let exif = EXIFBlock { ($0.orientation, $0.colorSpace, $0.interoperabilityIndex) = (6, 65_535, "R03") }
    // The camera's setting is known from the RAW file for one, from its own EXIF block for the other.
    let stored = Self.jpeg(600, 400)
    let alone = Self.jpeg(600, 400) { $0.exif = exif }
    let raw = CR3File {
      ($0.width, $0.height, $0.details.orientation, $0.sample) = (600, 400, 6, stored)
      ($0.details.colorSpace, $0.details.interoperabilityIndex) = (65_535, "R03")
    }.bytes
    for (width, height) in [(600, 600), (200, 200), (70, 70)] {
      var request = request(width, height, .aspectFill, format)
      request.colorSpace = space
      let one = try render(raw, Self.planner.plan(try header(raw), request))
      let other = try render(alone, Self.planner.plan(try header(alone), request))
      let isEqual = one.bytes == other.bytes
      #expect(isEqual && one.size == other.size && one.decodedEighths == other.decodedEighths, "\(width)")
    }
  }

  @Test("the picture is turned upright by the RAW file's orientation", arguments: 1...8)
  func orientation(_ orientation: Int) throws {
    let upright = Pixels.orientationCard(width: 640, height: 480)
    let stored = upright.stored(orientation: orientation)
    let preview = JPEGFile { $0.exif = EXIFBlock { $0.orientation = 1 } }.encoded(stored)
    let file = CR3File {
      ($0.width, $0.height) = (stored.width, stored.height)
      ($0.details.orientation, $0.sample) = (orientation, preview)
    }.bytes
    let plan = Self.planner.plan(try header(file), request(200, 200))
    let image = try render(file, plan)
    #expect(image.size == PixelSize(width: 200, height: 150))
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels.channels(3)
    #expect(try #require(pixels.meanDifference(from: upright.averaged(width: 200, height: 150))) < 6)
  }

  @Test("requests share a decode only if they use the same preview; optional pictures only need its pixels")
  func shared() throws {
    let header = try header(Self.file)
    func widths(_ requests: [Int], extras: [Int] = []) -> (preview: Int, members: [Int]) {
      let plan = Self.planner.sharedPlan(
        header, requests.map { header.sized(request($0, $0, .aspectFit, .jpeg)) },
        extras: extras.map { header.sized(request($0, $0, .aspectFit, .jpeg)) })
      return (plan.header.storedSize.width, plan.members.map(\.requestIndex))
    }
    #expect(widths([400, 500]) == (600, [0, 1]))
    #expect(widths([400, 100]) == (600, [0]))
    #expect(widths([100, 400]) == (150, [0]))
    #expect(widths([600], extras: [100]) == (600, [0, 1]))
    #expect(widths([100], extras: [400, 120]) == (150, [0, 2]))
  }

  @Test(
    "a degraded frame is made from a smaller preview than the final frame",
    arguments: [(60, nil), (400, 150), (1600, 600)] as [(Int, Int?)])
  func degraded(_ side: Int, _ expected: Int?) throws {
    let (header, source) = (try header(Self.file), MemoryByteSource(Self.file))
    let wanted = header.sized(request(side, side))
    let limits = CodecLimits()
    let thumbnail = EmbeddedThumbnail.best(for: wanted, of: header, in: source, limits: limits)
    let frame = try thumbnail?.render(for: wanted, of: header, in: source, limits: limits, stop: StopFlag())
    // The thumbnail's longer side is the frame's height, because the picture is turned.
    #expect(frame.map { abs($0.size.height - (expected ?? 0)) <= 1 } == expected.map { _ in true })
  }

  @Test("a placeholder's pixels come from the smallest preview that is large enough")
  func pixels() throws {
    let plan = Self.planner.pixelPlan(try header(Self.file), side: 32)
    #expect(plan.header.storedSize.width == 150 && plan.outputSize.height <= 32 && plan.outputSize.height >= 16)
    let larger = Self.planner.pixelPlan(try header(Self.file), side: 300)
    #expect(larger.header.storedSize.width == 600)
  }

  @Test("a truncated preview gives the part that is there")
  func truncated() throws {
    let whole = Self.jpeg(600, 400)
    let file = CR3File { ($0.width, $0.height, $0.sample) = (600, 400, Array(whole.prefix(whole.count / 2))) }.bytes
    let image = try render(file, Self.planner.plan(try header(file), request(300, 300)))
    #expect(image.isIncomplete)
  }
}
