import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryFixtures
import LibraryFolder
import LibraryScan
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// An asset keeps its identifier through every change of its file, as long as the file exists.
@Suite("Identity across scans")
struct IdentityTests {
  @Test("a changed file keeps its asset, with a new content version")
  func changed() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["a.jpg"])
    try library.put(smallPNG, "a.jpg")
    try library.scan(catalogue)
    let after = try #require(try catalogue.everything()["a.jpg"])
    #expect(after.localIdentifier == before.localIdentifier)
    #expect(after.contentVersion != before.contentVersion && after.revision != before.revision)
    #expect(after.pixelSize == PixelSize(width: 30, height: 20))
  }

  @Test(
    "a file that is written in place gets no former content version when its time is set back after a scan",
    arguments: [("at its end", 1), ("in its middle", 6000)])
  func timeSetBack(_ place: String, _ bytesBeforeEnd: Int) throws {
    let library = try TemporaryLibrary()
    let bytes = smallJPEG + [UInt8](repeating: 0, count: 12_000)
    try library.put(bytes, "a.jpg")
    let catalogue = try library.catalogue()
    let path = library.root + "/a.jpg"
    func version(at seconds: Int) throws -> ContentVersion {
      var times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
      #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
      try library.scan(catalogue)
      return try #require(try catalogue.everything()["a.jpg"]).contentVersion
    }
    let before = try version(at: 1_600_000_000)
    let descriptor = open(path, O_WRONLY)
    let byte: [UInt8] = [9]
    #expect(pwrite(descriptor, byte, 1, bytes.count - bytesBeforeEnd) == 1)
    close(descriptor)
    let written = try version(at: 1_700_000_000)
    let setBack = try version(at: 1_600_000_000)
    #expect(written != before && setBack != before, "\(place)")
    try library.scan(catalogue)
    #expect(try catalogue.everything()["a.jpg"]?.contentVersion == setBack, "\(place)")
  }

  @Test(
    "a file that is written in place elsewhere and comes back has no former content version",
    arguments: ["nothing", "another file"])
  func writtenElsewhere(_ meanwhile: String) throws {
    let library = try TemporaryLibrary()
    let bytes = smallJPEG + [UInt8](repeating: 0, count: 12_000)
    try library.put(bytes, "a.jpg")
    try library.put(smallPNG, "b.png")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["a.jpg"])
    let (path, outside) = (library.root + "/a.jpg", library.data + "/a.jpg")
    #expect(rename(path, outside) == 0)
    if meanwhile == "another file" { try library.put(smallPNG, "a.jpg") }
    try library.scan(catalogue)
    // Neither its metadata nor its first and last bytes change.
    rewrite(outside, [9], at: bytes.count - 6000)
    #expect(rename(outside, path) == 0)
    try library.scan(catalogue)
    let after = try #require(try catalogue.everything()["a.jpg"])
    #expect(after.original.identity == before.original.identity)
    #expect(after.contentVersion != before.contentVersion)
    #expect(rename(path, library.root + "/c.jpg") == 0)
    try library.scan(catalogue)
    #expect(try catalogue.everything()["c.jpg"]?.contentVersion == after.contentVersion)
  }

  @Test(
    "a file that is written in place has another content version each time, although its ctime is coarse",
    arguments: [("at its end", 1, false), ("in its middle", 6000, true)])
  func coarseChangeTimes(_ place: String, _ bytesBeforeEnd: Int, _ wasWritten: Bool) throws {
    let library = try TemporaryLibrary()
    let bytes = smallJPEG + [UInt8](repeating: 0, count: 12_000)
    try library.put(bytes, "a.jpg")
    let catalogue = try library.catalogue()
    let root = try LibraryFolder(path: library.root)
    let zone = try #require(TimeZone(identifier: "UTC"))
    let probe = FileProbe(root: root, limits: CodecLimits(), timeZone: zone)
    func version(wasWritten: Bool) throws -> ContentVersion {
      var file = probe.probe(Array("a.jpg".utf8))
      file.changeTimeNanoseconds = 1_700_000_000_000_000_000
      file.wasWritten = wasWritten
      try catalogue.store([file])
      return try #require(try catalogue.everything()["a.jpg"]).contentVersion
    }
    var versions = [try version(wasWritten: false)]
    for number: UInt8 in 1...3 {
      rewrite(library.root + "/a.jpg", [number], at: bytes.count - bytesBeforeEnd)
      versions.append(try version(wasWritten: wasWritten))
    }
    #expect(Set(versions).count == 4, "\(place)")
    #expect(try version(wasWritten: false) == versions[3], "\(place)")
  }

  @Test("a scan that reads every file again changes no asset that is as before")
  func readAgain() throws {
    let library = try TemporaryLibrary()
    try library.put(UltraHDRFile.landscape(width: 400, height: 300).encoded, "hdr.jpg")
    try library.put(smallJPEG, "a.jpg")
    try library.put(smallPNG, "b.png")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything()
    #expect(before["hdr.jpg"]?.mediaSubtypes.contains(.photoHDR) == true)
    // Another zone with the same offset.
    let progress = try library.scan(catalogue, timeZone: "Africa/Abidjan")
    #expect(progress.probed == 3)
    #expect(try catalogue.everything() == before)
  }

  @Test("a renamed or moved file stays the same asset; a copy is a new asset")
  func moved() throws {
    let library = try TemporaryLibrary()
    for name in ["m.jpg", "n.jpg", "o.jpg"] { try library.put(smallJPEG, name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything()
    // To a path before its old one in path order, and to one after it.
    try FileManager.default.createDirectory(atPath: library.root + "/a", withIntermediateDirectories: true)
    #expect(rename(library.root + "/m.jpg", library.root + "/a/first.jpg") == 0)
    #expect(rename(library.root + "/n.jpg", library.root + "/zz.jpg") == 0)
    try library.put(smallJPEG, "copy.jpg")
    let progress = try library.scan(catalogue)
    #expect(progress.moved == 2 && progress.removed == 0 && progress.probed == 1)
    let after = try catalogue.everything()
    #expect(after["a/first.jpg"]?.localIdentifier == before["m.jpg"]?.localIdentifier)
    #expect(after["zz.jpg"]?.localIdentifier == before["n.jpg"]?.localIdentifier)
    #expect(after["a/first.jpg"]?.contentVersion == before["m.jpg"]?.contentVersion)
    #expect(Set(after.keys) == ["a/first.jpg", "copy.jpg", "o.jpg", "zz.jpg"])
    #expect(Set(after.values.map(\.localIdentifier)).count == 4)
    #expect(
      try library.scan(catalogue)
        == {
          var same = ScanProgress(); same.files = 4; return same
        }())
  }

  @Test(
    "a photograph that also has a symbolic link keeps its asset when it, or its folder, is renamed",
    arguments: [
      ("b.jpg", "c/x.jpg", "c/x.jpg", "a/y.jpg", "a/y.jpg"), ("z.jpg", "c/x.jpg", "c/x.jpg", "a/y.jpg", "a/y.jpg"),
      ("b", "c", "c/x.jpg", "a/x.jpg", "a/x.jpg"), ("b", "c", "c", "d", "d/x.jpg"), ("z", "c", "c", "d", "d/x.jpg"),
    ])
  func linked(_ link: String, _ target: String, _ from: String, _ to: String, _ path: String) throws {
    for isFull in [true, false] {
      let watched = try WatchedLibrary(removal: 100) { library in
        try library.put(picture(1), "a/other.jpg")
        try library.put(picture(2), "c/x.jpg")
        #expect(symlink(target, library.root + "/" + link) == 0)
      }
      func scan() throws {
        if isFull { try watched.library.scan(watched.catalogue, removal: 100) } else { watched.settle() }
      }
      let before = try #require(try watched.identifiers()["c/x.jpg"])
      watched.move(from, to)
      try scan()
      #expect(try watched.identifiers()[path] == before, "\(link), full: \(isFull)")
      unlink(watched.at(link))
      #expect(symlink(target == from ? to : "a", watched.at(link)) == 0)
      try scan()
      #expect(try watched.identifiers()[path] == before, "\(link) made again, full: \(isFull)")
    }
  }

  @Test("the files of a renamed folder keep their assets, over many batches")
  func movedFolder() throws {
    let library = try TemporaryLibrary()
    for i in 0..<400 { try library.put(smallJPEG, "before/\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything()
    #expect(rename(library.root + "/before", library.root + "/after") == 0)
    let progress = try library.scan(catalogue)
    #expect(progress.moved == 400 && progress.probed == 0 && progress.removed == 0)
    let after = try catalogue.everything()
    #expect(after.count == 400)
    #expect(
      after.allSatisfy { path, asset in
        before[path.replacingOccurrences(of: "after/", with: "before/")]?.localIdentifier == asset.localIdentifier
      })
  }

  @Test("a file that can't be read for a while keeps its asset")
  func illness() throws {
    let library = try TemporaryLibrary()
    for i in 0..<30 { try library.put(smallJPEG, "\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything()
    // 29 of 30 files are overwritten in part. No removal limit applies, because no file is missing.
    for i in 0..<29 { try library.put(Array(smallJPEG[..<40]), "\(i).jpg") }
    #expect(try library.scan(catalogue).unreadable == 29)
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == before.mapValues(\.localIdentifier))
    #expect(try library.scan(catalogue).probed == 29, "it is looked at again")
    for i in 0..<29 { try library.put(smallPNG, "\(i).jpg") }
    try library.scan(catalogue)
    let after = try catalogue.everything()
    #expect(after.mapValues(\.localIdentifier) == before.mapValues(\.localIdentifier))
    #expect(after["1.jpg"]?.pixelSize == PixelSize(width: 30, height: 20))
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test(
    "an edited file with a renamed backup keeps its asset, and the backup is a new asset",
    arguments: ["photo.jpg_original", "a backup.jpg"])
  func backup(_ name: String) throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "photo.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["photo.jpg"])
    #expect(rename(library.root + "/photo.jpg", library.root + "/" + name) == 0)
    try library.put(smallPNG, "photo.jpg")
    try library.scan(catalogue)
    let after = try catalogue.everything()
    #expect(after["photo.jpg"]?.localIdentifier == before.localIdentifier)
    #expect(after["photo.jpg"]?.pixelSize == PixelSize(width: 30, height: 20))
    #expect(after[name]?.pixelSize == PixelSize(width: 32, height: 24))
    #expect(after[name] != nil && after[name]?.localIdentifier != before.localIdentifier)
    unlink(library.root + "/" + name)
    try library.scan(catalogue)
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == ["photo.jpg": before.localIdentifier])
  }

  @Test(
    "a missing file that is written again during the scan keeps its asset",
    arguments: ["deleted before", "renamed before"])
  func writtenAgain(_ how: String) throws {
    let library = try TemporaryLibrary()
    for name in ["a/1.jpg", "m/2.jpg"] { try library.put(smallJPEG, name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything().mapValues(\.localIdentifier)
    let path = library.root + "/a/1.jpg"
    if how == "deleted before" { unlink(path) } else { #expect(rename(path, path + "~") == 0) }
    let isMissing = Atomic(true)
    var environment = LibraryEnvironment.system
    environment.device = { folder, opened in
      // The walk has passed "a".
      if folder == Array("m".utf8), isMissing.exchange(false, ordering: .relaxed) {
        try? Data(smallPNG).write(to: URL(filePath: path))
      }
      return opened.device
    }
    let progress = try library.scan(catalogue, environment: environment)
    #expect(progress.removed == 0 && progress.moved == 0)
    let after = try catalogue.everything()
    #expect(after.mapValues(\.localIdentifier).filter { $0.key != "a/1.jpg~" } == before)
    #expect(after["a/1.jpg"]?.pixelSize == PixelSize(width: 30, height: 20), "it is an edit")
    #expect((after["a/1.jpg~"] != nil) == (how == "renamed before"))
  }

  @Test("files that exchange their names keep their assets, also if one of them has a copy of the same time among them")
  func permutationWithCopy() throws {
    let library = try TemporaryLibrary()
    for number in 0..<3 { try library.put(smallJPEG + [UInt8(number)], "\(number).jpg") }
    try library.put(smallJPEG + [0], "3.jpg")
    func at(_ name: String) -> String { library.root + "/" + name }
    var status = stat()
    #expect(stat(at("0.jpg"), &status) == 0)
    #expect(utimensat(AT_FDCWD, at("3.jpg"), [status.st_atim, status.st_mtim], 0) == 0)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything().mapValues(\.localIdentifier)
    #expect(rename(at("3.jpg"), at("last")) == 0)
    for number in (0..<3).reversed() { #expect(rename(at("\(number).jpg"), at("\(number + 1).jpg")) == 0) }
    #expect(rename(at("last"), at("0.jpg")) == 0)
    try library.scan(catalogue)
    let after = try catalogue.everything().mapValues(\.localIdentifier)
    #expect(after["2.jpg"] == before["1.jpg"] && after["3.jpg"] == before["2.jpg"])
    #expect(Set([after["0.jpg"], after["1.jpg"]]) == Set([before["0.jpg"], before["3.jpg"]]))
  }

  @Test("files that swap names or are renumbered keep their assets")
  func permutation() throws {
    let library = try TemporaryLibrary()
    let sizes = [10, 11, 12, 13, 14]
    for (i, size) in sizes.enumerated() {
      try library.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: size, height: size)), "\(i).jpg")
    }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    func bySize() throws -> [Int: LocalIdentifier] {
      Dictionary(
        uniqueKeysWithValues: try catalogue.everything().values.map { ($0.pixelSize.width, $0.localIdentifier) })
    }
    func paths() throws -> [String: Int] { try catalogue.everything().mapValues(\.pixelSize.width) }
    let before = try bySize()
    func move(_ from: String, _ to: String) { #expect(rename("\(library.root)/\(from)", "\(library.root)/\(to)") == 0) }
    move("0.jpg", "t")
    move("1.jpg", "0.jpg")
    move("t", "1.jpg")
    #expect(try library.scan(catalogue).moved == 2)
    #expect(try bySize() == before)
    #expect(try paths() == ["0.jpg": 11, "1.jpg": 10, "2.jpg": 12, "3.jpg": 13, "4.jpg": 14])
    for i in (0..<5).reversed() { move("\(i).jpg", "\(i + 1).jpg") }
    #expect(try library.scan(catalogue).moved == 5)
    #expect(try bySize() == before)
    #expect(try paths() == ["1.jpg": 11, "2.jpg": 10, "3.jpg": 12, "4.jpg": 13, "5.jpg": 14])
    // One file takes the path of a file that is gone: the path keeps its asset.
    move("1.jpg", "2.jpg")
    let progress = try library.scan(catalogue)
    #expect(progress.removed == 0 && progress.probed == 1)
    var after = before
    after[11] = after.removeValue(forKey: 10)
    #expect(try bySize() == after)
    #expect(try library.scan(catalogue).moved == 0)
  }

  @Test("a rename creates a revision; a scan that finds nothing new creates none")
  func tokens() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    try library.put(Array("text".utf8), "b.txt")
    #expect(symlink("nowhere", library.root + "/c.jpg") == 0)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["a.jpg"])
    let token = try catalogue.assets(after: nil, limit: 1).changeToken
    try library.scan(catalogue)
    #expect(try catalogue.assets(after: nil, limit: 1).changeToken == token)
    #expect(rename(library.root + "/a.jpg", library.root + "/z.jpg") == 0)
    try library.scan(catalogue)
    let after = try #require(try catalogue.everything()["z.jpg"])
    #expect(after.localIdentifier == before.localIdentifier && after.revision != before.revision)
  }

  @Test("after a change of the time zone, one scan reads every file again")
  func otherZone() throws {
    let library = try TemporaryLibrary()
    let exif = EXIFBlock { $0.dateTimeOriginal = "2024:07:03 10:00:00" }
    try library.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 8, height: 8)), "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    #expect(try library.scan(catalogue, timeZone: "Europe/Vienna").probed == 1)
    #expect(try catalogue.everything()["a.jpg"]?.creationDate.milliseconds == 1_719_993_600_000)
    #expect(try library.scan(catalogue, timeZone: "Europe/Vienna").probed == 0)
  }

  @Test("a date beyond the range of 64-bit nanoseconds does no harm")
  func farFuture() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    var times = [timespec(tv_sec: 13_569_465_600, tv_nsec: 0), timespec(tv_sec: 13_569_465_600, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, library.root + "/a.jpg", &times, 0) == 0)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    #expect(try catalogue.everything().count == 1)
  }
}
