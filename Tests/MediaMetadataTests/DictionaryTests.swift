import Foundation
import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Metadata by name")
struct DictionaryTests {
  private static func dictionary(_ blocks: (MetadataBlock.Kind, [UInt8])..., places: Bool = true) -> MetadataDictionary
  {
    MetadataDictionary(blocks.map { .init($0.0, $0.1[...]) }, includesLocations: places)
  }

  private static func xmp(_ attributes: String = "", _ elements: String = "") -> [String: MetadataValue] {
    dictionary((.xmp, xmpPacket(attributes, elements))).sections["XMP"] ?? [:]
  }

  @Test("EXIF numbers, texts, dates and unknown tags are read in both byte orders", arguments: [false, true])
  func exif(isBigEndian: Bool) {
    var fixture = TIFFFixture(isBigEndian: isBigEndian)
    fixture.first = [
      (0x010F, .ascii("Maker  ")), (0x0112, .short(6)), (0x011A, .rationals([(72, 1)])), (0x8298, .ascii("Me\0You")),
      (0x9C9B, .bytes("Größe".utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] })), (0xFFF0, .short(7)),
    ]
    fixture.exif = [
      (0x829A, .rationals([(1, 60)])), (0x9000, .bytes(Array("0232".utf8))),
      (0x9003, .ascii("2024:05:06 07:08:09")), (0x9101, .bytes([1, 2, 3, 0])), (0x9204, .signed(-2)),
      (0x927C, .bytes(Array("Nikon\0".utf8) + [UInt8](repeating: 1, count: 30))), (0xA300, .bytes([3])),
      (0xA432, .rationals([(24, 1), (70, 1), (0, 0), (0, 0)])),
      (0x9286, .bytes(Array("ASCII\0\0\0A comment".utf8))), (0x9999, .doubles([0.5, -2])),
    ]
    fixture.gps = [
      (0x0001, .ascii("N")), (0x0002, .rationals([(47, 1), (30, 1), (36, 1)])),
      (0x0007, .rationals([(7, 1), (8, 1), (95, 10)])), (0x001D, .ascii("2024:05:06")),
    ]
    let sections = Self.dictionary((.exif, fixture.bytes)).sections
    #expect(
      sections["TIFF"] == [
        "Make": .text("Maker"), "Orientation": .integer(6), "XResolution": .number(72), "Copyright": .text("Me\nYou"),
        "XPTitle": .text("Größe"), "0xfff0": .integer(7),
      ])
    #expect(
      sections["EXIF"] == [
        "ExposureTime": .number(1 / 60), "ExifVersion": .text("0232"), "DateTimeOriginal": .text("2024:05:06 07:08:09"),
        "ComponentsConfiguration": .array([1, 2, 3, 0].map { .integer($0) }), "ExposureBiasValue": .integer(-2),
        "MakerNote": .object(["length": .integer(36), "signature": .text("Nikon")]), "FileSource": .integer(3),
        "LensSpecification": .array([.number(24), .number(70), .null, .null]), "UserComment": .text("A comment"),
        "0x9999": .array([.number(0.5), .number(-2)]),
      ])
    #expect(
      sections["GPS"] == [
        "GPSLatitudeRef": .text("N"), "GPSLatitude": .number(47.51), "GPSTimeStamp": .text("07:08:09.5"),
        "GPSDateStamp": .text("2024:05:06"),
      ])
  }

  @Test("entries of Apple's maker note have names")
  func apple() {
    let note = TIFFFixture.appleNote([(0x000B, .ascii("BURST")), (0x0021, .rationals([(3, 2)])), (0x7777, .signed(-1))])
    let fixture = TIFFFixture(first: [(0x010F, .ascii("Apple"))], exif: [(0x927C, .bytes(note))])
    let sections = Self.dictionary((.exif, fixture.bytes)).sections
    #expect(
      sections["MakerApple"] == [
        "BurstUUID": .text("BURST"), "HDRHeadroom": .number(1.5), "0x7777": .integer(-1),
      ])
    #expect(sections["EXIF"]?["MakerNote"] == nil)
  }

  struct IPTCCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let expected: [String: MetadataValue]

    init(_ name: String, _ datasets: [(Int, Int, [UInt8])], _ expected: [String: MetadataValue], rest: [UInt8] = []) {
      testDescription = name
      bytes =
        datasets.flatMap { record, number, content in
          [0x1C, UInt8(record), UInt8(number), UInt8(content.count >> 8), UInt8(content.count & 255)] + content
        } + rest
      self.expected = expected
    }
  }

  static let latin: [UInt8] = [0xD6, 0x6C]
  static let utf8: [UInt8] = Array("Öl".utf8)
  static let iptcCases: [IPTCCase] = [
    IPTCCase("undeclared Latin 1", [(2, 105, latin)], ["Headline": .text("Öl")]),
    IPTCCase("undeclared UTF-8", [(2, 105, utf8)], ["Headline": .text("Öl")]),
    IPTCCase(
      "declared UTF-8", [(1, 90, [0x1B, 0x25, 0x47]), (2, 105, utf8)],
      ["CodedCharacterSet": .text("UTF-8"), "Headline": .text("Öl")]),
    IPTCCase(
      "declared Latin 1 that is also valid UTF-8", [(1, 90, [0x1B, 0x2E, 0x41]), (2, 105, utf8)],
      ["CodedCharacterSet": .text("ISO 8859-1"), "Headline": .text("Ã\u{2013}l")]),
    IPTCCase("one keyword is an array", [(2, 25, utf8)], ["Keywords": .array([.text("Öl")])]),
    IPTCCase("several keywords", [(2, 25, [65]), (2, 25, [66])], ["Keywords": .array([.text("A"), .text("B")])]),
    IPTCCase("a repeated dataset with equal values", [(2, 5, [65]), (2, 5, [65])], ["ObjectName": .text("A")]),
    IPTCCase(
      "a repeated dataset with different values", [(2, 5, [65]), (2, 5, [66])],
      ["ObjectName": .array([.text("A"), .text("B")])]),
    IPTCCase("a number", [(2, 0, [0, 4])], ["ApplicationRecordVersion": .integer(4)]),
    IPTCCase("a dataset without a name", [(2, 199, [65])], ["2:199": .text("A")]),
    IPTCCase("another record", [(7, 10, [1, 2, 3])], ["7:10": .bytes(3)]),
    IPTCCase(
      "an extended length", [], ["Headline": .text("ABC")],
      rest: [0x1C, 2, 105, 0x80, 4, 0, 0, 0, 3, 65, 66, 67]),
    IPTCCase("padding after the last dataset", [(2, 105, [65])], ["Headline": .text("A")], rest: [0, 0, 0]),
    IPTCCase("a truncated dataset", [(2, 105, [65])], ["Headline": .text("A")], rest: [0x1C, 2, 25, 0, 9, 65]),
    IPTCCase(
      "a length of four billion", [(2, 105, [65])], ["Headline": .text("A")],
      rest: [0x1C, 2, 25, 0x80, 4, 255, 255, 255, 255]),
    IPTCCase(
      "an extended length of too many bytes", [(2, 105, [65])], ["Headline": .text("A")],
      rest: [0x1C, 2, 25, 0xFF, 255]),
  ]

  @Test("IPTC datasets have names", arguments: iptcCases)
  func iptc(_ example: IPTCCase) {
    let dictionary = Self.dictionary((.iptc, example.bytes))
    #expect(dictionary.sections["IPTC"] == example.expected)
    // The result is the same if the block is in two pieces.
    for middle in 1..<example.bytes.count {
      let pieces = Self.dictionary((.iptc, Array(example.bytes[..<middle])), (.iptc, Array(example.bytes[middle...])))
      #expect(pieces.sections == dictionary.sections)
    }
  }

  struct XMPCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let attributes: String
    let elements: String
    let expected: [String: MetadataValue]

    init(_ name: String, _ attributes: String = "", _ elements: String = "", _ expected: [String: MetadataValue]) {
      testDescription = name
      self.attributes = attributes
      self.elements = elements
      self.expected = expected
    }
  }

  static let xmpCases: [XMPCase] = [
    XMPCase("attributes", "xmp:Rating=\"3\" my:a=\"&lt;&#214;\"", "", ["xmp:Rating": .text("3"), "my:a": .text("<Ö")]),
    XMPCase("an element", "", "<xmp:Label>Red<!-- not blue --></xmp:Label>", ["xmp:Label": .text("Red")]),
    XMPCase("a URI", "", "<my:a rdf:resource=\"http://b\"/>", ["my:a": .text("http://b")]),
    XMPCase(
      "a bag and a sequence", "",
      "<dc:subject><rdf:Bag><rdf:li>a</rdf:li><rdf:li>b</rdf:li></rdf:Bag></dc:subject>"
        + "<dc:creator><rdf:Seq><rdf:li>c</rdf:li></rdf:Seq></dc:creator>",
      ["dc:subject": .array([.text("a"), .text("b")]), "dc:creator": .array([.text("c")])]),
    XMPCase(
      "alternatives by language", "",
      "<dc:title><rdf:Alt><rdf:li xml:lang=\"x-default\">A</rdf:li><rdf:li xml:lang=\"de\">B</rdf:li></rdf:Alt></dc:title>",
      ["dc:title": .object(["x-default": .text("A"), "de": .text("B")])]),
    XMPCase(
      "alternatives without a language", "", "<my:a><rdf:Alt><rdf:li>x</rdf:li><rdf:li>y</rdf:li></rdf:Alt></my:a>",
      ["my:a": .array([.text("x"), .text("y")])]),
    XMPCase(
      "a structure by parseType", "", "<my:a rdf:parseType=\"Resource\"><my:b>1</my:b><my:c>2</my:c></my:a>",
      ["my:a": .object(["my:b": .text("1"), "my:c": .text("2")])]),
    XMPCase(
      "a structure in a description", "", "<my:a><rdf:Description my:b=\"1\"><my:c>2</my:c></rdf:Description></my:a>",
      ["my:a": .object(["my:b": .text("1"), "my:c": .text("2")])]),
    XMPCase(
      "a structure of attributes", "", "<my:a my:b=\"1\" my:c=\"2\"/>",
      ["my:a": .object(["my:b": .text("1"), "my:c": .text("2")])]),
    XMPCase(
      "structures in an array", "",
      "<my:a><rdf:Seq><rdf:li rdf:parseType=\"Resource\"><my:b><rdf:Bag><rdf:li>1</rdf:li></rdf:Bag></my:b></rdf:li>"
        + "<rdf:li my:c=\"2\"/></rdf:Seq></my:a>",
      ["my:a": .array([.object(["my:b": .array([.text("1")])]), .object(["my:c": .text("2")])])]),
    XMPCase(
      "a qualifier", "",
      "<my:a rdf:parseType=\"Resource\"><rdf:value>v</rdf:value><my:q>w</my:q></my:a>",
      ["my:a": .object(["rdf:value": .text("v"), "my:q": .text("w")])]),
    XMPCase(
      "a language outside of alternatives", "", "<my:a xml:lang=\"fr\">v</my:a>",
      ["my:a": .object(["rdf:value": .text("v"), "xml:lang": .text("fr")])]),
    XMPCase("an empty property", "", "<my:a/>", ["my:a": .text("")]),
    XMPCase(
      "a known namespace with another prefix", "xmlns:p=\"http://ns.adobe.com/photoshop/1.0/\" p:Headline=\"h\"", "",
      ["photoshop:Headline": .text("h")]),
    XMPCase(
      "another namespace with a known prefix", "", "<dc:x xmlns:dc=\"http://example.com/2\">1</dc:x>",
      ["dc2:x": .text("1")]),
    XMPCase(
      "a second description", "",
      "</rdf:Description><rdf:Description xmlns:xmp=\"http://ns.adobe.com/xap/1.0/\" rdf:about=\"\" xmp:Label=\"L\">",
      ["xmp:Label": .text("L")]),
  ]

  @Test("XMP values become JSON values", arguments: xmpCases)
  func xmp(_ example: XMPCase) {
    let dictionary = Self.dictionary((.xmp, xmpPacket(example.attributes, example.elements)))
    #expect(dictionary.sections["XMP"] == example.expected)
    #expect(dictionary.incomplete.isEmpty)
  }

  @Test(
    "XMP with a document type declaration is refused, so entities can't expand",
    arguments: [
      "<!DOCTYPE x [<!ENTITY a \"b\">]>", "<!DOCTYPE x SYSTEM \"file:///etc/passwd\">",
      "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>", "<!DOCTYPE x>",
    ])
  func entities(_ declaration: String) {
    let dictionary = Self.dictionary((.xmp, Array(declaration.utf8) + xmpPacket("xmp:Label=\"L\"")))
    #expect(dictionary.sections["XMP"] == nil)
    #expect(dictionary.incomplete == ["XMP: document type declarations are not allowed"])
  }

  @Test("metadata that exceeds a limit is left out and reported as incomplete")
  func limits() {
    let deep = String(repeating: "<my:a rdf:parseType=\"Resource\">", count: 200)
    let wide = String(repeating: "<my:a/>", count: 60_000)
    let long = "<my:a>" + String(repeating: "x", count: 70_000) + "</my:a>"
    for (elements, word) in [(deep, "nested elements"), (wide, "elements and attributes")] {
      let dictionary = Self.dictionary((.xmp, xmpPacket("xmp:Label=\"L\"", elements)))
      #expect(dictionary.incomplete.count == 1 && dictionary.incomplete[0].contains(word))
    }
    #expect(Self.xmp("", long) == ["my:a": .bytes(70_000)])
    let damaged = Self.dictionary((.xmp, xmpPacket("xmp:Label=\"L\"", "<my:a>1</my:a><my:b></my:c>")))
    #expect(damaged.sections["XMP"] == ["xmp:Label": .text("L"), "my:a": .text("1")])
    #expect(damaged.incomplete.count == 1)
  }

  @Test("an extended XMP packet is read if all its parts are present, in any order")
  func extended() {
    let guid = "0123456789ABCDEF0123456789ABCDEF"
    let packet = xmpPacket("xmlns:xmpNote=\"http://ns.adobe.com/xmp/note/\" xmpNote:HasExtendedXMP=\"\(guid)\"")
    let rest = xmpPacket("my:a=\"1\"")
    func part(_ range: Range<Int>, guid: String = guid, length: Int? = nil) -> [UInt8] {
      func number(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(value >> (24 - $0 * 8) & 255) } }
      return Array(guid.utf8) + number(length ?? rest.count) + number(range.lowerBound) + rest[range]
    }
    let (a, b) = (part(0..<100), part(100..<rest.count))
    let whole: [[[UInt8]]] = [
      [a, b], [b, a], [a, a, b], [part(0..<rest.count, guid: String(repeating: "F", count: 32)), b, a],
    ]
    for parts in whole {
      let dictionary = MetadataDictionary(
        [.init(.xmp, packet[...])] + parts.map { .init(.extendedXMP, $0[...]) }, includesLocations: true)
      #expect(dictionary.sections["XMP"] == ["my:a": .text("1")])
      #expect(dictionary.incomplete.isEmpty)
    }
    let broken: [[[UInt8]]] = [[], [a], [b], [a, part(120..<rest.count)], [a, part(100..<rest.count, length: 7)]]
    for parts in broken {
      let dictionary = MetadataDictionary(
        [.init(.xmp, packet[...])] + parts.map { .init(.extendedXMP, $0[...]) }, includesLocations: true)
      #expect(dictionary.sections["XMP"] == nil)
      #expect(dictionary.incomplete == ["XMP: the extended packet is incomplete"])
    }
  }

  @Test("ImageMagick profiles in PNG text chunks, and XMP after the pixels, are read")
  func pngText() throws {
    func hexadecimal(_ bytes: [UInt8]) -> String {
      bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    let exif = TIFFFixture(first: [(0x010F, .ascii("Maker"))]).bytes
    let datasets: [UInt8] = [0x1C, 2, 105, 0, 1, 65]
    let resource = Array("8BIM".utf8) + [4, 4, 0, 0, 0, 0, 0, 6] + datasets
    func profile(_ name: String, _ bytes: [UInt8]) -> PNGChunk {
      PNGChunk(
        "tEXt", Array("Raw profile type \(name)\0\n\(name)\n      \(bytes.count)\n\(hexadecimal(bytes))\n".utf8))
    }
    let packet = PNGChunk("iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0".utf8) + xmpPacket("xmp:Label=\"L\""))
    let plain = PNGFile(.rgb(depth: 8)) {
      $0.chunks = [profile("APP1", Array("Exif\0\0".utf8) + exif), profile("iptc", resource)]
    }.encoded(Pixels.orientationCard(width: 16, height: 16))
    let behind = PNGChunks.chunk(packet.type, packet.content)
    let file = plain.dropLast(12) + behind + plain.suffix(12)
    let metadata = try FileMetadata.read(
      from: MemoryByteSource(Array(file)), limits: CodecLimits(), includesLocations: true)
    #expect(metadata.sections["TIFF"] == ["Make": .text("Maker")])
    #expect(metadata.sections["IPTC"] == ["Headline": .text("A")])
    #expect(metadata.sections["XMP"] == ["xmp:Label": .text("L")])
  }

  @Test("all metadata of TIFF, RAW and CR3 files is read, wherever their directories are")
  func gathered() throws {
    let details = TIFFPicture.Details {
      $0.hasLocation = true
      $0.make = "SONY"
    }
    let files = [
      TIFFPicture.tiff(details).bytes, TIFFPicture.dng(details).bytes, TIFFPicture.cr2(details).bytes,
      TIFFPicture.arw(details).bytes,
      TIFFPicture.nef(TIFFPicture.Details { ($0.hasLocation, $0.make) = (true, "NIKON") }).bytes,
      CR3File { $0.details = details }.bytes,
    ]
    for file in files {
      let sections = try FileMetadata.read(
        from: MemoryByteSource(file), limits: CodecLimits(), includesLocations: true
      ).sections
      #expect(sections["EXIF"]?["SubSecTimeOriginal"] == .text("25"))
      #expect(sections["GPS"]?["GPSLatitude"] == .number(33.5) && sections["GPS"]?["GPSAltitude"] == .number(12.5))
      let isGathered = sections["Image"]?["UniformTypeIdentifier"] != .text("com.sony.arw-raw-image")
      // Only the full metadata contains it.
      if isGathered { #expect(sections["TIFF"]?["ImageWidth"] != nil) }
      let rest = try FileMetadata.read(
        from: MemoryByteSource(file), limits: CodecLimits(), includesLocations: false
      ).sections
      #expect(rest["GPS"] == nil && rest["EXIF"] == sections["EXIF"])
    }
  }

  @Test("without locations, metadata contains no location at any depth")
  func places() {
    var fixture = TIFFFixture(first: [(0x010F, .ascii("Maker")), (0xFFF0, .ascii("Berlin"))])
    fixture.gps = [(0x0001, .ascii("N")), (0x0002, .rationals([(47, 1), (30, 1), (36, 1)]))]
    fixture.exif = [(0xA214, .short(5))]
    let datasets = IPTCCase(
      "",
      [90, 92, 95, 100, 101, 26, 27, 199].map { (2, $0, Array("Berlin".utf8)) } + [
        (2, 25, Array("sea".utf8)), (2, 25, Array("geo:lat=52.5".utf8)),
      ], [:])
    let packet = xmpPacket(
      "photoshop:City=\"Berlin\" photoshop:Country=\"Berlin\" photoshop:State=\"Berlin\" exif:GPSLatitude=\"Berlin\" "
        + "my:shotLocation=\"Berlin\" my:geo=\"Berlin\" my:velocity=\"fast\" my:Statement=\"said\" my:label=\"geo:52,13\"",
      "<Iptc4xmpExt:LocationCreated><rdf:Bag><rdf:li Iptc4xmpExt:City=\"Berlin\"/></rdf:Bag></Iptc4xmpExt:LocationCreated>"
        + "<my:who rdf:parseType=\"Resource\"><my:name>n</my:name><Iptc4xmpExt:CiAdrCity>Berlin</Iptc4xmpExt:CiAdrCity>"
        + "<my:deep rdf:parseType=\"Resource\"><my:homeAddress>Berlin</my:homeAddress></my:deep></my:who>")
    let blocks: [MetadataDictionary.Block] = [
      .init(.exif, fixture.bytes[...]), .init(.iptc, datasets.bytes[...]), .init(.xmp, packet[...]),
    ]
    let all = MetadataDictionary(blocks, includesLocations: true).sections
    #expect("\(all)".components(separatedBy: "Berlin").count == 19)
    let rest = MetadataDictionary(blocks, includesLocations: false).sections
    #expect(
      rest == [
        "TIFF": ["Make": .text("Maker")], "IPTC": ["Keywords": .array([.text("sea")])],
        "XMP": [
          "my:velocity": .text("fast"), "my:Statement": .text("said"),
          "my:who": .object(["my:name": .text("n"), "my:deep": .object([:])]),
        ],
      ])
  }
}
