import MediaMetadata
import PhotoFixtures
import Testing

/// The block without its places.
func withoutPlaces(_ block: [UInt8], _ patches: [BlockPatch]) -> [UInt8] {
  var block = block
  for patch in patches { block.replaceSubrange(patch.offset..<patch.offset + patch.bytes.count, with: patch.bytes) }
  return block
}

@Suite("Removing places from metadata blocks")
struct LocationBlockTests {
  private static func sections(
    _ kind: MetadataBlock.Kind, _ block: [UInt8], places: Bool = true
  ) -> [String: [String: MetadataValue]] {
    MetadataDictionary([.init(kind, block[...])], includesLocations: places).sections
  }

  private static func fixture(isBigEndian: Bool) -> TIFFFixture {
    var fixture = TIFFFixture(isBigEndian: isBigEndian)
    fixture.first = [(0x010E, .ascii("A description")), (0x010F, .ascii("Maker")), (0x0112, .short(6))]
    fixture.exif = [(0x9003, .ascii("2024:05:06 07:08:09")), (0x9286, .bytes(Array("ASCII\0\0\0A comment".utf8)))]
    fixture.gps = [
      (0x0000, .bytes([2, 3, 0, 0])), (0x0001, .ascii("N")), (0x0002, .rationals([(47, 1), (30, 1), (36, 1)])),
      (0x0010, .ascii("T")), (0x0011, .rationals([(1234, 10)])), (0x001B, .bytes(Array("ASCII\0\0\0GPS".utf8))),
      (0x001D, .ascii("2024:05:06")),
    ]
    return fixture
  }

  @Test(
    "names of people become spaces only if asked, in each form of XMP",
    arguments: [
      "<mwg-rs:Name>Ana</mwg-rs:Name>", "<rdf:li><rdf:Description mwg-rs:Type='Face' mwg-rs:Name='Ana'/></rdf:li>",
      "<i:PersonInImage><rdf:Bag><rdf:li>Ana</rdf:li></rdf:Bag></i:PersonInImage>",
      "<m:PersonDisplayName>Ana</m:PersonDisplayName>",
      "<i:PersonInImageWDetails><rdf:Bag><rdf:li><i:PersonName>Ana</i:PersonName></rdf:li></rdf:Bag></i:PersonInImageWDetails>",
      "<a:People xmlns:a='http://ns.iview-multimedia.com/mediapro/1.0/'>Ana</a:People>",
      "<a:People xmlns:a='http://ns.microsoft.com/expressionmedia/1.0/'>Ana</a:People>",
      "<a:Name xmlns:a='http://ns.acdsee.com/regions/'>Ana</a:Name>",
      "<a:person xmlns:a='http://prismstandard.org/namespaces/1.2/basic/'>Ana</a:person>",
      "<a:person xmlns:a='http://prismstandard.org/namespaces/basic/2.0/'>Ana</a:person>",
      "<a:person xmlns:a='http://prismstandard.org/namespaces/basic/3.0/'>Ana</a:person>",
      "<a:Personality xmlns:a='http://xmp.gettyimages.com/gift/1.0/'><rdf:Bag><rdf:li>Ana</rdf:li></rdf:Bag></a:Personality>",
    ])
  func names(_ property: String) throws {
    let packet = Array(
      """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
      <rdf:Description xmlns:mwg-rs="http://www.metadataworkinggroup.com/schemas/regions/"
       xmlns:i="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" xmlns:m="http://ns.microsoft.com/photo/1.2/t/Region#"
       xmlns:p="http://ns.adobe.com/photoshop/1.0/" p:City="Lisbon" p:Headline="Harbour">\(property)</rdf:Description>
      </rdf:RDF></x:xmpmeta>
      """.utf8)
    func text(_ facts: PrivateFacts) throws -> String {
      let edited = withoutPlaces(packet, try LocationBlocks.xmp(packet[...], removing: facts))
      try #require(edited.count == packet.count)
      #expect(try LocationBlocks.xmp(edited[...], removing: facts).isEmpty)
      return String(decoding: edited, as: UTF8.self)
    }
    for facts: PrivateFacts in [[], .locations, .names, [.locations, .names]] {
      let edited = try text(facts)
      #expect(edited.contains("Ana") == !facts.contains(.names))
      #expect(edited.contains("Lisbon") == !facts.contains(.locations))
      #expect(edited.contains("Harbour"))
    }
    let rest = MetadataDictionary([.init(.xmp, packet[...])], includesLocations: true, includesNames: false)
    #expect(!"\(rest.sections)".contains("Ana") && "\(rest.sections)".contains("Lisbon"))
  }

