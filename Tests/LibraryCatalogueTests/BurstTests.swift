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

@Suite("Bursts")
struct BurstTests {
  /// A picture taken a number of milliseconds after 12:00:00.
  private func picture(_ milliseconds: Int, camera: String = "C1", width: Int = 16) -> [UInt8] {
    let exif = EXIFBlock {
      $0.make = "Maker"
      $0.model = camera
      $0.dateTimeOriginal = "2024:05:06 12:00:" + String(format: "%02d", milliseconds / 1000)
      $0.subSecTimeOriginal = String(format: "%03d", milliseconds % 1000)
    }
    return JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: width, height: 12))
  }

  private func all(_ catalogue: Catalogue) throws -> [String: Asset] {
    try catalogue.everything(includesAllBurstAssets: true)
  }

  @Test(
    "three or more pictures from one camera in immediate succession are a burst; fewer are not",
    arguments: [
      ("three", [0, 100, 200], [0, 1, 2]), ("two are two pictures", [0, 100], []),
      ("a chain, each 400 ms behind the last", [0, 400, 800, 1200], [0, 1, 2, 3]),
      ("a gap ends it", [0, 100, 200, 700, 1200], [0, 1, 2]), ("too slow", [0, 500, 1000], []),
      ("at the very same moment", [50, 50, 50], [0, 1, 2]),
    ])
  func timing(_ name: String, _ moments: [Int], _ members: [Int]) throws {
    let library = try TemporaryLibrary()
    for (i, moment) in moments.enumerated() { try library.put(picture(moment), "\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let assets = try all(catalogue)
    #expect(assets.count == moments.count)
    let inBurst = moments.indices.filter { assets["\($0).jpg"]?.burst != nil }
    #expect(inBurst == members, "\(name)")
    #expect(Set(assets.values.compactMap(\.burst?.identifier)).count == (members.isEmpty ? 0 : 1))
    let chosen = assets.values.filter { $0.burst?.isRepresentative == true }
    #expect(chosen.count == (members.isEmpty ? 0 : 1))
    #expect(chosen.allSatisfy { $0.burst?.selectionTypes == .autoPick })
    // A list shows one of them.
    #expect(try catalogue.everything().count == moments.count - max(0, members.count - 1))
    #expect(try catalogue.count(AssetFetch(), deadline: nil, for: .local) == moments.count - max(0, members.count - 1))
  }

  @Test("a picture between others joins those on both sides of it, also next to a burst of hundreds")
  func longBurst() throws {
    let library = try TemporaryLibrary()
    for i in 0..<500 { try library.put(picture(2 * i), "\(i).jpg") }
    for moment in [1600, 1900] { try library.put(picture(moment), "\(moment).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try all(catalogue)
    #expect(before.filter { $1.burst == nil }.keys.sorted() == ["1600.jpg", "1900.jpg"])
    try library.put(picture(1300), "1300.jpg")
    try library.scan(catalogue)
    let after = try all(catalogue)
    #expect(after.count == 503 && Set(after.values.map(\.burst?.identifier)).count == 1)
  }

  @Test("pictures with another camera, size or folder do not join a burst")
  func apart() throws {
    let library = try TemporaryLibrary()
    for i in 0..<2 {
      try library.put(picture(i * 100), "a\(i).jpg")
      try library.put(picture(i * 100 + 30, camera: "C2"), "b\(i).jpg")
      try library.put(picture(i * 100 + 60, width: 24), "c\(i).jpg")
      try library.put(picture(i * 100 + 90), "d/d\(i).jpg")
    }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    #expect(try all(catalogue).values.allSatisfy { $0.burst == nil })
  }

  @Test("a later picture joins its burst; the representative changes only when it is deleted")
  func changes() throws {
    let library = try TemporaryLibrary()
    for i in 1...3 { try library.put(picture(i * 100), "\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let burst = try #require(try all(catalogue)["1.jpg"]?.burst)
    #expect(burst.isRepresentative)
    try library.put(picture(0), "0.jpg")
    try library.put(picture(450), "4.jpg")
    try library.scan(catalogue)
    var assets = try all(catalogue)
    #expect(assets.values.allSatisfy { $0.burst?.identifier == burst.identifier })
    #expect(assets.filter { $0.value.burst?.isRepresentative == true }.map(\.key) == ["1.jpg"])
    // Read again because its modification time changed: still the same burst.
    var times = [timespec(tv_sec: 1_700_000_000, tv_nsec: 0), timespec(tv_sec: 1_700_000_000, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, library.root + "/1.jpg", &times, 0) == 0)
    #expect(try library.scan(catalogue).probed == 1)
    #expect(try all(catalogue).filter { $0.value.burst?.isRepresentative == true }.map(\.key) == ["1.jpg"])
    unlink(library.root + "/1.jpg")
    try library.scan(catalogue)
    assets = try all(catalogue)
    #expect(assets.count == 4 && assets.values.allSatisfy { $0.burst?.identifier == burst.identifier })
    #expect(assets.filter { $0.value.burst?.isRepresentative == true }.map(\.key) == ["0.jpg"])
    for name in ["0", "2", "3"] { unlink(library.root + "/\(name).jpg") }
    try library.scan(catalogue)
    assets = try all(catalogue)
    #expect(assets.count == 1 && assets["4.jpg"]?.burst == nil, "one alone is a picture like any other")
    #expect(try catalogue.everything().count == 1)
  }

  @Test("a burst keeps its identifier when one of three pictures is removed")
  func smaller() throws {
    let library = try TemporaryLibrary()
    for i in 0..<3 { try library.put(picture(i * 100), "\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let burst = try all(catalogue)["0.jpg"]?.burst?.identifier
    #expect(burst != nil)
    unlink(library.root + "/1.jpg")
    try library.scan(catalogue)
    #expect(try all(catalogue).mapValues(\.burst?.identifier) == ["0.jpg": burst, "2.jpg": burst])
  }

  /// Names the burst as an iPhone does, in tag 11 of the maker note; `nil`: the file names none.
  private func named(_ burst: String?, second: Int) -> [UInt8] {
    let date = "2024:05:06 07:08:" + String(format: "%02d", second)
    guard let burst else { return TIFFPicture.dng(TIFFPicture.Details { $0.dateTimeOriginal = date }).bytes }
    let identifier = Array(burst.utf8) + [0]
    var note = Array("Apple iOS".utf8) + [0, 0, 1] + Array("MM".utf8) + Boxes.number(1, 2)
    note += Boxes.number(11, 2) + Boxes.number(2, 2) + Boxes.number(identifier.count, 4) + Boxes.number(32, 4)
    note += Boxes.number(0, 4) + identifier
    return TIFFPicture.dng(
      TIFFPicture.Details {
        $0.makerNote = note
        $0.dateTimeOriginal = date
      }
    ).bytes
  }

  @Test("pictures with the same burst identifier are a burst, however far apart; a single one is not")
  func identifiers() throws {
    let library = try TemporaryLibrary()
    for i in 0..<3 { try library.put(named("first-burst", second: i * 10), "\(i).dng") }
    try library.put(named("other-burst", second: 5), "other.dng")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let assets = try all(catalogue)
    for i in 0..<3 { #expect(assets["\(i).dng"]?.burst?.identifier == "first-burst") }
    #expect(assets.filter { $0.value.burst?.isRepresentative == true }.map(\.key) == ["0.dng"])
    #expect(assets["other.dng"]?.burst == nil)
    #expect(Set(try catalogue.everything().keys) == ["0.dng", "other.dng"])
    unlink(library.root + "/1.dng")
    try library.scan(catalogue)
    #expect(try all(catalogue)["2.dng"]?.burst?.identifier == "first-burst")
  }

  @Test(
    "the user's pick and its burst come back with a picture that was away while another file of it was left",
    arguments: ["2.mov", "2.nef"], [0, 1])
  func pictureAway(_ companion: String, _ others: Int) throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    func jpeg(_ number: Int) -> [UInt8] {
      let exif = EXIFBlock {
        ($0.make, $0.model) = ("Apple", "iPhone 15")
        $0.dateTimeOriginal = "2024:05:06 07:08:0\(number)"
        $0.offsetTimeOriginal = "+00:00"
        $0.makerNote = EXIFBlock.appleNote(burst: "first-burst")
      }
      return JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 16, height: 12))
    }
    for number in 0...2 { try library.put(jpeg(number), "\(number).jpg") }
    if companion == "2.mov" {
      // 2024-05-06T07:08:02Z, three seconds.
      let movie = MovieFile { ($0.created, $0.duration) = (3_797_824_082, 1800) }
      try library.put(movie.bytes, companion)
    } else {
      let details = TIFFPicture.Details {
        $0.make = "NIKON CORPORATION"
        $0.dateTimeOriginal = "2024:05:06 07:08:02"
        $0.offsetTimeOriginal = "+00:00"
      }
      try library.put(TIFFPicture.nef(details).bytes, companion)
    }
    try library.scan(catalogue)
    let picked = try #require(try all(catalogue)["2.jpg"]?.localIdentifier)
    try catalogue.change { db, token in
      try db.execute(
        sql: "UPDATE asset SET burstSelectionTypes = ?, revision = ? WHERE localIdentifier = ?",
        arguments: [BurstSelectionTypes.userPick.rawValue, token, picked.rawValue])
    }
    let before = try all(catalogue)
    #expect(before.count == 3 && before["2.jpg"]?.burst?.selectionTypes == .userPick)
    // If another picture is missing too, the burst of the last one is dissolved.
    for number in 0..<others { unlink(library.root + "/\(number).jpg") }
    unlink(library.root + "/2.jpg")
    try library.scan(catalogue, removal: 100)
    let without = try all(catalogue)[companion]
    #expect(without?.localIdentifier == picked && without?.burst == nil)
    for number in 0..<others { try library.put(jpeg(number), "\(number).jpg") }
    try library.put(jpeg(2), "2.jpg")
    try library.scan(catalogue)
    let after = try all(catalogue)
    #expect(Set(after.keys) == ["0.jpg", "1.jpg", "2.jpg"] && after["2.jpg"]?.localIdentifier == picked)
    #expect(after.values.allSatisfy { $0.burst?.identifier == "first-burst" })
    #expect(after["2.jpg"]?.burst?.selectionTypes == .userPick)
    #expect(after.values.filter { $0.burst?.isRepresentative == true }.count == 1)
  }

  @Test(
    "a picture whose file no longer names its burst leaves it, as in a new catalogue",
    arguments: [[0], [1], [0, 1], [0, 1, 2]])
  func nameRemoved(_ edited: [Int]) throws {
    let library = try TemporaryLibrary()
    for i in 0..<4 { try library.put(named("first-burst", second: i * 10), "\(i).dng") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    #expect(try catalogue.everything().count == 1)
    for i in edited { try library.put(named(nil, second: i * 10), "\(i).dng") }
    try library.scan(catalogue)
    let new = try Catalogue(dataFolder: library.data + "-2")
    try library.scan(new)
    let bursts = try all(catalogue).mapValues(\.burst?.identifier)
    #expect(try bursts == all(new).mapValues(\.burst?.identifier))
    #expect(bursts.values.compactMap(\.self).count == (edited.count < 3 ? 4 - edited.count : 0))
    #expect(try catalogue.everything().count == new.everything().count)
  }
}
