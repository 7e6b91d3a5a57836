import Foundation
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles
@testable import LibraryImport

@Suite("Import of pictures with videos and RAW files")
struct CompanionTests {
  private static func json(_ title: String, _ more: [String: Any] = [:]) -> [String: Any] {
    ["title": title, "photoTakenTime": ["timestamp": "1688169590"]].merging(more) { $1 }
  }

  /// A short movie without a date.
  private static func movie(_ number: Int, seconds: Int = 2) -> [UInt8] {
    MovieFile {
      $0.duration = seconds * 600
      $0.keys = [("com.apple.quicktime.title", "\(number)")]
    }.bytes
  }

  private static let raw = RAWSamples.file(
    "dng",
    .init {
      $0.dateTimeOriginal = "2023:07:01 00:59:50"
      $0.offsetTimeOriginal = nil
      $0.hasLocation = false
    }, previews: [])

  @Test("the video and the RAW file of a picture get its folder and stem, and join it without dates that show it")
  func joined() throws {
    let library = try ImportedLibrary()
    // Another picture has the name, in the folder of the month.
    try library.folder.put(ImportedLibrary.picture(99), "2023/06/IMG_1.jpg")
    try library.folder.put(ImportedLibrary.picture(98), "2023/06/IMG_1.dng.jpg")
    try library.folder.scan(library.catalogue)
    let picture = ImportedLibrary.picture(1)
    try library.put(picture, "Photos from 2023/IMG_1.jpg")
    try library.put(Self.json("IMG_1.jpg", ["description": "Words"]), "Photos from 2023/IMG_1.jpg.json")
    try library.put(Self.movie(1), "Photos from 2023/IMG_1.MP4")
    try library.put(Self.raw, "Photos from 2023/IMG_1.dng")
    let outcome = try library.takeout()
    #expect(outcome.report.added == 3 && outcome.report.failed == 0, "\(outcome.lines)")
    let asset = try #require(try library.assets()[ImportedLibrary.digest(picture)])
    #expect(asset.original.displayPath == "2023/06/IMG_1-2.jpg")
    #expect(asset.mediaSubtypes.contains(.photoLive) && asset.descriptive.caption == "Words")
    #expect(library.folder.allFiles.isSuperset(of: ["2023/06/IMG_1-2.MP4", "2023/06/IMG_1-2.dng"]))
    #expect(try library.assets().count == 3)
    let token = try library.catalogue.changeToken()
    try library.folder.scan(library.catalogue)
    #expect(try library.takeout().report.existing == 3)
    #expect(try library.catalogue.changeToken() == token)
  }

  @Test("a video that is too long for a live photo is an asset of its own, with the properties of the description")
  func notJoined() throws {
    let library = try ImportedLibrary()
    try library.put(ImportedLibrary.picture(1), "Sea/IMG_1.jpg")
    try library.put(["title": "Sea"], "Sea/metadata.json")
    try library.put(
      Self.json("IMG_1.jpg", ["description": "Words", "archived": true]), "Sea/IMG_1.jpg.supplemental-metadata.json")
    let movie = Self.movie(1, seconds: 20)
    try library.put(movie, "Sea/IMG_1.MP4")
    let outcome = try library.takeout()
    #expect(outcome.report.added == 2 && outcome.report.failed == 0, "\(outcome.lines)")
    let video = try #require(try library.assets()[ImportedLibrary.digest(movie)])
    #expect(video.mediaType == .video && video.isHidden && video.descriptive.caption == "Words")
    #expect(video.creationDate.milliseconds == 1_688_169_590_000)
    #expect(try library.albums()["Sea"]?.count == 2)
  }

