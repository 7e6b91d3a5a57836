import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

@Suite("JPEG segments of real files")
struct JPEGSegmentTests {
  struct Case: CustomTestStringConvertible {
    let testDescription: String
    let leading: [JPEGSegment]
    let trailing: [JPEGSegment]

    init(_ name: String, _ leading: [JPEGSegment], _ trailing: [JPEGSegment]) {
      testDescription = name
      self.leading = leading
      self.trailing = trailing
    }
  }

  private static let xmp = JPEGSegment.xmp(
    "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><tiff:Orientation>3</tiff:Orientation>")
  private static let largest = JPEGSegment(marker: 0xE1, content: [UInt8](repeating: 0x20, count: 65_533))
  private static let mpf = JPEGSegment(
    marker: 0xE2, content: Array("MPF\0II*\0".utf8) + [8, 0, 0, 0, 0, 0, 0, 0, 0, 0])

  static let cases = [
    Case("EXIF alone", [], []), Case("XMP after EXIF", [], [xmp]), Case("XMP before EXIF", [xmp], []),
    Case("XMP on both sides", [xmp], [xmp]),
    Case("two packets of the largest size before EXIF", [largest, largest], []),
    Case("FlashPix and MPF in APP2", [JPEGSegment(marker: 0xE2, content: Array("FPXR\0\0".utf8))], [mpf]),
    Case(
      "a comment, IPTC and an empty segment", [JPEGSegment(marker: 0xFE, content: Array("hello".utf8))],
      [JPEGSegment(marker: 0xED, content: Array("Photoshop 3.0\0".utf8)), JPEGSegment(marker: 0xE5, content: [])]),
    Case(
      "a second EXIF block, which does not count", [],
      [JPEGSegment(marker: 0xE1, content: EXIFBlock { $0.orientation = 3 }.bytes)]),
  ]

  @Test(
    "EXIF is found between other segments in either byte order, and the picture is upright",
    arguments: cases, [false, true])
  func metadata(_ segments: Case, _ isBigEndian: Bool) throws {
    let upright = Pixels.orientationCard(width: 160, height: 120)
    let stored = upright.stored(orientation: 6)
    let file = JPEGFile {
      $0.sampling = (1, 1)
      $0.leadingSegments = segments.leading
      $0.segments = segments.trailing
      $0.exif = EXIFBlock {
        $0.isBigEndian = isBigEndian
        $0.orientation = 6
        $0.make = "Maker"
        $0.thumbnail = DemoLibrary.thumbnail(of: stored)
      }
    }.encoded(stored)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    #expect(header.metadata.make == "Maker" && header.orientation == .rightTop && header.embeddedThumbnail != nil)
    #expect(header.embeddedProfile == nil)
    let (_, pixels, _) = try render(file, request(80, 80))
    #expect(try #require(pixels.channels(3).meanDifference(from: upright.averaged(width: 80, height: 60))) < 3)
  }

  @Test("a multi-picture file shows its first picture")
  func multiPicture() throws {
    let first = Scene(seed: 4).pixels(width: 200, height: 150)
    let plain = JPEGFile { _ in }.encoded(first)
    let several = JPEGFile { $0.segments = [Self.mpf] }.encoded(first)
    let second = JPEGFile { _ in }.encoded(Scene(seed: 5).pixels(width: 100, height: 100))
    let (image, pixels, _) = try render(several + second + second, request(100, 100))
    #expect(!image.isIncomplete && image.warnings.isEmpty)
    #expect(pixels == (try render(plain, request(100, 100))).pixels)
  }

  @Test(
    "a format without a decoder has a size and is refused by name",
    arguments: [(0xC1, 12, "12"), (0xC2, 12, "12"), (0xC3, 8, "SOF"), (0xC5, 8, "SOF"), (0xCB, 16, "SOF")])
  func undecodable(_ startOfFrame: Int, _ precision: Int, _ name: String) throws {
    var file = JPEGFile { _ in }.encoded(Scene(seed: 1).pixels(width: 64, height: 48))
    let frame = try #require(file.firstRange(of: [0xFF, 0xC0, 0, 17, 8]))
    file[frame.lowerBound + 1] = UInt8(startOfFrame)
    file[frame.lowerBound + 4] = UInt8(precision)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    #expect(header.storedSize == PixelSize(width: 64, height: 48))
    let error = #expect(throws: CodecError.self) { try render(file, request(20, 20)) }
    guard case .malformed(let what, .some) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(what.contains(name), "\(what)")
  }
}
