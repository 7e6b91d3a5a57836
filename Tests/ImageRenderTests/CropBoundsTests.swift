import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// What lies around a crop does not show in it, however it is scaled. The pictures are white, with a black part that is
/// cut out: every pixel must be black.
@Suite("Bounds of crops")
struct CropBoundsTests {
  private static let width = 400
  private static let height = 320
  /// The parts, as fractions of both sides. Their edges are those of blocks of a JPEG: a block has its own ringing.
  private static let middle = UnitRect(x: 0.4, y: 0.4, width: 0.2, height: 0.2)
  private static let most = UnitRect(x: 0.1, y: 0.1, width: 0.8, height: 0.8)

  /// White, and black in a part.
  private static func picture(_ part: UnitRect) -> Pixels {
    let black = part.pixels(of: PixelSize(width: width, height: height))
    var pixels = Pixels(width: width, height: height, channels: 3, bytes: [UInt8](repeating: 255, count: 384_000))
    for y in black.y..<black.y + black.height {
      for x in black.x..<black.x + black.width {
        for c in 0..<3 { pixels.bytes[(y * width + x) * 3 + c] = 0 }
      }
    }
    return pixels
  }

  private static func jpeg(_ pixels: Pixels, _ orientation: Int = 1) -> [UInt8] {
    JPEGFile {
      $0.quality = 95
      $0.exif = EXIFBlock { $0.orientation = orientation }
    }.encoded(pixels.stored(orientation: orientation))
  }

  private static func png(_ pixels: Pixels, _ orientation: Int = 1) -> [UInt8] {
    let exif = EXIFBlock { $0.orientation = orientation }
    return PNGFile(.rgb(depth: 8)) { $0.chunks = [PNGChunk("eXIf", Array(exif.bytes.dropFirst(6)))] }
      .encoded(pixels.stored(orientation: orientation))
  }

  private static func brightest(_ pixels: Pixels) -> UInt8 { pixels.channels(3).bytes.max() ?? 255 }

  /// Reductions of 1.4, 2, 2.7, 6.2 and 27: some decode a JPEG at a smaller scale.
  private static let sizes = [57, 40, 30, 13, 3]

  @Test("a crop of a request shows nothing from outside, in every orientation", arguments: 1...8)
  func cropsOfRequests(_ orientation: Int) throws {
    let pixels = Self.picture(Self.middle)
    for file in [Self.png(pixels, orientation), Self.jpeg(pixels, orientation)] {
      for side in Self.sizes {
        for format in [OutputFormat.png, .jpeg] {
          for mode in [ContentMode.aspectFit, .aspectFill] {
            var wanted = request(side, side, mode, format, crop: Self.middle)
            #expect(try Self.brightest(render(file, wanted).pixels) <= 1, "\(side) \(format) \(mode)")
            wanted.resampling = .linear
            #expect(try Self.brightest(render(file, wanted).pixels) <= 1, "\(side) \(format) \(mode), linear")
          }
        }
      }
    }
  }

  @Test("a crop of an adjustment shows nothing from outside, in every orientation", arguments: 1...8)
  func cropsOfAdjustments(_ orientation: Int) throws {
    let pixels = Self.picture(Self.middle)
    let lists: [[AdjustmentOperation]] = [
      [.crop(Self.middle)],
      [.crop(Self.middle), .rotate(quarterTurns: 1), .flip(.horizontal)],
      [.crop(Self.middle), .tone(.sharpness, 1)],
      [.crop(Self.middle), .straighten(degrees: 7)],
    ]
    for file in [Self.png(pixels, orientation), Self.jpeg(pixels, orientation)] {
      for side in Self.sizes {
        for operations in lists {
          let made = try renderAdjusted(file, request(side, side), operations).pixels
          #expect(Self.brightest(made) <= 1, "\(side) \(operations.map(\.type))")
        }
      }
    }
  }

