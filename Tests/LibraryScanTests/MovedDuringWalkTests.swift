import Foundation
import ImageCodec
import LibraryFixtures
import LibraryFolder
import PhotoModel
import Synchronization
import Testing

@testable import LibraryCatalogue
@testable import LibraryScan

#if canImport(Glibc)
  import Glibc
#endif

/// Other programs and clients change the library while a scan walks through it.
@Suite("Changes during a scan")
struct MovedDuringWalkTests {
  /// The environment of a scan in which something happens when the walk enters a folder for the first time.
  private static func environment(
    entering folder: String, _ action: @escaping @Sendable () -> Void
  ) -> LibraryEnvironment {
    let isFirst = Atomic(true)
    var environment = LibraryEnvironment.system
    environment.device = { path, opened in
      if path == Array(folder.utf8), isFirst.exchange(false, ordering: .relaxed) { action() }
      return opened.device
    }
    return environment
  }

  /// Files that differ in their last bytes, by name.
  private static func put(_ names: [String], _ library: TemporaryLibrary) throws {
    for name in names { try library.put(smallJPEG + Array(name.utf8), name) }
  }

  @Test(
    "files and folders that are moved during the scan to a folder already scanned keep their assets",
    arguments: [("the same clock", 0), ("a clock an hour behind", 3600), ("a clock an hour ahead", -3600)])
  func movedMeanwhile(_ fileSystem: String, _ seconds: Int) throws {
    let library = try TemporaryLibrary()
    for name in ["a/0.jpg", "m/1.jpg", "z/2.jpg", "z/s/t/3.jpg", "z/4.jpg"] { try library.put(smallJPEG, name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything().mapValues(\.localIdentifier)
    // The walk has passed "a".
    var environment = Self.environment(entering: "m") { [root = library.root] in
      _ = rename(root + "/z/2.jpg", root + "/a/2.jpg")
      _ = rename(root + "/z/s", root + "/a/s")
      _ = unlink(root + "/z/4.jpg")
    }
    environment.now = { LibraryEnvironment.system.now() + Int64(seconds) * 1_000_000_000 }
    let progress = try library.scan(catalogue, environment: environment)
    #expect(progress.moved == 2 && progress.removed == 1 && progress.probed == 0)
    let after = try catalogue.everything().mapValues(\.localIdentifier)
    #expect(Set(after.keys) == ["a/0.jpg", "a/2.jpg", "a/s/t/3.jpg", "m/1.jpg"])
    #expect(after["a/2.jpg"] == before["z/2.jpg"] && after["a/s/t/3.jpg"] == before["z/s/t/3.jpg"])
  }

  @Test(
    "a new file, or its folder, that is renamed after the scan has stored it has one asset", arguments: [false, true])
  func renamedAfterItWasStored(_ isFolder: Bool) throws {
    let library = try TemporaryLibrary()
    // More than a batch.
    try Self.put((0..<40).map { "a/\($0).jpg" } + ["m/1.jpg", "z/2.jpg"], library)
    let catalogue = try library.catalogue()
    let environment = Self.environment(entering: "m") { [root = library.root] in
      _ = isFolder ? rename(root + "/a", root + "/z/a") : rename(root + "/a/0.jpg", root + "/z/0.jpg")
    }
    let progress = try library.scan(catalogue, environment: environment)
    #expect(progress.moved > 0 && progress.unreadable == 0)
    let found = try catalogue.everything().mapValues(\.localIdentifier)
    #expect(found.count == 42 && found["a/0.jpg"] == nil)
    #expect(found[isFolder ? "z/a/0.jpg" : "z/0.jpg"] != nil)
    #expect(try library.scan(catalogue).removed == 0)
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == found)
  }

  @Test("files that exchange or shift their names during the scan keep their assets", arguments: ["cycle", "shift"])
  func renumberedMeanwhile(_ how: String) throws {
    let library = try TemporaryLibrary()
    let names = ["a", "b", "c", "m", "x", "y", "z"].map { $0 + "/1.jpg" }
    try Self.put(names, library)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    if how == "shift" {
      #expect(unlink(library.root + "/a/1.jpg") == 0)
      try library.scan(catalogue)
    }
    let before = try catalogue.everything().mapValues(\.localIdentifier)
    // The walk has passed the first three when each file gets the name of the one before it.
    let environment = Self.environment(entering: "m") { [root = library.root] in
      if how == "cycle" { _ = rename(root + "/a/1.jpg", root + "/first") }
      for (name, next) in zip(names, names.dropFirst()) { _ = rename(root + "/" + next, root + "/" + name) }
      if how == "cycle" { _ = rename(root + "/first", root + "/z/1.jpg") }
    }
    try library.scan(catalogue, environment: environment)
    var expected: [String: LocalIdentifier] = [:]
    for (name, next) in zip(names, names.dropFirst()) { expected[name] = before[next] }
    if how == "cycle" { expected["z/1.jpg"] = before["a/1.jpg"] }
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == expected)
  }

