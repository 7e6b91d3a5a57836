import GRDB
import LibraryFixtures
import LibraryFolder
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue

#if canImport(Glibc)
  import Glibc
#endif

/// Another program removes a file, and it comes back later. What users made of its asset is not lost.
@Suite("Files that come back")
struct MissingAssetTests {
  private static let content = picture(1)
  private static let other = picture(2)

  /// A library with `f/a.jpg`, a favourite in an album.
  private static func library(_ fill: (TemporaryLibrary) throws -> Void = { _ in }) throws -> WatchedLibrary {
    let watched = try WatchedLibrary(removal: 100) { library in
      try library.put(content, "f/a.jpg")
      try fill(library)
    }
    try watched.catalogue.change { db, token in
      let asset = try Int64.fetchOne(db, sql: "SELECT asset FROM file WHERE path = CAST('f/a.jpg' AS BLOB)")
      try db.execute(sql: "UPDATE asset SET isFavorite = 1, revision = ? WHERE id = ?", arguments: [token, asset])
      try db.execute(
        sql: """
          INSERT INTO collection (localIdentifier, type, subtype, title, revision)
          VALUES ('album', 'album', 'albumRegular', 'Album', ?)
          """, arguments: [token])
      try db.execute(
        sql: """
          INSERT INTO member (collection, position, asset, creationDate, listing)
          SELECT collection.id, 1, asset.id, creationDate, listing FROM asset, collection
          WHERE collection.title = 'Album' AND asset.id = ?
          """, arguments: [asset])
    }
    try #require(try marked(watched.catalogue) == ["f/a.jpg"])
    return watched
  }

  /// The path of the favourite that is in the album.
  private static func marked(_ catalogue: Catalogue) throws -> [String] {
    try catalogue.read { db in
      try String.fetchAll(
        db,
        sql: """
          SELECT CAST(path AS TEXT) FROM member JOIN asset ON asset.id = member.asset JOIN file ON file.asset = asset.id
          WHERE isFavorite AND isPrimary
          """)
    }
  }

  private static func scan(_ watched: WatchedLibrary, isFull: Bool) throws {
    if isFull { try watched.library.scan(watched.catalogue, removal: 100) } else { watched.settle() }
  }

  private static func remove(_ watched: WatchedLibrary, _ names: String..., isFull: Bool) throws {
    for name in names { #expect(unlink(watched.at(name)) == 0) }
    try scan(watched, isFull: isFull)
    for name in names { #expect(try watched.identifiers()[name] == nil) }
    #expect(try marked(watched.catalogue).isEmpty)
    let trash = try watched.catalogue.trashedAssets(after: nil, limit: 10, purgedAfter: 1, for: .local)
    #expect(trash.assets.isEmpty, "it is not in the trash")
  }

  @Test(
    "a file with the same content and name brings its asset back", arguments: ["f/a.jpg", "elsewhere/a.jpg"],
    [true, false])
  func copy(_ path: String, _ isFull: Bool) throws {
    let watched = try Self.library()
    let before = try #require(try watched.identifiers()["f/a.jpg"])
    for place in [path, "third/a.jpg"] {
      let current = try #require(try watched.identifiers().first { $0.value == before }).key
      try Self.remove(watched, current, isFull: isFull)
      try watched.put(Self.content, place)
      try Self.scan(watched, isFull: isFull)
      #expect(try watched.identifiers() == [place: before])
      #expect(try Self.marked(watched.catalogue) == [place])
    }
    try watched.expectNothingLeft()
  }

  @Test("a file that is written in place while it is away has another content version", arguments: [true, false])
  func writtenElsewhere(_ isFull: Bool) throws {
    let watched = try Self.library { try $0.put(Self.content + [UInt8](repeating: 0, count: 12_000), "f/a.jpg") }
    let before = try #require(try watched.catalogue.everything()["f/a.jpg"])
    let outside = watched.outside + "/a.jpg"
    watched.move("f/a.jpg", outside)
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers().isEmpty)
    // Neither its metadata nor its first and last bytes change.
    rewrite(outside, [9], at: Self.content.count + 6000)
    watched.move(outside, "f/a.jpg")
    try Self.scan(watched, isFull: isFull)
    let after = try #require(try watched.catalogue.everything()["f/a.jpg"])
    #expect(after.localIdentifier == before.localIdentifier && after.contentVersion != before.contentVersion)
    try watched.expectNothingLeft()
  }

  @Test("another content at the same path within ten minutes is the same photograph", arguments: [true, false])
  func saved(_ isFull: Bool) throws {
    let watched = try Self.library()
    let before = try watched.identifiers()
    try Self.remove(watched, "f/a.jpg", isFull: isFull)
    try watched.put(Self.other, "f/a.jpg")
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == before)
    #expect(try Self.marked(watched.catalogue) == ["f/a.jpg"])
    try watched.expectNothingLeft()
  }