  @Test("a GPS directory loses its entries and values, and all else stays", arguments: [false, true])
  func directory(isBigEndian: Bool) throws {
    let block = Self.fixture(isBigEndian: isBigEndian).bytes
    var before = Self.sections(.exif, block)
    #expect(before.removeValue(forKey: "GPS")?.count == 7)
    let edited = withoutPlaces(block, try LocationBlocks.exif(block[...]).patches)
    #expect(Self.sections(.exif, edited) == before)
    // The directory and its values are the block's last bytes.
    var fixture = Self.fixture(isBigEndian: isBigEndian)
    let gpsBytes =
      block.count
      - {
        fixture.gps = []; return fixture.bytes.count + 12
      }()
    #expect(edited.suffix(gpsBytes).allSatisfy { $0 == 0 })
    #expect(try LocationBlocks.exif(edited[...]).patches.isEmpty)
  }

  @Test("a GPS directory is found through the second directory, through inner ones, and as a root")
  func pointers() throws {
    // IFD0 at 8 points to IFD1, whose entry points to the GPS directory.
    let gps = Self.number(1, 2) + Self.entry(0x0012, 2, 4, Array("WGS\0".utf8)) + Self.number(0, 4)
    for (tag, pointer) in [(0x014A, 0x8825), (0x8769, 0x8825), (0x014A, 0x014A)] {
      let second = Self.number(1, 2) + Self.entry(pointer == 0x014A ? 0x8825 : pointer, 4, 1, Self.number(44, 4))
      let block =
        Self.header + Self.number(1, 2) + Self.entry(tag, 4, 1, Self.number(26, 4)) + Self.number(0, 4)
        + second + Self.number(0, 4) + gps
      let edited = withoutPlaces(block, try LocationBlocks.exif(block[...]).patches)
      #expect(edited == block.prefix(44) + [UInt8](repeating: 0, count: 18), "\(tag)")
    }
    let root = Self.header + gps
    let edited = withoutPlaces(root, try LocationBlocks.exif(root[...], from: .gps).patches)
    #expect(edited == Self.header + [UInt8](repeating: 0, count: 18))
  }

  static let header = Array("II".utf8) + number(42, 2) + number(8, 4)

