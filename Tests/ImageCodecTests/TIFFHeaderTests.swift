import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("TIFF and RAW")
struct TIFFHeaderTests {
  typealias Picture = TIFFPicture
  typealias Directory = TIFFPicture.Directory

  static let kinds: [(name: String, bytes: [UInt8], MediaFormat, width: Int, height: Int)] = {
    let details = Picture.Details { _ in }
    func sized(_ width: Int, _ height: Int, make: String = "Maker") -> Picture.Details {
      Picture.Details { ($0.pixelSize, $0.make) = ((width, height), make) }
    }
    return [
      ("TIFF", Picture.tiff(details).bytes, .tiff, 300, 200),
      ("TIFF with what a former picture's size was", Picture.tiff(sized(3000, 2000)).bytes, .tiff, 300, 200),
      (
        "BigTIFF",
        CodedTIFFFile(width: 60_000, height: 200, samplesPerPixel: 1, samples: []) {
          ($0.isBigTIFF, $0.data) = (true, [[1]])
        }.bytes, .tiff, 60_000, 200
      ),
      ("DNG: the crop of the main picture", Picture.dng(details).bytes, .dng, 4000, 3000),
      ("CR2: what EXIF says", Picture.cr2(sized(3504, 2336)).bytes, .cr2, 3504, 2336),
      ("CR2 without EXIF's size", Picture.cr2(details).bytes, .cr2, 1536, 1024),
      ("NEF: the main picture", Picture.nef(Picture.Details { $0.make = "NIKON CORPORATION" }).bytes, .nef, 4310, 2868),
      ("NEF with EXIF's size", Picture.nef(sized(4288, 2848, make: "NIKON")).bytes, .nef, 4288, 2848),
      (
        "ARW: what EXIF says, if it is nearly all", Picture.arw(sized(6000, 4000, make: "SONY")).bytes, .arw, 6000, 4000
      ),
      ("ARW with a preview's size in EXIF", Picture.arw(sized(1616, 1080, make: "SONY")).bytes, .arw, 6048, 4024),
      ("CR3", CR3File().bytes, .cr3, 6000, 4000),
      ("CR3, its other byte order", CR3File { $0.isBigEndian = true }.bytes, .cr3, 6000, 4000),
    ]
  }()

  @Test("the size of the main picture is read, wherever its directory is", arguments: kinds.indices)
  func sizes(_ i: Int) throws {
    let (name, bytes, format, width, height) = Self.kinds[i]
    let read = try header(bytes)
    #expect(read.format == format, "\(name)")
    #expect(read.storedSize == PixelSize(width: width, height: height), "\(name)")
  }

  @Test(
    "camera, date, orientation and location are read in both byte orders, also far from the start",
    arguments: [(false, 0), (true, 0), (false, 100_000), (true, 100_000)])
  func details(_ isBigEndian: Bool, _ padding: Int) throws {
    for make in [Picture.tiff, Picture.dng] {
      let read = try header(
        make(Picture.Details { $0.model = "Model 1 with a longer name" }) {
          ($0.isBigEndian, $0.padding) = (isBigEndian, padding)
        }.bytes)
      try check(read, model: "Model 1 with a longer name")
    }
    try check(header(CR3File { $0.isBigEndian = isBigEndian }.bytes), model: "Model 1")
  }

