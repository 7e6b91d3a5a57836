import Foundation
import LibraryFixtures
import LibraryScan
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Which known file a found one is, if its inode or its content may be those of several, or of none.
@Suite("Known files under other names")
struct KnownFileTests {
  private static func scan(_ watched: WatchedLibrary, isFull: Bool) throws {
    if isFull { try watched.library.scan(watched.catalogue, removal: 100) } else { watched.settle() }
  }

  private static func setTime(_ path: String, in library: TemporaryLibrary) {
    var times = [timespec(tv_sec: 1_700_000_000, tv_nsec: 5), timespec(tv_sec: 1_700_000_000, tv_nsec: 5)]
    #expect(utimensat(AT_FDCWD, library.root + "/" + path, &times, 0) == 0)
  }

  /// Writes a file in place, so that it keeps its inode.
  private static func overwrite(_ path: String, _ bytes: [UInt8], in library: TemporaryLibrary) {
    let descriptor = open(library.root + "/" + path, O_WRONLY | O_TRUNC)
    #expect(write(descriptor, bytes, bytes.count) == bytes.count)
    close(descriptor)
    setTime(path, in: library)
  }

  private static func move(_ from: String, _ to: String, in library: TemporaryLibrary) {
    #expect(rename("\(library.root)/\(from)", "\(library.root)/\(to)") == 0)
  }

  @Test("each file of a copied library keeps its asset, also if its inode was another one's of the same size and time")
  func copiedLibrary() throws {
    let library = try TemporaryLibrary()
    for number in 0..<5 {
      try library.put(picture(number), "\(number).jpg")
      Self.setTime("\(number).jpg", in: library)
    }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything().mapValues(\.localIdentifier)
    for number in 0..<5 { Self.move("\(number).jpg", ".\(number)", in: library) }
    for number in 0..<5 {
      Self.move(".\((number + 1) % 5)", "\(number).jpg", in: library)
      Self.overwrite("\(number).jpg", picture(number), in: library)
    }
    let progress = try library.scan(catalogue)
    #expect(progress.moved == 0 && progress.removed == 0)
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == before)
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("a new file with the inode, size and time of a deleted one is another asset")
  func reusedInode() throws {
    let library = try TemporaryLibrary()
    for number in 0..<2 {
      try library.put(picture(number), "\(number).jpg")
      Self.setTime("\(number).jpg", in: library)
    }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything().mapValues(\.localIdentifier)
    Self.move("0.jpg", "new.jpg", in: library)
    Self.overwrite("new.jpg", picture(2), in: library)
    let progress = try library.scan(catalogue)
    #expect(progress.moved == 0 && progress.removed == 1 && progress.probed == 1)
    let after = try catalogue.everything().mapValues(\.localIdentifier)
    #expect(Set(after.keys) == ["1.jpg", "new.jpg"] && after["1.jpg"] == before["1.jpg"])
    #expect(after["new.jpg"] != before["0.jpg"])
  }

  @Test(
    "the names of one file keep their assets when their folder is renamed", arguments: ["hard", "symbolic"],
    [true, false])
  func linksInRenamedFolder(_ kind: String, _ isFull: Bool) throws {
    let watched = try WatchedLibrary(removal: 100) { try $0.put(picture(1), "d/b.jpg") }
    // The later row has the earlier name.
    if kind == "hard" {
      #expect(link(watched.at("d/b.jpg"), watched.at("d/a.jpg")) == 0)
    } else {
      #expect(symlink("b.jpg", watched.at("d/a.jpg")) == 0)
    }
    try Self.scan(watched, isFull: isFull)
    let before = try watched.identifiers()
    try #require(Set(before.keys) == ["d/a.jpg", "d/b.jpg"])
    watched.move("d", "e")
    try Self.scan(watched, isFull: isFull)
    let after = try watched.identifiers()
    #expect(after.count == 2)
    #expect(after["e/a.jpg"] == before["d/a.jpg"] && after["e/b.jpg"] == before["d/b.jpg"])
    try watched.expectNothingLeft()
  }

