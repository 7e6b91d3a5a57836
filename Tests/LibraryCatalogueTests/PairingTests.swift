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

/// Which files form one asset, and how the asset changes when files are added and deleted.
@Suite("Assets of several files")
struct PairingTests {
  static let date = "2024:05:06 07:08:09"

  func jpeg(_ date: String = date, offset: String? = "+00:00") -> [UInt8] {
    let exif = EXIFBlock {
      $0.make = "Maker"
      $0.dateTimeOriginal = date
      $0.offsetTimeOriginal = offset
    }
    return JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 32, height: 24))
  }

  func raw(_ date: String = date) -> [UInt8] {
    TIFFPicture.nef(
      TIFFPicture.Details {
        $0.make = "NIKON CORPORATION"
        $0.dateTimeOriginal = date
        $0.offsetTimeOriginal = "+00:00"
      }
    ).bytes
  }

  /// Seconds since 1904-01-01, as movies count; 2024-05-06T07:08:09Z by default.
  func video(_ created: Int = 3_797_824_089, ticks: Int = 1800) -> [UInt8] {
    MovieFile {
      $0.created = created
      $0.duration = ticks
    }.bytes
  }

  func roles(_ library: TemporaryLibrary) throws -> [String: String] {
    try DatabaseQueue(path: library.data + "/catalogue.sqlite").read { db in
      Dictionary(
        uniqueKeysWithValues: try Row.fetchAll(
          db, sql: "SELECT CAST(path AS TEXT), role FROM file WHERE asset IS NOT NULL"
        )
        .map { ($0[0] as String, $0[1] as String) })
    }
  }

  @Test(
    "a RAW file and the picture made of it are one asset, in either order", arguments: [true, false, nil])
  func rawBesideJPEG(_ rawFirst: Bool?) throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    if rawFirst != false { try library.put(raw(), "d/IMG.NEF") }
    if rawFirst != true { try library.put(jpeg(), "d/IMG.JPG") }
    try library.scan(catalogue)
    let first = try #require(try catalogue.everything().values.first)
    try library.put(raw(), "d/IMG.NEF")
    try library.put(jpeg(), "d/IMG.JPG")
    try library.scan(catalogue)
    let asset = try #require(try catalogue.everything()["d/IMG.JPG"])
    #expect(try catalogue.everything().count == 1 && asset.localIdentifier == first.localIdentifier)
    #expect(asset.isRAW && asset.uniformTypeIdentifier == "public.jpeg")
    #expect(asset.pixelSize == PixelSize(width: 32, height: 24))
    #expect(try roles(library) == ["d/IMG.JPG": "photo", "d/IMG.NEF": "alternatePhoto"])
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test(
    "files with different names, times or folders, or without dates, are two assets",
    arguments: [
      ("IMG2.NEF", date), ("IMG.NEF", "2024:05:06 07:08:19"), ("e/IMG.NEF", date), ("IMG.edit.NEF", date),
    ])
  func apart(_ path: String, _ date: String) throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(jpeg(), "IMG.JPG")
    try library.put(raw(date), path)
    try library.scan(catalogue)
    #expect(try catalogue.everything().count == 2)
  }

  @Test("the picture of a RAW file stays with it when a temporary file that was indexed takes its name")
  func pictureSaved() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(raw(), "IMG.NEF")
    try library.put(jpeg(), "IMG.JPG")
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["IMG.JPG"])
    try library.put(jpeg() + [1], ".IMG.JPG.tmp")
    try library.scan(catalogue)
    #expect(rename(library.root + "/.IMG.JPG.tmp", library.root + "/IMG.JPG") == 0)
    try library.scan(catalogue)
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == ["IMG.JPG": before.localIdentifier])
    #expect(try roles(library) == ["IMG.JPG": "photo", "IMG.NEF": "alternatePhoto"])
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("without the picture, the RAW file becomes the primary file, until the picture is back")
  func pictureGoes() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(raw(), "IMG.NEF")
    try library.put(jpeg(), "IMG.JPG")
    try library.scan(catalogue)
    let both = try #require(try catalogue.everything()["IMG.JPG"])
    unlink(library.root + "/IMG.JPG")
    try library.scan(catalogue)
    let alone = try #require(try catalogue.everything()["IMG.NEF"])
    #expect(alone.localIdentifier == both.localIdentifier && alone.uniformTypeIdentifier == "com.nikon.raw-image")
    #expect(alone.isRAW && alone.pixelSize == PixelSize(width: 2868, height: 4310))
    #expect(alone.contentVersion != both.contentVersion && alone.revision != both.revision)
    #expect(try roles(library) == ["IMG.NEF": "photo"])
    #expect(try library.scan(catalogue).probed == 0, "it was read when the other went")
    try library.put(jpeg(), "IMG.JPG")
    try library.scan(catalogue)
    let again = try catalogue.everything()
    #expect(again.mapValues(\.localIdentifier) == ["IMG.JPG": both.localIdentifier])
    unlink(library.root + "/IMG.NEF")
    try library.scan(catalogue)
    let picture = try #require(try catalogue.everything()["IMG.JPG"])
    #expect(picture.localIdentifier == both.localIdentifier && !picture.isRAW)
  }

  @Test(
    "a file that takes the place of one of an asset's files under another name joins the asset",
    arguments: [
      ("IMG.MOV", "IMG.MOV", "IMG.mp4"), ("IMG.NEF", "IMG.NEF", "IMG.raw"), ("IMG.MOV", "IMG.JPG", "IMG.jpeg"),
      ("IMG.NEF", "IMG.JPG", "IMG.jpeg"),
    ])
  func replaced(_ companion: String, _ former: String, _ new: String) throws {
    let bytes = [
      "IMG.MOV": video(), "IMG.mp4": video(), "IMG.NEF": raw(), "IMG.raw": raw(), "IMG.JPG": jpeg(), "IMG.jpeg": jpeg(),
    ]
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    for name in ["IMG.JPG", companion] { try library.put(try #require(bytes[name]), name) }
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["IMG.JPG"])
    unlink(library.root + "/" + former)
    try library.put(try #require(bytes[new]), new)
    try library.scan(catalogue)
    let picture = former == "IMG.JPG" ? new : "IMG.JPG"
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == [picture: before.localIdentifier])
    #expect(try catalogue.everything()[picture]?.mediaSubtypes == before.mediaSubtypes)
    #expect(try Set(roles(library).keys) == Set(["IMG.JPG", companion, new]).subtracting([former]))
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("a live photo whose halves both get another name stays one asset, although the video also has other bytes")
  func bothReplaced() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(jpeg(), "1.JPG")
    try library.put(video(), "1.MOV")
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["1.JPG"])
    #expect(rename(library.root + "/1.JPG", library.root + "/2.JPG") == 0)
    unlink(library.root + "/1.MOV")
    try library.put(video(3_797_824_090), "2.MOV")
    try library.scan(catalogue)
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == ["2.JPG": before.localIdentifier])
    #expect(try roles(library) == ["2.JPG": "photo", "2.MOV": "pairedVideo"])
  }

  @Test("a changed RAW file changes the content version, and no other property")
  func rawChanges() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(raw(), "IMG.NEF")
    try library.put(jpeg(), "IMG.JPG")
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["IMG.JPG"])
    try library.put(raw() + [0], "IMG.NEF")
    try library.scan(catalogue)
    let after = try #require(try catalogue.everything()["IMG.JPG"])
    #expect(after.contentVersion != before.contentVersion && after.localIdentifier == before.localIdentifier)
    #expect(after.pixelSize == before.pixelSize)
  }

  @Test("the files of an asset stay together when they are moved")
  func moved() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(raw(), "a/IMG.NEF")
    try library.put(jpeg(), "a/IMG.JPG")
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["a/IMG.JPG"])
    #expect(rename(library.root + "/a", library.root + "/b") == 0)
    try library.scan(catalogue)
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == ["b/IMG.JPG": before.localIdentifier])
    #expect(try roles(library) == ["b/IMG.JPG": "photo", "b/IMG.NEF": "alternatePhoto"])
  }

  @Test(
    "a live photo is one asset, by its content identifier, or by name, time and duration",
    arguments: [
      ("the same name, at once", "IMG.MOV", 3_797_824_091, 1800, true),
      ("another name", "OTHER.MOV", 3_797_824_091, 1800, false),
      ("an hour later", "IMG.MOV", 3_797_827_689, 1800, false),
      ("too long to be half of one", "IMG.MOV", 3_797_824_091, 6000, false),
    ])
  func live(_ name: String, _ path: String, _ created: Int, _ ticks: Int, _ isOne: Bool) throws {
    for videoFirst in [false, true] {
      let library = try TemporaryLibrary()
      let catalogue = try library.catalogue()
      if videoFirst {
        try library.put(video(created, ticks: ticks), path)
        try library.scan(catalogue)
      }
      try library.put(jpeg(), "IMG.JPG")
      try library.put(video(created, ticks: ticks), path)
      try library.scan(catalogue)
      let assets = try catalogue.everything()
      let picture = try #require(assets["IMG.JPG"], "\(name)")
      #expect(assets.count == (isOne ? 1 : 2), "\(name)")
      #expect(picture.mediaSubtypes.contains(.photoLive) == isOne && picture.mediaType == .image)
      #expect(try roles(library)[path] == (isOne ? "pairedVideo" : "video"))
    }
  }

  @Test(
    "a live photo's video that is replaced by a longer, unrelated one becomes an asset of its own",
    arguments: [(2400, true), (6000, false)])
  func replacedVideo(_ ticks: Int, _ isOne: Bool) throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(jpeg(), "IMG.JPG")
    try library.put(video(), "IMG.MOV")
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["IMG.JPG"])
    #expect(before.mediaSubtypes.contains(.photoLive))
    try library.put(video(ticks: ticks), "IMG.MOV")
    try library.scan(catalogue)
    let assets = try catalogue.everything()
    let picture = try #require(assets["IMG.JPG"])
    #expect(assets.count == (isOne ? 1 : 2) && picture.localIdentifier == before.localIdentifier)
    #expect(picture.mediaSubtypes.contains(.photoLive) == isOne)
    #expect(try roles(library) == ["IMG.JPG": "photo", "IMG.MOV": isOne ? "pairedVideo" : "video"])
    if !isOne { #expect(assets["IMG.MOV"]?.duration == 10) }
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("a picture without a time zone matches the video of its live photo by local time")
  func withoutOffset() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    // 09:08:09 local time, two hours ahead of the video's UTC time.
    try library.put(jpeg("2024:05:06 09:08:09", offset: nil), "IMG.JPG")
    try library.put(video(), "IMG.MOV")
    try library.scan(catalogue)
    #expect(try catalogue.everything().count == 1)
  }

  @Test("without its video a live photo is a picture; without its picture it is a video")
  func halfOfALivePhoto() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try library.put(jpeg(), "IMG.JPG")
    try library.put(video(), "IMG.MOV")
    try library.scan(catalogue)
    let both = try #require(try catalogue.everything()["IMG.JPG"])
    unlink(library.root + "/IMG.MOV")
    try library.scan(catalogue)
    let picture = try #require(try catalogue.everything()["IMG.JPG"])
    #expect(!picture.mediaSubtypes.contains(.photoLive) && picture.contentVersion == both.contentVersion)
    try library.put(video(), "IMG.MOV")
    try library.scan(catalogue)
    unlink(library.root + "/IMG.JPG")
    try library.scan(catalogue)
    let left = try #require(try catalogue.everything()["IMG.MOV"])
    #expect(left.localIdentifier == both.localIdentifier && left.mediaType == .video && left.duration == 3)
    #expect(!left.mediaSubtypes.contains(.photoLive))
  }
}
