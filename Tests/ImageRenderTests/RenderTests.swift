import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Rendering")
struct RenderTests {
  @Test("every orientation is rendered upright with aspectFit", arguments: 1...8)
  func orientation(_ number: Int) throws {
    let upright = Pixels.orientationCard(width: 320, height: 240)
    let file = JPEGFile {
      $0.sampling = (1, 1)
      $0.exif = EXIFBlock { $0.orientation = number }
    }.encoded(upright.stored(orientation: number))
    let (_, pixels, _) = try render(file, request(80, 80))
    let difference = try #require(pixels.channels(3).meanDifference(from: upright.averaged(width: 80, height: 60)))
    #expect(difference < 3)
  }

  @Test("every orientation is rendered upright with aspectFill", arguments: 1...8)
  func orientationWithCrop(_ number: Int) throws {
    let upright = Pixels.orientationCard(width: 320, height: 200)
    let file = JPEGFile {
      $0.sampling = (1, 1)
      $0.exif = EXIFBlock { $0.orientation = number }
    }.encoded(upright.stored(orientation: number))
    // The right half: its left edge is the middle of the card.
    let (_, pixels, _) = try render(
      file, request(50, 50, .aspectFill, crop: UnitRect(x: 0.5, y: 0, width: 0.5, height: 1)))
    let part = upright.cropped(x: 160, y: 20, width: 160, height: 160).averaged(width: 50, height: 50)
    let difference = try #require(pixels.channels(3).meanDifference(from: part))
    #expect(difference < 3)
  }

  struct Kind: CustomTestStringConvertible {
    let testDescription: String
    let file: JPEGFile

    init(_ name: String, _ change: (inout JPEGFile) -> Void) {
      testDescription = name
      file = JPEGFile(change)
    }
  }

  static let jpegs = [
    Kind("4:2:0") { _ in }, Kind("4:4:4") { $0.sampling = (1, 1) }, Kind("4:2:2") { $0.sampling = (2, 1) },
    Kind("4:4:0") { $0.sampling = (1, 2) }, Kind("4:1:1") { $0.sampling = (4, 1) },
    Kind("progressive") { $0.isProgressive = true }, Kind("arithmetic") { $0.isArithmetic = true },
    Kind("arithmetic, progressive") {
      $0.isArithmetic = true
      $0.isProgressive = true
    }, Kind("restart markers") { $0.restartRows = 1 }, Kind("RGB") { $0.color = .rgb },
    Kind("RGB, progressive") {
      $0.color = .rgb
      $0.isProgressive = true
    },
    Kind("extended sequential") { $0.isExtended = true },
    Kind("baseline in a scan a component") { $0.hasMultipleScans = true },
    Kind("baseline in a scan a component, with restart markers") {
      $0.hasMultipleScans = true
      $0.restartRows = 1
    },
    Kind("progressive, with restart markers") {
      $0.isProgressive = true
      $0.restartRows = 1
    },
    Kind("CMYK") { $0.color = .cmyk },
    Kind("CMYK without Adobe's marker") {
      $0.color = .cmyk
      $0.hasAdobeMarker = false
    },
    Kind("CMYK, progressive") {
      $0.color = .cmyk
      $0.isProgressive = true
    },
    Kind("YCCK") { $0.color = .ycck },
    Kind("YCCK, 4:4:4, arithmetic") {
      $0.color = .ycck
      $0.sampling = (1, 1)
      $0.isArithmetic = true
    },
    Kind("gray") { $0.color = .gray },
    Kind("gray, progressive") {
      $0.color = .gray
      $0.isProgressive = true
    },
  ]

  @Test("every kind of JPEG is rendered correctly at every DCT scale", arguments: jpegs)
  func jpegKinds(_ kind: Kind) throws {
    let scene = Scene(seed: 5, grain: 2).pixels(width: 645, height: 431)
    let source = kind.file.color == .gray ? Self.gray(scene) : scene
    let file = kind.file.encoded(source)
    for width in [60, 130, 300, 645] {
      let (_, pixels, channels) = try render(file, request(width, 1000))
      let reference = source.averaged(width: pixels.width, height: pixels.height)
      #expect(channels == source.channels)
      let difference = try #require(pixels.channels(source.channels).meanDifference(from: reference))
      #expect(difference < 4, "at \(width)")
    }
  }