  @Test(
    "a file that was indexed under another name is the saved photograph at its path, unless users changed it",
    arguments: [true, false], [true, false])
  func savedThroughIndexedFile(_ isChanged: Bool, _ isFull: Bool) throws {
    let watched = try Self.library { try $0.put(smallPNG, "f/.tmp") }
    let before = try watched.identifiers()
    let (photograph, temporary) = (try #require(before["f/a.jpg"]), try #require(before["f/.tmp"]))
    if isChanged {
      try watched.catalogue.change { db, token in
        try db.execute(
          sql: "UPDATE asset SET isFavorite = 1, revision = ? WHERE localIdentifier = ?",
          arguments: [token, temporary.rawValue])
      }
    }
    try Self.remove(watched, "f/a.jpg", isFull: isFull)
    watched.move("f/.tmp", "f/a.jpg")
    try Self.scan(watched, isFull: isFull)
    let asset = try #require(try watched.catalogue.everything()["f/a.jpg"])
    #expect(try watched.identifiers() == ["f/a.jpg": isChanged ? temporary : photograph])
    #expect(asset.pixelSize == PixelSize(width: 30, height: 20), "it has the new content")
    #expect(try Self.marked(watched.catalogue) == (isChanged ? [] : ["f/a.jpg"]))
    try watched.expectNothingLeft()
  }

  @Test("another content at the same path later is another photograph, as is the same content under another name")
  func others() throws {
    let watched = try Self.library()
    let before = try #require(try watched.identifiers()["f/a.jpg"])
    try Self.remove(watched, "f/a.jpg", isFull: false)
    try watched.catalogue.pool.write { db in
      try db.execute(sql: "UPDATE trash SET deletedDate = deletedDate - ? - 1", arguments: [MissingAssets.saveWindow])
    }
    try watched.put(Self.other, "f/a.jpg")
    try watched.put(Self.content, "f/b.jpg")
    watched.settle()
    #expect(try !watched.identifiers().values.contains(before) && watched.identifiers().count == 2)
    #expect(try Self.marked(watched.catalogue).isEmpty)
    // Its own file brings it back even then.
    try watched.put(Self.content, "g/a.jpg")
    watched.settle()
    #expect(try watched.identifiers()["g/a.jpg"] == before)
    try watched.expectNothingLeft()
  }

  @Test(
    "another content at the path of a file that was removed while the clock was ahead is another photograph",
    arguments: [true, false])
  func removedWhileClockWasAhead(_ isPurged: Bool) throws {
    let watched = try Self.library()
    let before = try #require(try watched.identifiers()["f/a.jpg"])
    try Self.remove(watched, "f/a.jpg", isFull: false)
    let now = try watched.catalogue.read { try Int64.fetchOne($0, sql: "SELECT deletedDate FROM trash") }
    try watched.catalogue.pool.write { db in
      try db.execute(sql: "UPDATE trash SET deletedDate = deletedDate + ?", arguments: [2 * 86_400_000])
    }
    if isPurged { try watched.catalogue.countTrashTime(until: try #require(now), atMost: 1000) }
    try watched.put(Self.other, "f/a.jpg")
    watched.settle()
    let after = try #require(try watched.identifiers()["f/a.jpg"])
    #expect(after != before)
    try watched.expectNothingLeft()
  }

  @Test("another picture with the same ends and name is another one, without compression also one of another time")
  func alike() throws {
    /// White, but for the middle.
    func bitmap(_ middle: UInt8) -> [UInt8] {
      let pixels = (0..<80 * 80 * 3).map { (9000..<10_000).contains($0) ? middle : 255 }
      return BMPFile(width: 80, height: 80, bitsPerPixel: 24, pixels: pixels).bytes
    }
    func put(_ bytes: [UInt8], _ path: String, in library: TemporaryLibrary, seconds: Int) throws {
      try library.put(bytes, path)
      var times = [timespec(tv_sec: seconds, tv_nsec: 5), timespec(tv_sec: seconds, tv_nsec: 5)]
      #expect(utimensat(AT_FDCWD, library.root + "/" + path, &times, 0) == 0)
    }
    let watched = try Self.library { try put(bitmap(0), "scan.bmp", in: $0, seconds: 1_700_000_000) }
    try watched.catalogue.change { db, token in
      try db.execute(sql: "UPDATE asset SET isFavorite = 1, revision = ?", arguments: [token])
    }
    let before = try #require(try watched.identifiers()["scan.bmp"])
    #expect(unlink(watched.at("scan.bmp")) == 0)
    watched.settle()
    try put(bitmap(9), "other/scan.bmp", in: watched.library, seconds: 1_700_000_007)
    watched.settle()
    #expect(try watched.identifiers()["other/scan.bmp"] != before)
    try put(bitmap(0), "third/scan.bmp", in: watched.library, seconds: 1_700_000_000)
    watched.settle()
    #expect(try watched.identifiers()["third/scan.bmp"] == before)
    try watched.expectNothingLeft()
  }

  /// The halves of a live photo.
  private static func halves() -> (picture: [UInt8], video: [UInt8]) {
    let exif = EXIFBlock {
      $0.make = "Maker"
      $0.dateTimeOriginal = "2024:05:06 07:08:09"
      $0.offsetTimeOriginal = "+00:00"
    }
    let picture = JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 32, height: 24))
    // 2024-05-06T07:08:09Z, in seconds since 1904-01-01.
    let video = MovieFile { ($0.created, $0.duration) = (3_797_824_089, 1800) }.bytes
    return (picture, video)
  }

  /// A library with a live photo, `f/live`, that a user has changed.
  private static func library(with picture: [UInt8], _ video: [UInt8]) throws -> WatchedLibrary {
    let watched = try library { library in
      try library.put(picture, "f/live.jpg")
      try library.put(video, "f/live.mov")
    }
    try watched.catalogue.change { db, token in
      try db.execute(sql: "UPDATE asset SET title = 'Mine', userFields = 1, revision = ?", arguments: [token])
    }
    let identifiers = try watched.identifiers()
    try #require(identifiers["f/live.jpg"] != nil && identifiers["f/live.mov"] == nil, "one asset")
    return watched
  }

  @Test(
    "a half of a live photo that is removed and saved through an indexed temporary file joins it again",
    arguments: ["f/live.jpg", "f/live.mov"], [true, false])
  func savedHalf(_ path: String, _ isFull: Bool) throws {
    let (picture, video) = Self.halves()
    let watched = try Self.library(with: picture, video)
    let before = try watched.identifiers()
    try watched.put((path == "f/live.jpg" ? picture : video) + [0, 0, 0, 8] + Array("free".utf8), "f/new.tmp")
    try Self.scan(watched, isFull: isFull)
    try #require(try watched.identifiers()["f/new.tmp"] != nil)
    #expect(unlink(watched.at(path)) == 0)
    try Self.scan(watched, isFull: isFull)
    watched.move("f/new.tmp", path)
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == before)
    let asset = try #require(try watched.catalogue.everything()["f/live.jpg"])
    #expect(asset.mediaSubtypes.contains(.photoLive))
    try watched.expectNothingLeft()
  }

