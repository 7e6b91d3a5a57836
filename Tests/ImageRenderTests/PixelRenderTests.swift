import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Rendering to pixels")
struct PixelRenderTests {
  private static let side = 100

  private static func pixels(_ file: [UInt8], side: Int = side) throws -> Pixels {
    let source = MemoryByteSource(file)
    let limits = CodecLimits()
    let plan = RenderPlanner().pixelPlan(try ImageHeader.read(from: source, limits: limits), side: side)
    return pixels(
      try Renderer.pixels(
        plan, source: source, transforms: ColorTransforms(capacityBytes: 0), limits: limits, stop: StopFlag()))
  }

  private static func thumbnail(_ file: [UInt8], side: Int = side) throws -> Pixels? {
    let source = MemoryByteSource(file)
    let limits = CodecLimits()
    let header = try ImageHeader.read(from: source, limits: limits)
    let request = ImageRequest(targetSize: .size(PixelSize(width: side, height: side)))
    let thumbnail = EmbeddedThumbnail.best(for: header.sized(request), of: header, in: source, limits: limits)
    return try thumbnail?.pixels(
      side: side, of: header, in: source, transforms: ColorTransforms(capacityBytes: 0), limits: limits,
      stop: StopFlag()
    ).map(pixels)
  }

  private static func pixels(_ rendered: RenderedPixels) -> Pixels {
    Pixels(width: rendered.size.width, height: rendered.size.height, channels: 4, bytes: rendered.rgba)
  }

  @Test("pixels are upright in every orientation", arguments: 1...8)
  func upright(_ orientation: Int) throws {
    let card = Pixels.orientationCard(width: 640, height: 480)
    let file = JPEGFile { $0.exif = EXIFBlock { $0.orientation = orientation } }
      .encoded(card.stored(orientation: orientation))
    let pixels = try Self.pixels(file)
    #expect(pixels.width == 80 && pixels.height == 60)
    #expect(try #require(pixels.channels(3).meanDifference(from: card.averaged(width: 80, height: 60))) < 6)
  }

  @Test(
    "the whole picture is rendered within the requested size and never enlarged",
    arguments: [
      (640, 480, 80, 60), (1000, 700, 100, 70), (801, 600, 100, 75), (800, 600, 100, 75), (160, 120, 80, 60),
      (100, 100, 100, 100), (99, 30, 99, 30), (1601, 1201, 100, 75), (1200, 9, 100, 1), (7, 900, 1, 100), (1, 1, 1, 1),
    ])
  func sizes(_ width: Int, _ height: Int, _ outputWidth: Int, _ outputHeight: Int) throws {
    let scene = Scene(seed: 3).pixels(width: width, height: height)
    let pixels = try Self.pixels(JPEGFile { $0.quality = 95 }.encoded(scene))
    #expect(abs(pixels.width - outputWidth) <= 1 && pixels.width <= Self.side)
    #expect(abs(pixels.height - outputHeight) <= 1 && pixels.height <= Self.side)
    let reference = scene.averaged(width: pixels.width, height: pixels.height)
    #expect(try #require(pixels.channels(3).meanDifference(from: reference)) < 6)
  }

  @Test(
    "a progressive file is rendered in colour, from DC coefficients alone or from all scans", arguments: [1600, 160])
  func progressive(_ width: Int) throws {
    let scene = Scene(seed: 5).pixels(width: width, height: width * 3 / 4)
    let pixels = try Self.pixels(JPEGFile { $0.isProgressive = true }.encoded(scene))
    let reference = scene.averaged(width: pixels.width, height: pixels.height)
    #expect(try #require(pixels.channels(3).meanDifference(from: reference)) < 6)
  }

  @Test("gray becomes three equal channels, alpha is kept, and 16 bits become 8")
  func channels() throws {
    let scene = Scene(seed: 4).pixels(width: 320, height: 240)
    var gray = Pixels(width: 320, height: 240, channels: 1)
    gray.bytes = stride(from: 0, to: scene.bytes.count, by: 3).map { scene.bytes[$0 + 1] }
    let grays = try Self.pixels(JPEGFile { $0.color = .gray }.encoded(gray))
    let isGray = stride(from: 0, to: grays.bytes.count, by: 4).allSatisfy { i in
      let pixel = grays.bytes[i..<i + 4]
      return Set(pixel.prefix(3)).count == 1 && pixel.last == 255
    }
    #expect(isGray)
    #expect(abs(grays.average[0] - gray.average[0]) < 1.5)

    var soft = Pixels(width: 320, height: 240, channels: 4)
    for i in 0..<320 * 240 {
      for c in 0..<3 { soft.bytes[i * 4 + c] = scene.bytes[i * 3 + c] }
      soft.bytes[i * 4 + 3] = UInt8(i % 320 * 255 / 320)
    }
    for kind in [PNGFile(.rgba(depth: 8)), PNGFile(.rgba(depth: 16))] {
      let pixels = try Self.pixels(kind.encoded(soft))
      #expect(pixels.width == 100 && pixels.height == 75)
      #expect(zip(pixels.average, soft.average).allSatisfy { abs($0 - $1) < 2 })
      #expect(pixels[2, 40].last ?? 255 < 20 && pixels[97, 40].last ?? 0 > 235)
    }
  }

