import AssetLibrary
import Foundation
import ImageCodec
import Logging
import PhotoFixtures
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A library folder and a data folder of a test's own, gone when the test is.
final class TemporaryLibrary {
  let root: String
  let data: String

  init() throws {
    var template = Array((FileManager.default.temporaryDirectory.path + "/photod-XXXXXX").utf8CString)
    let base = String(cString: try #require(mkdtemp(&template)))
    root = base + "/library"
    data = base + "/data"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: String(root.dropLast("/library".count))) }

  func put(_ bytes: [UInt8], _ path: String) throws {
    let whole = root + "/" + path
    try FileManager.default.createDirectory(
      atPath: (whole as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: whole))
  }

  /// By system call, for names that are no text.
  func put(_ bytes: [UInt8], named name: [UInt8]) throws {
    let path = Array(root.utf8) + [UInt8(ascii: "/")] + name + [0]
    let descriptor = path.withUnsafeBytes {
      open($0.assumingMemoryBound(to: CChar.self).baseAddress!, O_CREAT | O_WRONLY, 0o600)
    }
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    #expect(write(descriptor, bytes, bytes.count) == bytes.count)
  }

  func catalogue() throws -> Catalogue { try Catalogue(dataFolder: data) }

  @discardableResult
  func scan(_ catalogue: Catalogue, timeZone: String = "UTC", removal: Int = 50) throws -> ScanProgress {
    try LibraryScanner(
      catalogue: catalogue, directory: root, timeZone: timeZone, maximumRemovalPercent: removal, limits: CodecLimits(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ).scan()
  }
}

extension Catalogue {
  /// Everything, by path.
  func everything(for principal: Principal = .local) throws -> [String: Asset] {
    let page = try assets(AssetQuery(limit: 1000), for: principal)
    return Dictionary(uniqueKeysWithValues: page.assets.map { ($0.original.displayPath, $0) })
  }
}

let smallJPEG = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))
let smallPNG = PNGFile(.rgba(depth: 8)).encoded(Pixels.orientationCard(width: 30, height: 20))

@Suite("Scanning")
struct ScanTests {
  @Test("nested folders and any file name")
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

  @Test("what a file says is what the catalogue knows")
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
    "a date without an offset is in the library's zone",
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

