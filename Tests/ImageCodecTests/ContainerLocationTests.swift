import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Removing places from HEIF, AVIF, CR3, RAF, RW2, WebP, JPEG XL and GIF")
struct ContainerLocationTests {
  private static let exif = exifBlock {
    $0.make = "KEPT"
    $0.orientation = 6
    ($0.latitude, $0.longitude) = (48.25, 16.5)
  }
  private static let picture = JPEGFile { $0.segments = [.xmp(secretPacket)] }
    .encoded(Pixels(width: 8, height: 8, channels: 3))
  /// With all metadata, as Fujifilm and Panasonic store it in RAW files.
  private static let developed = JPEGFile {
    $0.exif = EXIFBlock {
      ($0.make, $0.model, $0.latitude, $0.longitude) = ("KEPT", "Model 1", 48.25, 16.5)
      $0.thumbnail = picture
    }
    $0.segments = [.xmp(secretPacket)]
  }.encoded(Pixels(width: 96, height: 64, channels: 3))
  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  static let files: [(name: String, bytes: [UInt8])] = [
    (
      "HEIC",
      HEIFFile {
        ($0.exif, $0.xmp, $0.thumbnail, $0.tiles) = (exif, secretPacket, picture, 3)
        $0.auxiliaries = ["urn:mpeg:hevc:2015:auxid:1"]
      }.bytes
    ),
    ("HEIC with a prefix before its EXIF", HEIFFile { ($0.exif, $0.exifPrefix) = (exif, EXIFSummary.signature) }.bytes),
    (
      "AVIF with wide fields and items in its tables",
      HEIFFile {
        ($0.major, $0.compatible, $0.itemType) = ("avif", ["mif1", "miaf"], "av01")
        ($0.isWide, $0.usesItemData, $0.exif, $0.xmp) = (true, true, exif, secretPacket)
      }.bytes
    ),
    ("HEIF with a movie", HEIFFile { $0.exif = exif }.bytes + MovieFile { $0.userData = [("©xyz", secret)] }.bytes),
    (
      "HEIF with Samsung's movie",
      HEIFFile { $0.exif = exif }.bytes + Boxes.box("mpvd", MovieFile { $0.userData = [("©xyz", secret)] }.bytes)
    ),
    ("CR3", CR3File { $0.xmp = secretPacket }.bytes),
    ("big-endian CR3", CR3File { $0.isBigEndian = true }.bytes),
    ("RAF", RAFFile { $0.jpeg = developed }.bytes),
    ("RW2", TIFFPicture.rw2(.init { $0.make = "KEPT" }, preview: developed).bytes),
    ("WebP", WebPFile(.extended) { ($0.exif, $0.xmp) = (exif, secretPacket) }.bytes),
    (
      "an animated WebP with JPEG's signature before its EXIF",
      WebPFile(.extended) { ($0.exif, $0.xmp, $0.frames) = (EXIFSummary.signature + exif, secretPacket, 3) }.bytes
    ),
    (
      "JPEG XL",
      JXLSamples.file(
        JXLSamples.exif(exif, distance: 3), Boxes.box("jxlc", JXLSamples.turned), Boxes.box("xml ", bytes(secretPacket))
      )
    ),
    (
      "JPEG XL in parts, with data that may hold anything",
      JXLSamples.file(
        Boxes.box("jbrd", bytes(secret)), JXLSamples.parts(JXLSamples.lossy, of: 40), JXLSamples.exif(exif),
        Boxes.box("brob", bytes("xml "), bytes(secret)), Boxes.box("jumb", bytes(secret)))
    ),
    ("GIF", GIFFile { ($0.xmp, $0.comment) = (secretPacket, "KEPT") }.bytes),
    (
      "GIF without a colour table",
      GIFFile { ($0.xmp, $0.hasColorTable, $0.repeats) = (secretPacket, false, "NETSCAPE2.0") }.bytes
    ),
  ]

