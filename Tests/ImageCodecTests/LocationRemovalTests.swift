import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Removing places from files")
struct LocationRemovalTests {
  /// The file without places. The length must stay, and a second removal must find nothing.
  static func blanked(_ file: [UInt8]) throws -> [UInt8] {
    let overlay = try LocationRemoval.overlay(of: MemoryByteSource(file))
    var bytes = file
    overlay.apply(to: &bytes)
    #expect(overlay.patches.allSatisfy { $0.offset >= 0 && $0.range.upperBound <= Int64(file.count) })
    #expect(bytes.count == file.count)
    #expect(try LocationRemoval.overlay(of: MemoryByteSource(bytes)).isEmpty, "the second removal found something")
    return bytes
  }

  static func metadata(_ file: [UInt8], places: Bool = true) throws -> FileMetadata {
    try FileMetadata.read(from: MemoryByteSource(file), limits: CodecLimits(), includesLocations: places)
  }

  static let pixels = Scene(seed: 7).pixels(width: 48, height: 32)

  static let exif = EXIFBlock {
    $0.make = "Maker"
    $0.orientation = 6
    $0.dateTimeOriginal = "2024:05:06 07:08:09"
    ($0.latitude, $0.longitude, $0.altitude) = (48.2, 16.3, 171)
  }

  static func packet(_ inside: String) -> String {
    """
    <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
    <rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" \
    xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" xmlns:xmpNote="http://ns.adobe.com/xmp/note/" \(inside)/>\
    </rdf:RDF></x:xmpmeta>
    """
  }

  static func dataset(_ number: UInt8, _ text: String) -> [UInt8] {
    [0x1C, 2, number, 0, UInt8(text.utf8.count)] + text.utf8
  }

  private static func app13(_ content: some Collection<UInt8>) -> JPEGSegment {
    JPEGSegment(marker: 0xED, content: Array("Photoshop 3.0\0".utf8) + content)
  }

  /// The bytes from the first scan on.
  private static func scan(_ file: [UInt8]) -> ArraySlice<UInt8> {
    var position = 2
    while file[position + 1] != 0xDA { position += 2 + Int(file[position + 2]) << 8 + Int(file[position + 3]) }
    return file[position...]
  }

  // MARK: JPEG

  @Test("a JPEG keeps its picture and all metadata but places")
  func jpeg() throws {
    var block = exif
    block.thumbnail = JPEGFile { $0.exif = Self.exif }.encoded(Self.pixels)
    let datasets = Self.dataset(90, "Wien") + Self.dataset(5, "A title")
    let resource = Array("8BIM".utf8) + [4, 4, 0, 0, 0, 0, 0, UInt8(datasets.count)] + datasets
    let file = JPEGFile {
      $0.exif = block
      $0.segments = [
        .xmp(Self.packet("xmp:Rating=\"3\" photoshop:City=\"Wien\"")),
        // Spread over two segments, in the middle of the city.
        Self.app13(resource.prefix(16)), Self.app13(resource.dropFirst(16)),
        JPEGSegment(marker: 0xE5, content: Array("RMETA\0Wien".utf8)),
        JPEGSegment(marker: 0xFE, content: Array("Wien".utf8)),
      ]
    }.encoded(Self.pixels)
    let edited = try Self.blanked(file)
    let (before, after) = (try Self.metadata(file, places: false), try Self.metadata(edited))
    #expect(try Self.metadata(file).sections["GPS"]?.isEmpty == false)
    #expect(after.sections == before.sections.merging(["IPTC": after.sections["IPTC"] ?? [:]]) { _, new in new })
    #expect(after.sections["IPTC"]?["City"] == .text("") && after.sections["IPTC"]?["ObjectName"] == .text("A title"))
    #expect(after.sections["TIFF"]?["Orientation"] == .integer(6))
    #expect(Self.scan(edited) == Self.scan(file))
    // Only the comment, which is free text, still names the city.
    #expect(edited.count { $0 == UInt8(ascii: "W") } < file.count { $0 == UInt8(ascii: "W") })
    let thumbnail = try #require(try header(edited).thumbnail)
    let inner = try #require(part(thumbnail, of: edited))
    #expect(try Self.metadata(inner).sections["GPS"] == nil && Self.metadata(inner).sections["TIFF"] != nil)
  }

