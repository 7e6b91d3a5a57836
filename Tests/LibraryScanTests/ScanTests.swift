import Foundation
import LibraryCatalogue
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Scanning")
struct ScanTests {
  @Test("files in nested folders and with any bytes in their names are indexed")
  func names() throws {
    let library = try TemporaryLibrary()
    let names = [
      "a.jpg", "b/c/d.png", "b.jpg", "b-1.jpg", "b0.jpg", "with space.JPG", "ümläut/日本.jpg", "new\nline.jpg",
      ".hidden.jpg", "no extension", "b/a.jpg", "-rf", "100%.jpg",
    ]
    for name in names { try library.put(name.hasSuffix("png") ? smallPNG : smallJPEG, name) }
    try library.put(smallJPEG, named: [0xFF, 0xFE, UInt8(ascii: ".")] + Array("jpg".utf8))
    try library.put(smallJPEG, ".trash/gone.jpg")
    let catalogue = try library.catalogue()
    let first = try library.scan(catalogue)
    #expect(first.probed == names.count + 1 && first.unreadable == 0)
    let assets = try catalogue.everything()
    #expect(Set(assets.keys) == Set(names + ["\u{FFFD}\u{FFFD}.jpg"]))
    let second = try library.scan(catalogue)
    #expect(second.files == names.count + 1 && second.probed == 0 && second.removed == 0 && second.moved == 0)
  }