  @Test("places disappear, and the rest of the header stays", arguments: files.map(\.name))
  func places(_ name: String) throws {
    let file = try #require(Self.files.first { $0.name == name }).bytes
    let edited = try withoutPlaces(file)
    #expect(count(of: secret, in: edited) == 0)
    #expect(count(of: kept, in: edited) == count(of: kept, in: file))
    var expected = try header(file)
    expected.exif.location = nil
    let read = try header(edited)
    // The name of the city is one of the descriptions, and the only one.
    expected.facts.descriptions = read.facts.descriptions
    #expect(read == expected)
    if let thumbnail = expected.thumbnail { #expect(part(thumbnail, of: edited)?.prefix(2) == [0xFF, 0xD8]) }
  }

  @Test("files that name no place are not changed", arguments: ContainerSamples.all.map(\.format))
  func unchanged(_ format: MediaFormat) throws {
    let file = try #require(ContainerSamples.all.first { $0.format == format }).bytes
    let overlay = try LocationRemoval.overlay(of: MemoryByteSource(file))
    let hasPlaces = try header(file).exif.location != nil
    #expect(overlay.isEmpty != hasPlaces)
  }

  @Test("the pictures in RAF and RW2 files lose their places too, and keep their pixels")
  func previews() throws {
    for (name, file) in Self.files where ["RAF", "RW2"].contains(name) {
      let edited = try withoutPlaces(file)
      let found = try RAWPreviews.find(in: MemoryByteSource(edited), limits: CodecLimits())
      let preview = try #require(found.last)
      #expect(found.count == 1 && preview.header.metadata.location == nil, "\(name)")
      #expect(preview.header.metadata.model == "Model 1", "\(name)")
      let pixels = part(preview.range, of: edited).flatMap(Pixels.decoded)?.pixels
      #expect(pixels?.bytes == Pixels.decoded(Self.developed)?.pixels.bytes, "\(name)")
    }
  }

  static let unsafe: [(name: String, bytes: [UInt8], error: LocationRemovalError)] = [
    (
      "a RAF whose JPEG ends after the file", RAFFile { ($0.jpeg, $0.error) = (developed, (0, 1 << 20)) }.bytes,
      .malformed("a part of a RAF file that ends after the file", offset: 84)
    ),
    (
      "a RAF whose JPEG is in its header", RAFFile { ($0.jpeg, $0.error) = (developed, (-100, 0)) }.bytes,
      .overlap(offset: 48)
    ),
    (
      "a RAF whose JPEG is something else", RAFFile { $0.jpeg = bytes(secret) }.bytes,
      .unsupported("a RAF file whose preview is not a JPEG")
    ),
    (
      "a RAF with an EXIF block after it", RAFFile { $0.jpeg = picture }.bytes + EXIFSummary.signature + exif,
      .unsupported("data after a RAF file")
    ),
    (
      "a RAF with an EXIF block before its JPEG",
      RAFFile { ($0.jpeg, $0.error) = (EXIFSummary.signature + exif + picture, (6 + exif.count, -6 - exif.count)) }
        .bytes,
      .unsupported("data between the parts of a RAF file")
    ),
    (
      "a RAF cut off in its header", Array(RAFFile { $0.jpeg = picture }.bytes.prefix(100)),
      .malformed("a RAF file that ends in its header", offset: 100)
    ),
    (
      "an RW2 whose preview is something else", TIFFPicture.rw2(.init(), preview: bytes(secret)).bytes,
      .unsupported("a preview that is not a JPEG")
    ),
  ]

  @Test("a RAF or RW2 that may hold places elsewhere is refused", arguments: unsafe.indices)
  func refused(_ i: Int) {
    let (name, bytes, error) = Self.unsafe[i]
    #expect(throws: error, "\(name)") { try LocationRemoval.overlay(of: MemoryByteSource(bytes)) }
  }

  // MARK: Items

  private struct Item {
    var type: String
    var contentType: [String] = []
    var parts: [[UInt8]]
    var method = 0
    var fileIndex = 0
    var isProtected = false
  }

  /// A HEIF of items whose parts lie in reverse order.
  private static func heif(_ items: [Item], tail: [UInt8] = []) -> [UInt8] {
    func meta(_ start: Int) -> [UInt8] {
      var positions: [[Int]] = []
      var position = start
      for item in items {
        var own: [Int] = []
        for part in item.parts.reversed() {
          own.insert(position, at: 0)
          position += part.count
        }
        positions.append(own)
      }
      let infos = items.enumerated().flatMap { i, item in
        Boxes.fullBox(
          "infe", version: 2, Boxes.number(i + 1, 2), Boxes.number(item.isProtected ? 1 : 0, 2),
          Boxes.fourCC(item.type),
          Boxes.text(""), item.contentType.flatMap { Boxes.text($0) })
      }
      var places: [UInt8] = []
      for (i, item) in items.enumerated() {
        places += Boxes.number(i + 1, 2) + Boxes.number(item.method, 2) + Boxes.number(item.fileIndex, 2)
        places += Boxes.number(item.parts.count, 2)
        for (position, part) in zip(positions[i], item.parts) {
          places += Boxes.number(position, 4) + Boxes.number(part.count, 4)
        }
      }
      return Boxes.fullBox(
        "meta", Boxes.fullBox("hdlr", Boxes.number(0, 4), Boxes.fourCC("pict"), [UInt8](repeating: 0, count: 13)),
        Boxes.fullBox("pitm", Boxes.number(1, 2)),
        Boxes.fullBox("iinf", Boxes.number(items.count, 2), infos),
        Boxes.fullBox("iloc", version: 1, Boxes.number(0x4400, 2), Boxes.number(items.count, 2), places))
    }
    let start = Boxes.fileType("heic", ["mif1"])
    let data = items.flatMap { $0.parts.reversed().joined() }
    return start + meta(start.count + meta(0).count + 8) + Boxes.box("mdat", data) + tail
  }

  private static let exifItem = Boxes.number(0, 4) + exif
  private static let packetBytes = bytes(secretPacket)

  static let items: [(name: String, bytes: [UInt8])] = [
    (
      "XMP in several parts",
      heif([
        Item(
          type: "mime", contentType: ["application/rdf+xml"],
          parts: [
            Array(packetBytes.prefix(260)), Array(packetBytes.dropFirst(260).prefix(20)),
            Array(packetBytes.dropFirst(280)),
          ])
      ])
    ),
    (
      "compressed XMP",
      heif([Item(type: "mime", contentType: ["application/rdf+xml", "deflate"], parts: [bytes(secret)])])
    ),
    ("encrypted EXIF", heif([Item(type: "Exif", parts: [bytes(secret)], isProtected: true)])),
    ("EXIF that is none", heif([Item(type: "Exif", parts: [bytes(secret)])])),
    ("JSON", heif([Item(type: "mime", contentType: ["application/json"], parts: [bytes("{\(secret)}")])])),
    ("an item of an unknown kind", heif([Item(type: "what", parts: [bytes(secret)])])),
    ("a JPEG", heif([Item(type: "jpeg", parts: [picture])])),
    (
      "Samsung's trailer",
      heif([], tail: Boxes.box("sefd", TailLocationTests.samsung([("Unknown_Data", bytes(secret))])))
    ),
  ]

  @Test("places disappear from items of every kind", arguments: items.map(\.name))
  func itemPlaces(_ name: String) throws {
    let file = try #require(Self.items.first { $0.name == name })
    #expect(count(of: secret, in: file.bytes) > 0 || name.contains("parts"))
    #expect(count(of: secret, in: try withoutPlaces(file.bytes)) == 0)
  }

  @Test("EXIF in several parts loses its GPS directory, and only it")
  func parts() throws {
    for cut in [5, 30, Self.exifItem.count - 20] {
      let whole = Self.heif([Item(type: "Exif", parts: [Self.exifItem])])
      let halves = [Array(Self.exifItem.prefix(cut)), Array(Self.exifItem.dropFirst(cut))]
      let split = Self.heif([Item(type: "Exif", parts: halves)])
      let edited = try withoutPlaces(split).suffix(Self.exifItem.count)
      let joined = edited.suffix(cut) + edited.dropLast(cut)
      #expect(Array(joined) == Array(try withoutPlaces(whole).suffix(Self.exifItem.count)))
      #expect(Array(joined) != Self.exifItem)
    }
  }

  static let refusals: [(name: String, bytes: [UInt8], error: LocationRemovalError)] = [
    (
      "an item in another file", heif([Item(type: "Exif", parts: [exifItem], fileIndex: 1)]),
      .unsupported("an item of type Exif in another file or item")
    ),
    (
      "an item in another item", heif([Item(type: "Exif", parts: [exifItem], method: 2)]),
      .unsupported("an item of type Exif in another file or item")
    ),
    (
      "several tables of items",
      Boxes.fileType("heic") + Boxes.fullBox("meta", Boxes.fullBox("iinf", [0, 0]), Boxes.fullBox("iinf", [0, 0])),
      .malformed("several tables of items", offset: 28)
    ),
    (
      "a table that ends too early", Boxes.fileType("heic") + Boxes.fullBox("meta", Boxes.fullBox("iinf")),
      .malformed("a table of items that ends too early", offset: 28)
    ),
    (
      "items without a type",
      Boxes.fileType("heic")
        + Boxes.fullBox("meta", Boxes.fullBox("iinf", [0, 1], Boxes.fullBox("infe", [0, 1, 0, 0]))),
      .unsupported("items without a type")
    ),
    ("a short GIF", bytes("GIF89a") + [0, 0], .malformed("a file that ends too early", offset: 0)),
    (
      "TIFF after a GIF", GIFFile().bytes + [0x3B] + bytes("xxII*\0"),
      .unsupported("the metadata after the end of a file")
    ),
  ]

  @Test("a file without a safe way is refused with its reason", arguments: refusals.map(\.name))
  func refused(_ name: String) throws {
    let (_, bytes, error) = try #require(Self.refusals.first { $0.name == name })
    #expect(throws: error, "\(name)") { try LocationRemoval.overlay(of: MemoryByteSource(bytes)) }
  }

  @Test("an item that shares bytes with the tables is refused")
  func overlap() throws {
    var file = Self.heif([Item(type: "Exif", parts: [Self.exifItem])])
    // The offset and the length of the item are the last fields before the data.
    let offset = file.count - Self.exifItem.count - 16
    file.replaceSubrange(offset..<offset + 4, with: Boxes.number(40, 4))
    #expect(throws: LocationRemovalError.overlap(offset: 40)) {
      try LocationRemoval.overlay(of: MemoryByteSource(file))
    }
  }

