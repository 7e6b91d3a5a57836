import MediaMetadata
import PhotoModel
import Testing

@Suite("Regions of files")
struct RegionTests {
  private static let namespaces = """
    xmlns:mwg-rs="http://www.metadataworkinggroup.com/schemas/regions/" xmlns:stArea="http://ns.adobe.com/xmp/sType/Area#"
    xmlns:stDim="http://ns.adobe.com/xap/1.0/sType/Dimensions#" xmlns:MP="http://ns.microsoft.com/photo/1.2/"
    xmlns:MPRI="http://ns.microsoft.com/photo/1.2/t/RegionInfo#" xmlns:MPReg="http://ns.microsoft.com/photo/1.2/t/Region#"
    """

  private static func group(_ applied: (Int, Int)?, _ regions: [String]) -> String {
    let size = applied.map {
      "<mwg-rs:AppliedToDimensions stDim:w=\"\($0.0)\" stDim:h=\"\($0.1)\" stDim:unit=\"pixel\"/>"
    }
    return """
      <mwg-rs:Regions rdf:parseType="Resource">\(size ?? "")<mwg-rs:RegionList><rdf:Bag>
      \(regions.joined())</rdf:Bag></mwg-rs:RegionList></mwg-rs:Regions>
      """
  }

  private static func region(_ type: String?, _ name: String?, _ area: String) -> String {
    """
    <rdf:li rdf:parseType="Resource">\(type.map { "<mwg-rs:Type>\($0)</mwg-rs:Type>" } ?? "")
    \(name.map { "<mwg-rs:Name>\($0)</mwg-rs:Name>" } ?? "")<mwg-rs:Area \(area) stArea:unit="normalized"/></rdf:li>
    """
  }

  /// A face in the upper left quarter of the stored picture.
  private static let corner = region(
    "Face", "Ann", "stArea:x=\"0.2\" stArea:y=\"0.3\" stArea:w=\"0.1\" stArea:h=\"0.2\"")

  private static func find(
    _ xmp: String, exif: TIFFFixture? = nil, stored: (Int, Int) = (400, 300), _ orientation: Orientation = .topLeft
  ) -> [PictureRegion] {
    let facts = MediaFacts(exifBlock: exif?.bytes[...], xmpPacket: xmpPacket(namespaces, xmp)[...])
    return facts.regions.regions(stored: PixelSize(width: stored.0, height: stored.1), orientation: orientation)
  }

  private static func rect(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> UnitRect {
    UnitRect(x: x, y: y, width: width, height: height)
  }

  @Test("regions of the Metadata Working Group have types, names and corners, and a point has no area")
  func kinds() {
    let found = Self.find(
      Self.group(
        (400, 300),
        [
          Self.corner, Self.region("Pet", "Rex", "stArea:x=\"0.5\" stArea:y=\"0.5\" stArea:d=\"0.2\""),
          Self.region("Focus", nil, "stArea:x=\"0.75\" stArea:y=\"0.25\""),
          Self.region("BarCode", nil, "stArea:x=\"0.9\" stArea:y=\"0.9\" stArea:w=\"0.4\" stArea:h=\"0.1\""),
          Self.region("Building", "Tower", "stArea:x=\"0.5\" stArea:y=\"0.5\" stArea:w=\"0.1\" stArea:h=\"0.1\""),
          Self.region("Face", "Out", "stArea:x=\"1.5\" stArea:y=\"0.5\" stArea:w=\"0.1\" stArea:h=\"0.1\""),
          Self.region("Face", "NaN", "stArea:x=\"nan\" stArea:y=\"0.5\" stArea:w=\"0.1\" stArea:h=\"0.1\""),
        ]))
    #expect(
      found == [
        PictureRegion(.face, Self.rect(0.15, 0.2, 0.1, 0.2), name: "Ann"),
        // A square of 60 pixels around a circle.
        PictureRegion(.pet, Self.rect(0.425, 0.4, 0.15, 0.2), name: "Rex"),
        PictureRegion(.focus, Self.rect(0.75, 0.25, 0, 0)),
        // Cut off at the edge.
        PictureRegion(.barcode, Self.rect(0.7, 0.85, 0.3, 0.1)),
      ])
  }

  /// The same face for each orientation, if the rectangle is relative to the stored picture.
  private static let turned: [(Orientation, UnitRect)] = [
    (.topLeft, rect(0.15, 0.2, 0.1, 0.2)), (.topRight, rect(0.75, 0.2, 0.1, 0.2)),
    (.bottomRight, rect(0.75, 0.6, 0.1, 0.2)), (.bottomLeft, rect(0.15, 0.6, 0.1, 0.2)),
    (.leftTop, rect(0.2, 0.15, 0.2, 0.1)), (.rightTop, rect(0.6, 0.15, 0.2, 0.1)),
    (.rightBottom, rect(0.6, 0.75, 0.2, 0.1)), (.leftBottom, rect(0.2, 0.75, 0.2, 0.1)),
  ]

