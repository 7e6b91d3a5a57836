import Foundation
import GRDB
import ImageCodec
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

#if canImport(Glibc)
  import Glibc
#endif

/// What could take the original or the asset of another file, or end the time in the trash too early.
extension TrashTests {
  @Test("two assets that had the same path are restored in one list")
  func samePath() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    var deleted: [LocalIdentifier] = []
    for number in 0..<2 {
      try library.put(smallJPEG + [UInt8(number)], "a.jpg")
      try library.scan(catalogue)
      deleted.append(try catalogue.everything()["a.jpg"]!.localIdentifier)
      try files.perform([.delete(deleted[number])])
    }
    try files.perform(deleted.map { .restore($0) })
    #expect(Set(try catalogue.everything().values.map(\.localIdentifier)) == Set(deleted))
    #expect(library.allFiles == ["a.jpg", "a-2.jpg"])
  }

  @Test("a restored asset takes its path from the row of a file that has left it, and that file keeps its asset")
  func renamedFile() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let a = try catalogue.everything()["a.jpg"]!.localIdentifier
    let files = try library.files(catalogue)
    try files.perform([.delete(a)])
    try library.put(smallPNG, "a.jpg")
    try library.scan(catalogue)
    let b = try catalogue.everything()["a.jpg"]!.localIdentifier
    #expect(rename(library.root + "/a.jpg", library.root + "/renamed.jpg") == 0)
    try files.perform([.restore(a)])
    try library.scan(catalogue)
    let after = try catalogue.everything()
    #expect(after["a.jpg"]?.localIdentifier == a && after["renamed.jpg"]?.localIdentifier == b && after.count == 2)
  }

  @Test("an asset whose primary file is gone goes to the trash with its other file, which becomes the primary one")
  func lostPrimaryFile() throws {
    let library = try TemporaryLibrary()
    let raw = TIFFPicture.nef(
      TIFFPicture.Details {
        $0.make = "NIKON"
        ($0.dateTimeOriginal, $0.offsetTimeOriginal) = ("2024:05:06 07:08:09", "+00:00")
      }
    ).bytes
    let exif = EXIFBlock { ($0.dateTimeOriginal, $0.offsetTimeOriginal) = ("2024:05:06 07:08:09", "+00:00") }
    try library.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 32, height: 24)), "a.jpg")
    try library.put(raw, "a.nef")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let asset = try #require(try catalogue.everything()["a.jpg"])
    #expect(try catalogue.files(of: asset.localIdentifier).count == 2)
    let files = try library.files(catalogue)
    #expect(unlink(library.root + "/a.jpg") == 0)
    try files.perform([.delete(asset.localIdentifier)])
    #expect(library.allFiles.count == 1 && library.allFiles.allSatisfy { $0.hasSuffix("/a.nef") })
    #expect(try Self.rows(catalogue, "trash").map { $0["state"] } == ["trashed".databaseValue])
    // A restoration that is reverted leaves it in the trash.
    files.revert(
      try files.prepare([.restore(asset.localIdentifier)], for: .local), commitFailure: nil)
    #expect(library.allFiles.count == 1 && library.allFiles.allSatisfy { $0.hasPrefix(".photod-trash/") })
    try files.perform([.restore(asset.localIdentifier)])
    #expect(library.allFiles == ["a.nef"])
    try library.scan(catalogue)
    let restored = try #require(try catalogue.everything()["a.nef"])
    #expect(restored.localIdentifier == asset.localIdentifier && restored.isRAW)
  }

  /// How another file gets the path of one that the catalogue knows.
  enum Replacement: CaseIterable { case exchanged, renamed, written }

  @Test(
    "a file that has got the path of another one since the last scan is not deleted", arguments: Replacement.allCases)
  func replacedFile(_ replacement: Replacement) throws {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg", "c.jpg"] { try library.put(smallJPEG + Array(name.utf8), name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let everything = try catalogue.everything()
    let (a, c) = (everything["a.jpg"]!.localIdentifier, everything["c.jpg"]!.localIdentifier)
    let files = try library.files(catalogue)
    func path(_ name: String) -> String { library.root + "/" + name }
    switch replacement {
    case .exchanged: #expect(exchangeNames(path("a.jpg"), path("b.jpg")))
    case .renamed: #expect(rename(path("b.jpg"), path("a.jpg")) == 0)
    case .written:
      try library.put(smallPNG, "new")
      #expect(rename(path("new"), path("a.jpg")) == 0)
    }
    let before = library.allFiles
    #expect(throws: FileChangeFailure(index: 1, reason: .fileReplaced(Array("a.jpg".utf8)))) {
      try files.prepare([.delete(c), .delete(a)], for: .local)
    }
    #expect(library.allFiles == before)
    #expect(try Self.rows(catalogue, "trash").isEmpty && catalogue.everything().count == 3)
    // Once a scan has found it, the asset's own file is deleted.
    try library.scan(catalogue)
    let asset = try #require(try catalogue.asset(a, for: .local))
    let bytes = try Data(contentsOf: URL(filePath: path(asset.original.displayPath)))
    try files.perform([.delete(a)])
    let trashed = try #require(library.allFiles.first { $0.hasPrefix(".photod-trash/") })
    #expect(try Data(contentsOf: URL(filePath: path(trashed))) == bytes)
    #expect(bytes == Data(smallJPEG + Array("a.jpg".utf8)) || replacement != .exchanged)
    #expect(!library.allFiles.contains(asset.original.displayPath))
  }

  /// How a file may differ from its row, and be the same one.
  enum Difference: CaseIterable { case writtenInPlace, copied, unreadable }

  @Test(
    "a file that was written in place or copied, or that scans can't read, can be deleted",
    arguments: Difference.allCases)
  func sameFile(_ difference: Difference) throws {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg"] { try library.put(smallJPEG, name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let a = try catalogue.everything()["a.jpg"]!.localIdentifier
    let path = library.root + "/a.jpg"
    switch difference {
    case .writtenInPlace:
      let handle = try FileHandle(forWritingTo: URL(filePath: path))
      try handle.seekToEnd()
      try handle.write(contentsOf: Data([1, 2, 3]))
      try handle.close()
    case .copied:
      var status = stat()
      try #require(stat(path, &status) == 0)
      try library.put(smallJPEG, "copy")
      var times = [status.st_atim, status.st_mtim]
      #expect(utimensat(AT_FDCWD, library.root + "/copy", &times, 0) == 0)
      #expect(rename(library.root + "/copy", path) == 0)
    case .unreadable:
      try library.put(Array(smallJPEG[..<40]), "new")
      #expect(rename(library.root + "/new", path) == 0)
      #expect(try library.scan(catalogue).unreadable == 1)
    }
    try library.files(catalogue).perform([.delete(a)])
    #expect(library.allFiles.filter { !$0.hasPrefix(".photod-trash/") } == ["b.jpg"] && library.allFiles.count == 2)
  }

  @Test(
    "an asset that was deleted after its file had left its path comes back with the file, if users changed it",
    arguments: [true, false], [true, false])
  func missingFile(_ isRenamed: Bool, _ isChanged: Bool) throws {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg"] { try library.put(smallJPEG + Array(name.utf8), name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let a = try catalogue.everything()["a.jpg"]!.localIdentifier
    if isChanged { try Self.album(catalogue, [(a, 7)], key: a) }
    let files = try library.files(catalogue)
    let path = library.root + "/a.jpg"
    if isRenamed {
      #expect(rename(path, library.root + "/c.jpg") == 0)
    } else {
      #expect(unlink(path) == 0)
    }
    try files.perform([.delete(a)])
    #expect(try catalogue.everything().keys.sorted() == ["b.jpg"])
    #expect(try files.trashed(after: nil, limit: 9, for: .local).assets.isEmpty, "there is no file to restore")
    try files.recover()
    if !isRenamed { try library.put(smallJPEG + Array("a.jpg".utf8), "a.jpg") }
    try library.scan(catalogue)
    let found = try #require(try catalogue.everything()[isRenamed ? "c.jpg" : "a.jpg"])
    #expect((found.localIdentifier == a) == isChanged)
    #expect(try Self.rows(catalogue, "member").count == (isChanged ? 1 : 0))
    #expect(try Self.rows(catalogue, "trash").isEmpty)
  }

  @Test("an interrupted deletion of a missing file ends at the next start, also if a scan has removed the asset")
  func interruptedMissing() throws {
    for isScanned in [false, true] {
      let library = try TemporaryLibrary()
      for name in ["a.jpg", "b.jpg"] { try library.put(smallJPEG + Array(name.utf8), name) }
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      let a = try catalogue.everything()["a.jpg"]!.localIdentifier
      try Self.album(catalogue, [(a, 7)], key: a)
      let files = try library.files(catalogue)
      #expect(unlink(library.root + "/a.jpg") == 0)
      try files.prepare([.delete(a)], for: .local).end()
      if isScanned { try library.scan(catalogue) }
      try files.recover()
      try library.put(smallJPEG + Array("a.jpg".utf8), "a.jpg")
      try library.scan(catalogue)
      #expect(try catalogue.everything()["a.jpg"]?.localIdentifier == a)
      #expect(try Self.rows(catalogue, "member").count == 1 && Self.rows(catalogue, "trash").isEmpty)
    }
  }

  @Test("a file that a link shows twice is not deleted by the link's path")
  func linkedFolder() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "2024/a.jpg")
    #expect(symlink("2024", library.root + "/album") == 0)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let everything = try catalogue.everything()
    let (real, linked) = (everything["2024/a.jpg"]!.localIdentifier, everything["album/a.jpg"]!.localIdentifier)
    let files = try library.files(catalogue)
    #expect(throws: FileChangeFailure(index: 0, reason: .linkedFile(Array("album/a.jpg".utf8)))) {
      try files.prepare([.delete(linked)], for: .local)
    }
    #expect(library.allFiles.contains("2024/a.jpg"))
    try files.perform([.delete(real)])
    #expect(library.allFiles.filter { $0.hasSuffix(".jpg") }.allSatisfy { $0.hasPrefix(".photod-trash/") })
  }

  @Test(
    "a path that is written in another way makes no second asset",
    arguments: ["x//a.jpg", "./x/a.jpg", "x/./a.jpg", "x/../x/a.jpg", "x/a.jpg/"])
  func otherSpelling(_ path: String) throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "x/a.jpg")
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    #expect(throws: FileChangeFailure(index: 0, reason: .noSuchFile(Array(path.utf8)))) {
      try files.prepare([.create(path: Array(path.utf8))], for: .local)
    }
    try files.perform([.create(path: Array("x/a.jpg".utf8))])
    #expect(try catalogue.everything().count == 1)
  }

  @Test("a restored RAW file without a preview can be rendered only once its sensor data can be developed")
  func withoutPreview() throws {
    let library = try TemporaryLibrary()
    let preview = JPEGFile { _ in }.encoded(Pixels(width: 96, height: 64, channels: 3))
    try library.put(RAWSamples.file("nef", .init(), previews: [preview]), "a.nef")
    try library.put(RAWSamples.file("nef", .init(), previews: []), "b.nef")
    let types = MediaFormat.renderableTypes(with: [])
    let catalogue = try Catalogue(dataFolder: library.data, renderableTypes: types)
    try library.scan(catalogue)
    let assets = try catalogue.everything().values.map(\.localIdentifier)
    let files = try library.files(catalogue)
    func renderable() throws -> Set<String> { Set(try catalogue.everything().filter(\.value.isRenderable).keys) }
    #expect(try renderable() == ["a.nef"])
    try files.perform(assets.map { FileChange.delete($0) })
    try files.perform(assets.map { FileChange.restore($0) })
    #expect(try renderable() == ["a.nef"])
    try files.perform(assets.map { FileChange.delete($0) })
    try catalogue.setRenderableTypes(MediaFormat.renderableTypes(with: [.raw]))
    try files.perform(assets.map { FileChange.restore($0) })
    #expect(try renderable() == ["a.nef", "b.nef"])
  }

  @Test("a wrong clock does not end the time in the trash, at a purge or at the deletion")
  func clock() throws {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg"] { try library.put(smallJPEG + Array(name.utf8), name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let files = try library.files(catalogue)
    let everything = try catalogue.everything()
    try files.perform([.delete(everything["a.jpg"]!.localIdentifier)])
    let start = Int64(Date().timeIntervalSince1970 * 1000)
    func purged(atDay day: Int64) throws -> Int {
      try files.purge(now: Timestamp(milliseconds: start + day * 86_400_000))
    }
    #expect(try purged(atDay: 0) == 0)
    // The clock jumps, and a quarter of the thirty days counts.
    #expect(try [400, 407, 414, 421].map { try purged(atDay: $0) } == [0, 0, 0, 0])
    #expect(try purged(atDay: 428) == 1)
    // It is set back, and an asset is deleted then.
    #expect(try purged(atDay: -10_000) == 0)
    try files.perform([.delete(everything["b.jpg"]!.localIdentifier)])
    try catalogue.pool.write {
      try $0.execute(sql: "UPDATE trash SET deletedDate = ?", arguments: [start - 10_000 * 86_400_000])
    }
    // That clock was not set: the time begins when it is.
    #expect(try [429, 436, 443, 450, 457].map { try purged(atDay: $0) } == [0, 0, 0, 0, 0])
    #expect(try purged(atDay: 464) == 1)
  }

  @Test("a clock that was ahead does not lengthen the time in the trash, once it is right again")
  func clockAhead() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let files = try library.files(catalogue)
    try files.perform([.delete(try #require(try catalogue.everything()["a.jpg"]).localIdentifier)])
    let start = Int64(Date().timeIntervalSince1970 * 1000)
    let day: Int64 = 86_400_000
    func purged(atDay number: Int64) throws -> Int {
      try files.purge(now: Timestamp(milliseconds: start + number * day))
    }
    #expect(try [0, 3650, 1].map { try purged(atDay: $0) } == [0, 0, 0])
    let trashed = try #require(try files.trashed(after: nil, limit: 9, for: .local).assets.first)
    #expect(trashed.deletedDate == Timestamp(milliseconds: start + day))
    #expect(try [8, 15, 22, 29].map { try purged(atDay: $0) } == [0, 0, 0, 0])
    #expect(try purged(atDay: 32) == 1)
  }

  @Test(
    "an asset whose record is older than its files in the trash stays there for the whole time, also in a copied library",
    arguments: [false, true])
  func wrongDate(_ isCopied: Bool) throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let files = try library.files(catalogue)
    let a = try #require(try catalogue.everything()["a.jpg"]).localIdentifier
    let start = Int64(Date().timeIntervalSince1970 * 1000)
    let day: Int64 = 86_400_000
    try files.perform([.delete(a)])
    // The asset was deleted on day 0, and its record says day -20.
    let record = try #require(try catalogue.trashRecords(deletedBefore: .max, after: 0, limit: 1).first)
    try catalogue.setDeletedDate(start - 20 * day, of: record)
    let trashed = try #require(library.allFiles.first { $0.hasPrefix(".photod-trash/") })
    // A copy has the folder's time, and files with a later ctime: here, the deletion was on day -3.
    if isCopied { try setTime(ofFolderOf: trashed, library, (start - 3 * day) / 1000) }
    func purged(atDay number: Int64) throws -> Int {
      try files.purge(now: Timestamp(milliseconds: start + number * day))
    }
    #expect(try purged(atDay: 11) == 0)
    let kept = try #require(try files.trashed(after: nil, limit: 9, for: .local).assets.first)
    let age = start - kept.deletedDate.milliseconds
    #expect(isCopied ? age / day == 3 : abs(age) < day)
    #expect(try [18, 25].map { try purged(atDay: $0) } == [0, 0])
    #expect(library.allFiles == [trashed])
    #expect(try purged(atDay: 32) == 1)
    #expect(library.allFiles.isEmpty)
  }

  @Test(
    "an asset is purged although its folder in the trash was changed by another program since, or by a wrong clock",
    arguments: [30, 3650] as [Int64])
  func touchedFolder(_ changedAtDay: Int64) throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let files = try library.files(catalogue)
    try files.perform([.delete(try #require(try catalogue.everything()["a.jpg"]).localIdentifier)])
    let start = Int64(Date().timeIntervalSince1970 * 1000)
    let day: Int64 = 86_400_000
    let trashed = try #require(library.allFiles.first { $0.hasPrefix(".photod-trash/") })
    try setTime(ofFolderOf: trashed, library, (start + changedAtDay * day) / 1000)
    #expect(try files.purge(now: Timestamp(milliseconds: start + 31 * day)) == 1)
    #expect(library.allFiles.isEmpty)
  }

  /// Sets the modification time of the folder of a file, in seconds since 1970.
  private func setTime(ofFolderOf path: String, _ library: TemporaryLibrary, _ seconds: Int64) throws {
    let folder = URL(filePath: library.root).appending(path: path).deletingLastPathComponent().path
    let time = timespec(tv_sec: Int(seconds), tv_nsec: 0)
    let times = [time, time]
    try #require(utimensat(AT_FDCWD, folder, times, 0) == 0)
  }
}