  @Test("an unchanged file is not opened: its contents may change behind its back")
  func unopened() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let path = library.root + "/a.jpg"
    var status = stat()
    #expect(stat(path, &status) == 0)
    let handle = try #require(FileHandle(forWritingAtPath: path))
    handle.write(Data([UInt8](repeating: 0, count: smallJPEG.count)))
    try handle.close()
    var times = [status.st_atim, status.st_mtim]
    #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
    let progress = try library.scan(catalogue)
    #expect(progress.probed == 0)
    #expect(try catalogue.everything().count == 1)
  }

  @Test("a changed file keeps its name and gets a new content version")
  func changed() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["a.jpg"])
    try library.put(smallPNG, "a.jpg")
    try library.scan(catalogue)
    let after = try #require(try catalogue.everything()["a.jpg"])
    #expect(after.localIdentifier == before.localIdentifier)
    #expect(after.contentVersion != before.contentVersion && after.revision != before.revision)
    #expect(after.pixelSize == PixelSize(width: 30, height: 20))
  }

  @Test("a file that is renamed or moved stays the same asset; a copy is another")
  func moved() throws {
    let library = try TemporaryLibrary()
    for name in ["m.jpg", "n.jpg", "o.jpg"] { try library.put(smallJPEG, name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything()
    // To before and behind where it was in the order of paths.
    try FileManager.default.createDirectory(atPath: library.root + "/a", withIntermediateDirectories: true)
    #expect(rename(library.root + "/m.jpg", library.root + "/a/first.jpg") == 0)
    #expect(rename(library.root + "/n.jpg", library.root + "/zz.jpg") == 0)
    try library.put(smallJPEG, "copy.jpg")
    let progress = try library.scan(catalogue)
    #expect(progress.moved == 2 && progress.removed == 0 && progress.probed == 1)
    let after = try catalogue.everything()
    #expect(after["a/first.jpg"]?.localIdentifier == before["m.jpg"]?.localIdentifier)
    #expect(after["zz.jpg"]?.localIdentifier == before["n.jpg"]?.localIdentifier)
    #expect(after["a/first.jpg"]?.contentVersion == before["m.jpg"]?.contentVersion)
    #expect(Set(after.keys) == ["a/first.jpg", "copy.jpg", "o.jpg", "zz.jpg"])
    #expect(Set(after.values.map(\.localIdentifier)).count == 4)
    #expect(
      try library.scan(catalogue)
        == {
          var same = ScanProgress(); same.files = 4; return same
        }())
  }

  @Test("what is gone goes, what is new comes, over many pages and batches")
  func churn() throws {
    let library = try TemporaryLibrary()
    for i in 0..<1500 { try library.put(smallJPEG, "f\(i % 7)/\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    for i in stride(from: 0, to: 1500, by: 3) { unlink(library.root + "/f\(i % 7)/\(i).jpg") }
    for i in 0..<300 { try library.put(smallJPEG, "f\(i % 7)/new \(i).jpg") }
    let progress = try library.scan(catalogue)
    #expect(progress.removed == 500 && progress.probed == 300)
    #expect(try catalogue.assetCount(AssetQuery(), for: .local) == 1300)
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("a library that lost most of its files is not believed")
  func removalGuard() throws {
    let library = try TemporaryLibrary()
    for i in 0..<60 { try library.put(smallJPEG, "\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    for i in 0..<59 { unlink(library.root + "/\(i).jpg") }
    #expect(throws: AssetLibraryError.tooMuchMissing(missing: 59, known: 60, limitPercent: 50)) {
      try library.scan(catalogue)
    }
    #expect(try catalogue.assetCount(AssetQuery(), for: .local) == 60)
    #expect(try library.scan(catalogue, removal: 100).removed == 59)
  }

  @Test("links are followed inside the library and nowhere else")
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
    // The two that escape, the folder that does, and the one that leads nowhere.
    #expect(progress.unreadable >= 3)
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("a file that is no image is remembered with its reason and never stops a scan")
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
    // It may become one.
    try library.put(smallJPEG, "text.jpg")
    try library.scan(catalogue)
    #expect(try catalogue.everything().count == 2)
  }

  @Test("a photograph that can't be read for a while is the same asset afterwards")
  func illness() throws {
    let library = try TemporaryLibrary()
    for i in 0..<30 { try library.put(smallJPEG, "\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything()
    // Half copied over: 29 of 30 at once, and no guard is asked, for nothing is missing.
    for i in 0..<29 { try library.put(Array(smallJPEG[..<40]), "\(i).jpg") }
    #expect(try library.scan(catalogue).unreadable == 29)
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == before.mapValues(\.localIdentifier))
    #expect(try library.scan(catalogue).probed == 29, "it is looked at again")
    for i in 0..<29 { try library.put(smallPNG, "\(i).jpg") }
    try library.scan(catalogue)
    let after = try catalogue.everything()
    #expect(after.mapValues(\.localIdentifier) == before.mapValues(\.localIdentifier))
    #expect(after["1.jpg"]?.pixelSize == PixelSize(width: 30, height: 20))
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test(
    "a backup beside an edited photograph: the name keeps the asset, the backup is another",
    arguments: ["photo.jpg_original", "a backup.jpg"])
  func backup(_ name: String) throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "photo.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["photo.jpg"])
    #expect(rename(library.root + "/photo.jpg", library.root + "/" + name) == 0)
    try library.put(smallPNG, "photo.jpg")
    try library.scan(catalogue)
    let after = try catalogue.everything()
    #expect(after["photo.jpg"]?.localIdentifier == before.localIdentifier)
    #expect(after["photo.jpg"]?.pixelSize == PixelSize(width: 30, height: 20))
    #expect(after[name]?.pixelSize == PixelSize(width: 32, height: 24))
    #expect(after[name] != nil && after[name]?.localIdentifier != before.localIdentifier)
    unlink(library.root + "/" + name)
    try library.scan(catalogue)
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == ["photo.jpg": before.localIdentifier])
  }

  @Test("names that are exchanged or counted up carry their assets along")
  func permutation() throws {
    let library = try TemporaryLibrary()
    let sizes = [10, 11, 12, 13, 14]
    for (i, size) in sizes.enumerated() {
      try library.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: size, height: size)), "\(i).jpg")
    }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    func bySize() throws -> [Int: LocalIdentifier] {
      Dictionary(
        uniqueKeysWithValues: try catalogue.everything().values.map { ($0.pixelSize.width, $0.localIdentifier) })
    }
    func paths() throws -> [String: Int] { try catalogue.everything().mapValues(\.pixelSize.width) }
    let before = try bySize()
    func move(_ from: String, _ to: String) { #expect(rename("\(library.root)/\(from)", "\(library.root)/\(to)") == 0) }
    move("0.jpg", "t")
    move("1.jpg", "0.jpg")
    move("t", "1.jpg")
    #expect(try library.scan(catalogue).moved == 2)
    #expect(try bySize() == before)
    #expect(try paths() == ["0.jpg": 11, "1.jpg": 10, "2.jpg": 12, "3.jpg": 13, "4.jpg": 14])
    for i in (0..<5).reversed() { move("\(i).jpg", "\(i + 1).jpg") }
    #expect(try library.scan(catalogue).moved == 5)
    #expect(try bySize() == before)
    #expect(try paths() == ["1.jpg": 11, "2.jpg": 10, "3.jpg": 12, "4.jpg": 13, "5.jpg": 14])
    // One takes another's place, which is gone.
    move("1.jpg", "2.jpg")
    let progress = try library.scan(catalogue)
    #expect(progress.moved == 1 && progress.removed == 1 && progress.probed == 0)
    #expect(try bySize() == before.filter { $0.key != 10 })
    #expect(try library.scan(catalogue).moved == 0)
  }

  @Test("a rename is a new revision; a scan that finds nothing new is no change at all")
  func tokens() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    try library.put(Array("text".utf8), "b.txt")
    #expect(symlink("nowhere", library.root + "/c.jpg") == 0)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["a.jpg"])
    let token = try catalogue.assets(AssetQuery(), for: .local).changeToken
    try library.scan(catalogue)
    #expect(try catalogue.assets(AssetQuery(), for: .local).changeToken == token)
    #expect(rename(library.root + "/a.jpg", library.root + "/z.jpg") == 0)
    try library.scan(catalogue)
    let after = try #require(try catalogue.everything()["z.jpg"])
    #expect(after.localIdentifier == before.localIdentifier && after.revision != before.revision)
  }

  @Test("another time zone reads every file anew, once")
  func otherZone() throws {
    let library = try TemporaryLibrary()
    let exif = EXIFBlock { $0.dateTimeOriginal = "2024:07:03 10:00:00" }
    try library.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 8, height: 8)), "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    #expect(try library.scan(catalogue, timeZone: "Europe/Vienna").probed == 1)
    #expect(try catalogue.everything()["a.jpg"]?.creationDate.milliseconds == 1_719_993_600_000)
    #expect(try library.scan(catalogue, timeZone: "Europe/Vienna").probed == 0)
  }

  @Test("a date beyond what 64 bits of nanoseconds hold harms nothing")
  func farFuture() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    var times = [timespec(tv_sec: 13_569_465_600, tv_nsec: 0), timespec(tv_sec: 13_569_465_600, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, library.root + "/a.jpg", &times, 0) == 0)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    #expect(try catalogue.everything().count == 1)
  }

  @Test("a folder that is not there is an error, and nothing is forgotten")
  func missingLibrary() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    #expect(rename(library.root, library.root + "-unmounted") == 0)
    #expect(throws: AssetLibraryError.self) { try library.scan(catalogue) }
    #expect(try catalogue.assetCount(AssetQuery(), for: .local) == 1)
    #expect(rename(library.root + "-unmounted", library.root) == 0)
  }
}

