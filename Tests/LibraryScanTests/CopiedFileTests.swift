import Foundation
import GRDB
import LibraryFixtures
import LibraryScan
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue

#if canImport(Glibc)
  import Glibc
#endif

/// A program moves a folder to another disk: it copies all files, and removes them afterwards. In between, scans find
/// the copies beside the originals.
@Suite("Copies whose originals are removed later")
struct CopiedFileTests {
  /// Titles assets by the paths of their files, and puts them into one album.
  private static func mark(_ paths: [String], _ catalogue: Catalogue) throws {
    try catalogue.change { db, token in
      try db.execute(
        sql: """
          INSERT INTO collection (localIdentifier, type, subtype, title, revision)
          SELECT 'album', 'album', 'albumRegular', 'Album', ?
          WHERE NOT EXISTS (SELECT 1 FROM collection WHERE localIdentifier = 'album')
          """, arguments: [token])
      for path in paths {
        let asset = try Int64.fetchOne(
          db, sql: "SELECT asset FROM file WHERE path = CAST(? AS BLOB)", arguments: [path])
        try db.execute(
          sql: "UPDATE asset SET title = ?, userFields = 1, revision = ? WHERE id = ?", arguments: [path, token, asset])
        try db.execute(
          sql: """
            INSERT INTO member (collection, position, asset, creationDate, listing)
            SELECT collection.id, asset.id, asset.id, creationDate, listing FROM asset, collection
            WHERE collection.localIdentifier = 'album' AND asset.id = ?
            """, arguments: [asset])
      }
    }
  }