  @Test("a live photo and an edited picture whose titles have no extension get the date and the video")
  func withoutExtension() throws {
    let library = try ImportedLibrary()
    let descriptions = [
      "LV": "LV.supplemental-metadata.json", "LW(1)": "LW.supplemental-metadata(1).json", "LX": "LX.json",
    ]
    for (number, (stem, description)) in descriptions.enumerated() {
      try library.put(ImportedLibrary.picture(number), "\(stem).jpg")
      try library.put(Self.movie(number), "\(stem).mp4")
      try library.put(Self.json(String(stem.prefix(2))), description)
    }
    try library.put(ImportedLibrary.picture(10), "z.jpg")
    try library.put(ImportedLibrary.picture(11), "z-edited.jpg")
    try library.put(Self.json("z"), "z.json")
    let outcome = try library.takeout()
    #expect(outcome.report.added == 8 && outcome.report.undated == 0, "\(outcome.lines)")
    #expect(outcome.report.failed == 0, "\(outcome.lines)")
    let assets = try library.assets()
    #expect(assets.count == 5)
    #expect(assets.values.count { $0.mediaSubtypes.contains(.photoLive) } == 3)
    #expect(assets.values.allSatisfy { $0.creationDate.milliseconds == 1_688_169_590_000 })
  }

  @Test("a dry run reports files without a date as the import does")
  func undatedCopy() throws {
    let library = try ImportedLibrary()
    try library.put(ImportedLibrary.picture(1), "Photos from 2020/1.jpg")
    try library.put(Self.json("1.jpg"), "Photos from 2020/1.jpg.json")
    try library.put(["title": "Sea"], "Sea/metadata.json")
    // A copy without a description, and pictures without a date.
    try library.put(ImportedLibrary.picture(1), "Sea/1.jpg")
    for number in 2...3 { try library.put(ImportedLibrary.picture(number), "Sea/\(number).jpg") }
    let dry = try library.takeout(isDryRun: true)
    let outcome = try library.takeout()
    #expect(dry.lines == outcome.lines && outcome.report.undated == 2, "\(dry.lines), \(outcome.lines)")
  }

  @Test("each of two live photos whose videos are equal gets its video")
  func equalVideos() throws {
    let library = try ImportedLibrary()
    for number in 1...2 {
      try library.put(ImportedLibrary.picture(number), "IMG_\(number).jpg")
      try library.put(Self.movie(1), "IMG_\(number).MP4")
    }
    let outcome = try library.takeout()
    #expect(outcome.report.added == 4 && outcome.report.failed == 0, "\(outcome.lines)")
    let assets = try library.assets()
    for number in 1...2 {
      let asset = try #require(assets[ImportedLibrary.digest(ImportedLibrary.picture(number))])
      #expect(asset.mediaSubtypes.contains(.photoLive))
    }
    #expect(assets.count == 2)
    let again = try library.takeout().report
    #expect(again.existing == 4 && again.added == 0)
  }

  @Test("a picture joins its video that an earlier part of the export had without it", arguments: [false, true])
  func pictureLater(isNameTaken: Bool) throws {
    let library = try ImportedLibrary()
    if isNameTaken { try library.folder.put(ImportedLibrary.picture(99), "2023/06/IMG_1.jpg") }
    try library.folder.scan(library.catalogue)
    let (first, second) = ("1/Takeout/Google Photos/Sea", "2/Takeout/Google Photos/Sea")
    try library.put(Self.movie(1), "\(first)/IMG_1.MP4")
    try library.put(Self.json("IMG_1.jpg", ["description": "Words", "favorited": true]), "\(first)/IMG_1.jpg.json")
    #expect(try library.takeout().report.added == 1)
    let video = try #require(try library.assets()[ImportedLibrary.digest(Self.movie(1))])
    let picture = ImportedLibrary.picture(1)
    try library.put(picture, "\(second)/IMG_1.jpg")
    let outcome = try library.takeout()
    #expect(outcome.report.added == 1 && outcome.report.existing == 1 && outcome.report.failed == 0)
    let asset = try #require(try library.assets()[ImportedLibrary.digest(picture)])
    #expect(asset.localIdentifier == video.localIdentifier && asset.mediaSubtypes.contains(.photoLive))
    #expect(asset.original.displayPath == (isNameTaken ? "2023/06/IMG_1-2.jpg" : "2023/06/IMG_1.jpg"))
    #expect(asset.descriptive.caption == "Words" && asset.isFavorite)
    #expect(asset.creationDate.milliseconds == 1_688_169_590_000)
    let token = try library.catalogue.changeToken()
    try library.folder.scan(library.catalogue)
    #expect(try library.takeout().report.existing == 2)
    #expect(try library.catalogue.changeToken() == token)
  }

