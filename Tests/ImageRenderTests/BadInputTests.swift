import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Bad input")
struct BadInputTests {
  @Test("a truncated JPEG shows its decodable part and is marked incomplete")
  func truncatedJPEG() throws {
    let scene = Scene(seed: 9).pixels(width: 400, height: 300)
    let file = JPEGFile { _ in }.encoded(scene)
    let (image, pixels, _) = try render(Array(file[..<(file.count / 2)]), request(400, 300))
    #expect(image.isIncomplete)
    let top = scene.cropped(x: 0, y: 0, width: 400, height: 60)
    #expect(try #require(pixels.channels(3).cropped(x: 0, y: 0, width: 400, height: 60).meanDifference(from: top)) < 6)
  }

  @Test("a truncated PNG is refused with the offset of its end")
  func truncatedPNG() throws {
    let file = PNGFile(.rgb(depth: 8)).encoded(Scene(seed: 9).pixels(width: 100, height: 100))
    #expect(throws: CodecError.truncated(offset: Int64(file.count / 2))) {
      try render(Array(file[..<(file.count / 2)]), request(50, 50))
    }
  }

  @Test("every shorter file gives a picture or an error, never a crash", arguments: [true, false])
  func shorter(_ isJPEG: Bool) {
    let scene = Scene(seed: 9).pixels(width: 48, height: 40)
    let exif = EXIFBlock {
      $0.orientation = 6
      $0.thumbnail = DemoLibrary.thumbnail(of: scene)
    }
    let file = isJPEG ? JPEGFile { $0.exif = exif }.encoded(scene) : PNGFile(.rgba(depth: 8)).encoded(scene)
    let found = outcomes(of: prefixes(file, of: 0..<file.count), request(20, 20))
    #expect(found.pictures > 0 && found.errors > 0)
  }

  @Test("every file with one changed byte gives a picture or an error, never a crash", arguments: 0..<4)
  func flips(_ kind: Int) throws {
    let scene = Scene(seed: 9).pixels(width: 40, height: 40)
    let files = [
      JPEGFile { _ in }.encoded(scene), JPEGFile { $0.isProgressive = true }.encoded(scene),
      PNGFile(.palette(depth: 4)) { $0.isInterlaced = true }.encoded(scene),
      JPEGFile { $0.exif = EXIFBlock { $0.thumbnail = DemoLibrary.thumbnail(of: scene) } }.encoded(scene),
    ]
    let file = files[kind]
    _ = try render(file, request(20, 20))
    let found = outcomes(of: flipped(file, at: file.indices, [0xFF]), request(20, 20))
    // The checksums of a PNG find each change.
    let isPNG = kind == 2
    #expect((found.pictures > 0 || isPNG) && found.errors > 0)
  }

  @Test("every profile with one changed byte gives a picture", arguments: [false, true])
  func profileFlips(_ isCMYK: Bool) throws {
    let scene = Scene(seed: 9).pixels(width: 16, height: 16)
    let profile = isCMYK ? ICCFile.cmyk : ICCFile.displayP3
    // All bytes of the table are alike, so only the first ones are tried, and those that lead to it. Tables take long.
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

  @Test("too many pixels are refused with the limit's name, before memory is allocated")
  func pixelLimit() {
    let file = PNGFile(.gray(depth: 1)).encoded(Pixels(width: 300, height: 300, channels: 3))
    #expect(throws: CodecError.limitExceeded("the number of pixels", limit: 1000, found: 90_000)) {
      try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits(sourcePixels: 1000))
    }
  }

  @Test("a very long side is refused with the limit's name: its resampling weights would fill the memory")
  func sideLimit() {
    let file = PNGFile(.gray(depth: 1)).encoded(Pixels(width: 70_000, height: 1, channels: 3))
    #expect(throws: CodecError.limitExceeded("the longer side", limit: 65_500, found: 70_000)) {
      try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    }
  }

  @Test("a PNG whose pixel data ends early reports it, at every output size")
  func shortPNG() throws {
    let file = PNGFile(.rgb(depth: 8)).encoded(Scene(seed: 9).pixels(width: 200, height: 200))
    // The same pixels under a header that promises twice the rows, with a correct checksum so that libpng reads it.
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

  /// CRC-32 as PNG defines it (third edition, annex D).
  private static func crc(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }
  }

  @Test("a file that was replaced after its header was read is refused")
  func replaced() throws {
    let small = JPEGFile { _ in }.encoded(Scene(seed: 9).pixels(width: 60, height: 40))
    let large = JPEGFile { _ in }.encoded(Scene(seed: 9).pixels(width: 600, height: 400))
    for (before, after) in [(small, large), (large, small)] {
      let header = try ImageHeader.read(from: MemoryByteSource(before), limits: CodecLimits())
      let plan = RenderPlanner().plan(
        header, request(20, 20, .aspectFill, crop: UnitRect(x: 0.5, y: 0.5, width: 0.5, height: 0.5)))
      #expect(throws: CodecError.self) {
        _ = try Renderer(plan, source: MemoryByteSource(after), limits: CodecLimits(), stop: StopFlag()).render()
      }
    }
  }

  @Test("a scan bomb is refused with the limit's name")
  func scanBomb() throws {
    let file = JPEGFile { $0.isProgressive = true }.encoded(Scene(seed: 1).pixels(width: 64, height: 64))
    let limits = CodecLimits(jpegScans: 3)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: limits)
    #expect(throws: CodecError.limitExceeded("the number of scans", limit: 3, found: 4)) {
      _ = try Renderer(
        RenderPlanner().plan(header, request(20, 20)), source: MemoryByteSource(file), limits: limits, stop: StopFlag()
      ).render()
    }
  }

  @Test("with the default limit, hundreds of scans are refused before the first is decoded")
  func manyScans() throws {
    let file = JPEGFile { $0.isProgressive = true }.encoded(Scene(seed: 1).pixels(width: 64, height: 64))
    let end = file.count - 2
    let last = try #require(file.indices.last { file[$0] == 0xFF && $0 + 1 < file.count && file[$0 + 1] == 0xDA })
    let scan = file[last..<end]
    var bomb = Array(file[..<end])
    for _ in 0..<300 { bomb += scan }
    bomb += file[end...]
    let limits = CodecLimits()
    let header = try ImageHeader.read(from: MemoryByteSource(bomb), limits: limits)
    let plan = RenderPlanner().plan(header, request(20, 20))
    // Thrown when the decoder is made, before any row can be requested.
    #expect(throws: CodecError.limitExceeded("the number of scans", limit: 100, found: 101)) {
      _ = try Renderer(plan, source: MemoryByteSource(bomb), limits: limits, stop: StopFlag())
    }
  }

  @Test("scan markers inside a thumbnail are not counted as scans")
  func scansElsewhere() throws {
    let scene = Scene(seed: 1).pixels(width: 64, height: 64)
    let file = JPEGFile {
      $0.isProgressive = true
      $0.exif = EXIFBlock { $0.make = String(repeating: "x", count: 40) }
    }.encoded(scene)
    let place = try #require(file.firstRange(of: [UInt8](repeating: 0x78, count: 40)))
    var odd = file
    odd.replaceSubrange(place, with: (0..<40).map { $0 % 2 == 0 ? 0xFF : 0xDA })
    let limits = CodecLimits(jpegScans: 12)
    let header = try ImageHeader.read(from: MemoryByteSource(odd), limits: limits)
    let renderer = try Renderer(
      RenderPlanner().plan(header, request(20, 20)), source: MemoryByteSource(odd), limits: limits, stop: StopFlag())
    _ = try renderer.render()
  }

  @Test("compressed text is skipped, whatever size it would inflate to", arguments: ["zTXt", "iTXt"], [false, true])
  func text(_ type: String, _ isInterlaced: Bool) throws {
    let plain = PNGFile(.rgb(depth: 8)) { $0.isInterlaced = isInterlaced }.encoded(
      Pixels.orientationCard(width: 16, height: 16))
    let start = Array("Name".utf8) + [0] + (type == "iTXt" ? [1, 0, 0, 0] : [0])
    // 300,000 bytes become a few hundred. If libpng inflates it, it warns, because a chunk may not inflate to that
    // much.
    let bomb = PNGChunks.chunk(type, start + PNGChunks.deflated(zeros: 300_000))
    let file = plain[..<33] + bomb + plain[33...].dropLast(12) + bomb + plain.suffix(12)
    let limits = CodecLimits(profileBytes: 10_000)
    let (image, _, _) = try render(Array(file), request(16, 16), limits: limits)
    let expected = try render(plain, request(16, 16)).image.bytes
    #expect(image.warnings.isEmpty && image.bytes == expected)
  }

  @Test("a profile that inflates beyond the limit is refused with the limit's name")
  func inflation() throws {
    let plain = PNGFile(.rgb(depth: 8)).encoded(Pixels.orientationCard(width: 16, height: 16))
    let content = Array("Name".utf8) + [0, 0] + PNGChunks.deflated(zeros: 300_000)
    let file = Array(plain[..<33] + PNGChunks.chunk("iCCP", content) + plain[33...])
    let limits = CodecLimits(profileBytes: 200_000)
    #expect(throws: CodecError.limitExceeded("the size of the colour profile", limit: 200_000, found: 200_001)) {
      try render(file, request(16, 16), limits: limits)
    }
  }

  @Test("an ancillary chunk over the limit is refused with the limit's name")
  func longChunk() {
    let plain = PNGFile(.rgb(depth: 8)).encoded(Pixels.orientationCard(width: 16, height: 16))
    let file = plain[..<33] + PNGChunks.chunk("prIv", [UInt8](repeating: 1, count: 5000)) + plain[33...]
    #expect(throws: CodecError.limitExceeded("the size of a chunk", limit: 4000, found: 5000)) {
      try ImageHeader.read(from: MemoryByteSource(Array(file)), limits: CodecLimits(profileBytes: 4000))
    }
  }

  @Test("sampling factors that JPEG does not allow are refused", arguments: [0x00, 0x01, 0x10, 0x51, 0x1F], 0..<3)
  func sampling(_ factors: UInt8, _ component: Int) throws {
    var file = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48))
    // SOF0: length, depth, size and count; then a number, factors and a table for each component (T.81 §B.2.2).
    let frame = try #require(file.firstRange(of: [0xFF, 0xC0]))
    file[frame.upperBound + 8 + component * 3 + 1] = factors
    #expect {
      try render(file, request(32, 24, .aspectFit, .jpeg))
    } throws: {
      if case .malformed? = $0 as? CodecError { true } else { false }
    }
  }

  @Test("a failing encoder is not reported as a damaged original")
  func encoder() {
    #expect {
      try JPEGEncoder(size: PixelSize(width: 70_000, height: 1), channels: 3, quality: 80, profile: nil)
    } throws: {
      if case .encodingFailed? = $0 as? CodecError { true } else { false }
    }
    #expect {
      try PNGEncoder(size: PixelSize(width: 0, height: 1), channels: 3, profile: nil)
    } throws: {
      if case .encodingFailed? = $0 as? CodecError { true } else { false }
    }
  }

  @Test("warnings of a C library carry its name and their number")
  func warnings() throws {
    let scene = Scene(seed: 9).pixels(width: 200, height: 160)
    var broken = JPEGFile { _ in }.encoded(scene)
    // Restart markers throughout the scan, where none are due.
    for i in stride(from: broken.count / 2, to: broken.count - 4, by: 101) {
      broken.replaceSubrange(i..<i + 2, with: [0xFF, 0xD3])
    }
    let jpeg = try render(broken, request(50, 50)).image.warnings
    #expect(jpeg.map(\.library) == ["libjpeg"] && (jpeg.first?.count ?? 0) > 0 && jpeg.first?.first.isEmpty == false)

    let plain = PNGFile(.rgb(depth: 8)).encoded(scene)
    // One byte where RGB has three, and an invalid profile.
    let bits = PNGChunks.chunk("sBIT", [8])
    let profile = PNGChunks.chunk("iCCP", Array("icc".utf8) + [0, 0] + PNGChunks.stored([1, 2, 3]))
    let png = try render(plain[..<33] + bits + profile + plain[33...], request(50, 50)).image.warnings
    #expect(png.map(\.library) == ["libpng", "lcms2"] && png.allSatisfy { $0.count == 1 && !$0.first.isEmpty })

    // An invalid byte order.
    var exif = JPEGFile { $0.exif = EXIFBlock { $0.make = "Maker and more" } }.encoded(scene)
    let place = try #require(exif.firstRange(of: Array("Exif".utf8) + [0, 0]))
    exif.replaceSubrange(place.upperBound..<place.upperBound + 2, with: Array("XX".utf8))
    let header = try ImageHeader.read(from: MemoryByteSource(exif), limits: CodecLimits())
    #expect(header.warnings?.library == "EXIF" && header.warnings?.count == 1)
    #expect(header.warnings?.first.isEmpty == false)
  }

  @Test("an EXIF block that is made to take long to search is not searched")
  func endlessSearch() throws {
    // A thumbnail of FF D8 FF D8 … in a block of the same bytes: a search by comparing would take quadratic time.
    let pattern = (0..<60_000).map { UInt8($0 % 2 == 0 ? 0xFF : 0xD8) }
    let exif = EXIFBlock { $0.thumbnail = Array(pattern.prefix(20_000)) }.bytes + pattern.prefix(30_000)
    let plain = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 16, height: 16))
    let length = exif.count + 2
    let file = plain[..<2] + [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 255)] + exif + plain[2...]
    let header = try ImageHeader.read(from: MemoryByteSource(Array(file)), limits: CodecLimits())
    #expect(header.embeddedThumbnail?.length == 20_000)
  }

  @Test("a JPEG that ends inside a segment of its header is refused with the offset of its end")
  func truncatedHeader() throws {
    let comment = JPEGSegment(marker: 0xFE, content: [UInt8](repeating: 0x20, count: 1000))
    let file = JPEGFile { $0.leadingSegments = [comment] }.encoded(Pixels.orientationCard(width: 16, height: 16))
    // The length of the comment leads beyond the end of the file.
    #expect(throws: CodecError.truncated(offset: 200)) {
      try ImageHeader.read(from: MemoryByteSource(Array(file.prefix(200))), limits: CodecLimits())
    }
  }

  @Test(
    "a file that is no picture is refused as such",
    arguments: [
      ("", CodecError.truncated(offset: 0)), ("hello", .unsupported("no picture of a known format")),
      ("FUJIFILMCCD-RAW ", .truncated(offset: 16)), ("GIF89a", .truncated(offset: 6)),
    ])
  func strangers(_ text: String, _ error: CodecError) {
    #expect(throws: error) { try ImageHeader.read(from: MemoryByteSource(Array(text.utf8)), limits: CodecLimits()) }
  }
}
