import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("HEIF and AVIF")
struct HEIFHeaderTests {
  /// libavif's table (avifImageGetExifOrientationFromIrotImir, by ISO/IEC 23008-12:2022 §6.5.10 and §6.5.12): quarter turns
  /// anticlockwise, then an exchange of top and bottom (0) or left and right (1).
  static let turns: [(turns: Int, axis: Int?, Orientation)] = [
    (0, nil, .topLeft), (0, 0, .bottomLeft), (0, 1, .topRight), (1, nil, .leftBottom), (1, 0, .leftTop),
    (1, 1, .rightBottom), (2, nil, .bottomRight), (2, 0, .topRight), (2, 1, .bottomLeft), (3, nil, .rightTop),
    (3, 0, .rightBottom), (3, 1, .leftTop),
  ]

  @Test("rotation and mirroring become the orientation", arguments: turns)
  func orientation(_ turns: Int, _ axis: Int?, _ orientation: Orientation) throws {
    let file = HEIFFile {
      if turns > 0 { $0.transformations.append(.rotation(turns)) }
      if let axis { $0.transformations.append(.mirror(axis: axis)) }
    }
    let read = try header(file.bytes)
    #expect(read.orientation == orientation)
    #expect(read.storedSize == PixelSize(width: 64, height: 48))
  }

  @Test("transformations are applied in the item's order", arguments: [0, 1])
  func order(_ axis: Int) throws {
    // Mirrored, then rotated: the same as rotated, then mirrored along the other axis.
    let first = try header(HEIFFile { $0.transformations = [.mirror(axis: axis), .rotation(1)] }.bytes)
    let second = try header(HEIFFile { $0.transformations = [.rotation(1), .mirror(axis: 1 - axis)] }.bytes)
    #expect(first.orientation == second.orientation)
  }

  @Test("a crop applies to its input, before and after a rotation")
  func crop() throws {
    let before = try header(HEIFFile { $0.transformations = [.crop(width: 60, height: 20), .rotation(3)] }.bytes)
    #expect(before.storedSize == PixelSize(width: 60, height: 20))
    #expect(before.uprightSize == PixelSize(width: 20, height: 60))
    let behind = try header(HEIFFile { $0.transformations = [.rotation(3), .crop(width: 20, height: 60)] }.bytes)
    #expect(behind.uprightSize == PixelSize(width: 20, height: 60))
    // A crop larger than the picture is ignored.
    #expect(try header(HEIFFile { $0.transformations = [.crop(width: 65, height: 2)] }.bytes).storedSize.width == 64)
  }

  @Test("the EXIF orientation is not applied in addition, and is kept in the metadata")
  func exifOrientation() throws {
    let file = HEIFFile {
      $0.exif = exifBlock {
        $0.orientation = 6
        $0.make = "Maker"
        $0.dateTimeOriginal = "2024:05:06 07:08:09"
        $0.offsetTimeOriginal = "+02:00"
        $0.latitude = 48.25
        $0.longitude = -16.5
      }
    }
    let bytes = file.bytes
    let read = try header(bytes)
    #expect(read.orientation == .topLeft && read.exif.orientation == .rightTop)
    #expect(read.exif.make == "Maker" && read.exif.location == Location(latitude: 48.25, longitude: -16.5))
    #expect(read.exif.date == EXIFDate(year: 2024, month: 5, day: 6, hour: 7, minute: 8, second: 9, offsetMinutes: 120))
    #expect(part(read.block(.exif), of: bytes) == file.exif)
    #expect(read.containerDate == nil && read.durationSeconds == 0)
  }

  @Test(
    "an EXIF block is found after its prefix", arguments: [[], Array("Exif".utf8) + [0, 0], [1, 2, 3]])
  func exifPrefix(_ prefix: [UInt8]) throws {
    let block = exifBlock { $0.model = "Model 1" }
    let bytes = HEIFFile { ($0.exif, $0.exifPrefix) = (block, prefix) }.bytes
    let read = try header(bytes)
    #expect(read.exif.model == "Model 1")
    #expect(part(read.block(.exif), of: bytes) == block)
  }

  @Test(
    "tables with fields of all widths are read, and items inside the tables",
    arguments: [(false, false), (true, false), (false, true), (true, true)])
  func tables(_ isWide: Bool, _ usesItemData: Bool) throws {
    let file = HEIFFile {
      ($0.isWide, $0.usesItemData) = (isWide, usesItemData)
      $0.exif = exifBlock { $0.model = "Model 1" }
      $0.xmp = packet(rating: 4)
      $0.thumbnail = TIFFPicture.jpeg
      $0.auxiliaries = ["urn:mpeg:hevc:2015:auxid:1"]
      $0.tiles = 4
      $0.transformations = [.rotation(2)]
    }
    let bytes = file.bytes
    let read = try header(bytes)
    #expect(read.storedSize == PixelSize(width: 64, height: 48) && read.orientation == .bottomRight && read.hasAlpha)
    #expect(read.exif.model == "Model 1" && read.facts.rating == 4)
    #expect(part(read.block(.xmp), of: bytes) == Array(packet(rating: 4).utf8))
    #expect(part(read.thumbnail, of: bytes) == TIFFPicture.jpeg)
  }

  @Test("a grid without a size property has its size in its data", arguments: [false, true])
  func grid(_ usesItemData: Bool) throws {
    let file = HEIFFile { ($0.tiles, $0.hasSize, $0.usesItemData, $0.width) = (6, false, usesItemData, 4032) }
    #expect(try header(file.bytes).storedSize == PixelSize(width: 4032, height: 48))
    #expect(throws: CodecError.malformed("a heic file whose primary item has no size", offset: nil)) {
      try header(HEIFFile { $0.hasSize = false }.bytes)
    }
  }

  static let auxiliaries: [(String, Bool, MediaSubtypes)] = [
    ("urn:mpeg:hevc:2015:auxid:1", true, []), ("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", true, []),
    ("urn:mpeg:hevc:2015:auxid:2", false, .photoDepthEffect),
    ("urn:mpeg:mpegB:cicp:systems:auxiliary:depth", false, .photoDepthEffect),
    ("urn:com:apple:photo:2018:aux:portraiteffectsmatte", false, .photoDepthEffect),
    ("urn:com:apple:photo:2020:aux:hdrgainmap", false, .photoHDR),
    ("urn:com:apple:photo:2019:aux:semanticskinmatte", false, []),
  ]

  @Test("the type of an auxiliary picture determines alpha and subtypes", arguments: auxiliaries)
  func auxiliary(_ name: String, _ hasAlpha: Bool, _ subtypes: MediaSubtypes) throws {
    let read = try header(HEIFFile { $0.auxiliaries = ["urn:else", name] }.bytes)
    #expect(read.hasAlpha == hasAlpha && read.facts.subtypes == subtypes)
  }

  @Test("a picture with a derived tone map is HDR")
  func toneMap() throws {
    #expect(try header(HEIFFile { $0.hasToneMap = true }.bytes).facts.subtypes == .photoHDR)
    #expect(try header(HEIFFile { _ in }.bytes).facts.subtypes == [])
  }
}