  static let pngs: [PNGFile.Kind] =
    [1, 2, 4, 8, 16].map { .gray(depth: $0) } + [8, 16].map { .rgb(depth: $0) }
    + [1, 2, 4, 8].map { .palette(depth: $0) }
    + [8, 16].map { .grayAlpha(depth: $0) } + [8, 16].map { .rgba(depth: $0) }

  @Test(
    "every colour type and depth of PNG equals an average of libpng's pixels",
    arguments: pngs, [false, true])
  func pngKinds(_ kind: PNGFile.Kind, _ isInterlaced: Bool) throws {
    var scene = Self.withAlpha(Scene(seed: 8, grain: 0).pixels(width: 203, height: 151))
    if case .gray = kind { scene = scene.channels(3) }
    let file = PNGFile(kind) { $0.isInterlaced = isInterlaced }.encoded(scene)
    let whole = try #require(Pixels.decoded(file)).pixels
    let (_, same, _) = try render(file, ImageRequest(format: .png))
    #expect(try #require(same.meanDifference(from: whole)) < 0.6, "at its own size")
    let (_, small, _) = try render(file, request(61, 61))
    #expect(
      try #require(
        Self.overGray(small).meanDifference(
          from: Self.overGray(whole).averaged(width: small.width, height: small.height))) < 4)
  }

  @Test(
    "a transparent colour becomes alpha, and alpha is kept",
    arguments: [1, 2, 4, 8, 16].map { PNGFile.Kind.gray(depth: $0) } + [8, 16].map { .rgb(depth: $0) }
      + [1, 2, 4, 8].map { .palette(depth: $0) }, [false, true])
  func transparency(_ kind: PNGFile.Kind, _ isInterlaced: Bool) throws {
    var card = Pixels(width: 64, height: 64, channels: 3, bytes: [UInt8](repeating: 255, count: 64 * 64 * 3))
    for y in 0..<64 {
      for x in 0..<32 { card.bytes.replaceSubrange((y * 64 + x) * 3..<(y * 64 + x) * 3 + 3, with: [0, 0, 0]) }
    }
    let file = PNGFile(kind) {
      $0.hasTransparentBlack = true
      $0.isInterlaced = isInterlaced
    }.encoded(card)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    #expect(header.hasAlpha)
    let (_, pixels, channels) = try render(file, request(16, 16))
    #expect(channels == 2 || channels == 4)
    #expect(pixels[2, 8].last == 0)
    #expect(pixels[13, 8].last == 255)
    let (_, flattened, _) = try render(file, request(16, 16, .aspectFit, .jpeg))
    #expect(flattened[2, 8].allSatisfy { $0 > 245 }, "a JPEG shows it over white")
  }

  @Test("transparent pixels do not bleed: averages are premultiplied")
  func premultiplied() throws {
    var card = Pixels(width: 64, height: 64, channels: 4)
    for i in 0..<64 * 64 {
      // Opaque blue beside a transparent red.
      card.bytes.replaceSubrange(i * 4..<i * 4 + 4, with: (i % 64) / 8 % 2 == 0 ? [0, 0, 255, 255] : [255, 0, 0, 0])
    }
    let (_, pixels, _) = try render(PNGFile(.rgba(depth: 8)).encoded(card), request(10, 10))
    for x in 0..<10 where pixels[x, 5].last ?? 0 > 40 { #expect(pixels[x, 5].first ?? 255 < 12) }
  }

  @Test(
    "a crop shows the same pixels as a crop of the whole picture", arguments: [(0.0, 0.0), (0.31, 0.17), (0.6, 0.55)])
  func crops(_ x: Double, _ y: Double) throws {
    let scene = Scene(seed: 21, grain: 1).pixels(width: 800, height: 600)
    for file in [JPEGFile { $0.sampling = (1, 1) }.encoded(scene), PNGFile(.rgb(depth: 8)).encoded(scene)] {
      let (_, pixels, _) = try render(file, request(100, 100, crop: UnitRect(x: x, y: y, width: 0.4, height: 0.4)))
      let part = scene.cropped(x: Int(x * 800 + 0.5), y: Int(y * 600 + 0.5), width: 320, height: 240)
      let difference = try #require(pixels.channels(3).meanDifference(from: part.averaged(width: 100, height: 75)))
      #expect(difference < 4)
    }
  }

  @Test("rendering at full size does not resample")
  func identity() throws {
    let scene = Scene(seed: 2).pixels(width: 123, height: 77)
    let (_, pixels, _) = try render(PNGFile(.rgb(depth: 8)).encoded(scene), ImageRequest(format: .png))
    #expect(pixels.channels(3) == scene)
  }

  @Test(
    "a picture can be resampled in one direction only",
    arguments: [(50, 120), (60, 100), (33, 120), (50, 60)])
  func halfIdentity(_ width: Int, _ height: Int) throws {
    let scene = Scene(seed: 12, grain: 1).pixels(width: 200, height: 240)
    for file in [JPEGFile { $0.sampling = (1, 1) }.encoded(scene), PNGFile(.rgb(depth: 16)).encoded(scene)] {
      let crop = UnitRect(x: 0.25, y: 0.25, width: 0.25, height: 0.5)
      let (_, pixels, _) = try render(file, request(width, height, .aspectFill, crop: crop))
      // The frame is 50x120 from (50, 60) and shows its middle.
      let part = scene.cropped(
        x: 50 + (50 - pixels.width) / 2, y: 60 + (120 - pixels.height) / 2, width: pixels.width, height: pixels.height)
      let difference = try #require(
        pixels.channels(3).meanDifference(from: part.averaged(width: pixels.width, height: pixels.height)))
      #expect(difference < 4)
    }
  }

  @Test(
    "a very large reduction keeps the picture's colour and its opacity",
    arguments: [(40_000, 1), (40_000, 2), (12_000, 2)])
  func largeReduction(_ width: Int, _ side: Int) throws {
    var picture = Pixels(width: width, height: 2, channels: 4)
    for at in picture.bytes.indices { picture.bytes[at] = at % 4 == 3 ? 255 : 128 }
    let (_, pixels, _) = try render(PNGFile(.rgba(depth: 8)).encoded(picture), request(side, side))
    for (at, value) in pixels.bytes.enumerated() {
      #expect(value == (pixels.channels == 4 && at % 4 == 3 ? 255 : 128), "\(pixels.bytes)")
    }
  }

  @Test("a source that delivers few bytes at a time gives the same picture", arguments: [false, true])
  func waiting(_ isProgressive: Bool) throws {
    let scene = Scene(seed: 4).pixels(width: 300, height: 200)
    let jpeg = JPEGFile { $0.isProgressive = isProgressive }.encoded(scene)
    for (file, waits) in [(jpeg, true), (jpeg, false), (PNGFile(.rgb(depth: 8)).encoded(scene), false)] {
      let whole = try render(file, request(77, 77)).image.bytes
      let trickled = try render(file, request(77, 77)) {
        TrickleSource($0, headerBytes: 1024, canReturnNotYet: waits)
      }
      #expect(whole == trickled.image.bytes)
    }
  }

  /// Files whose pixels are also in their second half.
  static let notJPEG: [(name: String, file: [UInt8])] = {
    let scene = Scene(seed: 4).pixels(width: 200, height: 100)
    let gif = CodedGIFFile(width: 200, height: 100, indexes: Array(scene.bytes.prefix(20_000))) {
      $0.globalColors = (0..<256).map { [UInt8](repeating: UInt8($0), count: 3) }
    }
    return [
      ("GIF", gif.bytes), ("BMP", BMPFile(width: 200, height: 100, bitsPerPixel: 24, pixels: scene.bytes).bytes),
      ("TIFF", CodedTIFFFile(scene).bytes), ("PNG", PNGFile(.rgb(depth: 8)).encoded(scene)),
      ("PNG, interlaced", PNGFile(.rgb(depth: 8)) { $0.isInterlaced = true }.encoded(scene)),
    ]
  }()

  @Test("decoders other than JPEG report a source without data for now as truncated", arguments: notJPEG.indices)
  func onlyJPEGsWait(_ i: Int) throws {
    let (name, file) = Self.notJPEG[i]
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let source = TrickleSource(MemoryByteSource(file), headerBytes: Int64(file.count / 2))
    let error = #expect(throws: CodecError.self, "\(name)") {
      try renderResuming(RenderPlanner().plan(header, request(77, 77)), source)
    }
    guard case .truncated? = error else {
      Issue.record("\(name): \(String(describing: error))")
      return
    }
  }

  @Test("a renderer of one picture reports a source without data for now as truncated")
  func notWaiting() throws {
    let file = JPEGFile { _ in }.encoded(Scene(seed: 4).pixels(width: 300, height: 200))
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let renderer = try Renderer(
      RenderPlanner().plan(header, request(77, 77)), source: TrickleSource(MemoryByteSource(file), headerBytes: 1024),
      limits: CodecLimits(), stop: StopFlag())
    #expect(throws: CodecError.truncated(offset: Int64(file.count))) { try renderer.render() }
  }

  @Test("a raised flag stops a render")
  func stop() throws {
    let file = JPEGFile { _ in }.encoded(Scene(seed: 1).pixels(width: 200, height: 200))
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let flag = StopFlag()
    flag.raise()
    #expect(throws: CodecError.stopped) {
      let renderer = try Renderer(
        RenderPlanner().plan(header, request(50, 50)), source: MemoryByteSource(file), limits: CodecLimits(), stop: flag
      )
      _ = try renderer.render()
    }
  }

  private static func gray(_ scene: Pixels) -> Pixels {
    Pixels(
      width: scene.width, height: scene.height, channels: 1,
      bytes: (0..<scene.width * scene.height).map { scene.bytes[$0 * 3 + 1] })
  }

  @Test(
    "a progressive file's degraded frame has all colours, also if each component's DC has a scan of its own",
    arguments: [false, true], [false, true])
  func firstScan(_ isSeparate: Bool, _ waits: Bool) throws {
    let card = Pixels.orientationCard(width: 640, height: 480)
    let file = JPEGFile {
      $0.isProgressive = true
      $0.hasSeparateDCScans = isSeparate
    }.encoded(card)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let plan = try #require(RenderPlanner().degradedPlan(header, header.sized(request(400, 400))))
    let source: any ByteSource =
      waits ? TrickleSource(MemoryByteSource(file), headerBytes: 700) : MemoryByteSource(file)
    let image = try renderResuming(plan, source)
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels.channels(3)
    #expect(try #require(pixels.meanDifference(from: card.averaged(width: 80, height: 60))) < 4)
  }

  @Test(
    "a picture so narrow that a smaller frame would have another aspect ratio has no degraded frame",
    arguments: [(1, 1000, nil), (1000, 1, nil), (3, 1000, nil), (8, 1000, 125), (40, 1000, 125)] as [(Int, Int, Int?)])
  func narrow(_ width: Int, _ height: Int, _ longerSide: Int?) throws {
    let file = JPEGFile { _ in }.encoded(Pixels(width: width, height: height, channels: 3))
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let size = RenderPlanner().degradedPlan(header, header.sized(ImageRequest()))?.outputSize
    #expect(size.map { max($0.width, $0.height) } == longerSide)
  }

  /// With alpha that decreases from left to right.
  private static func withAlpha(_ scene: Pixels) -> Pixels {
    var out = Pixels(width: scene.width, height: scene.height, channels: 4)
    for i in 0..<scene.width * scene.height {
      let alpha = UInt8(255 - i % scene.width * 255 / scene.width)
      out.bytes.replaceSubrange(i * 4..<i * 4 + 4, with: Array(scene.bytes[i * 3..<i * 3 + 3]) + [alpha])
    }
    return out
  }

  /// The picture over a gray ground, so that pictures with alpha can be compared.
  private static func overGray(_ picture: Pixels) -> Pixels {
    var out = Pixels(width: picture.width, height: picture.height, channels: 3)
    for i in 0..<picture.width * picture.height {
      let alpha = Int(picture.bytes[i * 4 + 3])
      for c in 0..<3 {
        out.bytes[i * 3 + c] = UInt8((Int(picture.bytes[i * 4 + c]) * alpha + 128 * (255 - alpha)) / 255)
      }
    }
    return out
  }
}
