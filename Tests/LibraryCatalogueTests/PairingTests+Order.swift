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

/// The order in which a scan meets the files of an asset does not matter.
extension PairingTests {
  @Test("a picture joins its RAW file and its video, which were there before it")
  func pictureLast() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(raw(), "IMG.NEF")
    try library.put(video(), "IMG.MOV")
    try library.scan(catalogue)
    #expect(try catalogue.everything().count == 2)
    try library.put(jpeg(), "IMG.JPG")
    try library.scan(catalogue)
    #expect(try Array(catalogue.everything().keys) == ["IMG.JPG"])
    #expect(try roles(library) == ["IMG.JPG": "photo", "IMG.MOV": "pairedVideo", "IMG.NEF": "alternatePhoto"])
  }

  private func makeFavourite(_ path: String, _ catalogue: Catalogue) throws {
    try catalogue.change { db, token in
      try db.execute(
        sql: """
          UPDATE asset SET isFavorite = 1, revision = ?
          WHERE id = (SELECT asset FROM file WHERE path = CAST(? AS BLOB))
          """, arguments: [token, path])
    }
  }

  @Test(
    "a picture joins the asset of its video or its RAW file that users have changed, and the other one follows",
    arguments: ["IMG.MOV", "IMG.NEF"])
  func changedAssetFirst(_ changed: String) throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(raw(), "IMG.NEF")
    try library.put(video(), "IMG.MOV")
    try library.scan(catalogue)
    try makeFavourite(changed, catalogue)
    let before = try #require(try catalogue.everything()[changed])
    try library.put(jpeg(), "IMG.JPG")
    try library.scan(catalogue)
    let assets = try catalogue.everything()
    #expect(assets.mapValues(\.localIdentifier) == ["IMG.JPG": before.localIdentifier])
    #expect(assets["IMG.JPG"]?.isFavorite == true)
    #expect(try roles(library) == ["IMG.JPG": "photo", "IMG.MOV": "pairedVideo", "IMG.NEF": "alternatePhoto"])
  }

  @Test(
    "a picture that was away with its RAW file joins its video again, with what users have set",
    arguments: [["IMG.NEF IMG.JPG"], ["IMG.NEF", "IMG.JPG"], ["IMG.JPG", "IMG.NEF"]])
  func awayWithRAW(_ returns: [String]) throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(raw(), "IMG.NEF")
    try library.put(jpeg(), "IMG.JPG")
    try library.put(video(), "IMG.MOV")
    try library.scan(catalogue)
    try makeFavourite("IMG.JPG", catalogue)
    let before = try #require(try catalogue.everything()["IMG.JPG"])
    for name in ["IMG.NEF", "IMG.JPG"] { unlink(library.root + "/" + name) }
    try library.scan(catalogue, removal: 100)
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == ["IMG.MOV": before.localIdentifier])
    for names in returns {
      for name in names.split(separator: " ") { try library.put(name == "IMG.JPG" ? jpeg() : raw(), String(name)) }
      try library.scan(catalogue)
    }
    let assets = try catalogue.everything()
    #expect(assets.mapValues(\.localIdentifier) == ["IMG.JPG": before.localIdentifier])
    #expect(assets["IMG.JPG"]?.isFavorite == true)
    #expect(try roles(library) == ["IMG.JPG": "photo", "IMG.MOV": "pairedVideo", "IMG.NEF": "alternatePhoto"])
  }

  private static let names = ["IMG.JPG", "IMG.MOV", "IMG.NEF"]
  private static let rolesOfAll = ["IMG.JPG": "photo", "IMG.MOV": "pairedVideo", "IMG.NEF": "alternatePhoto"]

  private func bytes(_ name: String) -> [UInt8] {
    switch name {
    case "IMG.JPG": jpeg()
    case "IMG.MOV": video()
    default: raw()
    }
  }

  @Test(
    "a file that gets its name from an indexed temporary file joins its photograph, whichever parts were known",
    arguments: names, names)
  func renamed(_ name: String, _ known: String) throws {
    guard name != known else { return }
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(bytes(known), known)
    try library.put(bytes(name), name + ".part")
    try library.scan(catalogue)
    #expect(try catalogue.everything().count == 2)
    #expect(rename(library.root + "/" + name + ".part", library.root + "/" + name) == 0)
    for new in Self.names where new != name && new != known { try library.put(bytes(new), new) }
    try library.scan(catalogue)
    #expect(try Array(catalogue.everything().keys) == ["IMG.JPG"])
    #expect(try roles(library) == Self.rolesOfAll)
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("a file that was indexed incomplete or with a wrong date joins its photograph later", arguments: names)
  func corrected(_ name: String) throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    for other in Self.names where other != name { try library.put(bytes(other), other) }
    switch name {
    case "IMG.JPG": try library.put(smallJPEG, name)
    case "IMG.MOV": try library.put(video(3_700_000_000), name)
    default: try library.put(raw("2020:01:01 00:00:00"), name)
    }
    try library.scan(catalogue)
    #expect(try catalogue.everything().count > 1)
    try library.put(bytes(name), name)
    try library.scan(catalogue)
    #expect(try Array(catalogue.everything().keys) == ["IMG.JPG"])
    #expect(try roles(library) == Self.rolesOfAll)
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("files that were known apart for long stay apart when they get one name, also after a change of the time zone")
  func knownApart() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(jpeg(offset: nil), "A.JPG")
    let raw = TIFFPicture.Details {
      $0.make = "NIKON CORPORATION"
      $0.dateTimeOriginal = Self.date
      $0.offsetTimeOriginal = nil
    }
    try library.put(TIFFPicture.nef(raw).bytes, "B.NEF")
    try library.scan(catalogue)
    try catalogue.change { db, token in
      try db.execute(sql: "UPDATE asset SET addedDate = addedDate - 86400000, revision = ?", arguments: [token])
    }
    #expect(rename(library.root + "/B.NEF", library.root + "/A.NEF") == 0)
    try library.scan(catalogue)
    let before = try catalogue.everything().mapValues(\.localIdentifier)
    #expect(Set(before.keys) == ["A.JPG", "A.NEF"])
    try library.scan(catalogue, timeZone: "Europe/Vienna")
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == before)
  }

  @Test("a photograph finds its other files also if many other names begin with its own")
  func besideNumbered() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    for number in 10..<30 { try library.put(smallJPEG + [UInt8(number)], "IMG.\(number).JPG") }
    try library.put(raw(), "IMG.NEF")
    try library.put(video(), "IMG.MOV")
    try library.put(jpeg(), "IMG.JPG")
    try library.scan(catalogue)
    #expect(try catalogue.everything().count == 21)
    let found = try roles(library)
    #expect(found["IMG.NEF"] == "alternatePhoto" && found["IMG.MOV"] == "pairedVideo")
  }
}