  @Test("pixels are sRGB by the picture's profile, which also applies to a thumbnail without one")
  func colors() throws {
    let colors: [[UInt8]] = [[255, 0, 0], [0, 255, 0], [200, 100, 50], [40, 50, 160]]
    let wide = ColorTests.patches(colors)
    // 128x32 with a thumbnail of the same shape.
    let thumbnail = JPEGFile {
      $0.quality = 100
      $0.sampling = (1, 1)
    }.encoded(wide)
    let file = JPEGFile {
      $0.quality = 100
      $0.sampling = (1, 1)
      $0.profile = ICCFile.displayP3
      $0.exif = EXIFBlock { $0.thumbnail = thumbnail }
    }.encoded(wide)
    // Other tests compare the renderer's file output with independent numbers.
    let source = MemoryByteSource(file)
    let plan = RenderPlanner().plan(
      try ImageHeader.read(from: source, limits: CodecLimits()), ColorTests.asked(128, .srgb))
    let frame = try Renderer(plan, source: source, limits: CodecLimits(), stop: StopFlag()).render()
    let expected = ColorTests.middles(try #require(Pixels.decoded(frame.bytes)).pixels, colors.count)
    #expect(!ColorTests.isClose(expected, colors, 8), "the profile makes a difference")
    #expect(ColorTests.isClose(ColorTests.middles(try Self.pixels(file, side: 64), colors.count), expected, 4))
    let small = try #require(try Self.thumbnail(file, side: 64))
    #expect(ColorTests.isClose(ColorTests.middles(small, colors.count), expected, 4))
  }

  @Test(
    "a thumbnail is rendered upright and without its bars",
    arguments: [(900, 600, 1), (1600, 600, 3), (640, 480, 6), (600, 900, 8)])
  func thumbnails(_ width: Int, _ height: Int, _ orientation: Int) throws {
    let upright = Pixels.orientationCard(width: width, height: height)
    let stored = upright.stored(orientation: orientation)
    let file = JPEGFile {
      $0.exif = EXIFBlock {
        $0.orientation = orientation
        $0.thumbnail = DemoLibrary.thumbnail(of: stored)
      }
    }.encoded(stored)
    let pixels = try #require(try Self.thumbnail(file))
    #expect(max(pixels.width, pixels.height) <= 100 && max(pixels.width, pixels.height) >= 60)
    #expect(abs(Double(pixels.width * height) / Double(pixels.height * width) - 1) < 0.04)
    let reference = upright.averaged(width: pixels.width, height: pixels.height)
    #expect(try #require(pixels.channels(3).meanDifference(from: reference)) < 8)
  }

  @Test("a thumbnail with a picture where its bars should be is rejected; a damaged one throws")
  func badThumbnails() throws {
    let scene = Scene(seed: 1).pixels(width: 900, height: 600)
    func file(_ thumbnail: [UInt8]) -> [UInt8] {
      JPEGFile { $0.exif = EXIFBlock { $0.thumbnail = thumbnail } }.encoded(scene)
    }
    let other = JPEGFile { _ in }.encoded(Pixels(width: 160, height: 120, channels: 3).inverted)
    #expect(try Self.thumbnail(file(other)) == nil)
    let square = Scene(seed: 1).pixels(width: 800, height: 600)
    let damaged = DemoLibrary.thumbnail(of: square)
    let photograph = JPEGFile {
      $0.exif = EXIFBlock { $0.thumbnail = Array(damaged.dropLast(damaged.count / 3)) }
    }.encoded(square)
    #expect(throws: CodecError.self) { try Self.thumbnail(photograph) }
  }

  @Test("a raised flag stops the render")
  func stopped() throws {
    let source = MemoryByteSource(JPEGFile { _ in }.encoded(Scene(seed: 1).pixels(width: 400, height: 300)))
    let plan = RenderPlanner().pixelPlan(try ImageHeader.read(from: source, limits: CodecLimits()), side: 100)
    let stop = StopFlag()
    stop.raise()
    #expect(throws: CodecError.stopped) {
      try Renderer.pixels(
        plan, source: source, transforms: ColorTransforms(capacityBytes: 0), limits: CodecLimits(), stop: stop)
    }
  }
}

extension Pixels {
  fileprivate var inverted: Pixels {
    Pixels(width: width, height: height, channels: channels, bytes: bytes.map { 255 - $0 })
  }
}
