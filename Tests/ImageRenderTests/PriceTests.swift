import AllocationCounter
import Foundation
import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageRender

/// Compares a plan's estimate with the memory that the render takes: never more than the estimate, and not many times
/// less. Counted is what the allocator sets aside, from the plan to the finished file and including it.
@Suite("Memory estimates")
struct PriceTests {
  struct Case: CustomTestStringConvertible {
    let testDescription: String
    let file: [UInt8]
    let request: ImageRequest
    var isLarge = true
    var adjustments: Adjustments?

    init(
      _ name: String, _ file: [UInt8], _ request: ImageRequest, isLarge: Bool = true,
      _ adjustments: [AdjustmentOperation] = []
    ) {
      self.adjustments = adjustments.isEmpty ? nil : Adjustments(adjustments)
      testDescription = name
      self.file = file
      self.request = request
      self.isLarge = isLarge
    }
  }

  private static let size = PixelSize(width: 1100, height: 800)

  /// Incompressible pixels.
  ///
  /// - Parameter isEven: all values are equally likely, the worst case for deflate; otherwise only black and white,
  ///   which is half as much again for JPEG.
  private static func noise(_ channels: Int, _ size: PixelSize = size, isEven: Bool = false) -> Pixels {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    let bytes = [UInt8](unsafeUninitializedCapacity: size.pixelCount * channels) { buffer, count in
      count = buffer.count
      for i in 0..<count {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        buffer[i] = isEven ? UInt8(truncatingIfNeeded: state >> 24) : state & 1 == 0 ? 0 : 255
      }
    }
    return Pixels(width: size.width, height: size.height, channels: channels, bytes: bytes)
  }

