import Foundation
import GRDB
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue

#if canImport(Glibc)
  import Glibc
#endif

/// Several pictures may have the content identifier of one video. The video belongs to the picture of its name.
@Suite("Live photos with a content identifier")
struct ContentIdentifierTests {
  private static func jpeg(_ identifier: String) -> [UInt8] {
    let exif = EXIFBlock {
      $0.make = "Apple"
      $0.dateTimeOriginal = "2024:05:06 07:08:09"
      $0.makerNote = EXIFBlock.appleNote(contentIdentifier: identifier)
    }
    return JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 32, height: 24))
  }

  private static func video(_ identifier: String) -> [UInt8] {
    MovieFile {
      $0.duration = 1800
      $0.keys = [("com.apple.quicktime.content.identifier", identifier)]
    }.bytes
  }

  /// The paths of the files of each asset.
  private static func groups(_ library: TemporaryLibrary) throws -> Set<Set<String>> {
    let rows = try DatabaseQueue(path: library.data + "/catalogue.sqlite").read { db in
      try Row.fetchAll(db, sql: "SELECT asset, CAST(path AS TEXT) FROM file WHERE asset IS NOT NULL")
    }
    var groups: [Int64: Set<String>] = [:]
    for row in rows {
      let (asset, path): (Int64, String) = (row[0], row[1])
      groups[asset, default: []].insert(path)
    }
    return Set(groups.values)
  }

  private static func permutations(_ names: [String]) -> [[String]] {
    if names.count < 2 { return [names] }
    var all: [[String]] = []
    for name in names {
      let others = names.filter { $0 != name }
      for order in permutations(others) { all.append([name] + order) }
    }
    return all
  }

  @Test(
    "a picture and its edited version have the videos of their names, in whatever order the files come",
    arguments: [["IMG_1.JPG", "IMG_1.MOV", "IMG_E1.JPG"], ["IMG_1.JPG", "IMG_1.MOV", "IMG_E1.JPG", "IMG_E1.MOV"]])
  func editedVersion(_ names: [String]) throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let orders = Self.permutations(names)
    for round in names.indices {
      for (number, order) in orders.enumerated() {
        let name = order[round]
        let identifier = "identifier-\(number)"
        var bytes = name.hasSuffix("MOV") ? Self.video(identifier) : Self.jpeg(identifier)
        if name == "IMG_E1.JPG" { bytes.append(1) }
        try library.put(bytes, "\(number)/\(name)")
      }
      try library.scan(catalogue)
    }
    let assets = try catalogue.everything()
    #expect(assets.count == 2 * orders.count)
    let groups = try Self.groups(library)
    for (number, order) in orders.enumerated() {
      let folder = "\(number)/"
      let original: Set<String> = [folder + "IMG_1.JPG", folder + "IMG_1.MOV"]
      let edited = Set(names.filter { $0.hasPrefix("IMG_E1") }.map { folder + $0 })
      #expect(groups.contains(original) && groups.contains(edited), "\(order)")
      let isLive = ["IMG_1.JPG", "IMG_E1.JPG"].map { assets[folder + $0]?.mediaSubtypes.contains(.photoLive) }
      #expect(isLive == [true, edited.count == 2], "\(order)")
    }
  }

  @Test("a video that users changed stays where it is when the picture of its name comes")
  func changedVideo() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(Self.video("identifier"), "IMG_1.MOV")
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["IMG_1.MOV"]).localIdentifier
    try catalogue.change { db, token in
      try db.execute(sql: "UPDATE asset SET isFavorite = 1, revision = ?", arguments: [token])
    }
    for name in ["IMG_E1.JPG", "IMG_1.JPG"] {
      try library.put(Self.jpeg("identifier") + Array(name.utf8), name)
      try library.scan(catalogue)
    }
    let after = try catalogue.everything()
    #expect(after["IMG_E1.JPG"]?.localIdentifier == before && after["IMG_E1.JPG"]?.isFavorite == true)
    #expect(try Self.groups(library) == [["IMG_E1.JPG", "IMG_1.MOV"], ["IMG_1.JPG"]])
    #expect(after["IMG_1.JPG"]?.isFavorite == false)
  }

  @Test("a renamed picture keeps its video when a copy of it gets its former name")
  func copiedBack() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(Self.jpeg("identifier"), "IMG_1.JPG")
    try library.put(Self.video("identifier"), "IMG_1.MOV")
    try library.scan(catalogue)
    #expect(rename(library.root + "/IMG_1.JPG", library.root + "/Beach.JPG") == 0)
    try library.scan(catalogue)
    try library.put(Self.jpeg("identifier"), "IMG_1.JPG")
    try library.scan(catalogue)
    #expect(try Self.groups(library) == [["Beach.JPG", "IMG_1.MOV"], ["IMG_1.JPG"]])
  }
}
