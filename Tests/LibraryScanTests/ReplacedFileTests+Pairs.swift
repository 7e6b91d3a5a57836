import GRDB
import LibraryFixtures
import LibraryFolder
import LibraryScan
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue

#if canImport(Glibc)
  import Glibc
#endif

/// Assets of a picture and its RAW file.
extension ReplacedFileTests {
  /// A picture and its RAW file.
  private static func halves() -> (picture: [UInt8], raw: [UInt8]) {
    let date = "2024:05:06 07:08:09"
    let exif = EXIFBlock {
      $0.make = "Maker"
      $0.dateTimeOriginal = date
      $0.offsetTimeOriginal = "+00:00"
    }
    let raw = TIFFPicture.nef(
      TIFFPicture.Details {
        $0.make = "NIKON CORPORATION"
        $0.dateTimeOriginal = date
        $0.offsetTimeOriginal = "+00:00"
      }
    ).bytes
    let picture = JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 32, height: 24))
    return (picture, raw)
  }

  /// A picture with its RAW file, and another file.
  private static func pair(_ other: String, isRAW: Bool) throws -> WatchedLibrary {
    let (picture, raw) = halves()
    return try WatchedLibrary(removal: 100) { library in
      try library.put(picture, "p.jpg")
      try library.put(raw, "p.nef")
      try library.put(isRAW ? raw + [0] : smallJPEG, other)
    }
  }

  @Test("a picture that takes the path of another one's RAW file keeps its asset", arguments: [true, false])
  func takenPathOfRAWFile(_ isFull: Bool) throws {
    let watched = try Self.pair("x.jpg", isRAW: false)
    let before = try watched.identifiers()
    try #require(Set(before.keys) == ["p.jpg", "x.jpg"])
    try Self.mark(watched.catalogue, "p.jpg", "Pair")
    try Self.mark(watched.catalogue, "x.jpg", "X")
    watched.move("x.jpg", "p.nef")
    try Self.scan(watched, isFull: isFull)
    let (pair, other) = (try #require(before["p.jpg"]), try #require(before["x.jpg"]))
    #expect(try watched.identifiers() == ["p.jpg": pair, "p.nef": other])
    #expect(try Self.marks(watched.catalogue) == ["p.jpg": ["Pair"], "p.nef": ["X"]])
    try watched.expectNothingLeft()
  }

  @Test("a RAW file that is saved through an indexed temporary file stays with its picture", arguments: [true, false])
  func savedRAWFile(_ isFull: Bool) throws {
    let watched = try Self.pair("x.tmp", isRAW: true)
    let before = try #require(try watched.identifiers()["p.jpg"])
    try Self.mark(watched.catalogue, "p.jpg", "Pair")
    watched.move("x.tmp", "p.nef")
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == ["p.jpg": before])
    #expect(try Self.marks(watched.catalogue) == ["p.jpg": ["Pair"], "p.nef": ["Pair"]])
    try watched.expectNothingLeft()
  }

  @Test(
    "a picture that is saved through an indexed temporary file joins its RAW file, and what users made of either stays",
    arguments: ["x.tmp", "p.nef"], [true, false])
  func savedPicture(_ marked: String, _ isFull: Bool) throws {
    let (picture, raw) = Self.halves()
    let watched = try WatchedLibrary(removal: 100) { library in
      try library.put(picture, "x.tmp")
      try library.put(raw, "p.nef")
    }
    let before = try #require(try watched.identifiers()[marked])
    try Self.mark(watched.catalogue, marked, "Album")
    watched.move("x.tmp", "p.jpg")
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == ["p.jpg": before])
    #expect(try Self.marks(watched.catalogue) == ["p.jpg": ["Album"], "p.nef": ["Album"]])
    try watched.expectNothingLeft()
  }
}