  @Test("items that share bytes are refused")
  func shared() throws {
    let item = Item(type: "mime", contentType: ["application/rdf+xml"], parts: [Self.packetBytes])
    var file = Self.heif([item, item])
    let offset = file.count - 2 * Self.packetBytes.count - 16
    let second = file[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
    file.replaceSubrange(offset..<offset + 4, with: Boxes.number(second - 10, 4))
    #expect(throws: LocationRemovalError.overlap(offset: Int64(second - 10))) {
      try LocationRemoval.overlay(of: MemoryByteSource(file))
    }
  }

  @Test("a WebP's unknown chunk and a GIF's unknown application lose their bytes")
  func unknown() throws {
    var webp = WebPFile(.extended).bytes + Self.bytes("GPSX") + [6, 0, 0, 0] + Self.bytes(secret)
    let length = webp.count - 8
    webp.replaceSubrange(4..<8, with: (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) })
    #expect(count(of: secret, in: try withoutPlaces(webp)) == 0)
    let gif =
      Self.bytes("GIF89a") + [0, 1, 0, 1, 0, 0, 0] + [0x21, 0xFF, 11] + Self.bytes("MGKIPTC0000") + [6]
      + Self.bytes(secret) + [0] + [0x21, 0xFE, 4] + Self.bytes(kept) + [0, 0x3B]
    let edited = try withoutPlaces(gif)
    #expect(count(of: secret, in: edited) == 0 && count(of: kept, in: edited) == 1)
  }

  @Test("XMP after a GIF's picture is found")
  func laterXMP() throws {
    let whole = GIFFile { $0.xmp = secretPacket }.bytes
    let plain = GIFFile().bytes
    let start = try #require(whole.indices.first { whole[$0...].starts(with: [0x21, 0xFF]) })
    let packet = whole[start..<(whole.count - (plain.count - start))]
    // A picture of one pixel: position, size, no table, the code size, a sub-block.
    let pixel: [UInt8] = [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]
    let gif = Array(whole[..<start]) + pixel + packet + [0x3B]
    let edited = try withoutPlaces(gif)
    #expect(count(of: secret, in: gif) == 1 && count(of: secret, in: edited) == 0)
  }

  // MARK: Damage

  @Test(
    "every truncated or changed file gives an overlay within the file or an error",
    arguments: files.map(\.name) + items.map(\.name))
  func damaged(_ name: String) throws {
    let file = try #require((Self.files + Self.items).first { $0.name == name }).bytes
    for length in stride(from: 0, to: file.count, by: 7) { check(Array(file.prefix(length))) }
    for i in file.indices where i % 3 == 0 || i < 600 {
      for flip: UInt8 in [0xFF, 0x01] {
        var bytes = file
        bytes[i] ^= flip
        check(bytes)
      }
    }
  }

  private func check(_ file: [UInt8]) {
    guard let overlay = try? LocationRemoval.overlay(of: MemoryByteSource(file)) else { return }
    #expect(overlay.patches.allSatisfy { $0.offset >= 0 && $0.range.upperBound <= Int64(file.count) })
  }
}
