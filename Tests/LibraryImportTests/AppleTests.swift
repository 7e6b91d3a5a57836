import Foundation
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryImport

@Suite("Import from Apple Photos")
struct AppleTests {
  private static let xmp = """
    <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
    <x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 6.0.0"><rdf:RDF
    xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
    xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:exif="http://ns.adobe.com/exif/1.0/"
    xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" xmlns:xmp="http://ns.adobe.com/xap/1.0/">
    <dc:title>Title</dc:title><dc:description>Words</dc:description>
    <dc:subject><rdf:Seq><rdf:li>sea</rdf:li><rdf:li>sky</rdf:li></rdf:Seq></dc:subject>
    <photoshop:DateCreated>2019-05-06T07:08:09+02:00</photoshop:DateCreated>
    <exif:GPSLatitude>52,30.0N</exif:GPSLatitude><exif:GPSLongitude>13.25</exif:GPSLongitude>
    <xmp:Label>Favorite</xmp:Label><xmp:Nickname>Nick</xmp:Nickname>
    </rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>
    """
  private static let adjustments = """
    <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>
    <key>adjustmentFormatIdentifier</key><string>com.apple.photo</string></dict></plist>
    """

  @Test("properties of XMP, adjustment data, live photos and folders arrive, and sidecars stay byte by byte")
  func everything() throws {
    let library = try ImportedLibrary()
    let exif = EXIFBlock {
      $0.dateTimeOriginal = "2019:05:06 07:08:09"
      $0.offsetTimeOriginal = "+02:00"
    }
    let picture = ImportedLibrary.picture(1, exif: exif)
    try library.put(picture, "Trips/IMG_1.JPG")
    try library.put(Self.xmp, "Trips/IMG_1.xmp")
    try library.put(Self.adjustments, "Trips/IMG_1.AAE")
    var movie = MovieFile()
    // Seconds from 1904 to 2019-05-06T05:08:09Z.
    movie.created = 1_557_119_289 + 2_082_844_800
    try library.put(movie.bytes, "Trips/IMG_1.MOV")
    try library.put(ImportedLibrary.picture(2), "2019-05/IMG_2.JPG")
    try library.put(Self.adjustments, "2019-05/IMG_O2.AAE")
    try library.put(Self.adjustments, "2019-05/IMG_9.AAE")
    try library.put(ImportedLibrary.picture(3), "top.jpg")
    try library.put("no XMP", "top.xmp")

    let outcome = try library.apple()
    #expect(outcome.report.added == 4, "\(outcome.lines)")
    #expect(
      outcome.lines == [
        "failed top.xmp: it is no XMP packet; it is kept beside the picture",
        "skipped 2019-05/IMG_9.AAE: its picture is not in the same folder",
      ])
    let assets = try library.assets()
    #expect(assets.count == 3, "the video is a part of its picture")
    let first = try #require(assets[ImportedLibrary.digest(picture)])
    #expect(first.mediaSubtypes.contains(.photoLive))
    #expect(first.descriptive.title == "Title" && first.descriptive.caption == "Words" && first.isFavorite)
    #expect(first.descriptive.keywords == ["sea", "sky"])
    #expect(first.location == Location(latitude: 52.5, longitude: 13.25))
    #expect(first.creationDateSource == .metadata && first.utcOffset == 120, "the file's own date is the same")
    #expect(outcome.report.unmappedFields == ["XMP xmp:Nickname": 1])
    #expect(try Set(library.albums().keys) == ["Trips"])
    let kept = try ImportedLibrary.contents(of: library.folder.root)
    #expect(kept["2019/05/IMG_1.xmp"] == ImportedLibrary.digest(Array(Self.xmp.utf8)))
    #expect(kept["2019/05/IMG_1.AAE"] == ImportedLibrary.digest(Array(Self.adjustments.utf8)))

    let token = try library.catalogue.changeToken()
    let second = try library.apple()
    #expect(second.report.added == 0 && second.report.sidecarsAdded == 0)
    #expect(try library.catalogue.changeToken() == token && ImportedLibrary.contents(of: library.folder.root) == kept)
  }

  @Test(
    "coordinates of XMP in each form",
    arguments: [
      ("52,30.0N", 52.5), ("52,30,36S", -52.51), ("13.25", 13.25), ("-13.25", -13.25), ("1,2,3,4N", nil), ("x", nil),
      ("", nil), ("5,-1N", nil), ("7W", -7),
    ])
  func coordinates(_ text: String, _ expected: Double?) {
    #expect(XMPProperties.degrees(text) == expected)
  }
}
