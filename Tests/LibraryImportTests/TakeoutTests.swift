import Foundation
import GRDB
import ImageCodec
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles
@testable import LibraryImport

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Import of a Google Takeout")
struct TakeoutTests {
  @Test("of a thousand files nothing is lost, the export is unchanged, and a second import adds nothing")
  func thousand() throws {
    let library = try ImportedLibrary()
    let made = try MadeTakeout(in: library, unique: 720)
    #expect(made.mediaFiles >= 1000, "\(made.mediaFiles) files")
    let before = try ImportedLibrary.contents(of: library.export)

    let dry = try library.takeout(isDryRun: true)
    #expect(try library.assets().isEmpty && library.folder.allFiles.isEmpty)
    let first = try library.takeout()
    #expect(first.report.failed == 0, "\(first.lines.prefix(5))")
    #expect(dry.report.added == first.report.added && dry.report.albumsMade == 3)
    #expect(first.report.added == made.pictures.count)
    #expect(first.report.added + first.report.existing + made.trashed == made.mediaFiles)
    #expect(first.lines.count { $0.hasSuffix("--include-trashed imports it") } == made.trashed)
    #expect(
      first.report.unmappedFields["imageViews"] ?? 0 > 0 && first.report.unmappedFields["googlePhotosOrigin"] ?? 0 > 0)
    #expect(first.report.unmappedFields["description of albums"] == 1)

