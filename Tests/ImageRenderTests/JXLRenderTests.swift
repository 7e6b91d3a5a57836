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
      embeddedProfile: hasProfile ? .coded : nil, profileBytes: 0)
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
      guard case .jxl(let picture) = header.coded else { return }
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
    guard case .jxl(let picture) = jxl(PixelSize(width: 136, height: 64)).coded else { return }
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
}
