import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Previews of RAW files")
struct RAWPreviewTests {
  private static func jpeg(_ width: Int, _ height: Int, orientation: Int = 1) -> [UInt8] {
    JPEGFile { $0.exif = EXIFBlock { $0.orientation = orientation } }
      .encoded(Pixels(width: width, height: height, channels: 3))
  }
  private static let small = jpeg(48, 32)
  private static let medium = jpeg(96, 64)
  private static let large = jpeg(192, 128)

  /// A JPEG with another frame marker (T.81 table B.1).
  private static func framed(_ marker: UInt8, bits: UInt8 = 8) -> [UInt8] {
    var bytes = large
    guard let frame = bytes.indices.dropLast(4).first(where: { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xC0 }) else {
      return []
    }
    (bytes[frame + 1], bytes[frame + 4]) = (marker, bits)
    return bytes
  }

  private func find(_ bytes: [UInt8]) throws(CodecError) -> [RAWPreview] {
    try RAWPreviews.find(in: MemoryByteSource(bytes), limits: CodecLimits())
  }

  private func widths(_ bytes: [UInt8]) throws(CodecError) -> [Int] {
    try find(bytes).map(\.header.storedSize.width)
  }

  static let files: [(name: String, bytes: [UInt8], widths: [Int])] = [
    (
      "sub-directories", TIFFPicture.withPreviews(.init { $0.make = "NIKON" }, inside: [large, small]).bytes, [48, 192]
    ),
    (
      "big-endian directories",
      TIFFPicture.withPreviews(.init { $0.make = "NIKON" }, inside: [medium], isBigEndian: true).bytes, [96]
    ),
    (
      "the chain of directories, and a strip",
      TIFFPicture.withPreviews(.init { $0.make = "PENTAX" }, inside: [], next: small, strip: large).bytes, [48, 192]
    ),
    ("Olympus' maker note", TIFFPicture.orf(.init(), preview: medium).bytes, [96]),
    ("Panasonic's first directory", TIFFPicture.rw2(.init(), preview: large).bytes, [192]),
    ("Fujifilm's header", RAFFile { $0.jpeg = large }.bytes, [192]),
    ("Canon's boxes", CR3File { ($0.thumbnail, $0.preview, $0.sample) = (small, medium, large) }.bytes, [48, 96, 192]),
    (
      "a track with a short offset",
      CR3File { ($0.thumbnail, $0.sample, $0.isWide) = (small, large, false) }.bytes, [48, 192]
    ),
    ("no preview", TIFFPicture.orf(.init(), preview: nil).bytes, []), ("a JPEG", large, []), ("nothing", [], []),
  ]

  @Test("all previews are found, the smallest first", arguments: files.indices)
  func found(_ i: Int) throws {
    let (name, bytes, widths) = Self.files[i]
    let previews = try find(bytes)
    #expect(previews.map(\.header.storedSize.width) == widths, "\(name)")
    for preview in previews {
      let isWhole = [Self.small, Self.medium, Self.large].contains { part(preview.range, of: bytes) == $0 }
      #expect(isWhole, "\(name)")
    }
  }

  @Test(
    "sensor data stored as lossless or 12-bit JPEG is not a preview",
    arguments: [(UInt8(0xC3), UInt8(8)), (0xC3, 14), (0xC1, 12), (0xC7, 8), (0xCB, 8)])
  func sensorData(_ marker: UInt8, _ bits: UInt8) throws {
    let bytes = TIFFPicture.withPreviews(.init(), inside: [Self.small], strip: Self.framed(marker, bits: bits)).bytes
    #expect(try widths(bytes) == [48])
  }

  @Test("a JPEG that is referred to twice is one preview")
  func twice() throws {
    var file = TIFFPicture.withPreviews(.init(), inside: [])
    file.chain = [TIFFPicture.Directory([(513, .long([200])), (514, .long([Self.small.count]))])]
    file.chain.append(file.chain[0])
    var bytes = file.bytes
    bytes += [UInt8](repeating: 0, count: 200 - bytes.count) + Self.small
    #expect(try widths(bytes) == [48])
  }

  @Test("a preview outside of the file is left out", arguments: [(1 << 30, 0), (0, 1 << 30), (-40, 0)])
  func outside(_ offset: Int, _ length: Int) throws {
    #expect(try find(RAFFile { ($0.jpeg, $0.error) = (Self.large, (offset, length)) }.bytes).isEmpty)
  }

