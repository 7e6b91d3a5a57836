import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Bad input")
struct BadInputTests {
  @Test("a truncated JPEG shows what is there, and says so")
  func truncatedJPEG() throws {
    let scene = Scene(seed: 9).pixels(width: 400, height: 300)
    let file = JPEGFile { _ in }.encoded(scene)
    let (image, pixels, _) = try render(Array(file[..<(file.count / 2)]), request(400, 300))
    #expect(image.isIncomplete)
    let top = scene.cropped(x: 0, y: 0, width: 400, height: 60)
    #expect(try #require(pixels.channels(3).cropped(x: 0, y: 0, width: 400, height: 60).meanDifference(from: top)) < 6)
  }

  @Test("a truncated PNG is refused, and says where it ends")
  func truncatedPNG() throws {
    let file = PNGFile(.rgb(depth: 8)).encoded(Scene(seed: 9).pixels(width: 100, height: 100))
    #expect(throws: CodecError.truncated(offset: Int64(file.count / 2))) {
      try render(Array(file[..<(file.count / 2)]), request(50, 50))
    }
  }

  @Test("every shorter file is a picture or an error, never worse", arguments: [true, false])
  func prefixes(_ isJPEG: Bool) {
    let scene = Scene(seed: 9).pixels(width: 48, height: 40)
    let exif = EXIFBlock {
      $0.orientation = 6
      $0.thumbnail = DemoLibrary.thumbnail(of: scene)
    }
    let file = isJPEG ? JPEGFile { $0.exif = exif }.encoded(scene) : PNGFile(.rgba(depth: 8)).encoded(scene)
    for length in 0..<file.count { _ = try? render(Array(file[..<length]), request(20, 20)) }
  }

  @Test("every file with one byte turned is a picture or an error, never worse", arguments: 0..<4)
  func flips(_ kind: Int) {
    let scene = Scene(seed: 9).pixels(width: 40, height: 40)
    let files = [
      JPEGFile { _ in }.encoded(scene), JPEGFile { $0.isProgressive = true }.encoded(scene),
      PNGFile(.palette(depth: 4)) { $0.isInterlaced = true }.encoded(scene),
      JPEGFile { $0.exif = EXIFBlock { $0.thumbnail = DemoLibrary.thumbnail(of: scene) } }.encoded(scene),
    ]
    for i in files[kind].indices {
      var file = files[kind]
      file[i] ^= 0xFF
      guard
        let header = try? ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits(sourcePixels: 1_000_000))
      else { continue }
      let plan = RenderPlanner().plan(header, request(20, 20))
      _ = try? Renderer(plan, source: MemoryByteSource(file), limits: CodecLimits(), stop: StopFlag()).resume()
    }
  }

  @Test("every profile with one byte turned is a picture, never an error and never worse", arguments: [false, true])
  func profileFlips(_ isCMYK: Bool) throws {
    let scene = Scene(seed: 9).pixels(width: 16, height: 16)
    let profile = isCMYK ? ICCFile.cmyk : ICCFile.displayP3
    // Of the table all bytes are alike; what leads to it is in the first of them. Tables take their time.
    for i in stride(from: 0, to: min(profile.count, 256), by: isCMYK ? 5 : 2) {
      var turned = profile
      turned[i] ^= 0xFF
      let file = JPEGFile {
        $0.color = isCMYK ? .cmyk : .ycbcr
        $0.profile = turned
      }.encoded(scene)
      _ = try render(file, ImageRequest(format: .jpeg, colorSpace: .srgb))
    }
  }

  @Test("too many pixels are refused by name, before any memory is taken")
  func pixelLimit() {
    let file = PNGFile(.gray(depth: 1)).encoded(Pixels(width: 300, height: 300, channels: 3))
    #expect(throws: CodecError.limitExceeded("the number of pixels", limit: 1000, found: 90_000)) {
      try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits(sourcePixels: 1000))
    }
  }

  @Test("a picture that is all side is refused by name: its weights alone would fill the memory")
  func sideLimit() {
    let file = PNGFile(.gray(depth: 1)).encoded(Pixels(width: 70_000, height: 1, channels: 3))
    #expect(throws: CodecError.limitExceeded("the longer side", limit: 65_500, found: 70_000)) {
      try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    }
  }

  @Test("a PNG whose pixels end before its end says so, at every size")
  func shortPNG() throws {
    let file = PNGFile(.rgb(depth: 8)).encoded(Scene(seed: 9).pixels(width: 200, height: 200))
    // The same pixels under a header that promises twice the rows; libpng is told not to mind the checksum by a right one.
    var tall = file
    tall[22] = 1
    tall[23] = 144
    let sum = Self.crc(Array(tall[12..<29]))
    for i in 0..<4 { tall[29 + i] = UInt8(truncatingIfNeeded: sum >> (24 - 8 * UInt32(i))) }
    for size in [50, 400] {
      #expect(throws: CodecError.self) { try render(tall, request(size, size)) }
      #expect(throws: CodecError.self) { try render(tall, request(size, size, .aspectFit, .jpeg)) }
    }
  }

  /// CRC-32 as PNG takes it (third edition, annex D).
  private static func crc(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }
  }

  @Test("a file that was replaced between its header and its rows is refused")
  func replaced() throws {
    let small = JPEGFile { _ in }.encoded(Scene(seed: 9).pixels(width: 60, height: 40))
    let large = JPEGFile { _ in }.encoded(Scene(seed: 9).pixels(width: 600, height: 400))
    for (before, after) in [(small, large), (large, small)] {
      let header = try ImageHeader.read(from: MemoryByteSource(before), limits: CodecLimits())
      let plan = RenderPlanner().plan(
        header, request(20, 20, .aspectFill, crop: UnitRect(x: 0.5, y: 0.5, width: 0.5, height: 0.5)))
      #expect(throws: CodecError.self) {
        _ = try Renderer(plan, source: MemoryByteSource(after), limits: CodecLimits(), stop: StopFlag()).resume()
      }
    }
  }

  @Test("a scan bomb is refused by name")
  func scanBomb() throws {
    let file = JPEGFile { $0.isProgressive = true }.encoded(Scene(seed: 1).pixels(width: 64, height: 64))
    let limits = CodecLimits(jpegScans: 3)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: limits)
    #expect(throws: CodecError.limitExceeded("the number of scans", limit: 3, found: 4)) {
      _ = try Renderer(
        RenderPlanner().plan(header, request(20, 20)), source: MemoryByteSource(file), limits: limits, stop: StopFlag()
      ).resume()
    }
  }

  @Test(
    "what is no picture says so",
    arguments: [
      ("", CodecError.truncated(offset: 0)), ("hello", .unsupported("neither a JPEG nor a PNG")),
      ("GIF89a", .unsupported("neither a JPEG nor a PNG")),
    ])
  func strangers(_ text: String, _ error: CodecError) {
    #expect(throws: error) { try ImageHeader.read(from: MemoryByteSource(Array(text.utf8)), limits: CodecLimits()) }
  }
}
