import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Metadata for the catalogue")
struct FactsTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var exif: [UInt8]?
    var xmp: [UInt8]?
    var expected = MediaFacts()

    init(_ name: String, exif: [UInt8]? = nil, xmp: [UInt8]? = nil, _ change: (inout MediaFacts) -> Void = { _ in }) {
      testDescription = name
      self.exif = exif
      self.xmp = xmp
      change(&expected)
    }
  }

  private static func exif(_ entries: [(Int, TIFFFixture.Value)], isBigEndian: Bool = false) -> [UInt8] {
    var fixture = TIFFFixture(isBigEndian: isBigEndian)
    fixture.first = [(0x010F, .ascii("Maker"))]
    fixture.exif = entries
    return fixture.bytes
  }

  private static func note(_ entries: [(Int, TIFFFixture.Value)]) -> [UInt8] {
    exif([(0x927C, .bytes(TIFFFixture.appleNote(entries)))], isBigEndian: true)
  }

  private static func comment(_ code: String, _ text: [UInt8], isBigEndian: Bool = false) -> [UInt8] {
    exif([(0x9286, .bytes(Array(code.utf8) + text))], isBigEndian: isBigEndian)
  }

  private static func google(_ name: String, _ value: String) -> String { "GCamera:\(name)=\"\(value)\"" }

  private static func directory(_ semantic: String) -> [UInt8] {
    xmpPacket(
      "",
      """
      <Container:Directory><rdf:Seq><rdf:li rdf:parseType="Resource"><Container:Item Item:Semantic="Primary"/></rdf:li>
      <rdf:li rdf:parseType="Resource"><Container:Item Item:Mime="image/jpeg" Item:Semantic="\(semantic)"/></rdf:li>
      </rdf:Seq></Container:Directory>
      """)
  }

  private static func auxiliary(_ type: String) -> [UInt8] {
    xmpPacket("apdi:AuxiliaryImageType=\"\(type)\"")
  }

  static let cases: [Case] = [
    Case("no metadata"),
    Case("an EXIF block without facts", exif: exif([(0x829A, .rationals([(1, 60)]))])),
    Case("CustomRendered 1, the standard's own value", exif: exif([(0xA401, .short(1))])),
    Case("an exposure of a second", exif: exif([(0x829A, .rationals([(10, 10)]))])) { $0.isLongExposure = true },
    Case("an exposure of half a minute", exif: exif([(0x829A, .rationals([(30, 1)]))])) { $0.isLongExposure = true },
    Case("an exposure of nearly a second", exif: exif([(0x829A, .rationals([(999, 1000)]))])),
    Case("an exposure without a denominator", exif: exif([(0x829A, .rationals([(5, 0)]))])),
    Case("a front camera", exif: exif([(0xA434, .ascii("iPhone 12 front camera 2.71mm f/2.2"))])) {
      $0.isSelfPortrait = true
      $0.descriptions.exif = lens("iPhone 12 front camera 2.71mm f/2.2")
    },
    Case("a back camera", exif: exif([(0xA434, .ascii("iPhone 12 back dual wide camera 4.2mm f/1.6"))])) {
      $0.descriptions.exif = lens("iPhone 12 back dual wide camera 4.2mm f/1.6")
    },
    Case("a lens with a similar name", exif: exif([(0xA434, .ascii("Frontier 50mm"))])) {
      $0.descriptions.exif = lens("Frontier 50mm")
    },
    Case("a maker note's front camera", exif: note([(0x0045, .signed(1))])) { $0.isSelfPortrait = true },
    Case("a maker note's back camera", exif: note([(0x0045, .signed(0))])),
    Case("an iPhone's HDR", exif: exif([(0xA401, .short(3))])) { $0.subtypes = .photoHDR },
    Case("the original of an HDR", exif: exif([(0xA401, .short(4))])),
    Case("an iPhone's panorama", exif: exif([(0xA401, .short(6))])) { $0.subtypes = .photoPanorama },
    Case("a portrait in HDR", exif: exif([(0xA401, .short(7))], isBigEndian: true)) {
      $0.subtypes = [.photoHDR, .photoDepthEffect]
    },
    Case("a portrait", exif: exif([(0xA401, .short(8))])) { $0.subtypes = .photoDepthEffect },
    Case("a maker note's HDR", exif: note([(0x000A, .signed(3))])) { $0.subtypes = .photoHDR },
    Case("a maker note's original of an HDR", exif: note([(0x000A, .signed(4))])),
    Case(
      "a burst and a live photo",
      exif: note([
        (0x000B, .ascii("0F0F0F0F-1234-4321-9ABC-0123456789AB")),
        (0x0011, .ascii("9E9E9E9E-0000-1111-2222-333344445555")),
      ])
    ) {
      $0.burstIdentifier = "0F0F0F0F-1234-4321-9ABC-0123456789AB"
      $0.contentIdentifier = "9E9E9E9E-0000-1111-2222-333344445555"
    },
    Case("another maker's note", exif: exif([(0x927C, .bytes(Array("Nikon\0\u{2}".utf8) + [0, 0, 1, 0, 11, 0]))])),
    Case("a screenshot's comment", exif: comment("ASCII\0\0\0", Array("Screenshot".utf8))) {
      $0.subtypes = .photoScreenshot
    },
    Case(
      "a screenshot's comment in UTF-16",
      exif: comment("UNICODE\0", "Screenshot".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }, isBigEndian: true)
    ) { $0.subtypes = .photoScreenshot },
    Case("a comment about a screenshot", exif: comment("ASCII\0\0\0", Array("Screenshots are boring".utf8))),
    Case("Windows' stars", exif: TIFFFixture(first: [(0x4746, .short(4))]).bytes) { $0.rating = 4 },
    Case(
      "XMP's stars outrank Windows'", exif: TIFFFixture(first: [(0x4746, .short(4))]).bytes,
      xmp: xmpPacket("xmp:Rating=\"2\"")
    ) { $0.rating = 2 },
    Case("a rating as an element", xmp: xmpPacket("", "<xmp:Rating> 5 </xmp:Rating>")) { $0.rating = 5 },
    Case("rejected", xmp: xmpPacket("xmp:Rating='-1'")) { $0.rating = -1 },
    Case("a rating out of range", xmp: xmpPacket("xmp:Rating=\"17\"")),
    Case("a rating of another namespace", xmp: xmpPacket("my:Rating=\"3\"")),
    Case("a photo sphere", xmp: xmpPacket("GPano:ProjectionType=\"equirectangular\"")) {
      $0.subtypes = .photoPanorama
    },
    Case("a cylinder, as an element", xmp: xmpPacket("", "<GPano:ProjectionType>cylindrical</GPano:ProjectionType>")) {
      $0.subtypes = .photoPanorama
    },
    Case("a viewer for panoramas", xmp: xmpPacket("GPano:UsePanoramaViewer=\"True\"")) { $0.subtypes = .photoPanorama },
    Case("no viewer for panoramas", xmp: xmpPacket("GPano:UsePanoramaViewer=\"False\"")),
    Case(
      "a photo sphere with another namespace prefix",
      xmp: xmpPacket("xmlns:p=\"http://ns.google.com/photos/1.0/panorama/\" p:ProjectionType=\"equirectangular\"")
    ) { $0.subtypes = .photoPanorama },
    Case("a gain map's version", xmp: xmpPacket("hdrgm:Version=\"1.0\"")) { $0.subtypes = .photoHDR },
    Case("a gain map in the directory", xmp: directory("GainMap")) { $0.subtypes = .photoHDR },
    Case("a directory without a gain map", xmp: directory("Original")),
    Case("a motion photo in the directory", xmp: directory("MotionPhoto")) { $0.subtypes = .photoLive },
    Case("a motion photo", xmp: xmpPacket(google("MotionPhoto", "1"))) { $0.subtypes = .photoLive },
    Case("a micro video", xmp: xmpPacket(google("MicroVideo", "1"))) { $0.subtypes = .photoLive },
    Case("a motion photo without its video", xmp: xmpPacket(google("MotionPhoto", "0"))),
    Case("Google's burst", xmp: xmpPacket(google("BurstID", "b-1"))) { $0.burstIdentifier = "b-1" },
    Case("Google's depth", xmp: xmpPacket("GDepth:Format=\"RangeInverse\"")) { $0.subtypes = .photoDepthEffect },
    Case("Apple's gain map", xmp: auxiliary("urn:com:apple:photo:2020:aux:hdrgainmap")) { $0.subtypes = .photoHDR },
    Case("Apple's disparity", xmp: auxiliary("public.auxiliary.disparity")) { $0.subtypes = .photoDepthEffect },
    Case("Apple's gain map by its version", xmp: xmpPacket("HDRGainMap:HDRGainMapVersion=\"65536\"")) {
      $0.subtypes = .photoHDR
    },
    Case(
      "a screenshot's comment in XMP",
      xmp: xmpPacket(
        "",
        "<exif:UserComment><rdf:Alt><rdf:li xml:lang=\"x-default\">Screenshot</rdf:li></rdf:Alt></exif:UserComment>")
    ) { $0.subtypes = .photoScreenshot },
    Case(
      "several facts in one packet",
      xmp: xmpPacket("GPano:UsePanoramaViewer=\"true\" xmp:Rating=\"3\" hdrgm:Version=\"1\"")
    ) {
      $0.subtypes = [.photoPanorama, .photoHDR]
      $0.rating = 3
    },
    Case("a packet that is truncated after its facts", xmp: Array(xmpPacket("xmp:Rating=\"3\"").dropLast(60))) {
      $0.rating = 3
    },
    Case(
      "a document type",
      xmp: Array("<!DOCTYPE x [<!ENTITY r \"5\">]>".utf8) + xmpPacket("xmp:Rating=\"5\"")),
    Case("no XML", xmp: Array("xmp:Rating=5".utf8)),
  ]

  private static func lens(_ model: String) -> DescriptiveMetadata {
    var descriptive = DescriptiveMetadata()
    descriptive.lensModel = model
    return descriptive
  }

  @Test("facts are read from EXIF, maker notes and XMP", arguments: cases)
  func facts(_ example: Case) {
    #expect(MediaFacts(exifBlock: example.exif?[...], xmpPacket: example.xmp?[...]) == example.expected)
  }

  @Test("a truncated EXIF block gives no subtype that the whole block lacks")
  func cutOff() {
    for example in Self.cases {
      for count in 0..<(example.exif?.count ?? 0) {
        let facts = MediaFacts(exifBlock: example.exif?.prefix(count), xmpPacket: nil)
        #expect(example.expected.subtypes.isSuperset(of: facts.subtypes))
      }
    }
  }

  @Test("an image header lists the metadata blocks of JPEG and PNG files")
  func blocks() throws {
    let scene = Pixels.orientationCard(width: 32, height: 24)
    let packet = xmpPacket("xmp:Rating=\"4\"")
    let datasets: [UInt8] = [0x1C, 2, 25, 0, 3] + Array("sea".utf8)
    let resource = Array("8BIM".utf8) + [4, 4, 0, 0, 0, 0, 0, UInt8(datasets.count)] + datasets
    let jpeg = JPEGFile {
      $0.exif = EXIFBlock { $0.make = "Maker" }
      $0.segments = [
        .xmp(String(decoding: packet, as: UTF8.self)),
        JPEGSegment(marker: 0xED, content: Array("Photoshop 3.0\0".utf8) + resource.prefix(15)),
        JPEGSegment(marker: 0xED, content: Array("Photoshop 3.0\0".utf8) + resource.dropFirst(15)),
      ]
    }.encoded(scene)
    let exif = Array(EXIFBlock { $0.make = "Maker" }.bytes.dropFirst(6))
    let png = PNGFile(.rgb(depth: 8)) {
      $0.chunks = [PNGChunk("eXIf", exif), PNGChunk("iTXt", Array("XML:com.adobe.xmp\0\0\0en\0t\0".utf8) + packet)]
    }.encoded(scene)
    for (file, kinds) in [(jpeg, [.exif, .xmp, .iptc, .iptc]), (png, [.exif, .xmp])]
      as [([UInt8], [MetadataBlock.Kind])]
    {
      let header = try MediaHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
      #expect(header.blocks.map(\.kind) == kinds)
      #expect(header.facts.rating == 4)
      var pieces: [MetadataBlock.Kind: [UInt8]] = [:]
      for block in header.blocks {
        pieces[block.kind, default: []] += file[Int(block.range.offset)..<Int(block.range.offset) + block.range.length]
      }
      #expect(pieces[.exif] == exif)
      #expect(pieces[.xmp] == packet)
      #expect(pieces[.iptc] == (kinds.contains(.iptc) ? datasets : nil))
    }
  }

  @Test(
    "a gain map after the picture makes it HDR, by the type in the index or by its XMP packet",
    arguments: [true, false])
  func gainMap(isTyped: Bool) throws {
    let scene = Pixels.orientationCard(width: 32, height: 24)
    let packet = String(decoding: Self.auxiliary("urn:com:apple:photo:2020:aux:hdrgainmap"), as: UTF8.self)
    let map = JPEGFile { if !isTyped { $0.segments = [.xmp(packet)] } }.encoded(scene)
    let picture = JPEGFile { _ in }.encoded(scene)
    for (type, expected) in [(isTyped ? 0x05_0000 : 0, MediaSubtypes.photoHDR), (0x01_0001, [])] {
      let file = MultiPictureFile(previews: [(type: type, bytes: map)]).encoded(picture)
      #expect(try MediaHeader.read(from: MemoryByteSource(file), limits: CodecLimits()).facts.subtypes == expected)
      let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
      #expect(header.previews.count == (expected.isEmpty ? 1 : 0))
    }
  }

  @Test("the XMP packet of a gain map is found after a segment of length 0, a stray byte and a fill byte")
  func gainMapWithOddHeader() throws {
    let scene = Pixels.orientationCard(width: 32, height: 24)
    let packet = String(decoding: Self.auxiliary("urn:com:apple:photo:2020:aux:hdrgainmap"), as: UTF8.self)
    let map = JPEGFile { $0.segments = [.xmp(packet)] }.encoded(scene)
    let odd = Array(map[..<2]) + [0xFF, 0xEB, 0, 0, 0x55, 0xFF] + Array(map[2...])
    let file = MultiPictureFile(previews: [(type: 0, bytes: odd)]).encoded(JPEGFile { _ in }.encoded(scene))
    let header = try MediaHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    #expect(header.facts.subtypes == .photoHDR)
  }
}