  @Test("a damaged box hides only its own preview")
  func damagedBox() throws {
    var bytes = CR3File { ($0.thumbnail, $0.preview, $0.sample) = (Self.small, Self.medium, Self.large) }.bytes
    let name = Array("PRVW".utf8)
    let position = try #require(bytes.indices.first { bytes[$0...].starts(with: name) })
    bytes[position - 4] = 0x7F
    #expect(try widths(bytes) == [48, 192])
  }

  @Test("directories that refer to each other do not loop")
  func loop() throws {
    var bytes = TIFFPicture { $0.chain = [TIFFPicture.Directory([(330, .long([8])), (256, .short([9]))])] }.bytes
    bytes.replaceSubrange(bytes.count - 4..<bytes.count, with: [8, 0, 0, 0])
    #expect(try find(bytes).isEmpty)
  }

  @Test("too many directories are refused with the limit")
  func directories() throws {
    let many = TIFFPicture { $0.chain = (0..<40).map { TIFFPicture.Directory([(256, .short([$0]))]) } }.bytes
    #expect(throws: CodecError.limitExceeded("the number of directories", limit: 32, found: 33)) { try find(many) }
    let wide = TIFFPicture { $0.chain = [TIFFPicture.Directory([(330, .long((0..<5000).map { 1_000_000 + $0 }))])] }
      .bytes
    #expect(throws: CodecError.limitExceeded("the number of directories", limit: 32, found: 33)) { try find(wide) }
  }

  @Test("every truncated file gives whole previews or an error", arguments: files.indices)
  func truncated(_ i: Int) throws {
    let (name, bytes, widths) = Self.files[i]
    for length in stride(from: 0, to: bytes.count, by: 7) {
      let source = CountingSource(Array(bytes.prefix(length)))
      guard let previews = try? RAWPreviews.find(in: source, limits: CodecLimits()) else { continue }
      #expect(source.reads <= 64, "\(name)")
      #expect(previews.count <= widths.count, "\(name)")
      let areInside = previews.allSatisfy {
        $0.range.offset >= 0 && $0.range.offset + Int64($0.range.length) <= source.size
      }
      #expect(areInside, "\(name)")
    }
  }
}

@Suite("RAF, ORF, RW2 and PEF")
struct FurtherRAWTests {
  static let details = TIFFPicture.Details { $0.model = "Model 1" }
  private static let developed = JPEGFile {
    $0.exif = EXIFBlock {
      $0.orientation = 8
      $0.model = "Model 1"
      ($0.latitude, $0.longitude) = (48.25, 16.5)
    }
  }.encoded(Pixels(width: 192, height: 128, channels: 3))

  static let files: [(format: MediaFormat, bytes: [UInt8], size: PixelSize, orientation: Orientation)] = [
    (.raf, RAFFile { $0.jpeg = developed }.bytes, PixelSize(width: 6000, height: 4000), .leftBottom),
    (.orf, TIFFPicture.orf(details, preview: developed).bytes, PixelSize(width: 4640, height: 3472), .rightTop),
    (.rw2, TIFFPicture.rw2(details, preview: developed).bytes, PixelSize(width: 3648, height: 2736), .rightTop),
    (
      .pef, TIFFPicture.withPreviews(.init { $0.make = "PENTAX" }, inside: [developed]).bytes,
      PixelSize(width: 4310, height: 2868), .rightTop
    ),
  ]

  @Test("format, size, orientation and camera are read", arguments: files.indices)
  func headers(_ i: Int) throws {
    let (format, bytes, size, orientation) = Self.files[i]
    let read = try header(bytes)
    #expect(read.format == format && read.storedSize == size && read.orientation == orientation)
    #expect(read.exif.model == "Model 1" && format.isRAW && format.mediaType == .image)
    let shown = try ImageHeader.read(from: MemoryByteSource(bytes), limits: CodecLimits())
    #expect(shown.storedSize == PixelSize(width: 192, height: 128) && shown.orientation == orientation)
  }

  @Test("a RAF whose sensor has other rows than its picture, or that states no size, has the size of its JPEG")
  func turnedSensor() throws {
    for cropped in [(width: 4256, height: 1424), nil] {
      let read = try header(RAFFile { ($0.jpeg, $0.croppedSize) = (Self.developed, cropped) }.bytes)
      #expect(read.storedSize == PixelSize(width: 192, height: 128))
    }
  }