  @Test("a large crop of a JPEG shows nothing from outside in planes", arguments: 1...8)
  func cropsInPlanes(_ orientation: Int) throws {
    let file = Self.jpeg(Self.picture(Self.most), orientation)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    for quality in [82, 95] {
      for side in [200, 151, 90, 31] {
        var wanted = request(side, side, .aspectFit, .jpeg, crop: Self.most)
        wanted.quality = quality
        #expect(!RenderPlanner().plan(header, wanted).planes.isEmpty)
        #expect(try Self.brightest(render(file, wanted).pixels) <= 1, "\(side) \(quality)")
      }
    }
  }

  /// A decoded pixel that an edge cuts is left out. Output pixels have 12 of the picture's.
  @Test(
    "a JPEG is decoded at a scale at which no edge of a crop loses more than a quarter of a pixel",
    arguments: [(80, 1), (82, 2), (84, 2), (88, 1)])
  func scalesOfCrops(_ start: Int, _ eighths: Int) throws {
    let file = JPEGFile { _ in }.encoded(Pixels(width: 800, height: 800, channels: 3))
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let crop = UnitRect(x: Double(start) / 800, y: Double(start) / 800, width: 0.3, height: 0.3)
    var wanted = request(20, 20, crop: crop)
    #expect(RenderPlanner().plan(header, wanted).eighths == eighths)
    wanted.fillsTarget = true
    #expect(RenderPlanner().plan(header, wanted).eighths == 1, "joined parts lose nothing")
  }

  /// A sample of colour of 4:2:2 covers two decoded pixels, unless it is at the edge of the crop.
  @Test(
    "samples of colour that cover several pixels do not bring in colours from outside", arguments: [(84, 4), (96, 1)])
  func colorsOfCrops(_ start: Int, _ eighths: Int) throws {
    let file = JPEGFile { $0.sampling = (horizontal: 2, vertical: 1) }
      .encoded(Pixels(width: 800, height: 800, channels: 3))
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let crop = UnitRect(x: Double(start) / 800, y: 0.1, width: 0.3, height: 0.3)
    #expect(RenderPlanner().plan(header, request(20, 20, crop: crop)).eighths == eighths)
  }

  @Test("a degraded frame of a small crop has all its rows")
  func degradedFrames() throws {
    let file = Self.jpeg(Self.picture(Self.middle))
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    for number in 0..<60 {
      let crop = UnitRect(
        x: Double(number * 7 % 50) / 60, y: Double(number * 11 % 53) / 60, width: 0.1,
        height: 0.05 + Double(number) / 999)
      guard
        let plan = RenderPlanner().degradedPlan(header, header.sized(request(100, 100, .aspectFit, .jpeg, crop: crop)))
      else { continue }
      _ = try renderResuming(plan, MemoryByteSource(file))
    }
  }

  @Test("pixels of a thumbnail that lie partly outside of the crop do not show")
  func thumbnailPixelsPartlyOutside() throws {
    let pixels = Self.picture(Self.middle)
    let header = try ImageHeader.read(from: MemoryByteSource(Self.png(pixels)), limits: CodecLimits())
    // The crop begins at 45.2 and 36.4, and ends at 67.8 and 54.6.
    let source = MemoryByteSource(Self.png(pixels.averaged(width: 113, height: 91)))
    let thumbnail = try ImageHeader.read(from: source, limits: CodecLimits())
    for side in [11, 7, 2] {
      let wanted = header.sized(request(side, side, crop: Self.middle))
      let plan = RenderPlanner().thumbnailPlan(thumbnail, content: nil, of: header, wanted)
      let made = try renderResuming(plan, source)
      let shown = try #require(Pixels.decoded(made.bytes)).pixels
      #expect(Self.brightest(shown) == 0, "\(side)")
    }
  }

  @Test("a part that is joined with others equals that part of the whole picture")
  func joinedParts() throws {
    let file = Self.png(Self.picture(Self.middle))
    let whole = try render(file, request(200, 160)).pixels
    var wanted = request(40, 32, crop: Self.middle)
    wanted.fillsTarget = true
    let part = try render(file, wanted).pixels
    #expect(part.bytes == whole.cropped(x: 80, y: 64, width: 40, height: 32).bytes)
    #expect(Self.brightest(part) > 1)
  }
}