  private var exif: EXIFBlock { Self.exif }

  @Test("an extended packet is edited over its segments, and its digest follows")
  func extendedPacket() throws {
    let content = Array(
      Self.packet("photoshop:Country=\"Austria\" xmp:Label=\"\(String(repeating: "x", count: 900))\"").utf8)
    let digest = MD5.digits(content)
    func segment(_ offset: Int, _ length: Int) -> JPEGSegment {
      JPEGSegment(
        marker: 0xE1,
        content: Array("http://ns.adobe.com/xmp/extension/\0".utf8) + digest + Boxes.number(content.count, 4)
          + Boxes.number(offset, 4) + content[offset..<offset + length])
    }
    // A segment ends within the country.
    let cut = try #require(content.indices.first { content[$0...].starts(with: "Austria".utf8) }) + 3
    let file = JPEGFile {
      $0.segments = [
        .xmp(Self.packet("xmpNote:HasExtendedXMP=\"\(String(decoding: digest, as: UTF8.self))\"")),
        segment(cut, content.count - cut), segment(0, cut),
      ]
    }.encoded(Self.pixels)
    let edited = try Self.blanked(file)
    let after = try Self.metadata(edited)
    let before = try Self.metadata(file, places: false)
    #expect(after.incomplete.isEmpty && after.sections["XMP"] == before.sections["XMP"])
    #expect(after.sections["XMP"]?["xmp:Label"] != nil && after.sections["XMP"]?["photoshop:Country"] == nil)
  }

  @Test("pictures that the multi-picture index names lose their places")
  func multiPicture() throws {
    let inner = JPEGFile { $0.exif = Self.exif }.encoded(Self.pixels)
    let file = MultiPictureFile(previews: [(type: 0x01_0002, bytes: inner), (type: 0x05_0000, bytes: inner)])
      .encoded(inner)
    let edited = try Self.blanked(file)
    let clean = try Self.blanked(inner)
    #expect(edited.suffix(2 * inner.count) == clean[...] + clean)
    #expect(try Self.metadata(edited).sections["GPS"] == nil)
  }

  @Test("a thermal camera's position becomes zeros")
  func thermal() throws {
    // A header with version 101, one record of type 0x2B.
    let records: [UInt8] =
      Array("FFF\0".utf8) + [UInt8](repeating: 0, count: 16) + Boxes.number(101, 4) + Boxes.number(64, 4)
      + Boxes.number(1, 4) + [UInt8](repeating: 0, count: 32) + [0, 0x2B] + [UInt8](repeating: 0, count: 10)
      + Boxes.number(96, 4) + Boxes.number(8, 4) + [UInt8](repeating: 0, count: 12) + Array("position".utf8) + [
        1, 2, 3,
      ]
    func file(_ records: [UInt8]) -> [UInt8] {
      JPEGFile {
        $0.segments = [
          JPEGSegment(marker: 0xE1, content: Array("FLIR\0".utf8) + [1, 0, 1] + records.prefix(100)),
          JPEGSegment(marker: 0xE1, content: Array("FLIR\0".utf8) + [1, 1, 1] + records.dropFirst(100)),
        ]
      }.encoded(Self.pixels)
    }
    let clean = records.prefix(96) + [UInt8](repeating: 0, count: 8) + [1, 2, 3]
    #expect(try Self.blanked(file(records)) == file(Array(clean)))
  }