  @Test("the metadata of a RAF is that of its JPEG, at its position in the file")
  func metadataOfJPEG() throws {
    let bytes = RAFFile { $0.jpeg = Self.developed }.bytes
    let read = try header(bytes)
    #expect(read.exif.location == Location(latitude: 48.25, longitude: 16.5, altitude: nil))
    let block = try #require(part(read.block(.exif), of: bytes))
    #expect(block.starts(with: Array("II".utf8)) || block.starts(with: Array("MM".utf8)))
  }

  static let orders = [(isBigEndian: false, variant: 0x4F), (true, 0x4F), (false, 0x53)]

  @Test(
    "an ORF loses its places and those of its preview, and nothing else", arguments: TIFFPicture.OlympusNote.allCases,
    orders.indices)
  func places(_ note: TIFFPicture.OlympusNote, _ i: Int) throws {
    let (isBigEndian, variant) = Self.orders[i]
    var bytes = TIFFPicture.orf(Self.details, preview: Self.developed, note: note, isBigEndian: isBigEndian).bytes
    // "IIRS" instead of "IIRO".
    if variant == 0x53 { bytes[3] = 0x53 }
    #expect(try header(bytes).format == .orf && header(bytes).exif.location != nil)
    let start = try #require(bytes.firstRange(of: Self.developed)).lowerBound
    let blanked = try LocationRemovalTests.blanked(bytes)
    let read = try header(blanked)
    #expect(read.exif.location == nil && read.exif.model == "Model 1" && read.format == .orf)
    let preview = Array(blanked[start..<start + Self.developed.count])
    let shown = try ImageHeader.read(from: MemoryByteSource(preview), limits: CodecLimits())
    #expect(shown.metadata.location == nil && shown.metadata.model == "Model 1")
    #expect(try preview == LocationRemovalTests.blanked(Self.developed))
    #expect(Pixels.decoded(preview)?.pixels == Pixels.decoded(Self.developed)?.pixels)
    // The maker note keeps all of its directories.
    let noteStart = try #require(bytes.firstRange(of: Array(note.rawValue.utf8))).lowerBound
    #expect(blanked[noteStart..<start] == bytes[noteStart..<start])
  }

  @Test("an ORF without a maker note, and one with an empty preview, lose their places")
  func placesWithoutPreview() throws {
    for preview in [nil, []] as [[UInt8]?] {
      let bytes = TIFFPicture.orf(Self.details, preview: preview).bytes
      #expect(try header(LocationRemovalTests.blanked(bytes)).exif.location == nil)
    }
  }

  @Test("an ORF whose maker note is not known, or whose preview is no JPEG, is refused by name")
  func refusedPlaces() throws {
    var unknown = Self.details
    unknown.makerNote = Array("OTHER CAMERA\0\0\0\0\0\0\0\0".utf8)
    let cases: [(bytes: [UInt8], error: LocationRemovalError)] = [
      (
        TIFFPicture.orf(unknown, preview: nil).bytes,
        .unsupported("an Olympus raw picture with a maker note of a kind that is not known")
      ),
      (
        TIFFPicture.orf(Self.details, preview: Array("Exif".utf8) + [0, 0, 1, 2]).bytes,
        .unsupported("a preview that is not a JPEG")
      ),
    ]
    for (bytes, error) in cases {
      #expect(throws: error) { try LocationRemoval.overlay(of: MemoryByteSource(bytes)) }
    }
  }

  @Test(
    "every truncated or changed file gives a header or an error, in a limited number of reads", arguments: files.indices
  )
  func hostile(_ i: Int) {
    let bytes = Self.files[i].bytes
    for position in stride(from: 0, to: bytes.count, by: 3) {
      var changed = bytes
      changed[position] ^= 0xFF
      for file in [Array(bytes.prefix(position)), changed] {
        let source = CountingSource(file)
        let read = try? MediaHeader.read(from: source, limits: CodecLimits().headerOnly)
        #expect(source.reads <= 64)
        guard let read else { continue }
        let areInside = read.blocks.allSatisfy {
          $0.range.offset >= 0 && $0.range.offset + Int64($0.range.length) <= source.size
        }
        #expect(areInside && read.storedSize.width > 0 && read.storedSize.height > 0)
      }
    }
  }
}