  static func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    (0..<bytes).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }

  static func entry(_ tag: Int, _ type: Int, _ count: Int, _ value: [UInt8]) -> [UInt8] {
    number(tag, 2) + number(type, 2) + number(count, 4) + value
  }

  static let attacks: [(name: String, block: [UInt8], error: LocationRemovalError)] = [
    (
      "a GPS directory that is also the first directory",
      header + number(1, 2) + entry(0x8825, 4, 1, number(8, 4)) + number(0, 4), .overlap(offset: 8)
    ),
    (
      "a GPS directory in the header",
      header + number(1, 2) + entry(0x8825, 4, 1, number(0, 4)) + number(0, 4),
      .malformed("a GPS directory in the header", offset: 18)
    ),
    (
      "a GPS value that is also the value of another entry",
      header + number(2, 2) + entry(0x010E, 2, 8, number(56, 4)) + entry(0x8825, 4, 1, number(38, 4)) + number(0, 4)
        + number(1, 2) + entry(0x0002, 2, 8, number(56, 4)) + number(0, 4) + Array("12345678".utf8),
      .overlap(offset: 56)
    ),
    (
      "a GPS value in the middle of a directory",
      header + number(1, 2) + entry(0x8825, 4, 1, number(26, 4)) + number(0, 4)
        + number(1, 2) + entry(0x0002, 2, 8, number(10, 4)) + number(0, 4), .overlap(offset: 10)
    ),
    (
      "a GPS value in the header",
      header + number(1, 2) + entry(0x8825, 4, 1, number(26, 4)) + number(0, 4)
        + number(1, 2) + entry(0x0002, 2, 8, number(0, 4)) + number(0, 4), .overlap(offset: 0)
    ),
    (
      "a pointer to a GPS directory in that directory",
      header + number(1, 2) + entry(0x8825, 4, 2, number(28, 4)) + number(0, 4)
        + number(1, 2) + number(26, 4) + number(26, 4) + number(0, 4) + number(0, 4), .overlap(offset: 26)
    ),
    (
      "sixty-five inner directories",
      header + number(1, 2) + entry(0x014A, 4, 65, number(26, 4)) + number(0, 4) + [UInt8](repeating: 1, count: 260),
      .limitExceeded("the number of inner directories", limit: 64, found: 65)
    ),
    ("a BigTIFF", Array("MM".utf8) + [0, 43] + [UInt8](repeating: 0, count: 40), .unsupported("a BigTIFF")),
    (
      "a DNG with its original file", header + number(1, 2) + entry(0xC68C, 7, 4, [1, 2, 3, 4]) + number(0, 4),
      .unsupported("a DNG that contains its original file")
    ),
  ]

  @Test("directories that can't be edited safely are refused", arguments: attacks.map(\.name))
  func refused(_ name: String) throws {
    let attack = try #require(Self.attacks.first { $0.name == name })
    #expect(throws: attack.error) {
      try DirectoryLocations.find(in: DirectoryBlock(attack.block[...]))
    }
  }

  @Test("a chain of more directories than the limit is refused")
  func longChain() {
    var block = Self.header
    for i in 1...600 { block += Self.number(0, 2) + Self.number(8 + i * 6, 4) }
    #expect(throws: LocationRemovalError.limitExceeded("the number of directories", limit: 512, found: 513)) {
      try LocationBlocks.exif(block[...])
    }
  }

  @Test("directories that point to themselves, and offsets beyond the end, end the search")
  func cycles() throws {
    let loop = Self.header + Self.number(1, 2) + Self.entry(0x8769, 4, 1, Self.number(8, 4)) + Self.number(8, 4)
    let beyond =
      Self.header + Self.number(3, 2) + Self.entry(0x8825, 4, 1, Self.number(9999, 4))
      + Self.entry(0x02BC, 1, 0xFFFF_FFFF, Self.number(8, 4)) + Self.entry(0x927C, 12, 0x7FFF_FFFF, Self.number(8, 4))
      + Self.number(0xFFFF_FFF0, 4)
    for block in [loop, beyond, Self.header, Array(Self.header.prefix(6)) + [0xFF, 0xFF]] {
      #expect(try DirectoryLocations.find(in: DirectoryBlock(block[...])).patches.isEmpty)
    }
  }

  // MARK: XMP

  static let properties: [(name: String, attributes: String, elements: String)] = [
    ("coordinates as attributes", "exif:GPSLatitude=\"48,12.5N\" xmp:Rating='3' exif:GPSMapDatum = 'WGS'", ""),
    ("names as elements", "", "<photoshop:City>Wien</photoshop:City><dc:source>S</dc:source><photoshop:Country/>"),
    (
      "a structure",
      "xmp:Rating=\"1\"",
      "<Iptc4xmpExt:LocationCreated rdf:parseType=\"Resource\"><Iptc4xmpExt:City>W</Iptc4xmpExt:City></Iptc4xmpExt:LocationCreated>"
    ),
    (
      "a field of a structure",
      "", "<my:a rdf:parseType=\"Resource\"><my:b>1</my:b><my:City>W</my:City></my:a>"
    ),
    (
      "an attribute of a structure", "",
      "<my:a><rdf:Description my:b=\"1\" my:Latitude=\"2\"><my:c>3</my:c></rdf:Description></my:a>"
    ),
    (
      "a keyword that is a coordinate", "",
      "<dc:subject><rdf:Bag><rdf:li>Meer &amp; Wind</rdf:li><rdf:li>geo:lat=48</rdf:li><rdf:li>W</rdf:li></rdf:Bag></dc:subject>"
    ),
    ("a resource that is a coordinate", "", "<my:a rdf:resource=\"geo:48,16\"/><my:b rdf:resource=\"u:x\"/>"),
    (
      "namespaces of places",
      "xmlns:d=\"http://rs.tdwg.org/dwc/terms/\" xmlns:dji=\"http://www.dji.com/drone-dji/1.0/\" dji:GimbalRollDegree=\"+1\" GPano:PoseHeadingDegrees=\"90\" GPano:PosePitchDegrees=\"5\"",
      "<d:recordNumber>7</d:recordNumber><my:x><![CDATA[<my:City>]]></my:x>"
    ),
    (
      "a state that is a setting", "xmlns:crs=\"http://ns.adobe.com/camera-raw-settings/1.0/\" crs:SourceState=\"1\"",
      ""
    ),
    (
      "quotation marks and markup in values", "xmp:Label=\"a>b'/ my:City='x'\" my:City='&quot;>'",
      "<!-- my:City=\"\" -->"
    ),
    (
      "no places", "xmp:Rating=\"5\"",
      "<dc:title><rdf:Alt><rdf:li xml:lang=\"x-default\">T</rdf:li></rdf:Alt></dc:title>"
    ),
  ]

  @Test(
    "XMP keeps exactly the properties that are no places", arguments: properties.map(\.name), ["UTF-8", "BE", "LE"])
  func packet(_ name: String, encoding: String) throws {
    let property = try #require(Self.properties.first { $0.name == name })
    try Self.check(Self.encoded(xmpPacket(property.attributes, property.elements), encoding))
  }

  private static func encoded(_ packet: [UInt8], _ encoding: String) -> [UInt8] {
    guard encoding != "UTF-8" else { return packet }
    let units = [0xFEFF] + Array(String(decoding: packet, as: UTF8.self).utf16)
    return units.flatMap { unit in
      let (high, low) = (UInt8(unit >> 8), UInt8(unit & 255))
      return encoding == "BE" ? [high, low] : [low, high]
    }
  }

  private static func check(_ packet: [UInt8]) throws {
    let before = sections(.xmp, packet)["XMP"]
    let edited = withoutPlaces(packet, try LocationBlocks.xmp(packet[...]))
    #expect(edited.count == packet.count)
    let after = MetadataDictionary([.init(.xmp, edited[...])], includesLocations: true)
    #expect(after.incomplete.isEmpty)
    #expect(after.sections["XMP"] == sections(.xmp, packet, places: false)["XMP"])
    let hasPlace = before != sections(.xmp, packet, places: false)["XMP"]
    #expect((edited == packet) == !hasPlace)
    #expect(try LocationBlocks.xmp(edited[...]).isEmpty)
  }

  @Test("settings and positions in the picture are no places")
  func otherMeanings() throws {
    let packet = xmpPacket(
      "xmlns:crs=\"http://ns.adobe.com/camera-raw-settings/1.0/\" crs:SourceState=\"1\" exif:SubjectLocation=\"4 5\"")
    #expect(try LocationBlocks.xmp(packet[...]).isEmpty)
  }

  @Test("random packets keep exactly the properties that are no places")
  func randomPackets() throws {
    let attributes = [
      "xmp:Rating=\"3\"", "exif:GPSLatitude='1'", "photoshop:State=\"&#10;>\"", "my:n='\"'", "my:Country=\"\"",
      "my:e=\"é\"",
    ]
    let elements = [
      "<my:City1>x</my:City1>", "<my:t>geo:1,2</my:t>", "<my:u>text</my:u>", "<photoshop:City\n>é</photoshop:City>",
      "<exif:GPSAltitude/>", "<my:s rdf:parseType=\"Resource\"><my:k>v</my:k><my:lat>1</my:lat></my:s>", " \n",
      "<my:l><rdf:Seq><rdf:li my:q=\"1\">a</rdf:li><rdf:li>geo:x</rdf:li><rdf:li>b</rdf:li></rdf:Seq></my:l>",
    ]
    var random = Sampling.generator("random packets")
    for _ in 0..<Sampling.count(200, thorough: 5000) {
      try Self.check(
        xmpPacket(
          attributes.filter { _ in Bool.random(using: &random) }.joined(separator: " "),
          elements.shuffled(using: &random).prefix(Int.random(in: 0...8, using: &random)).joined()))
    }
  }

  @Test(
    "a packet that can't be read becomes spaces",
    arguments: ["<a><b></a>", "<!DOCTYPE x><x/>", "no XML", "<my:City xmlns:my='m'>W</my:City>", "geo:1,2"])
  func unreadable(_ text: String) throws {
    let packet = Array(text.utf8)
    #expect(try withoutPlaces(packet, LocationBlocks.xmp(packet[...])) == packet.map { _ in 0x20 })
  }

  @Test("padding after a packet stays, and a second packet after it does not")
  func afterPacket() throws {
    let packet = xmpPacket("xmp:Rating=\"3\"")
    #expect(try LocationBlocks.xmp((packet + [0, 0, 0])[...]).isEmpty)
    let second = packet + Array("<my:City>W</my:City>".utf8)
    let edited = withoutPlaces(second, try LocationBlocks.xmp(second[...]))
    #expect(!String(decoding: edited, as: UTF8.self).contains("City") && edited.starts(with: packet.prefix(400)))
  }

  // MARK: IPTC

  private static func dataset(_ number: UInt8, _ text: String, isExtended: Bool = false) -> [UInt8] {
    let length = UInt8(text.utf8.count)
    return [0x1C, 2, number] + (isExtended ? [0x80, 4, 0, 0, 0, length] : [0, length]) + text.utf8
  }

  @Test("IPTC datasets of places become spaces", arguments: [false, true])
  func datasets(isExtended: Bool) throws {
    let places: [UInt8] = [26, 27, 90, 92, 95, 100, 101]
    func block(_ text: (UInt8) -> String) -> [UInt8] {
      ([5, 25, 25, 120] + places).flatMap { Self.dataset($0, text($0), isExtended: isExtended) }
    }
    let before = block { "Text \($0)" }
    let edited = withoutPlaces(before, try LocationBlocks.iptc(before[...]))
    #expect(edited == block { places.contains($0) ? String(repeating: " ", count: "Text \($0)".count) : "Text \($0)" })
    let keyword = Self.dataset(25, "geo:lat=48")
    #expect(try withoutPlaces(keyword, LocationBlocks.iptc(keyword[...])) == Self.dataset(25, "          "))
  }

  @Test("IPTC datasets in the wrong byte order are edited, and datasets that can't be read become zeros")
  func oddDatasets() throws {
    let block = Self.dataset(90, "Wien") + Self.dataset(5, "T") + [0]
    func swapped(_ bytes: [UInt8]) -> [UInt8] { bytes.indices.map { bytes[$0 ^ 3] } }
    let odd = swapped(block)
    let edited = withoutPlaces(odd, try LocationBlocks.iptc(odd[...]))
    #expect(edited == swapped(Self.dataset(90, "    ") + Self.dataset(5, "T") + [0]))
    let truncated = Self.dataset(5, "T") + [0x1C, 2, 90, 0, 200] + Array("Wien".utf8)
    let rest = [UInt8](repeating: 0, count: 9)
    #expect(try withoutPlaces(truncated, LocationBlocks.iptc(truncated[...])) == Self.dataset(5, "T") + rest)
  }

  @Test("the digest of IPTC datasets in Photoshop's resources follows them")
  func digest() throws {
    let datasets = Self.dataset(90, "Wien") + Self.dataset(5, "TT")
    func resources(_ datasets: [UInt8], _ digest: [UInt8]) -> [UInt8] {
      func resource(_ identifier: UInt8, _ content: [UInt8]) -> [UInt8] {
        Array("8BIM".utf8) + [4, identifier, 0, 0, 0, 0, 0, UInt8(content.count)] + content
      }
      return resource(0x04, datasets) + resource(0x25, digest)
    }
    let edited = Self.dataset(90, "    ") + Self.dataset(5, "TT")
    for (before, after) in [(MD5.digest(datasets), MD5.digest(edited)), ([UInt8](0..<16), [UInt8](0..<16))] {
      let block = resources(datasets, before)
      #expect(try withoutPlaces(block, LocationBlocks.imageResources(block[...]).patches) == resources(edited, after))
    }
  }

  @Test(
    "MD5 digests are those of RFC 1321 §A.5",
    arguments: [
      ("", "D41D8CD98F00B204E9800998ECF8427E"), ("abc", "900150983CD24FB0D6963F7D28E17F72"),
      (
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
        "57EDF4A22BE3C955AC49DA2E2107B67A"
      ),
    ])
  func digests(_ text: String, _ digest: String) {
    #expect(MD5.digits(Array(text.utf8)) == Array(digest.utf8))
  }
}