@Suite("Listing")
struct ListingTests {
  @Test("pages neither skip nor repeat, newest first, ties by identifier", arguments: [1, 7, 100])
  func pages(_ limit: Int) throws {
    let library = try TemporaryLibrary()
    for i in 0..<60 {
      let exif = EXIFBlock { $0.dateTimeOriginal = "2024:05:0\(i % 4 + 1) 00:00:00" }
      try library.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 8, height: 8)), "\(i).jpg")
    }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    var seen: [Asset] = []
    var cursor: String?
    repeat {
      let page = try catalogue.assets(AssetQuery(limit: limit, cursor: cursor), for: .local)
      seen += page.assets
      cursor = page.nextCursor
    } while cursor != nil
    #expect(seen.count == 60 && Set(seen.map(\.localIdentifier)).count == 60)
    let isOrdered = zip(seen, seen.dropFirst()).allSatisfy { a, b in
      a.creationDate > b.creationDate
        || (a.creationDate == b.creationDate && a.localIdentifier.rawValue < b.localIdentifier.rawValue)
    }
    #expect(isOrdered)
  }

  @Test("a cursor of somebody else's making is refused", arguments: ["", "x", "AAAA", "MTIz"])
  func foreignCursor(_ text: String) throws {
    let catalogue = try TemporaryLibrary().catalogue()
    #expect(throws: AssetSourceError.malformedCursor) {
      try catalogue.assets(AssetQuery(cursor: text), for: .local)
    }
  }
}
