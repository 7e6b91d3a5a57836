import MediaMetadata
import PhotoModel
import Testing

@Suite("Titles, keywords, people and places of files")
struct DescriptionTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var xmp: [UInt8]?
    var iptc: [UInt8]?
    var exif: [UInt8]?
    var expected = DescriptiveMetadata()

    init(
      _ name: String, xmp: String? = nil, iptc: [(Int, String)]? = nil, description: String? = nil, lens: String? = nil,
      _ change: (inout DescriptiveMetadata) -> Void = { _ in }
    ) {
      testDescription = name
      self.xmp = xmp.map { xmpPacket(DescriptionTests.namespaces, $0) }
      self.iptc = iptc.map { $0.flatMap { DescriptionTests.dataset($0.0, $0.1) } }
      if description != nil || lens != nil {
        var fixture = TIFFFixture()
        fixture.first = [(0x010E, .ascii(description ?? ""))]
        if let lens { fixture.exif = [(0xA434, .ascii(lens))] }
        exif = fixture.bytes
      }
      change(&expected)
    }

    var found: DescriptiveMetadata {
      var facts = MediaFacts(exifBlock: exif?[...], xmpPacket: xmp?[...])
      if let iptc { facts.readDescription(iptc: iptc[...]) }
      return facts.descriptive
    }
  }

  private static let namespaces = """
    xmlns:mwg-rs="http://www.metadataworkinggroup.com/schemas/regions/" xmlns:aux="http://ns.adobe.com/exif/1.0/aux/"
    xmlns:MP="http://ns.microsoft.com/photo/1.2/" xmlns:MPRI="http://ns.microsoft.com/photo/1.2/t/RegionInfo#"
    xmlns:MPReg="http://ns.microsoft.com/photo/1.2/t/Region#" xmlns:exifEX="http://cipa.jp/exif/1.0/"
    """

  private static func dataset(_ number: Int, _ text: String) -> [UInt8] {
    [0x1C, 2, UInt8(number), UInt8(text.utf8.count >> 8), UInt8(text.utf8.count & 255)] + Array(text.utf8)
  }

  private static func title(_ text: String) -> String { language("dc:title", text) }

  private static func language(_ name: String, _ text: String) -> String {
    "<\(name)><rdf:Alt><rdf:li xml:lang=\"x-default\">\(text)</rdf:li></rdf:Alt></\(name)>"
  }

  private static func bag(_ name: String, _ items: [String]) -> String {
    "<\(name)><rdf:Bag>\(items.map { "<rdf:li>\($0)</rdf:li>" }.joined())</rdf:Bag></\(name)>"
  }

  private static func structures(_ name: String, _ items: [String], _ kind: String = "Bag") -> String {
    let items = items.map { "<rdf:li rdf:parseType=\"Resource\">\($0)</rdf:li>" }.joined()
    return "<\(name)><rdf:\(kind)>\(items)</rdf:\(kind)></\(name)>"
  }

  private static func regions(_ regions: [String]) -> String {
    "<mwg-rs:Regions rdf:parseType=\"Resource\">\(structures("mwg-rs:RegionList", regions))</mwg-rs:Regions>"
  }

  private static func face(_ name: String, _ type: String = "Face") -> String {
    "<mwg-rs:Name>\(name)</mwg-rs:Name><mwg-rs:Type>\(type)</mwg-rs:Type>"
  }

  static let cases: [Case] = [
    Case("no descriptions", xmp: "<xmp:CreatorTool>x</xmp:CreatorTool>", iptc: [(105, "Headline")]),
    // Titles and captions.
    Case("XMP's title", xmp: title("Sea &amp; sand")) { $0.title = "Sea & sand" },
    Case("a title without languages", xmp: "<dc:title>Sea</dc:title>") { $0.title = "Sea" },
    Case(
      "the default language comes first",
      xmp:
        "<dc:title><rdf:Alt><rdf:li xml:lang=\"de\">Meer</rdf:li><rdf:li xml:lang=\"x-default\">Sea</rdf:li></rdf:Alt></dc:title>"
    ) { $0.title = "Sea" },
    Case("IPTC's title", iptc: [(5, "Meer")]) { $0.title = "Meer" },
    Case("XMP's title outranks IPTC's", xmp: title("Sea"), iptc: [(5, "Meer")]) { $0.title = "Sea" },
    Case("a blank title of XMP does not", xmp: title("   "), iptc: [(5, "Meer")]) { $0.title = "Meer" },
    Case(
      "a caption of XMP, IPTC and EXIF", xmp: language("dc:description", "one"), iptc: [(120, "two")],
      description: "three"
    ) { $0.caption = "one" },
    Case("a caption of IPTC and EXIF", iptc: [(120, "two\r\nlines")], description: "three") {
      $0.caption = "two\nlines"
    },
    Case("a caption of EXIF", description: "three") { $0.caption = "three" },
    Case("a camera's own description", description: "OLYMPUS DIGITAL CAMERA         "),
    Case("an EXIF description beside XMP's title", xmp: title("Sea"), description: "three") {
      $0.title = "Sea"
      $0.caption = "three"
    },
    Case("control characters", xmp: title("a&#9;b"), iptc: [(120, "a\u{1}b\tc")]) {
      $0.title = "a b"
      $0.caption = "a b\tc"
    },
    // Keywords.
    Case("XMP's keywords, each once", xmp: bag("dc:subject", ["sea", " sand ", "sea"])) {
      $0.keywords = ["sea", "sand"]
    },
    Case("IPTC's keywords", iptc: [(25, "Meer"), (25, "Sand")]) { $0.keywords = ["Meer", "Sand"] },
    Case("keywords of two sources are not mixed", xmp: bag("dc:subject", ["sea"]), iptc: [(25, "Meer")]) {
      $0.keywords = ["sea"]
    },
    Case("keywords that are coordinates", xmp: bag("dc:subject", ["geo:lat=52.5", "Geo:lon=1", "geo:\u{301}", "sea"])) {
      $0.keywords = ["sea"]
    },
    Case("too many keywords", iptc: (0..<300).map { (25, "k\($0)") }) {
      $0.keywords = (0..<DescriptiveLimits.keywords).map { "k\($0)" }
    },
    Case("a keyword that is too long", iptc: [(25, String(repeating: "ä", count: 200))]) {
      $0.keywords = [String(repeating: "ä", count: DescriptiveLimits.wordBytes / 2)]
    },
    // Ratings.
    Case("a rating", xmp: "<xmp:Rating>4</xmp:Rating>") { $0.rating = 4 },
    // People.
    Case("faces, but no pets", xmp: regions([face("Ada"), face("Rex", "Pet"), face("Ben")])) {
      $0.people = ["Ada", "Ben"]
    },
    Case(
      "Microsoft's people",
      xmp: "<MP:RegionInfo rdf:parseType=\"Resource\">"
        + structures("MPRI:Regions", ["<MPReg:PersonDisplayName>Cleo</MPReg:PersonDisplayName>"])
        + "</MP:RegionInfo>"
    ) { $0.people = ["Cleo"] },
    Case(
      "people of several properties, each once",
      xmp: regions([face("Ada")]) + bag("Iptc4xmpExt:PersonInImage", ["Ada", "Dora"])
        + structures("Iptc4xmpExt:PersonInImageWDetails", [language("Iptc4xmpExt:PersonName", "Emil")])
    ) { $0.people = ["Ada", "Dora", "Emil"] },
    // Lenses.
    Case("EXIF's lens outranks XMP's", xmp: "<aux:Lens>X</aux:Lens>", lens: "50mm F1.8") { $0.lensModel = "50mm F1.8" },
    Case("XMP's lenses", xmp: "<aux:Lens>X</aux:Lens><exifEX:LensModel>Y</exifEX:LensModel>") { $0.lensModel = "Y" },
    Case("no lens", xmp: "<aux:Lens>X</aux:Lens>", lens: "----") { $0.lensModel = "X" },
    // Places.
    Case(
      "photoshop's place outranks IPTC's, as a whole", xmp: "<photoshop:City>Oslo</photoshop:City>",
      iptc: [(90, "Bergen"), (101, "Norway")]
    ) { $0.place = PlaceNames(city: "Oslo") },
    Case("IPTC's place", iptc: [(90, "Bergen"), (95, "Vestland"), (101, "Norway")]) {
      $0.place = PlaceNames(city: "Bergen", region: "Vestland", country: "Norway")
    },
    Case(
      "the place of the camera outranks the others",
      xmp: "<photoshop:State>X</photoshop:State>"
        + structures("Iptc4xmpExt:LocationShown", ["<Iptc4xmpExt:City>Y</Iptc4xmpExt:City>"])
        + structures(
          "Iptc4xmpExt:LocationCreated",
          ["<Iptc4xmpExt:City>Z</Iptc4xmpExt:City>" + language("Iptc4xmpExt:CountryName", "C")])
    ) { $0.place = PlaceNames(city: "Z", country: "C") },
    Case(
      "a place that the picture shows",
      xmp: structures(
        "Iptc4xmpExt:LocationShown", ["<Iptc4xmpExt:ProvinceState>P</Iptc4xmpExt:ProvinceState>"])
    ) { $0.place = PlaceNames(region: "P") },
  ]

  @Test("descriptions are read from XMP, IPTC and EXIF, by one order of precedence", arguments: cases)
  func read(_ example: Case) { #expect(example.found == example.expected) }

  @Test("a truncated block gives no text that is longer than the limits, and never fails")
  func cutOff() {
    for example in Self.cases {
      for count in stride(from: 0, to: max(example.xmp?.count ?? 0, example.iptc?.count ?? 0), by: 7) {
        var part = example
        part.xmp = example.xmp.map { Array($0.prefix(count)) }
        part.iptc = example.iptc.map { Array($0.prefix(count)) }
        let found = part.found
        #expect(found.keywords.count <= DescriptiveLimits.keywords)
        #expect(found.caption.map { $0.utf8.count <= DescriptiveLimits.captionBytes } ?? true)
      }
    }
  }

  @Test("a caption is truncated at a whole character")
  func longCaption() throws {
    let text = String(repeating: "\u{1F600}", count: 3000)
    var facts = MediaFacts()
    facts.readDescription(iptc: Self.dataset(120, text)[...])
    let caption = try #require(facts.descriptive.caption)
    #expect(caption.utf8.count == DescriptiveLimits.captionBytes && text.hasPrefix(caption))
  }
}
