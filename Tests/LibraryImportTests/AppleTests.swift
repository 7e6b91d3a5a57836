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

  @Test("the sidecars of a picture that the library has under another name get that name")
  func otherName() throws {
    let library = try ImportedLibrary()
    let picture = ImportedLibrary.picture(1)
    try library.folder.put(picture, "a/Beach.jpeg")
    try library.folder.scan(library.catalogue)
    try library.put(picture, "IMG_1.JPG")
    try library.put(Self.xmp, "IMG_1.JPG.xmp")
    let outcome = try library.apple()
    #expect(outcome.report.existing == 1 && outcome.report.sidecarsAdded == 1, "\(outcome.lines)")
    #expect(library.folder.allFiles == ["a/Beach.jpeg", "a/Beach.jpeg.xmp"])
  }

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
        "failed top.xmp: it is not an XMP packet; it is kept beside the picture",
        "undated top.jpg: it gets the modification time of the file",
        "undated 2019-05/IMG_2.JPG: it gets the modification time of the file",
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

  private static func xmp(_ properties: String) -> String {
    """
    <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
    xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
    xmlns:xmp="http://ns.adobe.com/xap/1.0/">\(properties)</rdf:Description></rdf:RDF></x:xmpmeta>
    """
  }

  @Test("directions beside numbers without a sign are those of the place")
  func directions() throws {
    let library = try ImportedLibrary()
    try library.put(ImportedLibrary.picture(1), "1.JPG")
    try library.put(
      Self.xmp(
        """
        <exif:GPSLongitude>122.51</exif:GPSLongitude><exif:GPSLongitudeRef>W</exif:GPSLongitudeRef>
        <exif:GPSLatitude>37.75</exif:GPSLatitude><exif:GPSLatitudeRef>S</exif:GPSLatitudeRef>
        <exif:GPSAltitude>30/10</exif:GPSAltitude><exif:GPSAltitudeRef>1</exif:GPSAltitudeRef>
        <photoshop:DateCreated>2020-07-01T12:00:00</photoshop:DateCreated>
        """), "1.xmp")
    let outcome = try library.apple(zone: try #require(TimeZone(identifier: "Europe/Berlin")))
    let asset = try #require(try library.assets().values.first)
    #expect(asset.location == Location(latitude: -37.75, longitude: -122.51, altitude: -3))
    #expect(asset.creationDate.rfc3339 == "2020-07-01T10:00:00Z")
    #expect(outcome.report.unmappedFields.isEmpty && outcome.report.undated == 0)
  }

  @Test("each file gets its own sidecars, in the form of their names, and none disappears")
  func sidecars() throws {
    let library = try ImportedLibrary()
    func title(_ text: String) -> String { Self.xmp("<dc:title>\(text)</dc:title>") }
    func caption(_ text: String) -> String { Self.xmp("<dc:description>\(text)</dc:description>") }
    let picture = ImportedLibrary.picture(1)
    try library.put(picture, "IMG_1.JPG")
    try library.put(title("own"), "IMG_1.JPG.xmp")
    try library.put(caption("of the stem"), "IMG_1.xmp")
    try library.put(Self.adjustments, "IMG_O1.AAE")
    // Too long for a live photo.
    let movie = MovieFile { $0.duration = 9 * 600 }.bytes
    try library.put(movie, "IMG_1.MOV")
    try library.put(title("movie"), "IMG_1.MOV.xmp")
    // Two names that differ in case.
    let pictures = [ImportedLibrary.picture(2), ImportedLibrary.picture(3)]
    try library.put(pictures[0], "IMG_2.JPG")
    try library.put(title("large"), "IMG_2.xmp")
    try library.put(pictures[1], "img_2.jpg")
    try library.put(title("small"), "img_2.xmp")
    let outcome = try library.apple()
    #expect(outcome.lines.filter { !$0.hasPrefix("undated") }.isEmpty, "\(outcome.lines)")
    let assets = try library.assets()
    let first = try #require(assets[ImportedLibrary.digest(picture)])
    #expect(first.descriptive.title == "own" && first.descriptive.caption == "of the stem")
    #expect(assets[ImportedLibrary.digest(movie)]?.descriptive.title == "movie")
    #expect(assets[ImportedLibrary.digest(pictures[0])]?.descriptive.title == "large")
    #expect(assets[ImportedLibrary.digest(pictures[1])]?.descriptive.title == "small")
    let names = Set(library.folder.allFiles.map { ($0 as NSString).lastPathComponent })
    #expect(names.isSuperset(of: ["IMG_1.JPG.xmp", "IMG_1.xmp", "IMG_O1.AAE", "IMG_1.MOV.xmp"]), "\(names)")
  }

  /// A picture of July 2023, with its own date.
  private static func picture(_ number: Int, day: String) -> [UInt8] {
    ImportedLibrary.picture(
      number,
      exif: EXIFBlock {
        $0.dateTimeOriginal = "2023:07:\(day) 12:00:00"
        $0.offsetTimeOriginal = "+02:00"
      })
  }

  @Test("a picture with sidecars or a video gets a name that no other file of the library has, whatever its extension")
  func ownStem() throws {
    let library = try ImportedLibrary()
    // The folder of the date in the sidecar.
    try library.folder.put(Self.picture(1, day: "20"), "2019/05/IMG_1.JPG")
    // Too long for a live photo.
    try library.folder.put(MovieFile { $0.duration = 8 * 600 }.bytes, "2023/07/IMG_2.MOV")
    try library.folder.scan(library.catalogue)
    try library.put(Self.picture(2, day: "01"), "IMG_1.JPEG")
    try library.put(Self.xmp, "IMG_1.xmp")
    try library.put(Self.adjustments, "IMG_1.AAE")
    let live = Self.picture(3, day: "01")
    try library.put(live, "IMG_2.JPEG")
    try library.put(MovieFile().bytes, "IMG_2.MOV")
    let outcome = try library.apple()
    #expect(outcome.report.added == 3 && outcome.report.sidecarsAdded == 2, "\(outcome.lines)")
    let names = Set(library.folder.allFiles.map { ($0 as NSString).lastPathComponent })
    #expect(names.isDisjoint(with: ["IMG_1.xmp", "IMG_1.AAE"]), "\(names)")
    #expect(names.isSuperset(of: ["IMG_1-2.JPEG", "IMG_1-2.xmp", "IMG_1-2.AAE", "IMG_2-2.JPEG", "IMG_2-2.MOV"]))
    #expect(try library.assets()[ImportedLibrary.digest(live)]?.mediaSubtypes.contains(.photoLive) == true)
    #expect(try library.apple().report.added == 0)
  }

  @Test("a picture with a sidecar still joins its video that the library has")
  func knownVideo() throws {
    let library = try ImportedLibrary()
    // 2023-07-01T10:00:00Z, in seconds since 1904.
    let video = MovieFile { ($0.created, $0.duration) = (1_688_205_600 + 2_082_844_800, 1200) }.bytes
    try library.folder.put(video, "2019/05/IMG_1.MOV")
    try library.folder.scan(library.catalogue)
    let picture = Self.picture(1, day: "01")
    try library.put(picture, "IMG_1.JPG")
    try library.put(Self.xmp, "IMG_1.xmp")
    #expect(try library.apple().report.sidecarsAdded == 1)
    #expect(
      Set(library.folder.allFiles.map { ($0 as NSString).lastPathComponent })
        == ["IMG_1.MOV", "IMG_1.JPG", "IMG_1.xmp"])
    #expect(try library.assets()[ImportedLibrary.digest(picture)]?.mediaSubtypes.contains(.photoLive) == true)
  }

  @Test("a sidecar that would describe two pictures gets the whole name of its own, and adjustments are left out")
  func sharedStem() throws {
    let library = try ImportedLibrary()
    let picture = Self.picture(2, day: "01")
    try library.folder.put(Self.picture(1, day: "20"), "a/IMG_1.JPG")
    try library.folder.put(picture, "a/IMG_1.JPEG")
    try library.folder.scan(library.catalogue)
    try library.put(picture, "IMG_1.JPEG")
    try library.put(Self.xmp, "IMG_1.xmp")
    try library.put(Self.adjustments, "IMG_1.AAE")
    for added in [1, 0] {
      let outcome = try library.apple()
      #expect(outcome.report.sidecarsAdded == added)
      #expect(outcome.lines.count == 1 && outcome.lines[0].hasPrefix("skipped IMG_1.AAE: "), "\(outcome.lines)")
      #expect(library.folder.allFiles == ["a/IMG_1.JPG", "a/IMG_1.JPEG", "a/IMG_1.JPEG.xmp"])
    }
    #expect(try library.assets()[ImportedLibrary.digest(picture)]?.descriptive.title == "Title")
  }

  @Test(
    "of two pictures with one name, the video goes to the one that was taken with it",
    arguments: ["IMG_1.JPG", "IMG_1.JPEG"], ["apple", "takeout"])
  func twoPictures(_ name: String, _ kind: String) throws {
    let library = try ImportedLibrary()
    let (live, other) = (Self.picture(1, day: "20"), Self.picture(2, day: "01"))
    try library.put(live, name)
    try library.put(other, name == "IMG_1.JPG" ? "IMG_1.JPEG" : "IMG_1.JPG")
    var movie = MovieFile()
    // Seconds from 1904 to 2023-07-20T10:00:00Z.
    movie.created = 1_689_847_200 + 2_082_844_800
    try library.put(movie.bytes, "IMG_1.MOV")
    let outcome = try kind == "apple" ? library.apple() : library.takeout()
    #expect(outcome.report.added == 3 && outcome.report.failed == 0, "\(outcome.lines)")
    let assets = try library.assets()
    #expect(assets.count == 2)
    #expect(assets[ImportedLibrary.digest(live)]?.mediaSubtypes.contains(.photoLive) == true)
    #expect(assets[ImportedLibrary.digest(other)]?.mediaSubtypes.contains(.photoLive) == false)
  }

  @Test("a picture with the content identifier of a video is before one of its date, and that before HEIC")
  func ranks() {
    func file(_ seconds: Int64?, _ identifier: String?, _ type: String = "public.jpeg") -> ProbedMedia {
      let moment = Timestamp(milliseconds: (seconds ?? 0) * 1000)
      var media = ProbedMedia.picture(at: moment, source: seconds == nil ? .file : .metadata)
      media.contentIdentifier = identifier
      media.uniformTypeIdentifier = type
      return media
    }
    var movie = file(100, "A")
    movie.mediaType = .video
    let ordered = [
      file(9000, "A"), file(101, nil, "public.heic"), file(101, nil), file(200, nil, "public.heic"),
      file(nil, nil, "public.heic"), file(nil, nil), file(100, "B"),
    ]
    let ranks = ordered.map { PictureChoice.Rank($0, of: movie) } + [PictureChoice.Rank()]
    #expect(ranks == ranks.sorted() && Set(ranks).count == ranks.count)
  }

  @Test("a Google Takeout is refused, because its pictures would lose their dates")
  func takeout() throws {
    let library = try ImportedLibrary()
    try library.put(ImportedLibrary.picture(1), "a/1.jpg")
    try library.put(["title": "1.jpg", "photoTakenTime": ["timestamp": "1"]], "a/1.jpg.json")
    #expect { try library.apple() } throws: { "\($0)".contains("photod import takeout") }
  }
}