  @Test("a picture and its video that the library has as two assets are reported")
  func separate() throws {
    let library = try ImportedLibrary()
    try library.folder.put(ImportedLibrary.picture(1), "a/1.jpg")
    try library.folder.put(Self.movie(1), "b/1.MP4")
    try library.folder.scan(library.catalogue)
    try library.put(ImportedLibrary.picture(1), "IMG_1.jpg")
    try library.put(Self.movie(1), "IMG_1.MP4")
    for isDryRun in [true, false] {
      let report = try library.takeout(isDryRun: isDryRun).report
      #expect(report.existing == 2 && report.added == 0)
      #expect(report.remarks["videos and RAW files that stay assets apart from their pictures"] == 1)
    }
  }

  @Test("a RAW file that joins a picture of the library keeps what a user has set, and adds the rest")
  func joinsExisting() throws {
    let library = try ImportedLibrary()
    let exif = EXIFBlock { $0.dateTimeOriginal = "2023:07:01 00:59:50" }
    let picture = ImportedLibrary.picture(1, exif: exif)
    try library.folder.put(picture, "2023/07/IMG_1.jpg")
    try library.folder.scan(library.catalogue)
    let asset = try #require(try library.assets().values.first)
    var update = AssetUpdate()
    update.caption = "mine"
    update.creationDate = Timestamp(milliseconds: 1_000_000)
    update.location = Location(latitude: 1, longitude: 2)
    _ = try ChangeListExecutor(
      catalogue: library.catalogue, files: try library.folder.files(library.catalogue), limits: ChangeLimits()
    ).perform([ChangeRequest(.updateAsset(.existing(asset.localIdentifier), update))], for: .local)
    try library.put(Self.raw, "IMG_1.dng")
    try library.put(
      Self.json(
        "IMG_1.dng",
        [
          "description": "theirs", "favorited": true, "people": [["name": "Ada"]],
          "geoData": ["latitude": 3, "longitude": 4, "altitude": 0],
        ]), "IMG_1.dng.json")
    let outcome = try library.takeout()
    #expect(outcome.report.added == 1 && outcome.report.failed == 0, "\(outcome.lines)")
    let after = try #require(try library.assets().values.first)
    #expect(try library.assets().count == 1 && after.localIdentifier == asset.localIdentifier)
    #expect(after.descriptive.caption == "mine" && after.creationDate.milliseconds == 1_000_000)
    #expect(after.location == Location(latitude: 1, longitude: 2))
    #expect(after.isFavorite && after.descriptive.keywords == ["Ada"])
  }