  @Test("hard links whose names differ only in case are two files", arguments: [true, false])
  func linksOfOtherCase(_ isFull: Bool) throws {
    let watched = try WatchedLibrary(removal: 100) { try $0.put(picture(1), "d/a.jpg") }
    let before = try watched.identifiers()
    #expect(link(watched.at("d/a.jpg"), watched.at("d/A.JPG")) == 0)
    try Self.scan(watched, isFull: isFull)
    let both = try watched.identifiers()
    #expect(both.count == 2 && both["d/a.jpg"] == before["d/a.jpg"])
    watched.move("d/a.jpg", "d/b.jpg")
    try Self.scan(watched, isFull: isFull)
    let after = try watched.identifiers()
    #expect(after.count == 2 && after["d/A.JPG"] == both["d/A.JPG"] && after["d/b.jpg"] == both["d/a.jpg"])
    try watched.expectNothingLeft()
  }

  @Test("one of many hard links that is renamed keeps its asset", arguments: [true, false])
  func manyLinks(_ isFull: Bool) throws {
    let watched = try WatchedLibrary(removal: 100) { library in
      try library.put(picture(1), "10.jpg")
      for number in 11..<32 { #expect(link(library.root + "/10.jpg", library.root + "/\(number).jpg") == 0) }
    }
    var expected = try watched.identifiers()
    try #require(expected.count == 22)
    watched.move("31.jpg", "new.jpg")
    try Self.scan(watched, isFull: isFull)
    expected["new.jpg"] = expected.removeValue(forKey: "31.jpg")
    #expect(try watched.identifiers() == expected)
    try watched.expectNothingLeft()
  }

  @Test(
    "a renamed photograph keeps its asset, whatever has its former name then",
    arguments: ["a folder", "a pipe", "a link out of the library", "a link to itself"], [true, false])
  func formerNameOfNoFile(_ what: String, _ isFull: Bool) throws {
    let watched = try WatchedLibrary(removal: 100) { library in
      try library.put(picture(1), "Trip")
      // A copy must not get the asset.
      try library.put(picture(1), "copies/Trip")
    }
    let before = try watched.identifiers()
    watched.move("Trip", "Trip.jpg")
    switch what {
    case "a folder": #expect(mkdir(watched.at("Trip"), 0o700) == 0)
    case "a pipe": #expect(mkfifo(watched.at("Trip"), 0o600) == 0)
    case "a link to itself": #expect(symlink("Trip", watched.at("Trip")) == 0)
    default: #expect(symlink(watched.outside, watched.at("Trip")) == 0)
    }
    try Self.scan(watched, isFull: isFull)
    let after = try watched.identifiers()
    #expect(after["Trip.jpg"] == before["Trip"] && after["copies/Trip"] == before["copies/Trip"], "\(what)")
    #expect(after.count == 2)
    try watched.expectNothingLeft(what)
  }

  @Test("a file that is still there behind three links to folders is removed, because a walk no longer comes to it")
  func thirdLink() throws {
    let watched = try WatchedLibrary(removal: 100) { library in
      try library.put(picture(1), "a/1.jpg")
      try library.put(picture(2), "b/2.jpg")
      try library.put(picture(3), "c/3.jpg")
      #expect(symlink("../b", library.root + "/a/l") == 0 && symlink("../c", library.root + "/b/m") == 0)
    }
    let unmoved: Set<String> = ["b/2.jpg", "b/m/3.jpg", "c/3.jpg"]
    let before: Set<String> = ["a/1.jpg", "a/l/2.jpg", "a/l/m/3.jpg"]
    try #require(Set(try watched.identifiers().keys) == unmoved.union(before))
    watched.move("a", "d")
    #expect(symlink("d", watched.at("a")) == 0)
    watched.settle()
    let after: Set<String> = ["a/1.jpg", "a/l/2.jpg", "d/1.jpg", "d/l/2.jpg", "d/l/m/3.jpg"]
    #expect(Set(try watched.identifiers().keys) == unmoved.union(after))
    try watched.expectNothingLeft()
  }

  @Test("the asset of a link to a file is removed when the file is gone", arguments: [true, false])
  func brokenLink(_ isFull: Bool) throws {
    let watched = try WatchedLibrary(removal: 100) { library in
      try library.put(picture(1), "a/p.jpg")
      try library.put(picture(2), "a/q.jpg")
      #expect(symlink("p.jpg", library.root + "/a/l.jpg") == 0)
    }
    try #require(Set(try watched.identifiers().keys) == ["a/l.jpg", "a/p.jpg", "a/q.jpg"])
    #expect(unlink(watched.at("a/p.jpg")) == 0)
    try Self.scan(watched, isFull: isFull)
    #expect(Set(try watched.identifiers().keys) == ["a/q.jpg"])
    try watched.expectNothingLeft()
  }
}