  static let cases: [Case] = {
    let scene = Scene(seed: 4, grain: 12).pixels(width: size.width, height: size.height)
    let noise = Self.noise(3)
    func jpeg(_ pixels: Pixels = scene, _ change: (inout JPEGFile) -> Void = { _ in }) -> [UInt8] {
      JPEGFile(change).encoded(pixels)
    }
    func png(_ kind: PNGFile.Kind, _ pixels: Pixels = scene, _ change: (inout PNGFile) -> Void = { _ in }) -> [UInt8] {
      PNGFile(kind, change).encoded(pixels)
    }
    func fit(_ side: Int, _ format: OutputFormat = .jpeg, quality: Int? = nil) -> ImageRequest {
      ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), format: format, quality: quality)
    }
    let whole = ImageRequest(format: .jpeg)
    let fullPNG = ImageRequest(format: .png)
    let best = ImageRequest(format: .jpeg, quality: 100)
    var srgb = fit(700)
    srgb.colorSpace = .srgb
    var cases = [
      Case("4:2:0, small", jpeg(), fit(100), isLarge: false), Case("4:2:0, 700", jpeg(), fit(700)),
      Case("4:2:0, whole", jpeg(), whole), Case("4:2:0 to PNG", jpeg(), fit(700, .png)),
      Case("4:4:4, whole", jpeg { $0.sampling = (1, 1) }, whole),
      Case("4:1:1, whole", jpeg { $0.sampling = (4, 1) }, whole),
      Case("2x4 luma, whole", jpeg { $0.sampling = (2, 4) }, whole),
      Case("4x1 luma to PNG", jpeg { $0.sampling = (4, 1) }, fullPNG),
      Case("2x4 luma to PNG", jpeg { $0.sampling = (2, 4) }, fullPNG),
      Case("progressive 4:2:0", jpeg { $0.isProgressive = true }, fit(200)),
      Case(
        "progressive 4:4:4, whole",
        jpeg {
          $0.isProgressive = true
          $0.sampling = (1, 1)
        }, whole),
      Case(
        "progressive 4:1:1, small",
        jpeg {
          $0.isProgressive = true
          $0.sampling = (4, 1)
        }, fit(100)),
      Case("progressive to PNG", jpeg { $0.isProgressive = true }, fit(300, .png)),
      Case("a scan a component", jpeg { $0.hasMultipleScans = true }, fit(200)),
      Case("gray", jpeg(scene.channels(1)) { $0.color = .gray }, whole),
      Case(
        "gray, progressive",
        jpeg(scene.channels(1)) {
          $0.color = .gray
          $0.isProgressive = true
        }, fit(200)),
      Case("RGB", jpeg { $0.color = .rgb }, whole), Case("CMYK", jpeg { $0.color = .cmyk }, fit(700)),
      Case(
        "CMYK, progressive",
        jpeg {
          $0.color = .cmyk
          $0.isProgressive = true
        }, fit(200)),
      Case("YCCK", jpeg { $0.color = .ycck }, fullPNG),
      Case(
        "CMYK with a profile",
        jpeg {
          $0.color = .cmyk
          $0.profile = ICCFile.cmyk
        }, fit(700)),
      Case("a profile that is kept", jpeg { $0.profile = ICCFile.displayP3 }, fit(700)),
      Case("a profile that is converted from", jpeg { $0.profile = ICCFile.displayP3 }, srgb),
      Case(
        "a profile of 2 MB that is kept", jpeg { $0.profile = ICCFile.padded(ICCFile.displayP3, by: 2 << 20) }, fit(200)
      ),
      Case(
        "a profile of 2 MB that is converted from",
        jpeg { $0.profile = ICCFile.padded(ICCFile.displayP3, by: 2 << 20) }, srgb),
      Case(
        "a profile of 2 MB in a PNG",
        png(.rgb(depth: 8)) { $0.profile = ICCFile.padded(ICCFile.displayP3, by: 2 << 20) }, fit(300, .png)),
      Case(
        "noise at its best",
        jpeg(noise) {
          $0.sampling = (1, 1); $0.quality = 100
        }, best),
      Case("noise, 4:2:0, usual", jpeg(noise) { $0.quality = 100 }, whole),
      Case("noise, 4:2:0, quality 90", jpeg(noise) { $0.quality = 100 }, ImageRequest(format: .jpeg, quality: 90)),
      Case(
        "noise, gray, at its best",
        jpeg(noise.channels(1)) {
          $0.color = .gray; $0.quality = 100
        }, best),
      Case("noise, RGB, at its best", png(.rgb(depth: 8), noise), best),
      Case("noise to PNG", jpeg(noise) { $0.quality = 100 }, fullPNG),
      Case("noise, RGBA to PNG", png(.rgba(depth: 8), Self.noise(4, isEven: true)), fullPNG),
      Case("noise, RGB to PNG", png(.rgb(depth: 8), Self.noise(3, isEven: true)), fullPNG),
      Case("PNG, RGB", png(.rgb(depth: 8)), whole), Case("PNG to PNG", png(.rgb(depth: 8)), fit(700, .png)),
      Case("PNG, 16 bits", png(.rgb(depth: 16)), fit(700)),
      Case("PNG, 16 bits, to PNG", png(.rgb(depth: 16)), fullPNG),
      Case("PNG, gray, 1 bit", png(.gray(depth: 1)), whole), Case("PNG, palette", png(.palette(depth: 8)), fit(700)),
      Case("PNG, RGBA", png(.rgba(depth: 8)), fit(700, .png)),
      Case("PNG, RGBA, 16 bits", png(.rgba(depth: 16)), fit(700, .png)),
      Case("PNG, RGBA to JPEG", png(.rgba(depth: 8)), fit(700)),
      Case("PNG, interlaced", png(.rgb(depth: 8)) { $0.isInterlaced = true }, fit(200)),
      Case("PNG, interlaced palette", png(.palette(depth: 4)) { $0.isInterlaced = true }, fit(200)),
      Case("PNG, interlaced RGBA of 16 bits", png(.rgba(depth: 16)) { $0.isInterlaced = true }, fit(200, .png)),
      Case(
        "PNG, converted", png(.rgb(depth: 16)) { $0.profile = ICCFile.displayP3 }, srgb),
      Case(
        "a crop", jpeg(), request(300, 300, .aspectFit, .jpeg, crop: UnitRect(x: 0.3, y: 0.3, width: 0.3, height: 0.3))),
      Case(
        "a crop of a PNG", png(.rgb(depth: 8)),
        request(300, 300, .aspectFit, .png, crop: UnitRect(x: 0.3, y: 0.3, width: 0.3, height: 0.3))),
      Case("a strip", jpeg(noise.cropped(x: 0, y: 0, width: 1100, height: 3)), whole, isLarge: false),
      Case("a pixel", jpeg(noise.cropped(x: 0, y: 0, width: 1, height: 1)), fullPNG, isLarge: false),
    ]
    for orientation in 2...8 {
      let exif = EXIFBlock { $0.orientation = orientation }
      cases.append(Case("orientation \(orientation), planes", jpeg { $0.exif = exif }, fit(700)))
      cases.append(Case("orientation \(orientation), rows", jpeg { $0.exif = exif }, fit(700, .png)))
    }
    let indexes = Self.noise(1, isEven: true).bytes
    func gif(_ change: (inout CodedGIFFile) -> Void = { _ in }) -> [UInt8] {
      CodedGIFFile(width: size.width, height: size.height, indexes: indexes, change).bytes
    }
    func bmp(_ bits: Int, _ change: (inout BMPFile) -> Void) -> [UInt8] {
      BMPFile(width: size.width, height: size.height, bitsPerPixel: bits, change).bytes
    }
    cases += [
      Case("GIF", gif(), fit(700)), Case("GIF to PNG", gif { $0.transparentIndex = 3 }, fullPNG),
      Case("GIF, interlaced", gif { $0.isInterlaced = true }, fit(200)),
      Case("GIF, interlaced, to PNG", gif { ($0.isInterlaced, $0.transparentIndex) = (true, 3) }, fullPNG),
      Case("BMP, 24 bits", bmp(24) { $0.store { UInt32($0 * 7 + $1 * 513) } }, fit(700)),
      Case("BMP, 8 bits, to PNG", bmp(8) { $0.store { UInt32(($0 * $1) & 255) } }, fullPNG),
      Case(
        "BMP, runs",
        bmp(8) {
          $0.compression = 1
          $0.storeRuns { UInt8($0 * $1 & 255) }
        }, fit(200)),
    ]
    let noisy = Self.noise(3, isEven: true)
    func tiff(_ compression: CodedTIFFFile.Compression, _ change: (inout CodedTIFFFile) -> Void = { _ in }) -> [UInt8] {
      CodedTIFFFile(noisy) {
        $0.compression = compression
        change(&$0)
      }.bytes
    }
    cases += CodedTIFFFile.Compression.allCases.map { Case("TIFF, \($0)", tiff($0), fit(700)) }
    cases += [
      Case("TIFF, tiles, LZW", tiff(.lzw) { $0.tile = (64, 64) }, fit(700)),
      Case("TIFF, tiles, JPEG", tiff(.jpeg) { $0.tile = (256, 256) }, fit(700)),
      Case("TIFF, planes, deflate", tiff(.deflate) { $0.isPlanar = true }, fullPNG),
      Case("TIFF, planes of tiles", tiff(.deflate) { ($0.isPlanar, $0.tile) = (true, (64, 64)) }, fullPNG),
      Case(
        "TIFF, 16 bits",
        tiff(.none) { ($0.bits, $0.samples) = (16, $0.samples.map { $0 * 257 }) }, fit(700)),
    ]
    var light = fit(700)
    light.resampling = .linear
    var deep = fullPNG
    deep.bitDepth = 16
    var deepLight = deep
    (deepLight.targetSize, deepLight.resampling, deepLight.colorSpace) = (fit(700).targetSize, .linear, .srgb)
    cases += [
      Case("linear light", jpeg(), light), Case("linear light, RGBA", png(.rgba(depth: 8)), light),
      Case("converted, RGBA to JPEG", png(.rgba(depth: 8)) { $0.profile = ICCFile.displayP3 }, srgb),
      Case("converted, RGBA of 16 bits to JPEG", png(.rgba(depth: 16)) { $0.profile = ICCFile.displayP3 }, srgb),
      Case("noise of 16 bits", png(.rgb(depth: 16), noisy), deep),
      Case("noise of 16 bits with alpha", png(.rgba(depth: 16), Self.noise(4, isEven: true)), deep),
      Case(
        "16 bits in linear light, converted", png(.rgb(depth: 16)) { $0.profile = ICCFile.displayP3 }, deepLight),
      Case(
        "16 bits, turned",
        png(.rgb(depth: 16)) {
          $0.chunks = [PNGChunk("eXIf", Array(EXIFBlock { $0.orientation = 6 }.bytes.dropFirst(6)))]
        }, deep),
    ]
    let tones = ToneOperation.allCases.map { AdjustmentOperation.tone($0, 0.5) }
    var part = fullPNG
    part.normalizedCropRect = UnitRect(x: 0.4, y: 0.3, width: 0.3, height: 0.3)
    cases += [
      Case("adjusted tones", jpeg(), fit(700), tones),
      Case("adjusted tones, whole, gray", jpeg(scene.channels(1)) { $0.color = .gray }, whole, tones),
      Case("sharpness four times", jpeg(), fullPNG, .init(repeating: .tone(.sharpness, 1), count: 4)),
      Case(
        "noise reduction of a PNG with alpha", png(.rgba(depth: 8), Self.noise(4)), fullPNG, [.tone(.noiseReduction, 1)]
      ),
      Case(
        "a part with the margin of its sharpness", jpeg(), part, isLarge: false,
        .init(repeating: .tone(.sharpness, 1), count: 4)),
      Case("straightened by 45 degrees", jpeg(), fullPNG, [.straighten(degrees: 45)]),
      Case("straightened and turned", jpeg(), fit(700), [.straighten(degrees: 3), .rotate(quarterTurns: 1)]),
      Case(
        "tables between matrices", jpeg(), fit(300), isLarge: false,
        (0..<50).flatMap { _ in
          [.tone(.contrast, 0.01), .tone(.saturation, 0.01)]
        }),
      Case(
        "alpha over white after tones", png(.rgba(depth: 8), Self.noise(4)), whole,
        [.straighten(degrees: 5), .tone(.exposure, 0.5)]),
    ]
    return cases
  }()

  private static func header(_ file: [UInt8]) throws -> ImageHeader {
    try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
  }

  @Test("a render uses at most its estimate, and at least a fifth of it", arguments: cases)
  func price(_ one: Case) throws {
    let source = MemoryByteSource(one.file)
    let header = try Self.header(one.file)
    let ((image, priced), peak) = try AllocationCounter.peakBytesOnThisThread {
      let plan = RenderPlanner().plan(header, header.sized(one.request, one.adjustments))
      let renderer = try Renderer(plan, source: source, limits: CodecLimits(), stop: StopFlag())
      return (try renderer.render(), plan.price)
    }
    let price = priced.sourceBytes + priced.outputBytes
    if ProcessInfo.processInfo.environment["PRICES"] != nil {
      print(
        "PRICE | \(one.testDescription) | \(image.bytes.count) | \(peak) | \(price) = \(priced.sourceBytes) + \(priced.outputBytes) | \(Double(peak) / Double(price))"
      )
    }
    #expect(peak <= price, "\(peak) of \(price)")
    if one.isLarge { #expect(peak * 5 >= price, "\(peak) of \(price)") }
    #expect(image.bytes.capacity <= price)
  }

  @Test("a shared decode uses at most its estimate", arguments: [0, 7, 9, 18, 34, 44])
  func shared(_ index: Int) throws {
    let file = Self.cases[index].file
    let (header, source) = (try Self.header(file), MemoryByteSource(file))
    let requests = [700, 400, 300, 100].map { header.sized(request($0, $0, .aspectFit, .jpeg)) }
    let (price, peak) = try AllocationCounter.peakBytesOnThisThread {
      let plan = RenderPlanner().sharedPlan(header, requests)
      let renderer = try SharedRenderer(
        plan, source: source, limits: CodecLimits(), stops: plan.members.map { _ in StopFlag() })
      var images: [RenderedImage] = []
      #expect(renderer.resume { if case .success(let image) = $1 { images.append(image) } })
      #expect(images.count == plan.members.count && plan.members.count > 1)
      return plan.peakBytes
    }
    #expect(peak <= price && peak * 5 >= price, "\(peak) of \(price)")
  }

  @Test(
    "an encoded file over the size limit is refused with the limit's name",
    arguments: [OutputFormat.jpeg, .png], [100, 10_000])
  func refusal(_ format: OutputFormat, _ limit: Int) throws {
    let noise = Self.noise(3, PixelSize(width: 300, height: 200))
    #expect(throws: CodecError.limitExceeded("the size of the encoded picture", limit: limit, found: limit + 1)) {
      let size = PixelSize(width: noise.width, height: noise.height)
      let encoder: any RowEncoder =
        switch format {
        case .jpeg: try JPEGEncoder(size: size, channels: 3, quality: 95, profile: nil, maximumBytes: limit)
        default: try PNGEncoder(size: size, channels: 3, profile: nil, maximumBytes: limit)
        }
      try noise.bytes.withUnsafeBytes { bytes in
        for y in 0..<noise.height {
          guard let row = bytes.baseAddress else { return }
          try encoder.write(row + y * noise.width * 3, strideBytes: noise.width * 3, count: 1)
        }
      }
      _ = try encoder.finish()
    }
  }

  @Test(
    "the estimate of a progressive JPEG uses its own sampling",
    arguments: [((1, 1), 6.0), ((2, 1), 4.0), ((2, 2), 3.0), ((4, 1), 3.0)])
  func hundredMegapixels(_ sampling: (Int, Int), _ bytesAPixel: Double) throws {
    var file = JPEGFile {
      $0.isProgressive = true
      $0.sampling = sampling
    }.encoded(Pixels(width: 16, height: 16, channels: 3))
    let frame = try #require(file.firstRange(of: [0xFF, 0xC2])).lowerBound
    // T.81 §B.2.2: its length, its precision, then height and width: 10,000 each.
    file.replaceSubrange(frame + 5..<frame + 9, with: [0x27, 0x10, 0x27, 0x10])
    let plan = RenderPlanner().plan(try Self.header(file), request(400, 400, .aspectFit, .jpeg))
    let coefficients = Int(bytesAPixel * 1e8)
    #expect((coefficients...coefficients + 4 << 20).contains(plan.peakBytes), "\(plan.peakBytes)")
  }

  @Test("a render without a reservation uses at most 4 MiB, from a rung or from a small thumbnail")
  func unreserved() throws {
    let limit = 4 << 20
    let noise = Self.noise(4, PixelSize(width: 512, height: 512))
    let rungs = [
      JPEGFile { $0.quality = DerivativeLadder.standard.quality }.encoded(noise.channels(3)),
      PNGFile(.rgba(depth: 8)).encoded(noise),
    ]
    for rung in rungs {
      for wish in [ImageRequest(format: .jpeg), ImageRequest(format: .jpeg, quality: 100), ImageRequest(format: .png)] {
        let plan = RenderPlanner().derivativePlan(
          try Self.header(rung), SizedRequest(wish, upright: PixelSize(width: 4000, height: 4000)))
        #expect(plan.outputSize == PixelSize(width: 512, height: 512))
        #expect(plan.peakBytes <= limit, "\(plan.peakBytes)")
      }
    }
    // Everything that can be done to a thumbnail: with bars, turned, converted, and encoded as PNG.
    let small = Self.noise(3, PixelSize(width: 640, height: 480))
    let thumbnail = JPEGFile { $0.quality = 5 }.encoded(small)
    #expect(thumbnail.count <= EmbeddedThumbnail.unreservedBytes)
    let file = JPEGFile {
      $0.profile = ICCFile.displayP3
      $0.exif = EXIFBlock {
        $0.orientation = 6
        $0.thumbnail = thumbnail
      }
    }.encoded(Pixels(width: 1600, height: 1200, channels: 3))
    let (header, source) = (try Self.header(file), MemoryByteSource(file))
    let wanted = header.sized(ImageRequest(format: .png, colorSpace: .srgb))
    let (image, peak) = try AllocationCounter.peakBytesOnThisThread {
      let embedded = EmbeddedThumbnail.best(for: wanted, of: header, in: source, limits: CodecLimits())
      #expect(embedded?.peakBytes(for: wanted, of: header) == 0)
      return try embedded?.render(for: wanted, of: header, in: source, limits: CodecLimits(), stop: StopFlag())
    }
    #expect(image?.size == PixelSize(width: 480, height: 640))
    #expect(peak <= limit, "\(peak)")
  }
}