  @Test("the catalogue has the properties that are in the file")
  func properties() throws {
    let library = try TemporaryLibrary()
    let exif = EXIFBlock {
      $0.orientation = 6
      $0.make = "Maker"
      $0.model = "Model"
      $0.dateTimeOriginal = "2024:05:06 07:08:09"
      $0.offsetTimeOriginal = "+02:00"
      $0.latitude = 48.5
      $0.longitude = -16.25
      $0.thumbnail = smallJPEG
    }
    try library.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 64, height: 48)), "a.jpg")
    try library.put(smallPNG, "b.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let assets = try catalogue.everything()
    let a = try #require(assets["a.jpg"])
    #expect(a.pixelSize == PixelSize(width: 48, height: 64) && a.orientation == .rightTop && !a.hasAlpha)
    #expect(a.creationDate == Timestamp(milliseconds: 1_714_972_089_000) && a.creationDateSource == .metadata)
    #expect(a.cameraMake == "Maker" && a.cameraModel == "Model" && a.uniformTypeIdentifier == "public.jpeg")
    #expect(a.original.embeddedThumbnail?.length == smallJPEG.count)
    let location = try #require(a.location)
    #expect(abs(location.latitude - 48.5) < 1e-6 && abs(location.longitude + 16.25) < 1e-6)
    #expect(try catalogue.everything(for: .anonymous)["a.jpg"]?.location == nil, "places are not for everybody")
    let b = try #require(assets["b.jpg"])
    #expect(
      b.uniformTypeIdentifier == "public.png" && b.hasAlpha && b.creationDateSource == .file,
      "the content decides, not the name")
  }

  @Test(
    "a date without an offset is in the library's time zone",
    arguments: [("UTC", 1_720_000_800_000), ("Europe/Vienna", 1_719_993_600_000)])
  func zone(_ zone: String, _ milliseconds: Int64) throws {
    let library = try TemporaryLibrary()
    let exif = EXIFBlock { $0.dateTimeOriginal = "2024:07:03 10:00:00" }
    try library.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 8, height: 8)), "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue, timeZone: zone)
    let asset = try #require(try catalogue.everything()["a.jpg"])
    #expect(asset.creationDate.milliseconds == milliseconds && asset.creationDateSource == .metadataInLibraryZone)
  }

  @Test("a file that was written in place and got its old time back is read again; another mode or name changes none")
  func rewritten() throws {
    let library = try TemporaryLibrary()
    func photograph(_ exif: EXIFBlock) -> [UInt8] {
      JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 64, height: 48))
    }
    try library.put(photograph(EXIFBlock { $0.orientation = 1 }), "a.jpg")
    try library.put(smallJPEG, "b.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything()
    let path = library.root + "/a.jpg"
    rewrite(path, photograph(EXIFBlock { $0.orientation = 6 }))
    try library.scan(catalogue)
    let after = try catalogue.everything()
    let asset = try #require(after["a.jpg"])
    #expect(asset.localIdentifier == before["a.jpg"]?.localIdentifier)
    #expect(asset.contentVersion != before["a.jpg"]?.contentVersion)
    #expect(asset.orientation == .rightTop && asset.pixelSize == PixelSize(width: 48, height: 64))
    #expect(after["b.jpg"] == before["b.jpg"])
    let token = try catalogue.assets(after: nil, limit: 1).changeToken
    #expect(chmod(path, 0o640) == 0 && link(path, library.data + "/link.jpg") == 0)
    #expect(try library.scan(catalogue).probed == 0)
    #expect(try catalogue.everything() == after)
    #expect(try catalogue.assets(after: nil, limit: 1).changeToken == token)
    #expect(rename(path, library.root + "/c.jpg") == 0)
    #expect(try library.scan(catalogue).moved == 1)
    #expect(try catalogue.everything()["c.jpg"]?.contentVersion == asset.contentVersion)
  }

  @Test(
    "a local time that a clock change skips or repeats has the offset before the change",
    arguments: [
      ("Europe/Vienna", "2021:03:28 01:59:59", 1_616_893_199_000),
      ("Europe/Vienna", "2021:03:28 02:30:00", 1_616_895_000_000),
      ("Europe/Vienna", "2021:03:28 03:00:00", 1_616_893_200_000),
      ("Europe/Vienna", "2021:10:31 02:30:00", 1_635_640_200_000),
      ("Europe/Vienna", "2021:10:31 03:00:00", 1_635_645_600_000),
      ("America/New_York", "2021:03:14 02:30:00", 1_615_707_000_000),
    ])
  func clockChange(_ zone: String, _ date: String, _ milliseconds: Int64) throws {
    let library = try TemporaryLibrary()
    let exif = EXIFBlock { $0.dateTimeOriginal = date }
    try library.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 8, height: 8)), "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue, timeZone: zone)
    #expect(try catalogue.everything()["a.jpg"]?.creationDate.milliseconds == milliseconds)
  }

  @Test(
    "a day that does not exist is no date",
    arguments: [("2024:02:29", true), ("2023:02:29", false), ("2024:02:30", false), ("2024:04:31", false)])
  func noSuchDay(_ day: String, _ exists: Bool) throws {
    let library = try TemporaryLibrary()
    let exif = EXIFBlock { $0.dateTimeOriginal = day + " 10:00:00" }
    try library.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 8, height: 8)), "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    #expect((try catalogue.everything()["a.jpg"]?.creationDateSource == .file) == !exists)
  }

  @Test(
    "a picture without a date and a place in EXIF has those of its XMP; with them, it has EXIF's",
    arguments: [
      ("T10:00:00+02:00", "2024-07-03T08:00:00Z", DateSource.metadata, 120),
      ("T10:00:00Z", "2024-07-03T10:00:00Z", .metadata, nil),
      ("T10:00", "2024-07-03T08:00:00Z", .metadataInLibraryZone, nil),
      ("", "2024-07-03T10:00:00Z", .metadataInLibraryZone, nil),
    ] as [(String, String, DateSource, Int?)])
  func datesAndPlacesOfXMP(_ time: String, _ date: String, _ source: DateSource, _ utcOffset: Int?) throws {
    let packet = """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
      <rdf:Description rdf:about="" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
      xmlns:exif="http://ns.adobe.com/exif/1.0/" photoshop:DateCreated="2024-07-03\(time)" exif:GPSLatitude="48,30.0N"
      exif:GPSLongitude="16,15,0W"/></rdf:RDF></x:xmpmeta>
      """
    let scene = Pixels.orientationCard(width: 8, height: 8)
    let text = Array("XML:com.adobe.xmp\0\0\0\0\0\(packet)".utf8)
    let exif = EXIFBlock {
      $0.dateTimeOriginal = "2020:01:02 03:04:05"
      $0.latitude = 1
      $0.longitude = 2
    }
    let library = try TemporaryLibrary()
    try library.put(JPEGFile { $0.segments = [.xmp(packet)] }.encoded(scene), "a.jpg")
    try library.put(PNGFile(.rgb(depth: 8)) { $0.chunks = [PNGChunk("iTXt", text)] }.encoded(scene), "b.png")
    try library.put(
      JPEGFile {
        $0.exif = exif
        $0.segments = [.xmp(packet)]
      }.encoded(scene), "c.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue, timeZone: "Europe/Vienna")
    let assets = try catalogue.everything()
    for name in ["a.jpg", "b.png"] {
      let asset = try #require(assets[name])
      #expect(asset.creationDate.rfc3339 == date && asset.creationDateSource == source, "\(name)")
      #expect(asset.utcOffset == utcOffset, "\(name)")
      #expect(asset.location == Location(latitude: 48.5, longitude: -16.25), "\(name)")
    }
    #expect(try catalogue.everything(for: .anonymous)["a.jpg"]?.location == nil, "places are not for everybody")
    let third = try #require(assets["c.jpg"])
    #expect(third.creationDate.rfc3339 == "2020-01-02T02:04:05Z")
    #expect(third.location == Location(latitude: 1, longitude: 2))
  }

  @Test(
    "a date that RFC 3339 can't express, in UTC or as the day of its asset, is no date",
    arguments: [
      ("UTC", "9999:12:31 23:59:59", "-12:00", false), ("UTC", "9999:12:31 23:59:59", "+00:00", true),
      ("UTC", "9999:12:31 23:59:59", nil, true), ("UTC", "9999:12:31 23:59:60", nil, false),
      ("America/New_York", "9999:12:31 23:59:59", nil, false),
      ("America/New_York", "9999:12:31 23:59:59", "+12:00", true), ("UTC", "9999:12:31 23:59:60", "+14:00", false),
      ("UTC", "9999:12:31 23:59:59", "+14:00", true), ("Asia/Tokyo", "9999:12:31 23:59:59", "+00:00", true),
      ("Asia/Tokyo", "9999:12:31 23:59:60", nil, false), ("UTC", "0001:01:01 00:00:00", "+14:00", true),
    ] as [(String, String, String?, Bool)])
  func farDate(_ zone: String, _ date: String, _ offset: String?, _ isDate: Bool) throws {
    let library = try TemporaryLibrary()
    let exif = EXIFBlock { ($0.dateTimeOriginal, $0.offsetTimeOriginal) = (date, offset) }
    try library.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 8, height: 8)), "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue, timeZone: zone)
    let asset = try #require(try catalogue.everything()["a.jpg"])
    #expect((asset.creationDateSource != .file) == isDate)
    #expect(Timestamp.rfc3339Range.contains(asset.creationDate))
  }

  @Test("of several dates in a file, the first that RFC 3339 can express is that of its asset")
  func nextDate() throws {
    let library = try TemporaryLibrary()
    let exif = EXIFBlock {
      $0.dateTimeOriginal = "9999:12:31 23:59:59"
      $0.dateTimeDigitized = "2024:05:06 03:08:09"
    }
    try library.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 8, height: 8)), "a.jpg")
    let movie = MovieFile {
      $0.keys = [("com.apple.quicktime.creationdate", "9999-12-31T23:30:00-0100")]
      // 2024-05-06T07:08:09Z, in seconds since 1904-01-01.
      ($0.created, $0.duration) = (3_797_824_089, 1800)
    }
    try library.put(movie.bytes, "b.mov")
    let catalogue = try library.catalogue()
    try library.scan(catalogue, timeZone: "America/New_York")
    let assets = try catalogue.everything()
    for name in ["a.jpg", "b.mov"] {
      let asset = try #require(assets[name])
      #expect(asset.creationDate.rfc3339 == "2024-05-06T07:08:09Z", "\(name)")
    }
  }

  @Test(
    "a date of EXIF or XMP that is not usable does not hide the next one of XMP",
    arguments: ["0000:05:06 07:08:09", "2024:13:06 07:08:09", "2024:05:00 07:08:09", "9999:12:31 23:59:59"])
  func unusableDate(_ date: String) throws {
    let packet = """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
      <rdf:Description rdf:about="" xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
      exif:DateTimeOriginal="9999-12-31T23:59:59" xmp:CreateDate="2024-05-06T03:08:09"/></rdf:RDF></x:xmpmeta>
      """
    let library = try TemporaryLibrary()
    let file = JPEGFile {
      $0.exif = EXIFBlock { $0.dateTimeOriginal = date }
      $0.segments = [.xmp(packet)]
    }
    try library.put(file.encoded(Pixels.orientationCard(width: 8, height: 8)), "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue, timeZone: "America/New_York")
    #expect(try catalogue.everything()["a.jpg"]?.creationDate.rfc3339 == "2024-05-06T07:08:09Z")
  }

  @Test("a new name that is, or is no longer, that of a screenshot changes the subtype, and not the content version")
  func screenshotName() throws {
    let library = try TemporaryLibrary()
    try library.put(smallPNG, "Screenshot_1.png")
    try library.put(smallPNG, "plain.png")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything()
    #expect(before.filter { $0.value.mediaSubtypes.contains(.photoScreenshot) }.map(\.key) == ["Screenshot_1.png"])
    #expect(rename(library.root + "/Screenshot_1.png", library.root + "/first.png") == 0)
    #expect(rename(library.root + "/plain.png", library.root + "/Screenshot_2.png") == 0)
    #expect(try library.scan(catalogue).moved == 2)
    let after = try catalogue.everything()
    #expect(after.filter { $0.value.mediaSubtypes.contains(.photoScreenshot) }.map(\.key) == ["Screenshot_2.png"])
    #expect(after["first.png"]?.contentVersion == before["Screenshot_1.png"]?.contentVersion)
    #expect(after["Screenshot_2.png"]?.localIdentifier == before["plain.png"]?.localIdentifier)
  }

  @Test("deleted files are removed and new files are added, over many pages and batches")
  func churn() throws {
    let library = try TemporaryLibrary()
    for i in 0..<1500 { try library.put(smallJPEG, "f\(i % 7)/\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    for i in stride(from: 0, to: 1500, by: 3) { unlink(library.root + "/f\(i % 7)/\(i).jpg") }
    for i in 0..<300 { try library.put(smallJPEG, "f\(i % 7)/new \(i).jpg") }
    let progress = try library.scan(catalogue)
    #expect(progress.removed == 500 && progress.probed == 300)
    #expect(try catalogue.count(AssetFetch(), deadline: nil, for: .local) == 1300)
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("a scan refuses to remove most of the library")
  func removalGuard() throws {
    let library = try TemporaryLibrary()
    for i in 0..<60 { try library.put(smallJPEG, "\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    for i in 0..<59 { unlink(library.root + "/\(i).jpg") }
    #expect(throws: LibraryError.tooMuchMissing(missing: 59, known: 60, limitPercent: 50)) {
      try library.scan(catalogue)
    }
    #expect(try catalogue.count(AssetFetch(), deadline: nil, for: .local) == 60)
    #expect(try library.scan(catalogue, removal: 100).removed == 59)
  }

  @Test("links are followed within the library only")
  func links() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "real/a.jpg")
    try library.put(smallJPEG, "../outside/secret.jpg")
    func link(_ target: String, _ name: String) { #expect(symlink(target, library.root + "/" + name) == 0) }
    link("real/a.jpg", "relative.jpg")
    link(library.root + "/real/a.jpg", "absolute.jpg")
    link("real", "folder")
    link("..", "real/up")
    link(".", "real/self")
    link("../../outside/secret.jpg", "real/escape.jpg")
    link(library.root + "/../outside/secret.jpg", "absolute escape.jpg")
    link("../outside", "outside")
    link("nowhere.jpg", "dangling.jpg")
    #expect(mkfifo(library.root + "/pipe.jpg", 0o600) == 0)
    let catalogue = try library.catalogue()
    let progress = try library.scan(catalogue)
    #expect(Set(try catalogue.everything().keys) == ["absolute.jpg", "folder/a.jpg", "real/a.jpg", "relative.jpg"])
    // The two links that leave the library, the folder link that does, and the broken one.
    #expect(progress.unreadable >= 3)
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("folders with links to each other have each file for every way over at most two links")
  func linkedFolders() throws {
    let library = try TemporaryLibrary()
    let count = 6
    for number in 0..<count {
      try library.put(smallJPEG, "\(number)/p.jpg")
      for other in 0..<count where other != number {
        #expect(symlink("../\(other)", library.root + "/\(number)/to\(other)") == 0)
      }
    }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    // A way does not come back to a folder that it is in.
    #expect(try catalogue.everything().count == count * (1 + (count - 1) + (count - 1) * (count - 2)))
    #expect(try catalogue.everything()["0/to1/to2/p.jpg"] != nil)
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("a file that is not an image is recorded with the reason, and does not stop the scan")
  func strangers() throws {
    let library = try TemporaryLibrary()
    try library.put(Array("hello".utf8), "text.jpg")
    try library.put([], "empty.png")
    try library.put(Array(smallJPEG[..<40]), "short.jpg")
    try library.put(smallJPEG, "good.jpg")
    let catalogue = try library.catalogue()
    let progress = try library.scan(catalogue)
    #expect(progress.probed == 4 && progress.unreadable == 3)
    #expect(Array(try catalogue.everything().keys) == ["good.jpg"])
    #expect(try library.scan(catalogue).probed == 0)
    // It may become an image later.
    try library.put(smallJPEG, "text.jpg")
    try library.scan(catalogue)
    #expect(try catalogue.everything().count == 2)
  }

  @Test("a missing library folder is an error, and nothing is removed")
  func missingLibrary() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    #expect(rename(library.root, library.root + "-unmounted") == 0)
    #expect(throws: LibraryError.self) { try library.scan(catalogue) }
    #expect(try catalogue.count(AssetFetch(), deadline: nil, for: .local) == 1)
    #expect(rename(library.root + "-unmounted", library.root) == 0)
  }
}