  /// Trailers with a city of four letters.
  static let trailers: [(name: String, trailer: @Sendable (_ city: String, _ start: Int) -> [UInt8])] = [
    (
      "AFCP",
      { city, start in
        let datasets = dataset(90, city)
        return Array("AXS!".utf8) + [0, 1, 0, 1, 0, 0, 0, 0] + Array("IPTC".utf8) + Boxes.number(datasets.count, 4)
          + Boxes.number(start + 24, 4) + datasets + Array("AXS!".utf8) + Boxes.number(start, 4) + [0, 0, 0, 0]
      }
    ),
    (
      "FotoStation",
      { city, _ in
        let datasets = dataset(90, city)
        return datasets + [0, 1] + Boxes.number(datasets.count + 10, 4) + [0xA1, 0xB2, 0xC3, 0xD4]
      }
    ),
    (
      "Photo Mechanic",
      { city, _ in dataset(90, city) + Boxes.number(dataset(90, city).count, 4) + Array("cbipcbbl".utf8) }
    ),
  ]

  @Test("trailers of desktop programs lose their places, also one before the other", arguments: trailers.map(\.name))
  func trailer(_ name: String) throws {
    let make = try #require(Self.trailers.first { $0.name == name }).trailer
    let file = JPEGFile { _ in }.encoded(Self.pixels) + [UInt8](repeating: 0, count: 64)
    #expect(try Self.blanked(file + make("Wien", file.count)) == file + make("    ", file.count))
    let two = file + make("    ", file.count)
    let second = try #require(Self.trailers.last).trailer
    let expected = two + second("    ", two.count)
    #expect(try Self.blanked(file + make("Graz", file.count) + second("Wien", two.count)) == expected)
    let samsung = TailLocationTests.samsung([("Image_UTC_Data", [1, 2, 3])])
    #expect(try Self.blanked(file + make("Graz", file.count) + samsung) == two + samsung)
  }

  @Test(
    "a signed manifest that may hold a place becomes zeros, and another one stays",
    arguments: ["\"location\"", "City", "Exif\0\0", "<x:xmpmeta", "brob", "\"title\""])
  func manifest(_ word: String) throws {
    let content = Array("{\(word): \"Salem\"}".utf8)
    func file(_ content: [UInt8]) -> [UInt8] {
      let segments = [content.prefix(5), content.dropFirst(5)].map {
        JPEGSegment(marker: 0xEB, content: Array("JP".utf8) + [0, 1, 0, 0, 0, 1] + $0)
      }
      return JPEGFile { $0.segments = segments }.encoded(Self.pixels)
    }
    let isPlace = word != "\"title\""
    #expect(try Self.blanked(file(content)) == file(isPlace ? content.map { _ in 0 } : content))
  }

  @Test("a trailer that names the header of the file as its own is refused")
  func overlappingTrailer() throws {
    let datasets = JPEGSegment(marker: 0xEF, content: [0x1C, 2, 90, 0, 4] + Array("Wien".utf8))
    let picture = JPEGFile { $0.leadingSegments = [datasets] }.encoded(Self.pixels)
    // The length reaches back to the start of the segment's content.
    let start = try #require(picture.indices.first { picture[$0...].starts(with: [0x1C, 2, 90]) })
    let length = picture.count - start
    let file = picture + Boxes.number(length, 4) + Array("cbipcbbl".utf8)
    let error = #expect(throws: LocationRemovalError.self) { try LocationRemoval.overlay(of: MemoryByteSource(file)) }
    guard case .overlap? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test("a directory that a preview around it names as its GPS directory is refused")
  func directoryInPreview() throws {
    // The preview: SOI and an EXIF segment from 8, whose TIFF structure begins at 20. The file's directory is at 46.
    let exif = Array("II*\0".utf8) + [8, 0, 0, 0] + Self.directory([Self.entry(0x8825, 26)])
    let directory = Self.directory([
      Self.entry(0x0100, 5), Self.entry(0x0101, 3), Self.entry(0x0201, 8), Self.entry(0x0202, 96),
    ])
    let segment = [0xFF, 0xD8, 0xFF, 0xE1, 0, UInt8(8 + exif.count + directory.count)] + Array("Exif\0\0".utf8)
    let file = Array("II*\0".utf8) + [46, 0, 0, 0] + segment + exif + directory
    #expect(try MediaHeader.read(from: MemoryByteSource(file), limits: CodecLimits()).storedSize.width == 5)
    #expect(throws: LocationRemovalError.overlap(offset: 46)) {
      try LocationRemoval.overlay(of: MemoryByteSource(file))
    }
  }