  /// The titles of the members of the album, by path.
  private static func titles(_ catalogue: Catalogue) throws -> [String: String] {
    try catalogue.read { db in
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT CAST(path AS TEXT), asset.title FROM member JOIN asset ON asset.id = member.asset
            JOIN file ON file.asset = asset.id
          WHERE isPrimary
          """)
      return Dictionary(uniqueKeysWithValues: rows.map { ($0[0] as String, $0[1] as String) })
    }
  }

  private static func scan(_ watched: WatchedLibrary, isFull: Bool) throws {
    if isFull { try watched.library.scan(watched.catalogue, removal: 100) } else { watched.settle() }
  }

  private static func setTime(_ path: String, in library: TemporaryLibrary) {
    var times = [timespec(tv_sec: 1_700_000_000, tv_nsec: 5), timespec(tv_sec: 1_700_000_000, tv_nsec: 5)]
    #expect(utimensat(AT_FDCWD, library.root + "/" + path, &times, 0) == 0)
  }

  @Test("assets that users changed follow their files, with their identifiers and albums", arguments: [true, false])
  func folder(_ isFull: Bool) throws {
    let names = (0..<6).map { "\($0).jpg" }
    let watched = try WatchedLibrary(removal: 100) { library in
      for (number, name) in names.enumerated() { try library.put(picture(number), "x/\(name)") }
    }
    let changed = names.dropLast()
    try Self.mark(changed.map { "x/\($0)" }, watched.catalogue)
    let before = try watched.identifiers()
    for (number, name) in names.enumerated() { try watched.put(picture(number), "disk2/x/\(name)") }
    try Self.scan(watched, isFull: isFull)
    let both = try watched.identifiers()
    #expect(both.count == 12 && both.filter { before.keys.contains($0.key) } == before)
    for name in names { #expect(unlink(watched.at("x/\(name)")) == 0) }
    try Self.scan(watched, isFull: isFull)
    let after = try watched.identifiers()
    #expect(Set(after.keys) == Set(names.map { "disk2/x/\($0)" }))
    for name in changed { #expect(after["disk2/x/\(name)"] == before["x/\(name)"]) }
    #expect(after["disk2/x/5.jpg"] == both["disk2/x/5.jpg"], "nothing was lost with the other one")
    let titles = changed.map { ("disk2/x/\($0)", "x/\($0)") }
    #expect(try Self.titles(watched.catalogue) == Dictionary(uniqueKeysWithValues: titles))
    try watched.expectNothingLeft()
  }

  struct Choice: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The copies of `x/p.jpg`.
    let copies: [String]
    var keepsTime = false
    /// A copy that a user changed.
    var changed: String?
    /// Whether the copies are indexed together with the original.
    var areOld = false
    /// The copy that gets the title.
    let chosen: String?
  }

  @Test(
    "a copy is newer and elsewhere, has the name or the time of the original, and no user has changed it",
    arguments: [
      Choice(testDescription: "the same name", copies: ["y/p.jpg"], chosen: "y/p.jpg"),
      Choice(testDescription: "the same time", copies: ["y/q.jpg"], keepsTime: true, chosen: "y/q.jpg"),
      Choice(testDescription: "neither", copies: ["y/q.jpg"], chosen: nil),
      Choice(testDescription: "two of the same time", copies: ["y/q.jpg", "y/r.jpg"], keepsTime: true, chosen: nil),
      Choice(
        testDescription: "one of the same name and one of the same time", copies: ["y/p.jpg", "y/r.jpg"],
        keepsTime: true, chosen: "y/p.jpg"),
      Choice(
        testDescription: "two in folders of which one has the same name", copies: ["y/x/p.jpg", "z/p.jpg"],
        chosen: "y/x/p.jpg"),
      Choice(testDescription: "one that is as old as the original", copies: ["a/p.jpg"], areOld: true, chosen: nil),
      Choice(testDescription: "one in the same folder", copies: ["x/q.jpg"], keepsTime: true, chosen: nil),
      Choice(testDescription: "a changed one", copies: ["y/p.jpg"], changed: "y/p.jpg", chosen: nil),
      Choice(
        testDescription: "a changed one and another one", copies: ["y/x/p.jpg", "z/p.jpg"], changed: "y/x/p.jpg",
        chosen: "z/p.jpg"),
    ])
  func choice(_ choice: Choice) throws {
    let library = try TemporaryLibrary()
    try library.put(picture(1), "x/p.jpg")
    // Another photograph.
    try library.put(picture(2), "y/other.jpg")
    if choice.keepsTime { Self.setTime("x/p.jpg", in: library) }
    let catalogue = try library.catalogue()
    if !choice.areOld { try library.scan(catalogue) }
    for copy in choice.copies {
      try library.put(picture(1), copy)
      if choice.keepsTime { Self.setTime(copy, in: library) }
    }
    try library.scan(catalogue)
    try Self.mark(["x/p.jpg"], catalogue)
    if let changed = choice.changed { try Self.mark([changed], catalogue) }
    let before = try catalogue.everything()
    unlink(library.root + "/x/p.jpg")
    let progress = try library.scan(catalogue)
    #expect(progress.moved == (choice.chosen == nil ? 0 : 1) && progress.removed == (choice.chosen == nil ? 1 : 0))
    var titles: [String: String] = [:]
    if let chosen = choice.chosen { titles[chosen] = "x/p.jpg" }
    if let changed = choice.changed { titles[changed] = changed }
    #expect(try Self.titles(catalogue) == titles)
    let after = try catalogue.everything()
    #expect(Set(after.keys) == Set(choice.copies + ["y/other.jpg"]))
    for (path, asset) in after {
      let expected = path == choice.chosen ? before["x/p.jpg"] : before[path]
      #expect(asset.localIdentifier == expected?.localIdentifier, "\(path)")
    }
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("an asset follows the copy of its file also if the clock was ahead when the original was added")
  func clockAhead() throws {
    let library = try TemporaryLibrary()
    try library.put(picture(1), "x/p.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    try Self.mark(["x/p.jpg"], catalogue)
    try catalogue.pool.write { db in
      try db.execute(sql: "UPDATE asset SET addedDate = addedDate + ?", arguments: [2 * 86_400_000])
    }
    try library.put(picture(1), "y/p.jpg")
    try library.scan(catalogue)
    #expect(unlink("\(library.root)/x/p.jpg") == 0)
    #expect(try library.scan(catalogue, removal: 100).moved == 1)
    #expect(try Self.titles(catalogue) == ["y/p.jpg": "x/p.jpg"])
  }

  @Test("of several identical files, each follows the copy with its name")
  func identical() throws {
    let library = try TemporaryLibrary()
    let names = (0..<5).map { "\($0).jpg" }
    for name in names { try library.put(smallJPEG, "x/\(name)") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    try Self.mark(names.map { "x/\($0)" }, catalogue)
    for name in names { try library.put(smallJPEG, "y/\(name)") }
    try library.scan(catalogue)
    for name in names { unlink("\(library.root)/x/\(name)") }
    #expect(try library.scan(catalogue, removal: 100).moved == 5)
    let titles = names.map { ("y/\($0)", "x/\($0)") }
    #expect(try Self.titles(catalogue) == Dictionary(uniqueKeysWithValues: titles))
  }

  @Test(
    "of several identical files with the same name, each follows the copy whose path ends most alike",
    arguments: [true, false])
  func identicalInSubfolders(_ isKnownBefore: Bool) throws {
    let library = try TemporaryLibrary()
    let paths = ["b.jpg", "y/b.jpg", "a/b.jpg", "a/y/b.jpg"]
    let catalogue = try library.catalogue()
    // The order of the rows is not that of the paths.
    for path in paths {
      try library.put(smallJPEG, "d/\(path)")
      try library.scan(catalogue)
    }
    try Self.mark(paths.map { "d/\($0)" }, catalogue)
    for path in paths { try library.put(smallJPEG, "e/\(path)") }
    if isKnownBefore { try library.scan(catalogue) }
    for path in paths { unlink("\(library.root)/d/\(path)") }
    #expect(try library.scan(catalogue, removal: 100).moved == 4)
    let titles = paths.map { ("e/\($0)", "d/\($0)") }
    #expect(try Self.titles(catalogue) == Dictionary(uniqueKeysWithValues: titles))
  }

  @Test(
    "the picture and the video of a live photo follow together, also if they are removed one after the other",
    arguments: [[["jpg", "mov"]], [["jpg"], ["mov"]], [["mov"], ["jpg"]]])
  func livePhoto(_ removals: [[String]]) throws {
    let exif = EXIFBlock {
      $0.make = "Maker"
      $0.dateTimeOriginal = "2024:05:06 07:08:09"
      $0.offsetTimeOriginal = "+00:00"
    }
    let picture = JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 32, height: 24))
    // 2024-05-06T07:08:09Z, in seconds since 1904-01-01.
    let video = MovieFile { ($0.created, $0.duration) = (3_797_824_089, 1800) }.bytes
    func put(_ folder: String, in library: TemporaryLibrary) throws {
      try library.put(picture, "\(folder)/live.jpg")
      try library.put(video, "\(folder)/live.mov")
    }
    let library = try TemporaryLibrary()
    try put("x", in: library)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    try Self.mark(["x/live.jpg"], catalogue)
    let before = try #require(try catalogue.everything()["x/live.jpg"])
    try put("y", in: library)
    try library.scan(catalogue)
    for extensions in removals {
      for name in extensions { #expect(unlink("\(library.root)/x/live.\(name)") == 0) }
      try library.scan(catalogue)
    }
    let after = try catalogue.everything()
    #expect(after.mapValues(\.localIdentifier) == ["y/live.jpg": before.localIdentifier])
    #expect(after["y/live.jpg"]?.mediaSubtypes == before.mediaSubtypes, "it is a live photo")
    #expect(try Self.titles(catalogue) == ["y/live.jpg": "x/live.jpg"])
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("in a copied library, equal pictures and sidecars that have each other's inodes keep their paths")
  func otherInodes() throws {
    let library = try TemporaryLibrary()
    func sidecar(_ orientation: Int) -> [UInt8] {
      Array(
        """
        <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
        <rdf:Description rdf:about="" xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="\(orientation)"/>
        </rdf:RDF></x:xmpmeta>
        """.utf8)
    }
    let folders = ["a", "b", "c"]
    let pictures = folders.map { ("\($0)/1.jpg", smallJPEG) }
    let sidecars = folders.map { ("\($0)/1.xmp", sidecar($0 == "a" ? 6 : 1)) }
    for (path, bytes) in pictures + sidecars {
      try library.put(bytes, path)
      Self.setTime(path, in: library)
    }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    try Self.mark(["a/1.jpg"], catalogue)
    let before = try catalogue.everything()
    #expect(before["a/1.jpg"]?.pixelSize == PixelSize(width: 24, height: 32))
    // Each path gets the inode of the next one, and keeps its content.
    for name in ["1.jpg", "1.xmp"] {
      #expect(rename("\(library.root)/a/\(name)", library.root + "/first") == 0)
      #expect(rename("\(library.root)/b/\(name)", "\(library.root)/a/\(name)") == 0)
      #expect(rename("\(library.root)/c/\(name)", "\(library.root)/b/\(name)") == 0)
      #expect(rename(library.root + "/first", "\(library.root)/c/\(name)") == 0)
    }
    for (path, bytes) in sidecars {
      let file = try #require(FileHandle(forWritingAtPath: library.root + "/" + path))
      try file.write(contentsOf: Data(bytes))
      try file.close()
      Self.setTime(path, in: library)
    }
    // A picture that was not copied: another one has its inode.
    #expect(unlink(library.root + "/c/1.jpg") == 0)
    try library.scan(catalogue)
    let (expected, after) = (before.filter { $0.key != "c/1.jpg" }, try catalogue.everything())
    #expect(after.mapValues(\.localIdentifier) == expected.mapValues(\.localIdentifier))
    #expect(after.mapValues(\.pixelSize) == expected.mapValues(\.pixelSize))
    #expect(try Self.titles(catalogue) == ["a/1.jpg": "a/1.jpg"])
  }
}