    try compare(library, made)
    #expect(try ImportedLibrary.contents(of: library.export) == before)
    let files = library.folder.allFiles
    let assets = try library.catalogue.everything()
    let token = try library.catalogue.changeToken()
    let second = try library.takeout()
    #expect(second.report.added == 0 && second.report.albumsMade == 0 && second.report.failed == 0)
    #expect(second.report.existing == first.report.added + first.report.existing)
    let changed = try library.catalogue.everything().filter { $0.value != assets[$0.key] }.prefix(2)
    #expect(changed.isEmpty, "\(changed.map { ($0.value, assets[$0.key]) })")
    #expect(library.folder.allFiles == files)
    #expect(try library.catalogue.changeToken() == token)
    // A scan agrees with what was added.
    try library.folder.scan(library.catalogue)
    #expect(try library.catalogue.changeToken() == token)
  }

  private func compare(_ library: ImportedLibrary, _ made: MadeTakeout) throws {
    let assets = try library.assets()
    #expect(Set(assets.keys) == Set(made.pictures.keys))
    var wrong: [String] = []
    for (digest, picture) in made.pictures {
      guard let asset = assets[digest] else { continue }
      if asset.isFavorite != picture.isFavorite { wrong.append("favourite") }
      if asset.isHidden != picture.isHidden { wrong.append("hidden") }
      if asset.creationDate.milliseconds != picture.seconds * 1000 { wrong.append("date \(asset.creationDate)") }
      if asset.descriptive.caption != picture.caption { wrong.append("caption") }
      if asset.location?.latitude != picture.latitude { wrong.append("place") }
      if asset.descriptive.keywords != picture.people { wrong.append("people") }
      let year = asset.creationDate.rfc3339.prefix(4)
      if !asset.original.displayPath.hasPrefix(year) { wrong.append("path \(asset.original.displayPath)") }
    }
    #expect(wrong.isEmpty, "\(wrong.count): \(wrong.prefix(5))")
    var albums: [String: Set<Data>] = [:]
    for (digest, picture) in made.pictures { for album in picture.albums { albums[album, default: []].insert(digest) } }
    #expect(try library.albums() == albums)
  }

  @Test("a picture that the library had gets what it lacks, and keeps what a user set")
  func existing() throws {
    let library = try ImportedLibrary()
    try library.folder.put(ImportedLibrary.picture(1), "1.jpg")
    try library.folder.put(ImportedLibrary.picture(2), "2.jpg")
    try library.folder.scan(library.catalogue)
    let known = try library.catalogue.everything()
    var update = AssetUpdate()
    update.caption = "mine"
    update.creationDate = Timestamp(milliseconds: 0)
    let lists = ChangeListExecutor(
      catalogue: library.catalogue, files: try library.folder.files(library.catalogue), limits: ChangeLimits())
    let second = try #require(known["2.jpg"])
    _ = try lists.perform([ChangeRequest(.updateAsset(.existing(second.localIdentifier), update))], for: .local)
    for number in 1...2 {
      try library.put(ImportedLibrary.picture(number), "\(number).jpg")
      try library.put(
        ["title": "\(number).jpg", "description": "theirs", "photoTakenTime": ["timestamp": "1500000000"]],
        "\(number).jpg.json")
    }
    let outcome = try library.takeout()
    #expect(outcome.report.added == 0 && outcome.report.existing == 2 && outcome.report.failed == 0)
    let assets = try library.catalogue.everything()
    #expect(assets["1.jpg"]?.descriptive.caption == "theirs")
    #expect(assets["1.jpg"]?.creationDate.milliseconds == 1_500_000_000_000)
    #expect(assets["2.jpg"]?.descriptive.caption == "mine" && assets["2.jpg"]?.creationDate.milliseconds == 0)
  }

  @Test("videos in formats that photod does not read are named, and are no failures")
  func unsupported() throws {
    let library = try ImportedLibrary()
    try library.put(ImportedLibrary.picture(1), "1.jpg")
    try library.put("RIFF....AVI LIST", "Photos from 2020/a.AVI")
    try library.put("....", "Photos from 2020/b.mkv")
    try library.put([UInt8](), "Photos from 2020/empty.avi")
    let outcome = try library.takeout()
    #expect(outcome.report.added == 1 && outcome.report.unsupported == 2 && outcome.report.failed == 1)
    #expect(outcome.lines.filter { $0.hasPrefix("unsupported Photos from 2020/") }.count == 2, "\(outcome.lines)")
    #expect(outcome.lines.contains("failed Photos from 2020/empty.avi: it is empty"), "\(outcome.lines)")
  }

  @Test("what a user has deleted does not return with the next import while it is in the trash")
  func deleted() throws {
    let library = try ImportedLibrary()
    for number in 1...2 {
      try library.put(ImportedLibrary.picture(number), "Sea/\(number).jpg")
      try library.put(["photoTakenTime": ["timestamp": "1500000000"]], "Sea/\(number).jpg.json")
    }
    #expect(try library.takeout().report.added == 2)
    let asset = try #require(try library.assets()[ImportedLibrary.digest(ImportedLibrary.picture(1))])
    try library.perform(.deleteAsset(.existing(asset.localIdentifier)))
    let dry = try library.takeout(isDryRun: true)
    let again = try library.takeout()
    for outcome in [dry, again] {
      #expect((outcome.report.added, outcome.report.existing, outcome.report.deleted) == (0, 1, 1))
      #expect(outcome.report.skipped == 1 && outcome.report.failed == 0)
      #expect(outcome.lines.contains { $0.contains("Sea/1.jpg") && $0.contains("--include-deleted") })
    }
    #expect(try library.assets().count == 1)
    #expect(try library.takeout(includesDeleted: true).report.added == 1)
    #expect(try library.assets().count == 2)
  }

  @Test("what a user has deleted does not return after the trash was emptied, until it is imported on purpose")
  func purged() throws {
    let library = try ImportedLibrary()
    for number in 1...2 {
      try library.put(ImportedLibrary.picture(number), "Sea/\(number).jpg")
      try library.put(["photoTakenTime": ["timestamp": "1500000000"]], "Sea/\(number).jpg.json")
    }
    func purgeFirst() throws {
      let asset = try #require(try library.assets()[ImportedLibrary.digest(ImportedLibrary.picture(1))])
      try library.perform(.deleteAsset(.existing(asset.localIdentifier)))
      try library.emptyTrash()
    }
    #expect(try library.takeout().report.added == 2)
    for _ in 1...2 {
      try purgeFirst()
      let outcomes = [try library.takeout(isDryRun: true), try library.takeout()]
      for outcome in outcomes {
        #expect((outcome.report.added, outcome.report.existing, outcome.report.deleted) == (0, 1, 1))
        #expect(outcome.lines.contains { $0.contains("Sea/1.jpg") && $0.contains("--include-deleted") })
      }
      #expect(try library.takeout(includesDeleted: true).report.added == 1)
    }
    #expect(try library.takeout().report.existing == 2)
  }

  @Test("a picture goes into the folder of its date in the export, also if the file system can't store that date")
  func folders() throws {
    let library = try ImportedLibrary()
    let exif = EXIFBlock { ($0.dateTimeOriginal, $0.offsetTimeOriginal) = ("2001:01:01 00:00:00", "+00:00") }
    let pictures = ["a.jpg": ImportedLibrary.picture(1), "b.jpg": ImportedLibrary.picture(2, exif: exif)]
    // 1 January 1900 and 30 June 2023.
    let times = ["a.jpg": "-2208988800", "b.jpg": "1688169590"]
    for (name, bytes) in pictures {
      try library.put(bytes, "Sea/\(name)")
      try library.put(
        ["title": name, "photoTakenTime": ["timestamp": times[name] ?? ""]] as [String: Any], "Sea/\(name).json")
    }
    #expect(try library.takeout().report.added == 2)
    #expect(library.folder.allFiles.isSuperset(of: ["1900/01/a.jpg", "2023/06/b.jpg"]), "\(library.folder.allFiles)")
  }

  @Test("albums of older exports are albums, and their folders of days are none")
  func formerAlbums() throws {
    let library = try ImportedLibrary()
    for (number, folder) in ["Sea", "2014-08-17 Lake", "2014-08-17", "2014-08-17 #2"].enumerated() {
      let album: [String: Any] = ["title": "About \(folder)", "date": ["timestamp": "1408233600"], "location": "Rome"]
      try library.put(["albumData": album], "\(folder)/metadata.json")
      try library.put(ImportedLibrary.picture(number), "\(folder)/\(number).jpg")
    }
    let outcome = try library.takeout()
    #expect(outcome.report.added == 4 && outcome.report.failed == 0 && outcome.report.skipped == 0, "\(outcome.lines)")
    #expect(outcome.report.unmappedFields == ["albumData.location": 2])
    let digests = (0...1).map { ImportedLibrary.digest(ImportedLibrary.picture($0)) }
    #expect(try library.albums() == ["About Sea": [digests[0]], "About 2014-08-17 Lake": [digests[1]]])
  }

  @Test("the summary has the places of albums, and none for coordinates of 0")
  func albumPlaces() throws {
    let library = try ImportedLibrary()
    for (number, latitude) in [0, 0, 47.5].enumerated() {
      let place = ["latitude": latitude, "longitude": 0, "latitudeSpan": 0, "longitudeSpan": 0]
      try library.put(["title": "\(number)", "geoData": place] as [String: Any], "\(number)/metadata.json")
      try library.put(ImportedLibrary.picture(number), "\(number)/a.jpg")
    }
    #expect(try library.takeout().report.unmappedFields == ["geoData of albums": 1])
  }

  @Test("an album that another import makes meanwhile gets the pictures of both")
  func concurrentImports() throws {
    let library = try ImportedLibrary()
    try library.put(["title": "Sea"], "Sea/metadata.json")
    try library.put(ImportedLibrary.picture(1), "Sea/1.jpg")
    // The outer import has read the albums before the inner one makes its own.
    _ = try library.run { folder in
      _ = try library.takeout()
      try library.put(ImportedLibrary.picture(2), "Sea/2.jpg")
      return try TakeoutExport(folder: folder, includesTrash: false)
    }
    let digests = (1...2).map { ImportedLibrary.digest(ImportedLibrary.picture($0)) }
    #expect(try library.albums() == ["Sea": Set(digests)])
    let count = try library.catalogue.pool.read {
      try Int.fetchOne($0, sql: "SELECT count(*) FROM collection WHERE type = 'album'")
    }
    #expect(count == 1)
  }

  @Test("pictures whose names differ only in the normalisation of Unicode get their own descriptions")
  func twins() throws {
    let library = try ImportedLibrary()
    let names = ["\u{F6}.jpg", "o\u{308}.jpg"]
    for (number, name) in names.enumerated() {
      try library.put(ImportedLibrary.picture(number), "Sea/\(name)")
      try library.put(
        ["title": name, "description": "\(number)", "photoTakenTime": ["timestamp": "1500000000"]], "Sea/\(name).json")
    }
    // The same content under both names is one asset.
    for name in names { try library.put(ImportedLibrary.picture(2), "Lake/\(name)") }
    let outcome = try library.takeout()
    #expect(outcome.report.added == 3 && outcome.report.existing == 1 && outcome.report.failed == 0)
    let assets = try library.assets()
    for number in 0...1 {
      #expect(assets[ImportedLibrary.digest(ImportedLibrary.picture(number))]?.descriptive.caption == "\(number)")
    }
    #expect(library.folder.allFiles.count == 3 && assets.count == 3)
  }

  @Test("pictures of two accounts with the same names get their own descriptions and videos")
  func accounts() throws {
    let library = try ImportedLibrary()
    func path(_ account: Int, _ name: String) -> String {
      "account\(account)/Takeout/Google Photos/Photos from 2023/\(name)"
    }
    func putDescription(of account: Int, in folder: Int) throws {
      let time = #"{"timestamp": "\#(account)688169590"}"#
      try library.put(
        #"{"title": "IMG_1.jpg", "description": "\#(account)", "photoTakenTime": \#(time)}"#,
        path(folder, "IMG_1.jpg.json"))
    }
    for number in 1...2 {
      try library.put(ImportedLibrary.picture(number), path(number, "IMG_1.jpg"))
      let movie = MovieFile { $0.keys = [("com.apple.quicktime.title", "\(number)")] }.bytes
      try library.put(movie, path(number, "IMG_1.MP4"))
      try putDescription(of: number, in: number)
    }
    // The second account's description was unpacked twice, and the third one's picture is missing.
    try putDescription(of: 2, in: 3)
    try putDescription(of: 3, in: 4)
    let outcome = try library.takeout()
    #expect(outcome.report.added == 4 && outcome.report.failed == 1, "\(outcome.lines)")
    let missing = "failed \(path(4, "IMG_1.jpg.json")): its picture is not in the same folder"
    #expect(outcome.lines.contains { $0.hasPrefix(missing) }, "\(outcome.lines)")
    let assets = try library.assets()
    #expect(assets.count == 2)
    for number in 1...2 {
      let asset = try #require(assets[ImportedLibrary.digest(ImportedLibrary.picture(number))])
      #expect(asset.descriptive.caption == "\(number)" && asset.mediaSubtypes.contains(.photoLive))
      #expect(asset.creationDate.milliseconds == Int64(number) * 1_000_000_000_000 + 688_169_590_000)
    }
  }

  @Test("damaged, foreign and dangerous parts of an export are named, and everything else is imported")
  func damaged() throws {
    let library = try ImportedLibrary()
    try library.put(ImportedLibrary.picture(1), "Photos from 2020/good.jpg")
    try library.put(ImportedLibrary.picture(2), "Photos from 2020/bad.jpg")
    try library.put("{\"photoTakenTime\": {", "Photos from 2020/bad.jpg.json")
    try library.put(ImportedLibrary.picture(3), "Photos from 2020/deep.jpg")
    try library.put(String(repeating: "[", count: 100_000), "Photos from 2020/deep.jpg.json")
    try library.put("text", "Photos from 2020/text.jpg")
    try library.put([UInt8](), "Photos from 2020/empty.jpg")
    try library.put(["photoTakenTime": ["timestamp": "1"]], "Photos from 2020/gone.jpg.json")
    try library.put("[1]", "Photos from 2020/list.json")
    try library.put(["some": "thing"], "Photos from 2020/other.json")
    // The title of a description is no path.
    try library.put(ImportedLibrary.picture(4), "Photos from 2020/x..%2F..%2Fescape.jpg")
    try library.put(
      ["title": "../../../escape.jpg", "photoTakenTime": ["timestamp": "1600000000"]],
      "Photos from 2020/x..%2F..%2Fescape.jpg.json")
    let outside = (library.export as NSString).deletingLastPathComponent + "/outside.jpg"
    try Data(ImportedLibrary.picture(5)).write(to: URL(filePath: outside))
    #expect(symlink(outside, library.export + "/Photos from 2020/link.jpg") == 0)
    #expect(symlink("..", library.export + "/Photos from 2020/loop") == 0)

    let outcome = try library.takeout()
    #expect(outcome.report.added == 2, "\(outcome.lines)")
    func names(_ word: String) -> Set<String> {
      let lines = outcome.lines.filter { $0.hasPrefix(word) }.compactMap { $0.components(separatedBy: ": ").first }
      return Set(lines.compactMap { $0.split(separator: "/").last.map(String.init) })
    }
    #expect(
      names("failed") == ["bad.jpg", "deep.jpg", "text.jpg", "empty.jpg", "list.json", "gone.jpg.json"],
      "\(outcome.lines)")
    #expect(names("skipped") == ["other.json", "link.jpg", "loop"], "\(outcome.lines)")
    let files = FileManager.default.enumerator(atPath: (library.export as NSString).deletingLastPathComponent)
    let escaped = (files?.allObjects as? [String] ?? []).filter { $0.hasSuffix("escape.jpg") }
    #expect(escaped.count == 2 && escaped.allSatisfy { $0.hasPrefix("export/") || $0.hasPrefix("library/20") })
  }

  @Test("an export and a library that contain one another are refused")
  func insideLibrary() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    for export in [library.root, library.root + "/..", library.root + "/sub"] {
      try FileManager.default.createDirectory(atPath: export, withIntermediateDirectories: true)
      #expect(throws: ImportError.insideLibrary(path: export)) {
        try LibraryImporter(
          catalogue: catalogue, files: try library.files(catalogue), scanner: try library.scanner(catalogue),
          folder: export, libraryPath: library.root, timeZone: .gmt, limits: .init(), isDryRun: false,
          report: ImportReport())
      }
    }
  }

  @Test(
    "a full disk ends the import with a clear error, and the next import continues",
    .enabled(if: TemporaryFileSystem.canMount))
  func fullDisk() throws {
    let library = try ImportedLibrary()
    let disk = try TemporaryFileSystem(at: library.folder.root, bytes: 400 << 10)
    for number in 0..<40 {
      try library.put(
        ImportedLibrary.picture(number) + [UInt8](repeating: UInt8(number), count: 40_000), "a/\(number).jpg")
    }
    #expect(throws: ImportError.library(.insufficientStorage)) { _ = try library.takeout() }
    #expect(ImportError.library(.insufficientStorage).description.contains("disk is full"))
    let count = try library.assets().count
    #expect(count > 0 && count < 40)
    #expect(library.folder.allFiles.count == count, "no half file is left: \(library.folder.allFiles)")
    try disk.resize(bytes: 8 << 20)
    let outcome = try library.takeout()
    #expect(outcome.report.existing == count && outcome.report.added == 40 - count && outcome.report.failed == 0)
    #expect(try library.assets().count == 40)
    try disk.remount(readOnly: true)
    #expect(throws: ImportError.library(.readOnly)) { _ = try library.takeout() }
  }
}
