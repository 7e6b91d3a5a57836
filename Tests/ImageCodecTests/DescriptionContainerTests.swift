import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Descriptions in each container")
struct DescriptionContainerTests {
  private static let scene = Pixels.orientationCard(width: 32, height: 24)
  private static let xmp = """
    <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    <rdf:Description rdf:about="" xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:DateTimeOriginal="2024-05-06T07:08:09"
    exif:GPSLatitude="48,51.3N" exif:GPSLongitude="2,21,3E" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title><rdf:Alt>
    <rdf:li xml:lang="x-default">Sea</rdf:li></rdf:Alt></dc:title></rdf:Description></rdf:RDF></x:xmpmeta>
    """
  private static let exif = TIFFPicture {
    $0.chain = [
      TIFFPicture.Directory([
        (0x010E, .ascii("a caption")),
        (0x8769, .directories([TIFFPicture.Directory([(0xA434, .ascii("50mm F1.8"))])])),
      ])
    ]
  }.bytes
  private static let iptc: [UInt8] = [0x1C, 2, 25, 0, 4] + Array("sand".utf8)
  private static let resources =
    Array("Photoshop 3.0\0".utf8) + Array("8BIM".utf8) + [4, 4, 0, 0] + Boxes.number(iptc.count, 4) + iptc + [0]

  private static func bytes(_ container: String) -> [UInt8] {
    switch container {
    case "JPEG":
      JPEGFile {
        $0.leadingSegments = [
          JPEGSegment(marker: 0xE1, content: Array("Exif\0\0".utf8) + exif), .xmp(xmp),
          JPEGSegment(marker: 0xED, content: resources),
        ]
      }.encoded(scene)
    case "PNG":
      PNGFile(.rgb(depth: 8)) {
        $0.chunks = [
          PNGChunk("eXIf", exif), PNGChunk("iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0\(xmp)".utf8)),
        ]
      }.encoded(scene)
    case "TIFF":
      TIFFPicture.tiff(TIFFPicture.Details { ($0.dateTimeOriginal, $0.hasLocation) = ("", false) }) {
        $0.chain[0].entries += [
          (0x010E, .ascii("a caption")), (700, .bytes(Array(xmp.utf8))), (33_723, .undefined(iptc)),
        ]
      }.bytes
    case "HEIF":
      HEIFFile {
        $0.exifPrefix = Array("Exif\0\0".utf8)
        $0.exif = exif
        $0.xmp = xmp
      }.bytes
    default:
      WebPFile(.extended) {
        $0.exif = exif
        $0.xmp = xmp
      }.bytes
    }
  }

  @Test(
    "descriptions are read from every block of a container",
    arguments: [
      ("JPEG", true, true), ("PNG", false, true), ("TIFF", true, false), ("HEIF", false, true), ("WebP", false, true),
    ])
  func containers(_ container: String, _ hasIPTC: Bool, _ hasLens: Bool) throws {
    let facts = try header(Self.bytes(container)).facts
    #expect(facts.capture.date == EXIFDate(year: 2024, month: 5, day: 6, hour: 7, minute: 8, second: 9))
    #expect(facts.capture.location == Location(latitude: 48.855, longitude: 2.35083333))
    let found = facts.descriptive
    #expect(found.title == "Sea" && found.caption == "a caption")
    #expect(found.keywords == (hasIPTC ? ["sand"] : []))
    #expect(found.lensModel == (hasLens ? "50mm F1.8" : nil))
  }

  @Test("IPTC datasets that continue in the next segment of a JPEG are joined")
  func pieces() throws {
    let middle = Self.resources.count - 4
    let file = JPEGFile {
      $0.leadingSegments = [
        JPEGSegment(marker: 0xED, content: Array(Self.resources[..<middle])),
        JPEGSegment(marker: 0xED, content: Array("Photoshop 3.0\0".utf8) + Self.resources[middle...]),
      ]
    }.encoded(Self.scene)
    #expect(try header(file).facts.descriptive.keywords == ["sand"])
  }

  @Test("a file loses the place of its XMP, and keeps its date", arguments: ["JPEG", "PNG", "TIFF", "HEIF", "WebP"])
  func withoutPlace(_ container: String) throws {
    let file = Self.bytes(container)
    let capture = try header(file).facts.capture
    let rest = try header(withoutPlaces(file)).facts.capture
    #expect(capture.location != nil && rest.location == nil)
    #expect(rest.date == capture.date && rest.date != nil)
  }

  @Test("the packet of a further picture says that the file is HDR, but gives it no title, date or place")
  func furtherPictures() throws {
    let packet = Self.xmp.replacing(
      "rdf:about=\"\"",
      with: "rdf:about=\"\" xmlns:hdrgm=\"http://ns.adobe.com/hdr-gain-map/1.0/\" hdrgm:Version=\"1.0\"")
    let second = JPEGFile { $0.segments = [.xmp(packet)] }.encoded(Self.scene)
    let file = MultiPictureFile(previews: [(type: 0, bytes: second)]).encoded(JPEGFile { _ in }.encoded(Self.scene))
    let facts = try header(file).facts
    #expect(facts.subtypes == .photoHDR && facts.descriptive == DescriptiveMetadata())
    #expect(facts.capture == CaptureSources())
  }
}