  private func check(_ read: MediaHeader, model: String) throws {
    #expect(read.orientation == .rightTop && read.uprightSize == read.storedSize.transposed)
    #expect(read.exif.make == "Maker" && read.exif.model == model)
    #expect(
      read.exif.date
        == EXIFDate(
          year: 2024, month: 5, day: 6, hour: 7, minute: 8, second: 9, millisecond: 250, offsetMinutes: -210))
    #expect(read.exif.location == Location(latitude: -33.5, longitude: 18.25, altitude: -12.5))
    #expect(read.warnings == nil)
  }

  static let thumbnails: [[UInt8]] = [
    Picture.dng(ContainerSamples.details).bytes, Picture.cr2(ContainerSamples.details).bytes,
    Picture.nef(Picture.Details { $0.make = "NIKON" }).bytes, Picture.arw(Picture.Details { $0.make = "SONY" }).bytes,
    CR3File().bytes,
  ]

  @Test("the thumbnail is the smallest JPEG that is not the picture itself", arguments: thumbnails)
  func thumbnail(_ bytes: [UInt8]) throws {
    #expect(part(try header(bytes).thumbnail, of: bytes) == Picture.jpeg)
  }

  @Test("Apple's maker note is read with the block; those of other makers are left out")
  func makerNote() throws {
    // One entry of Apple's: tag 11 is the burst's identifier (an ASCII text).
    let identifier = Array("burst-0815".utf8) + [0]
    var note = Array("Apple iOS".utf8) + [0, 0, 1] + Array("MM".utf8) + Boxes.number(1, 2)
    note += Boxes.number(11, 2) + Boxes.number(2, 2) + Boxes.number(identifier.count, 4) + Boxes.number(32, 4)
    note += Boxes.number(0, 4) + identifier
    #expect(
      try header(Picture.dng(Picture.Details { $0.makerNote = note }).bytes).facts.burstIdentifier == "burst-0815")
    let other = [UInt8](repeating: 1, count: 60_000)
    #expect(
      try header(Picture.nef(Picture.Details { ($0.makerNote, $0.make) = (other, "NIKON") }).bytes).exif.model
        == "Model 1")
  }

  @Test("XMP and IPTC are found and read")
  func blocks() throws {
    let xmp = Array(packet(rating: 2).utf8)
    let bytes = Picture.tiff(Picture.Details()) {
      $0.chain[0].entries += [(700, .bytes(xmp)), (33_723, .undefined([0x1C, 2, 5, 0, 1, 65]))]
    }.bytes
    let read = try header(bytes)
    #expect(part(read.block(.xmp), of: bytes) == xmp && read.facts.rating == 2)
    #expect(part(read.block(.iptc), of: bytes) == [0x1C, 2, 5, 0, 1, 65])
    let cr3 = CR3File { $0.xmp = packet(rating: 1) }.bytes
    #expect(try header(cr3).facts.rating == 1)
    #expect(part(try header(cr3).block(.xmp), of: cr3) == Array(packet(rating: 1).utf8))
  }

  @Test("alpha is found among the extra samples", arguments: [([0], false), ([1], true), ([0, 2], true)])
  func alpha(_ samples: [Int], _ hasAlpha: Bool) throws {
    #expect(
      try header(Picture.tiff(Picture.Details()) { $0.chain[0].entries.append((338, .short(samples))) }.bytes).hasAlpha
        == hasAlpha)
  }

  @Test("the first page that is not a reduced version of another is used")
  func pages() throws {
    func page(_ width: Int, _ type: Int) -> Directory {
      Directory([(254, .long([type])), (256, .long([width])), (257, .long([10]))])
    }
    let pages = Picture { $0.chain = [page(10, 1), page(20, 1), page(30, 2), page(40, 0)] }
    #expect(try header(pages.bytes).storedSize.width == 30)
    #expect(try header(Picture { $0.chain = [page(10, 1), page(20, 1)] }.bytes).storedSize.width == 10)
    let many = Picture { $0.chain = (0..<40).map { page($0 + 1, 1) } }
    #expect(throws: CodecError.limitExceeded("the number of directories", limit: 32, found: 33)) {
      try header(many.bytes)
    }
  }

  @Test("the number of subdirectories is limited")
  func subdirectories() throws {
    let many = Picture.dng(Picture.Details()) {
      $0.chain[0].entries.removeAll { $0.tag == 330 }
      $0.chain[0].entries.append((330, .long((0..<33).map { _ in 8 })))
    }
    #expect(throws: CodecError.limitExceeded("the number of directories", limit: 32, found: 33)) {
      try header(many.bytes)
    }
  }

  @Test("a directory with too many entries is refused with the limit")
  func entries() throws {
    let many = Picture { $0.chain = [Directory((0..<3000).map { ($0, .short([1])) })] }
    #expect(throws: CodecError.limitExceeded("the number of a directory's entries", limit: 2048, found: 3000)) {
      try header(many.bytes)
    }
  }

  @Test("directories that point to each other do not loop")
  func loop() throws {
    var bytes = Picture { $0.chain = [Directory([(254, .long([1])), (256, .short([9])), (257, .short([9]))])] }.bytes
    // The next directory is this one.
    bytes.replaceSubrange(bytes.count - 4..<bytes.count, with: [8, 0, 0, 0])
    #expect(try header(bytes).storedSize == PixelSize(width: 9, height: 9))
  }
}
