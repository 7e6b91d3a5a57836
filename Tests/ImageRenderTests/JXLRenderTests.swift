import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageCodec
@testable import ImageRender

@Suite("Rendering JPEG XL")
struct JXLRenderTests {
  private func jxl(
    _ size: PixelSize, isGray: Bool = false, hasAlpha: Bool = false, isDeep: Bool = false, hasProfile: Bool = false
  ) -> ImageHeader {
    var colors = JXLColors()
    colors.hasProfile = hasProfile
    var header = ImageHeader(
      format: .jxl, storedSize: size, colorChannels: isGray ? 1 : 3, hasAlpha: hasAlpha,
      bitsPerChannel: isDeep ? 16 : 8,
      isProgressive: false, isBuffered: false, metadata: EXIFSummary(),
      embeddedProfile: hasProfile ? .coded : nil)
    header.coded = .jxl(
      JXLPicture(
        JXLCodestream(
          size: size, isGray: isGray, hasAlpha: hasAlpha, isDeep: isDeep, isXYB: !hasProfile, colors: colors),
        codestream: [ByteRange(offset: 0, length: 1)]))
    return header
  }

  @Test("the region of a JPEG XL comes from its worker at the scale of the plan", arguments: [8, 4, 1])
  func jxlRegion(_ eighths: Int) throws {
    let size = PixelSize(width: 136, height: 64)
    for (isGray, hasAlpha, isDeep) in [
      (false, false, false), (false, true, false), (true, false, false), (true, true, true), (false, false, true),
    ] {
      let header = jxl(size, isGray: isGray, hasAlpha: hasAlpha, isDeep: isDeep)
      let region = PixelRect(x: 3, y: 2, width: 136 * eighths / 8 - 5, height: 64 * eighths / 8 - 4)
      guard case .jxl(let picture) = header.coded else { throw CodecError.unsupported("no JPEG XL") }
      let decoder = JXLRowDecoder(
        picture, eighths: eighths, region: region, workers: PaintingDecoder(), source: MemoryByteSource([0]),
        stop: StopFlag())
      let channels = (isGray ? 1 : 3) + (hasAlpha ? 1 : 0)
      #expect(decoder.layout.channels == channels && decoder.layout.firstColumn == 3)
      let rows = CollectedRows(decoder.layout)
      #expect(try decoder.decode(into: rows) == .finished)
      let painted = PaintedPicture { ($0.size, $0.hasAlpha) = (size, hasAlpha) }
      let all = painted.pixels.averaged(width: 136 * eighths / 8, height: 64 * eighths / 8)
      let expected = all.cropped(x: 3, y: 2, width: region.width, height: region.height)
      let wanted = (isGray ? [0] : [0, 1, 2]) + (hasAlpha ? [3] : [])
      let samples = (0..<region.width * region.height).flatMap { pixel in
        wanted.flatMap { channel -> [UInt8] in
          let sample = expected.bytes[pixel * expected.channels + channel]
          return isDeep ? [sample, sample] : [sample]
        }
      }
      let isEqual = rows.order.flatMap { rows.rows[$0] ?? [] } == samples
      #expect(isEqual && rows.order == Array(2..<2 + region.height))
    }
  }

  @Test("a worker of a JPEG XL that leaves out rows is an error")
  func jxlMissingRows() throws {
    guard case .jxl(let picture) = jxl(PixelSize(width: 136, height: 64)).coded else {
      throw CodecError.unsupported("no JPEG XL")
    }
    let decoder = JXLRowDecoder(
      picture, eighths: 8, region: PixelRect(picture.header.size), workers: PaintingDecoder(lastBand: 2),
      source: MemoryByteSource([0]), stop: StopFlag())
    // The worker's end is no error, and the consumer wants more.
    #expect(throws: CodecError.malformed("a decoder that left out rows", offset: nil)) {
      _ = try decoder.decode(into: CollectedRows(decoder.layout))
    }
  }

  @Test("the profile of a JPEG XL comes from its worker, within its limits")
  func jxlProfile() throws {
    let header = jxl(PixelSize(width: 20, height: 10), hasProfile: true)
    func color(_ decoder: PaintingDecoder?, limit: Int = 8 << 20) throws(CodecError) -> SourceColor {
      try header.sourceColor(
        in: MemoryByteSource([0]), workers: decoder, limits: CodecLimits(profileBytes: limit), stop: StopFlag())
    }
    for profile in [ICCFile.adobeRGB, ICCFile.padded(ICCFile.displayP3, by: 20_000)] {
      let isEqual = try color(PaintingDecoder(profile: profile)).profile == profile
      #expect(isEqual)
    }
    let decoder = PaintingDecoder(profile: ICCFile.adobeRGB)
    #expect(
      throws: CodecError.limitExceeded("the size of the colour profile", limit: 100, found: ICCFile.adobeRGB.count)
    ) { try color(decoder, limit: 100) }
    #expect(throws: CodecError.limitExceeded("the size of the colour profile", limit: 1 << 20, found: 1 << 24)) {
      try color(PaintingDecoder(statedProfileBytes: 1 << 24))
    }
    #expect(throws: CodecError.decoderUnavailable(.jxl)) { try color(nil) }
    // Only the rows that hold it are waited for.
    #expect(decoder.bands == 1)
  }

  /// The samples that the encoder of a JPEG XL gets.
  private func encodedSamples(
    _ file: [UInt8], _ colorSpace: ColorSpace, refusesProfiles: Bool = false
  ) throws -> [Int] {
    let source = MemoryByteSource(file)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    let request = ImageRequest(format: .jxl, quality: 100, colorSpace: colorSpace)
    let workers = CapturingEncoder(refusesProfiles: refusesProfiles)
    let renderer = try Renderer(
      RenderPlanner().plan(header, header.sized(request)), source: source, workers: workers, limits: CodecLimits(),
      stop: StopFlag())
    _ = try renderer.render()
    return try #require(workers.captures.first).samples.map { Int($0) }
  }

  @Test("a picture whose profile the encoder of JPEG XL refuses becomes sRGB, and loses a profile that can't be used")
  func refusedProfile() throws {
    let colors = ColorTests.patches(ColorTests.colors)
    let kinds: [(PNGFile.Kind, [UInt8])] = [
      (.rgb(depth: 8), ICCFile.displayP3), (.rgba(depth: 8), ICCFile.displayP3),
      (.gray(depth: 8), ICCFile.gray(exponent: 1.8)), (.grayAlpha(depth: 8), ICCFile.gray(exponent: 1.8)),
    ]
    for (kind, profile) in kinds {
      let file = PNGFile(kind) { $0.profile = profile }.encoded(colors)
      let expected = try encodedSamples(file, .srgb)
      let found = try encodedSamples(file, .preserve, refusesProfiles: true)
      let kept = try encodedSamples(file, .preserve)
      #expect(zip(found, expected).allSatisfy { abs($0 - $1) <= 1 } && found.count == expected.count, "\(kind)")
      #expect(found != kept)
    }
    // Tone curves of an unknown type.
    var broken = ICCFile.displayP3
    for i in broken.indices.dropLast(4) where broken[i..<i + 4].elementsEqual("para".utf8) { broken[i] = 0 }
    let file = ColorTests.jpeg(ColorTests.colors, broken)
    let found = try encodedSamples(file, .preserve, refusesProfiles: true)
    let plain = try encodedSamples(ColorTests.jpeg(ColorTests.colors, nil), .preserve)
    #expect(found == plain)
  }
}
