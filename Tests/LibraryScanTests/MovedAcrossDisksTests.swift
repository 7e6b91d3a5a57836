import Foundation
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A file that was moved to another disk has another inode, and may have another time. It is recognised by its content.
@Suite("Files moved between disks")
struct MovedAcrossDisksTests {
  private func picture(_ side: Int) -> [UInt8] {
    JPEGFile { _ in }.encoded(Pixels.orientationCard(width: side, height: side))
  }

  /// Moves a file as `mv` does between two disks: a new file with the same bytes and usually the same time.
  private func move(_ from: String, _ to: String, in library: TemporaryLibrary, keepsTime: Bool = true) throws {
    var status = stat()
    try #require(stat(library.root + "/" + from, &status) == 0)
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: library.root + "/" + from)))
    try library.put(bytes, to)
    var times =
      keepsTime
      ? [status.st_atim, status.st_mtim] : [timespec(tv_sec: 5, tv_nsec: 5), timespec(tv_sec: 5, tv_nsec: 5)]
    #expect(utimensat(AT_FDCWD, library.root + "/" + to, &times, 0) == 0)
    unlink(library.root + "/" + from)
  }

  @Test(
    "a file with the same fingerprint is a moved file if its time or its name is the same",
    arguments: [
      ("another name, the same time", "a.jpg", "b/c.jpg", true, true),
      ("the same name, another time", "a.jpg", "b/a.jpg", false, true),
      ("another name and another time", "a.jpg", "b/c.jpg", false, false),
    ])
  func confirmed(_ name: String, _ from: String, _ to: String, _ keepsTime: Bool, _ isSame: Bool) throws {
    let library = try TemporaryLibrary()
    try library.put(picture(20), from)
    try library.put(picture(21), "other.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything()
    try move(from, to, in: library, keepsTime: keepsTime)
    let progress = try library.scan(catalogue)
    let after = try catalogue.everything()
    #expect(Set(after.keys) == [to, "other.jpg"])
    #expect((after[to]?.localIdentifier == before[from]?.localIdentifier) == isSame, "\(name)")
    #expect(progress.moved == (isSame ? 1 : 0) && progress.removed == (isSame ? 0 : 1))
    #expect(after["other.jpg"] == before["other.jpg"])
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("a copy is a new asset while the original exists, and keeps the asset if the original is gone")
  func copy() throws {
    let library = try TemporaryLibrary()
    try library.put(picture(20), "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["a.jpg"])
    try library.put(picture(20), "b/a.jpg")
    try library.scan(catalogue)
    let both = try catalogue.everything()
    #expect(both.count == 2 && both["a.jpg"]?.localIdentifier == before.localIdentifier)
    unlink(library.root + "/a.jpg")
    try library.scan(catalogue)
    let after = try catalogue.everything()
    #expect(after.mapValues(\.localIdentifier) == ["b/a.jpg": try #require(both["b/a.jpg"]).localIdentifier])
  }

  @Test("files that differ only in the middle are distinguished by their metadata")
  func hint() throws {
    let library = try TemporaryLibrary()
    // Two files of the same size with equal first and last bytes and different dates.
    func photograph(_ date: String) -> [UInt8] {
      let exif = EXIFBlock { $0.dateTimeOriginal = date }
      var bytes = JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 20, height: 20))
      // A comment of 20,000 bytes before the EXIF, so that the first bytes are the same.
      bytes.insert(contentsOf: [0xFF, 0xFE, 0x4E, 0x20] + [UInt8](repeating: 0x20, count: 0x4E20 - 2), at: 2)
      return bytes + [UInt8](repeating: 0, count: 10_000)
    }
    try library.put(photograph("2024:05:06 07:08:09"), "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["a.jpg"])
    unlink(library.root + "/a.jpg")
    try library.put(photograph("2024:05:06 07:08:10"), "b/a.jpg")
    try library.scan(catalogue)
    #expect(try catalogue.everything()["b/a.jpg"]?.localIdentifier != before.localIdentifier)
  }

  @Test("of several identical moved files, each is matched by its name")
  func several() throws {
    let library = try TemporaryLibrary()
    for i in 0..<5 { try library.put(picture(20), "\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything()
    for i in 0..<5 { try move("\(i).jpg", "moved/\(i).jpg", in: library, keepsTime: false) }
    #expect(try library.scan(catalogue).moved == 5)
    let after = try catalogue.everything()
    for i in 0..<5 { #expect(after["moved/\(i).jpg"]?.localIdentifier == before["\(i).jpg"]?.localIdentifier) }
  }

  @Test("of many identical copies of the same time, each is matched by its name, and a renamed one by what is left")
  func identical() throws {
    let library = try TemporaryLibrary()
    let names = ["d", "x", "a", "k", "z", "b", "m", "c", "y", "e", "w", "f"]
    // The new name comes before all others.
    func copy(of name: String) -> String { name == "m" ? "e/0.jpg" : "e/\(name).jpg" }
    func put(_ path: String) throws {
      try library.put(picture(20), path)
      var times = [timespec(tv_sec: 5, tv_nsec: 5), timespec(tv_sec: 5, tv_nsec: 5)]
      #expect(utimensat(AT_FDCWD, library.root + "/" + path, &times, 0) == 0)
    }
    let catalogue = try library.catalogue()
    // The order of the rows is not that of the names.
    for name in names {
      try put("d/\(name).jpg")
      try library.scan(catalogue)
    }
    let before = try catalogue.everything().mapValues(\.localIdentifier)
    for name in names { try put(copy(of: name)) }
    for name in names { unlink(library.root + "/d/\(name).jpg") }
    #expect(try library.scan(catalogue).moved == names.count)
    let after = try catalogue.everything().mapValues(\.localIdentifier)
    for name in names { #expect(after[copy(of: name)] == before["d/\(name).jpg"], "\(name)") }
  }
}