  @Test("if the asset of a renamed file is deleted during the scan, an upload that gets its row number is not moved")
  func rowNumberUsedAgain() throws {
    let library = try TemporaryLibrary()
    try Self.put(["b/1.jpg", "z/2.jpg", "a/9.jpg"], library)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    try library.put(smallJPEG + [9], "a/newest.jpg")
    try library.scan(catalogue)
    let newest = try #require(try catalogue.knownFile(at: Array("a/newest.jpg".utf8)))
    #expect(rename(library.root + "/a/newest.jpg", library.root + "/b/newest.jpg") == 0)
    let probe = FileProbe(
      root: try LibraryFolder(path: library.root), limits: CodecLimits(),
      timeZone: try #require(TimeZone(identifier: "UTC")))
    let environment = Self.environment(entering: "z") { [root = library.root] in
      do {
        try catalogue.remove([newest.id])
        try Data(smallPNG).write(to: URL(filePath: root + "/a/upload.png"))
        try catalogue.store([probe.probe(Array("a/upload.png".utf8))])
      } catch {
        Issue.record(error)
      }
    }
    try library.scan(catalogue, environment: environment)
    #expect(try catalogue.knownFile(at: Array("a/upload.png".utf8))?.id == newest.id, "the test needs this")
    #expect(try Set(catalogue.everything().keys) == ["a/9.jpg", "a/upload.png", "b/1.jpg", "b/newest.jpg", "z/2.jpg"])
  }

  /// Asks a question when the scan reads the time, once there is one.
  private final class Question: Sendable {
    let isTrue = Mutex<(@Sendable () -> Bool)?>(nil)
    let answers = Mutex<[Bool]>([])

    func ask() {
      guard let isTrue = isTrue.withLock({ $0 }) else { return }
      let answer = isTrue()
      answers.withLock { $0.append(answer) }
    }
  }

  @Test(
    "a renamed file is in transit until the scan that finds it has ended, also when that scan has begun",
    arguments: [(false, Duration.zero), (true, Duration.zero), (true, Duration.seconds(3600))])
  func inTransit(_ hasLostEvents: Bool, _ settleTime: Duration) throws {
    let question = Question()
    var environment = LibraryEnvironment.system
    environment.now = {
      question.ask()
      return LibraryEnvironment.system.now()
    }
    let watched = try WatchedLibrary(settleTime: settleTime, removal: 100, environment: environment) {
      try Self.put(["a.jpg", "b.jpg"], $0)
    }
    watched.settle()
    let root = try LibraryFolder(path: watched.root)
    let renamed = try root.open(Array("a.jpg".utf8)).identity
    let isInTransit: @Sendable () -> Bool = { [watcher = watched.watcher] in
      watcher.filesInTransit(in: root).contains(renamed)
    }
    #expect(!isInTransit())
    watched.move("a.jpg", "c.jpg")
    #expect(isInTransit())
    if hasLostEvents {
      // A full scan replaces the pending path.
      watched.watcher.handle([FolderEvent(watch: -1, kinds: .overflow)])
      #expect(isInTransit())
    }
    question.isTrue.withLock { $0 = isInTransit }
    if settleTime > .zero {
      // The full scan holds the file back, because it may still be written.
      watched.settle(for: .seconds(5))
      #expect(watched.rescans == 1 && isInTransit())
      #expect(try watched.identifiers()["c.jpg"] == nil)
    }
    watched.settle()
    // The watcher has the environment, which must not keep it.
    question.isTrue.withLock { $0 = nil }
    let firstAnswer = question.answers.withLock { $0.first }
    #expect(firstAnswer == true)
    #expect(!isInTransit())
  }
}