  @Test(
    "a video that gets the name of a picture joins it only if it was added within ten minutes",
    arguments: [(0, true), (-11, false), (11, false)])
  func renamedHalf(_ minutes: Int, _ joins: Bool) throws {
    let (picture, video) = Self.halves()
    let watched = try Self.library { library in
      try library.put(picture, "f/live.jpg")
      try library.put(video, "f/new.mov")
    }
    try watched.catalogue.pool.write { db in
      try db.execute(sql: "UPDATE asset SET addedDate = addedDate + ?", arguments: [minutes * 60_000])
    }
    watched.move("f/new.mov", "f/live.mov")
    watched.settle()
    let isApart = try watched.identifiers()["f/live.mov"] != nil
    #expect(isApart == !joins)
    try watched.expectNothingLeft()
  }

  @Test(
    "a picture that moved to another disk joins the video that is new beside it", arguments: [true, false])
  func movedPicture(_ isFull: Bool) throws {
    let (picture, video) = Self.halves()
    let watched = try Self.library { try $0.put(picture, "o/live.jpg") }
    try watched.catalogue.change { db, token in
      try db.execute(sql: "UPDATE asset SET title = 'Mine', userFields = 1, revision = ?", arguments: [token])
    }
    var expected = try watched.identifiers()
    expected["n/live.jpg"] = expected.removeValue(forKey: "o/live.jpg")
    try watched.put(picture, "n/live.jpg")
    try watched.put(video, "n/live.mov")
    #expect(unlink(watched.at("o/live.jpg")) == 0)
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == expected)
    let asset = try #require(try watched.catalogue.everything()["n/live.jpg"])
    #expect(asset.mediaSubtypes.contains(.photoLive) && asset.descriptive.title == "Mine")
    try watched.expectNothingLeft()
  }

  @Test("of two hard links that are gone, the one that users changed is the renamed one", arguments: [true, false])
  func hardLinks(_ isFull: Bool) throws {
    let watched = try Self.library { library in
      #expect(link(library.root + "/f/a.jpg", library.root + "/b.jpg") == 0)
    }
    let before = try #require(try watched.identifiers()["f/a.jpg"])
    watched.move("f/a.jpg", "f/y.jpg")
    #expect(unlink(watched.at("b.jpg")) == 0)
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == ["f/y.jpg": before])
    #expect(try Self.marked(watched.catalogue) == ["f/y.jpg"])
    try watched.expectNothingLeft()
  }

  private static func setTime(_ path: String, in library: TemporaryLibrary) {
    var times = [timespec(tv_sec: 1_700_000_000, tv_nsec: 5), timespec(tv_sec: 1_700_000_000, tv_nsec: 5)]
    #expect(utimensat(AT_FDCWD, library.root + "/" + path, &times, 0) == 0)
  }

  @Test(
    "an asset whose file was one of two hard links does not come back at a path that becomes a link to the other one",
    arguments: [true, false])
  func furtherLink(_ isFull: Bool) throws {
    let watched = try Self.library { library in
      #expect(link(library.root + "/f/a.jpg", library.root + "/b.jpg") == 0)
      try library.put(Self.content, "c.jpg")
    }
    var expected = try watched.identifiers()
    try Self.remove(watched, "f/a.jpg", isFull: isFull)
    expected["f/a.jpg"] = nil
    #expect(unlink(watched.at("c.jpg")) == 0 && link(watched.at("b.jpg"), watched.at("c.jpg")) == 0)
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == expected)
    try watched.expectNothingLeft()
  }

  @Test("a file that replaces a copy of it with the same time does not take its asset away", arguments: [true, false])
  func replacedCopy(_ isFull: Bool) throws {
    let watched = try Self.library { library in
      try library.put(Self.content, "c.jpg")
      for path in ["f/a.jpg", "c.jpg"] { Self.setTime(path, in: library) }
    }
    let copy = try watched.identifiers().filter { $0.key == "c.jpg" }
    watched.move("f/a.jpg", watched.outside + "/a.jpg")
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == copy)
    watched.move(watched.outside + "/a.jpg", "c.jpg")
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == copy)
    try watched.expectNothingLeft()
  }

  @Test(
    "files of one content come back as the assets that they were", arguments: ["hard", "symbolic", "copy"],
    [true, false])
  func oneContent(_ kind: String, _ isFull: Bool) throws {
    let watched = try Self.library { library in
      switch kind {
      case "hard": #expect(link(library.root + "/f/a.jpg", library.root + "/f/b.jpg") == 0)
      case "symbolic": #expect(symlink("a.jpg", library.root + "/f/b.jpg") == 0)
      default:
        try library.put(Self.content, "f/b.jpg")
        for path in ["f/a.jpg", "f/b.jpg"] { Self.setTime(path, in: library) }
      }
      try library.put(Self.other, "other.jpg")
    }
    try watched.catalogue.change { db, token in
      try db.execute(sql: "UPDATE asset SET isFavorite = 1, revision = ?", arguments: [token])
    }
    let before = try watched.identifiers()
    for name in ["a.jpg", "b.jpg"] { watched.move("f/\(name)", "\(watched.outside)/\(name)") }
    try Self.scan(watched, isFull: isFull)
    #expect(try Set(watched.identifiers().keys) == ["other.jpg"])
    for name in ["a.jpg", "b.jpg"] { watched.move("\(watched.outside)/\(name)", "f/\(name)") }
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == before, "\(kind)")
    try watched.expectNothingLeft(kind)
  }

  @Test("the video of a live photo joins it again")
  func livePhoto() throws {
    let (picture, video) = Self.halves()
    let watched = try Self.library(with: picture, video)
    let before = try watched.identifiers()
    for name in ["live.jpg", "live.mov"] { #expect(unlink(watched.at("f/\(name)")) == 0) }
    watched.settle()
    try watched.put(video, "f/live.mov")
    watched.settle()
    try watched.put(picture, "f/live.jpg")
    watched.settle()
    #expect(try watched.identifiers() == before)
    try watched.expectNothingLeft()
  }

  @Test("an asset that no user has changed, and one that was forgotten, do not come back")
  func forgotten() throws {
    let watched = try Self.library { try $0.put(smallPNG, "plain.png") }
    let before = try watched.identifiers()
    try Self.remove(watched, "f/a.jpg", "plain.png", isFull: false)
    try watched.catalogue.forgetMissingAssets(removedBefore: .max, now: .max)
    try watched.put(Self.content, "f/a.jpg")
    try watched.put(smallPNG, "plain.png")
    watched.settle()
    let after = try watched.identifiers()
    #expect(Set(after.keys) == ["f/a.jpg", "plain.png"] && Set(after.values).isDisjoint(with: before.values))
    try watched.expectNothingLeft()
  }
}