  @Test("the size that the regions were made for decides whether they are turned with the picture")
  func orientations() {
    for (orientation, wanted) in Self.turned {
      for applied in [(400, 300), (4000, 3000), nil] as [(Int, Int)?] {
        #expect(Self.find(Self.group(applied, [Self.corner]), orientation).map(\.rect) == [wanted], "\(orientation)")
      }
      // Made for the upright picture, or for another picture.
      let upright = Self.find(Self.group((300, 400), [Self.corner]), orientation).map(\.rect)
      #expect(upright == (orientation.swapsSides ? [Self.rect(0.15, 0.2, 0.1, 0.2)] : []), "\(orientation)")
      #expect(Self.find(Self.group((400, 400), [Self.corner]), orientation).isEmpty, "a crop loses its regions")
    }
    #expect(Self.find(Self.group((4000, 2999), [Self.corner])).count == 1, "sides are rounded")
  }

  @Test(
    "the region around a circle is a square of pixels, in every orientation",
    arguments: [(400, 200, 0.05, 0.1), (200, 400, 0.1, 0.05), (300, 300, 0.1, 0.1)] as [(Int, Int, Double, Double)])
  func circles(_ across: Int, _ down: Int, _ width: Double, _ height: Double) {
    let size = (across, down)
    let circle = Self.group(size, [Self.region("Face", nil, "stArea:x=\"0.5\" stArea:y=\"0.5\" stArea:d=\"0.1\"")])
    for orientation in Orientation.allCases {
      let wanted = orientation.swapsSides ? (height, width) : (width, height)
      let stored = Self.find(circle, stored: size, orientation).map(\.rect)
      #expect(stored == [Self.rect(0.5 - wanted.0 / 2, 0.5 - wanted.1 / 2, wanted.0, wanted.1)], "\(orientation)")
      // Made for the upright picture.
      guard orientation.swapsSides, across != down else { continue }
      let upright = Self.find(circle, stored: (down, across), orientation).map(\.rect)
      #expect(upright == [Self.rect(0.5 - width / 2, 0.5 - height / 2, width, height)], "\(orientation)")
    }
  }

  @Test("Microsoft's regions count if there are no others")
  func people() {
    let people = """
      <MP:RegionInfo rdf:parseType="Resource"><MPRI:Regions><rdf:Bag>
      <rdf:li MPReg:Rectangle="0.1, 0.2, 0.3, 0.4" MPReg:PersonDisplayName="Bob"/>
      <rdf:li MPReg:Rectangle="0.1, 0.2"/></rdf:Bag></MPRI:Regions></MP:RegionInfo>
      """
    #expect(Self.find(people) == [PictureRegion(.face, Self.rect(0.1, 0.2, 0.3, 0.4), name: "Bob")])
    #expect(Self.find(people + Self.group(nil, [Self.corner])).map(\.name) == ["Ann"])
    #expect(Self.find(people.replacing("PersonDisplayName=\"Bob\"", with: "Other=\"x\"")).count == 1, "without names")
  }

  @Test("the subject area of EXIF is a focus region, in pixels of the stored picture or of the one it was made from")
  func subjectArea() {
    func find(_ entries: [(Int, TIFFFixture.Value)], _ orientation: Orientation = .topLeft) -> [UnitRect] {
      var both: [[UnitRect]] = []
      for isBigEndian in [false, true] {
        let block = TIFFFixture(isBigEndian: isBigEndian, exif: entries)
        let found = Self.find("", exif: block, orientation)
        #expect(found.allSatisfy { $0.kind == .focus })
        both.append(found.map(\.rect))
      }
      #expect(both[0] == both[1])
      return both[0]
    }
    #expect(find([(0x9214, .shorts([100, 150]))]) == [Self.rect(0.25, 0.5, 0, 0)])
    #expect(find([(0x9214, .shorts([200, 150, 60]))]) == [Self.rect(0.425, 0.4, 0.15, 0.2)])
    #expect(find([(0x9214, .shorts([100, 60, 40, 30]))]) == [Self.rect(0.2, 0.15, 0.1, 0.1)])
    #expect(find([(0x9214, .shorts([100, 60, 40, 30]))], .rightTop) == [Self.rect(0.75, 0.2, 0.1, 0.1)])
    #expect(find([(0xA214, .shorts([100, 150]))]) == [Self.rect(0.25, 0.5, 0, 0)])
    let large: [(Int, TIFFFixture.Value)] = [(0xA002, .long(4000)), (0xA003, .short(3000))]
    #expect(find([(0x9214, .shorts([1000, 1500]))] + large) == [Self.rect(0.25, 0.5, 0, 0)])
    for wrong in [[100], [500, 10], [100, 301], [1, 2, 3, 4, 5]] {
      #expect(find([(0x9214, .shorts(wrong))]).isEmpty, "\(wrong)")
    }
    #expect(find([(0x9214, .shorts([10, 10])), (0xA002, .long(500)), (0xA003, .long(500))]).isEmpty, "another shape")
  }

  @Test("a file has at most a hundred regions")
  func limit() {
    let many = Self.group((400, 300), Array(repeating: Self.corner, count: 150))
    #expect(Self.find(many, exif: TIFFFixture(exif: [(0x9214, .shorts([1, 1]))])).count == RegionLimits.regions)
  }
}