  /// A directory of a little-endian TIFF with entries of one LONG.
  private static func directory(_ entries: [[UInt8]]) -> [UInt8] {
    [UInt8(entries.count), 0] + entries.joined() + [0, 0, 0, 0]
  }

  private static func entry(_ tag: Int, _ value: UInt8) -> [UInt8] {
    [UInt8(tag & 0xFF), UInt8(tag >> 8), 4, 0, 1, 0, 0, 0, value, 0, 0, 0]
  }

  // MARK: BMP

  @Test("bytes between the parts of a BMP become zeros, and metadata after it are refused", arguments: [24, 8])
  func bmp(_ bits: Int) throws {
    func file(gap: [UInt8], trailer: [UInt8] = []) -> [UInt8] {
      BMPFile(width: 5, height: 3, bitsPerPixel: bits) {
        ($0.header, $0.gap, $0.trailer) = (.v4, gap, trailer)
        if bits == 8 { $0.colors = (0..<256).map { [UInt8($0), 1, 2] } }
        $0.store { UInt32(16 * $0 + $1) }
      }.bytes
    }
    let place = Array("GPSLatitude=48,12.0N".utf8)
    #expect(try Self.blanked(file(gap: place)) == file(gap: place.map { _ in 0 }))
    let plain = file(gap: [], trailer: [1, 2, 3])
    #expect(try Self.blanked(plain) == plain)
    #expect(throws: LocationRemovalError.unsupported("the metadata after the end of a file")) {
      try LocationRemoval.overlay(of: MemoryByteSource(file(gap: [], trailer: Array("Exif".utf8) + [0, 0] + place)))
    }
  }

  // MARK: TIFF

  /// A preview with a place of its own.
  private static let placedPreview = JPEGFile {
    $0.exif = EXIFBlock { ($0.latitude, $0.longitude) = (48.25, 16.5) }
  }.encoded(Pixels(width: 24, height: 16, channels: 3))

  @Test(
    "TIFF and RAW pictures lose their places and nothing else", arguments: ["tiff", "dng", "cr2", "nef", "arw", "pef"])
  func tiff(_ kind: String) throws {
    let makes = ["nef": "NIKON", "arw": "SONY", "pef": "PENTAX"]
    let details = TIFFPicture.Details { $0.make = makes[kind] ?? "Maker" }
    let file: [UInt8] =
      switch kind {
      case "tiff": TIFFPicture.tiff(details) { $0.isBigEndian = true }.bytes
      case "dng": TIFFPicture.dng(details).bytes
      case "cr2": TIFFPicture.cr2(details).bytes
      case "nef": TIFFPicture.nef(details).bytes
      case "pef": TIFFPicture.withPreviews(details, inside: [Self.placedPreview]).bytes
      default: TIFFPicture.arw(details).bytes
      }
    let edited = try Self.blanked(file)
    let (before, after) = (try Self.metadata(file), try Self.metadata(edited))
    #expect(before.sections["GPS"]?.isEmpty == false && after.sections["GPS"] == nil)
    var expected = before.sections
    expected["GPS"] = nil
    #expect(after.sections == expected)
    #expect(try header(edited).exif.location == nil)
    for preview in try RAWPreviews.find(in: MemoryByteSource(edited), limits: CodecLimits()) {
      #expect(preview.header.metadata.location == nil)
    }
  }

  // MARK: Refusals and limits

  static let refusals: [(name: String, file: [UInt8], error: LocationRemovalError)] = [
    ("an unknown kind of file", Array("GARBAGE".utf8), .unsupported("a file of an unknown kind")),
    ("an empty file", [], .unsupported("a file of an unknown kind")),
    ("a JPEG that ends in its header", [0xFF, 0xD8, 0xFF, 0xE0], .malformed("a file that ends too early", offset: 4)),
    (
      "a chunk that ends after the file", PNGChunks.signature + PNGChunks.bigEndian(100) + Array("eXIf".utf8),
      .malformed("a chunk that ends after the file", offset: 8)
    ),
    (
      "a JPEG after a PNG",
      PNGChunks.signature + PNGChunks.chunk("IEND", []) + [0xFF, 0xD8, 0xFF, 0xE1, 0, 10],
      .unsupported("data after a PNG")
    ),
  ]

  @Test("files that can't be edited safely are refused", arguments: refusals.map(\.name))
  func refused(_ name: String) throws {
    let refusal = try #require(Self.refusals.first { $0.name == name })
    #expect(throws: refusal.error) { try LocationRemoval.overlay(of: MemoryByteSource(refusal.file)) }
  }

  @Test("each limit is an error that names it")
  func limits() {
    let file = JPEGFile { $0.exif = Self.exif }.encoded(Self.pixels)
    func error(_ change: (inout LocationRemovalLimits) -> Void) -> LocationRemovalError? {
      var limits = LocationRemovalLimits()
      change(&limits)
      do throws(LocationRemovalError) {
        _ = try LocationRemoval.overlay(of: MemoryByteSource(file), limits: limits)
        return nil
      } catch {
        return error
      }
    }
    func isLimit(_ error: LocationRemovalError?) -> Bool {
      if case .limitExceeded? = error { true } else { false }
    }
    #expect(isLimit(error { $0.patchBytes = 20 }))
    #expect(isLimit(error { $0.blockBytes = 100 }))
    #expect(isLimit(error { $0.metadataBytes = 100 }))
    #expect(isLimit(error { $0.structures = 2 }))
    #expect(isLimit(error { $0.depth = 0 }))
    #expect(error { _ in } == nil)
  }

  @Test("only the metadata of a large file is read")
  func reads() throws {
    let file = JPEGFile { $0.exif = Self.exif }.encoded(Self.pixels)
    let source = CountingSource(file, size: 4 << 30)
    #expect(try !LocationRemoval.overlay(of: source).isEmpty)
    #expect(source.bytesRead < 1 << 20 && source.reads < 64)
  }

  static let samples: [(name: String, bytes: [UInt8])] = {
    var block = exif
    block.thumbnail = JPEGFile { _ in }.encoded(Scene(seed: 1).pixels(width: 8, height: 8))
    let small = Scene(seed: 2).pixels(width: 8, height: 8)
    let jpeg = JPEGFile {
      $0.exif = block
      $0.segments = [
        .xmp(packet("photoshop:City='W'")), app13(Array("8BIM".utf8) + [4, 4, 0, 0, 0, 0, 0, 6] + dataset(90, "W")),
      ]
    }.encoded(small)
    let png = PNGFile(.gray(depth: 8)).encoded(small)
    let text = PNGLocationTests.chunks.flatMap { PNGChunks.chunk($0.type, $0.content) }
    return [
      ("JPEG", jpeg), ("PNG", png.prefix(33) + text + png[33...]), ("TIFF", TIFFPicture.tiff(.init()).bytes),
      ("DNG", TIFFPicture.dng(.init()).bytes), ("NEF", TIFFPicture.nef(.init { $0.make = "NIKON" }).bytes),
    ]
  }()

  @Test("a file with changed bytes is refused, or has no place afterwards", arguments: samples.map(\.name))
  func damaged(_ name: String) throws {
    let sample = try #require(Self.samples.first { $0.name == name }).bytes
    var random = Sampling.generator("damaged \(name)")
    for _ in 0..<Sampling.count(1500, thorough: 40_000) {
      var file = sample
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        file[Int.random(in: 0..<file.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if Bool.random(using: &random) { file.removeLast(Int.random(in: 0..<file.count, using: &random)) }
      guard let overlay = try? LocationRemoval.overlay(of: MemoryByteSource(file)) else { continue }
      overlay.apply(to: &file)
      guard let after = try? Self.metadata(file) else { continue }
      if after.sections["GPS"] != nil {
        Issue.record("a place is left: \(after.sections["GPS"] ?? [:]), \(Sampling.note)")
        return
      }
    }
  }
}
