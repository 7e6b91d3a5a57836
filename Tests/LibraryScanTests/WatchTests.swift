import Foundation
import LibraryCatalogue
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Changes of files in a watched library.
@Suite("Watching")
struct WatchTests {
  /// A change of a library with `a.jpg`, `b.jpg`, `f/c.jpg`, `f/g/d.jpg` and an empty folder `e`, and the paths of
  /// assets before and after it. Assets that are not named are unchanged; `nil` stands for a deleted or new asset.
  struct Case: CustomStringConvertible, Sendable {
    let description: String
    let kept: [String: String?]
    var new: [String] = []
    let happens: @Sendable (WatchedLibrary) throws -> Void
  }

  static let cases: [Case] = [
    Case(description: "a copy", kept: [:], new: ["n.jpg"]) { try $0.put(picture(9), "n.jpg") },
    Case(description: "a copy to a temporary name beside it, renamed", kept: [:], new: ["n.jpg"]) {
      try $0.put(picture(9), ".n.jpg.Xy12Z")
      $0.move(".n.jpg.Xy12Z", "n.jpg")
    },
    Case(description: "a rename", kept: ["a.jpg": "z.jpg"]) { $0.move("a.jpg", "z.jpg") },
    Case(description: "a rename to another folder", kept: ["a.jpg": "f/g/z.jpg"]) { $0.move("a.jpg", "f/g/z.jpg") },
    Case(description: "a rename again and again", kept: ["a.jpg": "e/4.jpg"]) {
      $0.move("a.jpg", "1.jpg")
      $0.move("1.jpg", "f/2.jpg")
      $0.move("f/2.jpg", "a.jpg")
      $0.move("a.jpg", "e/4.jpg")
    },
    Case(
      description: "a folder renamed with what is in it",
      kept: ["f/c.jpg": "h/c.jpg", "f/g/d.jpg": "h/g/d.jpg"]
    ) { $0.move("f", "h") },
    Case(
      description: "a folder renamed, then something done deep in it",
      kept: ["f/c.jpg": "h/c.jpg", "f/g/d.jpg": "h/i/k.jpg"], new: ["h/i/n.jpg"]
    ) {
      $0.move("f", "h")
      $0.move("h/g", "h/i")
      $0.move("h/i/d.jpg", "h/i/k.jpg")
      try $0.put(picture(9), "h/i/n.jpg")
    },
    Case(description: "a folder moved into another", kept: ["f/g/d.jpg": "e/g/d.jpg"]) { $0.move("f/g", "e/g") },
    Case(description: "replaced by a rename", kept: ["a.jpg": "a.jpg"]) {
      try $0.put(picture(9), ".tmp")
      $0.move(".tmp", "a.jpg")
    },
    Case(description: "one known file takes another's place", kept: ["a.jpg": nil, "b.jpg": "b.jpg"]) {
      $0.move("a.jpg", "b.jpg")
    },
    Case(description: "replaced by a rename of a temporary file that was indexed", kept: ["a.jpg": "a.jpg"]) {
      try $0.put(picture(9), ".a.jpg.Xy12Z")
      $0.settle()
      $0.move(".a.jpg.Xy12Z", "a.jpg")
    },
    Case(description: "overwritten in place", kept: ["a.jpg": "a.jpg"]) { $0.write(picture(99), "a.jpg", O_TRUNC) },
    Case(description: "truncated to half", kept: ["a.jpg": "a.jpg"]) {
      $0.write(Array(picture(0).prefix(picture(0).count / 2)), "a.jpg", O_TRUNC)
    },
    Case(description: "appended to, twice", kept: ["a.jpg": "a.jpg"]) {
      $0.write([1], "a.jpg", O_APPEND)
      $0.write([2], "a.jpg", O_APPEND)
    },
    Case(description: "deleted", kept: ["a.jpg": nil]) { unlink($0.at("a.jpg")) },
    Case(description: "a folder deleted", kept: ["f/c.jpg": nil, "f/g/d.jpg": nil]) {
      try FileManager.default.removeItem(atPath: $0.at("f"))
    },
    Case(description: "deleted and there again", kept: ["a.jpg": "a.jpg"]) {
      unlink($0.at("a.jpg"))
      try $0.put(picture(9), "a.jpg")
    },
    Case(description: "deep folders made with a file at once", kept: [:], new: ["1/2/3/4/n.jpg"]) {
      try $0.put(picture(9), "1/2/3/4/n.jpg")
    },
    Case(description: "a symbolic link", kept: [:], new: ["n.jpg"]) { #expect(symlink("a.jpg", $0.at("n.jpg")) == 0) },
    Case(description: "a symbolic link to a folder", kept: [:], new: ["n/c.jpg", "n/g/d.jpg"]) {
      #expect(symlink("f", $0.at("n")) == 0)
    },
    Case(description: "a symbolic link that leads nowhere", kept: [:]) { #expect(symlink("x", $0.at("n.jpg")) == 0) },
    Case(description: "a hard link", kept: [:], new: ["n.jpg"]) { #expect(link($0.at("a.jpg"), $0.at("n.jpg")) == 0) },
    Case(description: "no right to read it, and back", kept: [:]) {
      #expect(chmod($0.at("a.jpg"), 0) == 0 && chmod($0.at("f"), 0) == 0)
      #expect(chmod($0.at("f"), 0o700) == 0 && chmod($0.at("a.jpg"), 0o600) == 0)
    },
    Case(description: "another time", kept: [:]) {
      var times = [timespec(tv_sec: 1_000_000_000, tv_nsec: 0), timespec(tv_sec: 1_000_000_000, tv_nsec: 0)]
      #expect(utimensat(AT_FDCWD, $0.at("a.jpg"), &times, 0) == 0)
    },
    Case(description: "two names exchanged", kept: ["a.jpg": "f/c.jpg", "f/c.jpg": "a.jpg"]) {
      exchange($0.at("a.jpg"), $0.at("f/c.jpg"))
    },
    Case(
      description: "two folders exchanged",
      kept: ["f/c.jpg": "e/c.jpg", "f/g/d.jpg": "e/g/d.jpg"], new: []
    ) { exchange($0.at("e"), $0.at("f")) },
    Case(description: "moved out", kept: ["a.jpg": nil, "f/c.jpg": nil, "f/g/d.jpg": nil]) {
      $0.move("a.jpg", $0.outside + "/a.jpg")
      $0.move("f", $0.outside + "/f")
    },
    Case(
      description: "moved out, and in again", kept: ["a.jpg": "z.jpg", "f/c.jpg": "y/c.jpg", "f/g/d.jpg": "y/g/d.jpg"]
    ) {
      $0.move("a.jpg", $0.outside + "/a.jpg")
      $0.move("f", $0.outside + "/f")
      $0.move($0.outside + "/a.jpg", "z.jpg")
      $0.move($0.outside + "/f", "y")
    },
    Case(description: "a folder with files moved in", kept: [:], new: ["in/1/n.jpg"]) {
      let folder = $0.outside + "/new/1"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data(picture(9)).write(to: URL(filePath: folder + "/n.jpg"))
      $0.move($0.outside + "/new", "in")
    },
    Case(description: "a folder moved out, and deleted there", kept: ["f/c.jpg": nil, "f/g/d.jpg": nil]) {
      $0.move("f", $0.outside + "/f")
      try FileManager.default.removeItem(atPath: $0.outside + "/f")
    },
    Case(description: "a folder that links lead into deleted", kept: ["f/c.jpg": nil, "f/g/d.jpg": nil]) {
      #expect(symlink("f", $0.at("n")) == 0 && symlink("../../f/g", $0.at("f/g/n")) == 0)
      $0.settle()
      try FileManager.default.removeItem(atPath: $0.at("f"))
    },
    Case(
      description: "what a link leads to moved out, and in again to a name that is looked at later than others",
      kept: ["a.jpg": nil], new: ["y.jpg", "z.jpg"]
    ) {
      #expect(symlink("a.jpg", $0.at("n.jpg")) == 0)
      try $0.put(picture(8), "z.jpg")
      $0.settle()
      $0.move("a.jpg", $0.outside + "/a.jpg")
      unlink($0.at("z.jpg"))
      $0.settle()
      $0.move($0.outside + "/a.jpg", "z.jpg")
      try $0.put(picture(9), "y.jpg")
    },
    Case(description: "hidden by a folder's name", kept: ["f/c.jpg": nil, "f/g/d.jpg": nil]) { $0.move("f", ".f") },
    Case(description: "a file in a hidden folder", kept: [:]) { try $0.put(picture(9), ".h/n.jpg") },
    Case(description: "a folder where a file was", kept: ["a.jpg": nil], new: ["a.jpg/n.jpg"]) {
      unlink($0.at("a.jpg"))
      try $0.put(picture(9), "a.jpg/n.jpg")
    },
    Case(description: "a file where a folder was", kept: ["f/c.jpg": nil, "f/g/d.jpg": nil], new: ["f"]) {
      try FileManager.default.removeItem(atPath: $0.at("f"))
      try $0.put(picture(9), "f")
    },
    Case(description: "made and gone again", kept: [:]) {
      try $0.put(picture(9), "x/y/n.jpg")
      try FileManager.default.removeItem(atPath: $0.at("x"))
    },
    Case(description: "no picture", kept: [:]) { try $0.put(Array("text".utf8), "n.txt") },
    Case(description: "written through a mapping", kept: ["a.jpg": "a.jpg"]) { watched in
      let descriptor = open(watched.at("a.jpg"), O_RDWR)
      let page = mmap(nil, 64, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
      close(descriptor)
      watched.settle()
      page?.storeBytes(of: 0xFF, toByteOffset: 30, as: UInt8.self)
      munmap(page, 64)
    },
  ]

  private static func exchange(_ one: String, _ other: String) {
    #expect(exchangeNames(one, other))
  }

  @Test(
    "each kind of file change reaches the catalogue within a moment, as a full scan would record it", arguments: cases)
  func happens(_ given: Case) throws {
    let watched = try WatchedLibrary(removal: 100) { library in
      for (number, name) in ["a.jpg", "b.jpg", "f/c.jpg", "f/g/d.jpg"].enumerated() {
        try library.put(picture(number), name)
      }
      mkdir(library.root + "/e", 0o700)
    }
    let before = try watched.identifiers()
    let contents = try watched.catalogue.everything().mapValues(\.contentVersion)
    try given.happens(watched)
    watched.settle()
    #expect(watched.rescans == 0)
    var expected = before
    for path in given.kept.keys { expected[path] = nil }
    for case (let path, let now?) in given.kept { expected[now] = before[path] }
    let after = try watched.identifiers()
    #expect(after.filter { !given.new.contains($0.key) } == expected)
    #expect(Set(given.new).isSubset(of: after.keys))
    #expect(Set(given.new.compactMap { after[$0] }).isDisjoint(with: before.values))
    for (path, now) in given.kept where now == path && given.description != "truncated to half" {
      #expect(try watched.catalogue.everything()[path]?.contentVersion != contents[path], "\(path) has changed")
    }
    try watched.expectNothingLeft()
    // The renamed folder is still watched at its new place.
    for folder in Set(after.keys.map { $0.split(separator: "/").dropLast().joined(separator: "/") }) {
      try watched.put(picture(77), (folder.isEmpty ? "" : folder + "/") + "later.jpg")
    }
    watched.settle()
    try watched.expectNothingLeft("afterwards")
    // So are new folders that take the paths of deleted ones.
    let folders = watched.watcher.statistics.folders
    for name in ["p", "q", "r"] { try watched.put(picture(78), name + "/first.jpg") }
    watched.settle()
    #expect(watched.watcher.statistics.folders == folders + 3)
    for name in ["p", "q", "r"] { try watched.put(picture(79), name + "/later.jpg") }
    watched.settle()
    try watched.expectNothingLeft("in new folders")
    #expect(watched.rescans == 0)
  }

  @Test(
    "a file that is saved with a renamed backup keeps its asset, although a scan finds its name free",
    arguments: ["a.jpg_original", "a.jpg~"], [true, false])
  func backup(_ name: String, _ isDeleted: Bool) throws {
    let watched = try WatchedLibrary(removal: 100) { library in
      for (number, name) in ["a.jpg", "b.jpg"].enumerated() { try library.put(picture(number), name) }
    }
    let before = try watched.identifiers()
    watched.move("a.jpg", name)
    #expect(watched.settle(for: .milliseconds(200)).count == 1)
    #expect(try watched.identifiers() == before)
    try watched.put(smallPNG, "a.jpg")
    if isDeleted { unlink(watched.at(name)) }
    watched.settle()
    #expect(try watched.catalogue.everything()["a.jpg"]?.pixelSize == PixelSize(width: 30, height: 20))
    var after = try watched.identifiers()
    #expect((after.removeValue(forKey: name) == nil) == isDeleted)
    #expect(after == before)
    try watched.expectNothingLeft()
  }

  @Test(
    "a photograph that is renamed keeps its asset, although a copy of it soon appears under its former name",
    arguments: ["a/x.jpg", "z/x.jpg"], [0, 300, 600])
  func copyOfRenamed(_ copy: String, _ milliseconds: Int) throws {
    let watched = try WatchedLibrary(removal: 100) { try $0.put(picture(0), "m/x.jpg") }
    let before = try #require(try watched.identifiers()["m/x.jpg"])
    watched.move("m/x.jpg", "m/holiday.jpg")
    if milliseconds > 0 { watched.settle(for: .milliseconds(milliseconds)) }
    try watched.put(picture(0), copy)
    watched.settle()
    let after = try watched.identifiers()
    #expect(Set(after.keys) == ["m/holiday.jpg", copy])
    #expect(after["m/holiday.jpg"] == before)
    try watched.expectNothingLeft()
    #expect(watched.rescans == 0)
  }

  @Test(
    "photographs that are renumbered keep their assets, although copies of them appear in another folder",
    arguments: ["a", "z"], [true, false])
  func copiesOfRenumbered(_ folder: String, _ isFull: Bool) throws {
    // More than the first batch of a scan holds.
    let count = 40
    let watched = try WatchedLibrary(removal: 100) { library in
      for number in 0..<count { try library.put(picture(number), "m/\(number).jpg") }
    }
    let before = try watched.identifiers()
    for number in (0..<count).reversed() { watched.move("m/\(number).jpg", "m/\(number + 1).jpg") }
    for number in 0..<count { try watched.put(picture(number), "\(folder)/\(number).jpg") }
    if isFull { try watched.library.scan(watched.catalogue, removal: 100) } else { watched.settle() }
    let after = try watched.identifiers()
    #expect(after.count == 2 * count)
    for number in 0..<count { #expect(after["m/\(number + 1).jpg"] == before["m/\(number).jpg"], "\(number)") }
    try watched.expectNothingLeft()
  }

  @Test("a file that was written in place and got its old time back has another content version")
  func rewritten() throws {
    // Neither its metadata nor its first and last bytes change.
    let padding = [UInt8](repeating: 0, count: 10_000)
    let watched = try WatchedLibrary { try $0.put(smallJPEG + padding, "a.jpg") }
    let before = try #require(try watched.catalogue.everything()["a.jpg"])
    rewrite(watched.at("a.jpg"), [1], at: smallJPEG.count + 5000)
    watched.settle()
    let after = try #require(try watched.catalogue.everything()["a.jpg"])
    #expect(after.localIdentifier == before.localIdentifier && after.contentVersion != before.contentVersion)
    #expect(chmod(watched.at("a.jpg"), 0o640) == 0)
    watched.settle()
    #expect(try watched.catalogue.everything()["a.jpg"] == after)
    try watched.expectNothingLeft()
  }

  @Test("the other names of a file that was written in place and got its old time back change with it")
  func rewrittenUnderAnotherName() throws {
    // Neither its metadata nor its first and last bytes change.
    let padding = [UInt8](repeating: 0, count: 10_000)
    let watched = try WatchedLibrary { library in
      try library.put(smallJPEG + padding, "a.jpg")
      mkdir(library.root + "/z", 0o700)
      #expect(link(library.root + "/a.jpg", library.root + "/z/hard.jpg") == 0)
      #expect(symlink("a.jpg", library.root + "/soft.jpg") == 0)
    }
    let names: Set<String> = ["a.jpg", "soft.jpg", "z/hard.jpg"]
    for name in names.sorted() {
      let before = try watched.catalogue.everything()
      #expect(Set(before.keys) == names)
      rewrite(watched.at(name), [1], at: smallJPEG.count + 5000)
      watched.settle()
      let after = try watched.catalogue.everything()
      #expect(after.mapValues(\.localIdentifier) == before.mapValues(\.localIdentifier))
      let unchanged = names.filter { after[$0]?.contentVersion == before[$0]?.contentVersion }
      #expect(unchanged.isEmpty, "written as \(name)")
    }
    try watched.expectNothingLeft()
  }

  @Test("a file that was replaced often is removed, although a new folder waits to be scanned meanwhile")
  func removalAfterManyReplacements() throws {
    let watched = try WatchedLibrary(removal: 100) { try $0.put(picture(0), "keep.jpg") }
    let folder = watched.at("folder")
    // Each scan of a path makes its next one wait longer, for 2 s at most; the folder's last scan is the later one.
    for number in 1...6 {
      try watched.put(picture(number), ".tmp")
      watched.move(".tmp", "a.jpg")
      mkdir(folder, 0o700)
      watched.settle()
      rmdir(folder)
      watched.settle()
    }
    #expect(try watched.identifiers()["a.jpg"] != nil)
    try watched.put(picture(7), ".tmp")
    watched.move(".tmp", "a.jpg")
    unlink(watched.at("a.jpg"))
    mkdir(folder, 0o700)
    watched.settle()
    try watched.expectNothingLeft()
    #expect(watched.rescans == 0)
  }
}