  @Test("parts of a Takeout that are each in a folder of their own are one export")
  func parts() throws {
    let library = try ImportedLibrary()
    let pictures = (0..<3).map { ImportedLibrary.picture($0) }
    try library.put(pictures[0], "takeout-001/Takeout/Google Photos/Sea/0.jpg")
    try library.put(["title": "Sea"], "takeout-001/Takeout/Google Photos/Sea/metadata.json")
    try library.put(Self.json("0.jpg", ["favorited": true]), "takeout-002/Takeout/Google Photos/Sea/0.jpg.json")
    try library.put(pictures[1], "takeout-002/Takeout/Google Photos/Sea/1.jpg")
    try library.put(Self.json("1.jpg"), "takeout-001/Takeout/Google Photos/Sea/1.jpg.json")
    try library.put(pictures[2], "takeout-002/Takeout/Google Photos/Photos from 2020/2.jpg")
    try library.put("PK", "takeout-003.zip")
    let outcome = try library.takeout()
    #expect(outcome.report.added == 3 && outcome.report.failed == 1, "\(outcome.lines)")
    #expect(outcome.lines.contains("failed takeout-003.zip: an archive; unpack it first"))
    #expect(outcome.lines.contains { $0.hasPrefix("undated ") && $0.contains("2.jpg") }, "\(outcome.lines)")
    #expect(
      try library.albums() == ["Sea": [ImportedLibrary.digest(pictures[0]), ImportedLibrary.digest(pictures[1])]])
    #expect(try library.assets()[ImportedLibrary.digest(pictures[0])]?.isFavorite == true)
  }

  @Test("an album that was renamed since, or that comes in another order, is found again")
  func albums() throws {
    let library = try ImportedLibrary()
    func put(_ folder: String, _ number: Int) throws {
      try library.put(ImportedLibrary.picture(number), "\(folder)/\(number).jpg")
      try library.put(["title": "Sea"], "\(folder)/metadata.json")
    }
    try put("b", 1)
    _ = try library.takeout()
    try put("a", 0)
    _ = try library.takeout()
    let expected: [String: Set<Data>] = [
      "Sea": [ImportedLibrary.digest(ImportedLibrary.picture(1))],
      "Sea (2)": [ImportedLibrary.digest(ImportedLibrary.picture(0))],
    ]
    #expect(try library.albums() == expected)
    let made = try #require(try library.catalogue.importedAlbums()["takeout:b"])
    _ = try ChangeListExecutor(
      catalogue: library.catalogue, files: try library.folder.files(library.catalogue), limits: ChangeLimits()
    ).perform([ChangeRequest(.updateCollection(.existing(made), CollectionUpdate(title: "Lake")))], for: .local)
    try put("b", 2)
    #expect(try library.takeout().report.albumsMade == 0)
    #expect(try library.albums()["Lake"]?.count == 2 && library.albums().count == 2)
  }

  @Test("an album that a user made and an import has added to is found again, and mixed with no other of its title")
  func adopted() throws {
    let library = try ImportedLibrary()
    let sea = NewCollection(isFolder: false, title: "Sea")
    try library.perform(.createCollection(sea), placeholder: "$sea")
    func put(_ folder: String, _ number: Int) throws {
      try library.put(ImportedLibrary.picture(number), "\(folder)/\(number).jpg")
      try library.put(["title": "Sea"], "\(folder)/metadata.json")
    }
    try put("b", 1)
    #expect(try library.takeout().report.albumsMade == 0)
    let token = try library.catalogue.changeToken()
    #expect(try library.takeout().report.albumsMade == 0)
    #expect(try library.catalogue.changeToken() == token)
    // Comes first in the export.
    try put("a", 0)
    #expect(try library.takeout().report.albumsMade == 1)
    #expect(
      try library.albums() == [
        "Sea": [ImportedLibrary.digest(ImportedLibrary.picture(1))],
        "Sea (2)": [ImportedLibrary.digest(ImportedLibrary.picture(0))],
      ])
  }

  @Test("an import that can't write to the library names the path")
  func unwritable() throws {
    let library = try ImportedLibrary()
    // A file is where the folder of staged uploads would be.
    try library.folder.put([1], ".photod-staged")
    try library.put(ImportedLibrary.picture(1), "1.jpg")
    #expect {
      try library.takeout()
    } throws: {
      "\($0)".hasPrefix("the library can't be written: .photod-staged: ")
    }
  }

  @Test("a library that no scan has completed is scanned first, so that no file is added again; a dry run is refused")
  func unscanned() throws {
    let library = try ImportedLibrary()
    for number in 1...2 {
      try library.folder.put(ImportedLibrary.picture(number), "\(number).jpg")
      try library.put(ImportedLibrary.picture(number), "\(number).jpg")
      try library.forgetFirstScan()
      #expect(throws: ImportError.notScanned(path: library.folder.root)) { try library.takeout(isDryRun: true) }
      for isDryRun in [false, true] {
        let report = try library.takeout(isDryRun: isDryRun).report
        #expect((report.added, report.existing) == (0, number))
      }
    }
    #expect(library.folder.allFiles.count == 2)
  }

  @Test("an import waits for no other scan, and begins in an empty library, which is scanned then")
  func emptyLibrary() throws {
    let library = try ImportedLibrary()
    try library.put(ImportedLibrary.picture(1), "1.jpg")
    #expect(try library.takeout(isDryRun: true).report.added == 1)
    let scan = try DataFolderLock.forScan(into: library.folder.data)
    #expect(throws: ImportError.scanFailed(.scanUnderWay)) { try library.takeout() }
    scan.unlock()
    #expect(try library.takeout().report.added == 1)
    #expect(try library.takeout(isDryRun: true).report.existing == 1)
  }

  /// Calls an action after the first item of another source.
  private struct InterruptedSource<Source: ImportSource>: ImportSource {
    let source: Source
    let interrupt: () throws -> Void

    func forEachItem(
      _ report: ImportReport, _ body: (ImportedItem) throws(ImportError) -> Void
    ) throws(ImportError) {
      var isFirst = true
      try source.forEachItem(report) { item throws(ImportError) in
        try body(item)
        if isFirst {
          do { try interrupt() } catch { Issue.record(error) }
        }
        isFirst = false
      }
    }
  }

  @Test("an album that a user deletes during an import gets no more pictures, and no picture fails for it")
  func deletedAlbum() throws {
    let library = try ImportedLibrary()
    for number in 0..<3 { try library.put(ImportedLibrary.picture(number), "Sea/\(number).jpg") }
    try library.put(["title": "Sea"], "Sea/metadata.json")
    let outcome = try library.run {
      InterruptedSource(source: try TakeoutExport(folder: $0, includesTrash: false)) {
        let sea = try #require(try library.catalogue.importedAlbums()["takeout:Sea"])
        try library.perform(.deleteCollection(.existing(sea)))
      }
    }
    #expect(outcome.report.added == 3 && outcome.report.failed == 0, "\(outcome.lines)")
    #expect(outcome.report.remarks["files that are not in an album because it was deleted during the import"] == 2)
    #expect(try library.albums().isEmpty && library.assets().count == 3)
    #expect(try library.takeout().report.albumsMade == 1)
    #expect(try library.albums()["Sea"]?.count == 3)
  }

  @Test("the video of a picture that a user has deleted does not come back alone")
  func deletedPicture() throws {
    let library = try ImportedLibrary()
    let picture = ImportedLibrary.picture(1)
    try library.put(picture, "IMG_1.jpg")
    try library.put(Self.json("IMG_1.jpg"), "IMG_1.jpg.json")
    _ = try library.takeout()
    let asset = try #require(try library.assets()[ImportedLibrary.digest(picture)])
    try library.perform(.deleteAsset(.existing(asset.localIdentifier)))
    // It is in a part of the export that comes later.
    try library.put(Self.movie(1), "IMG_1.MP4")
    for isDryRun in [true, false] {
      let outcome = try library.takeout(isDryRun: isDryRun)
      #expect(outcome.report.added == 0 && outcome.report.deleted == 2, "\(outcome.lines)")
      #expect(outcome.lines.contains { $0.hasPrefix("skipped IMG_1.MP4: it was deleted and is in photod's trash") })
    }
    #expect(try library.assets().isEmpty)
    #expect(try library.takeout(includesDeleted: true).report.added == 2)
  }

  @Test("a video that becomes an asset of its own is reported if nothing has its date")
  func undatedVideo() throws {
    let library = try ImportedLibrary()
    for (number, seconds) in [(1, 2), (2, 20)] {
      try library.put(ImportedLibrary.picture(number), "IMG_\(number).jpg")
      try library.put(Self.movie(number, seconds: seconds), "IMG_\(number).MP4")
    }
    let dry = try library.takeout(isDryRun: true)
    let outcome = try library.takeout()
    #expect(outcome.report.added == 4 && outcome.report.undated == 3, "\(outcome.lines)")
    #expect(dry.lines == outcome.lines, "\(dry.lines)")
    let lines = outcome.lines.filter { $0.hasPrefix("undated ") && $0.contains(".MP4") }
    #expect(lines == ["undated IMG_2.MP4: it gets the modification time of the file"])
  }
}
