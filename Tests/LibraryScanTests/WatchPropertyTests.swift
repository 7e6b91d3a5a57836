import Dispatch
import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryFixtures
import LibraryScan
import Logging
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Random sequences of file changes.
@Suite("Watching random changes")
struct WatchPropertyTests {
  private static let folders = ["", "a", "b", "a/c", "b/d", "a/c/e", ".h"]

  /// One random change, on a tree with few different names, so that names collide.
  ///
  /// - Parameter links: files may have several names.
  /// - Returns: a description, for the message of a failure.
  private static func step(
    _ root: String, _ outside: String, links: Bool = true, _ numbers: inout SplitMix
  ) -> String {
    var done: [String] = []
    func rename(_ from: String, _ to: String) { did("rename", Glibc.rename(from, to) == 0, from, to) }
    func unlink(_ path: String) { did("unlink", Glibc.unlink(path) == 0, path) }
    func did(_ what: String, _ isDone: Bool, _ paths: String...) {
      if isDone {
        done.append(
          ([what] + paths.map { $0.hasPrefix(root) ? String($0.dropFirst(root.count)) : "outside" }).joined(
            separator: " "))
      }
    }
    let files = FileManager.default
    func folder() -> String { root + "/" + folders.randomElement(using: &numbers)! }
    func file() -> String { folder() + "/\(Int.random(in: 0..<5, using: &numbers)).jpg" }
    func content() -> [UInt8] { picture(Int.random(in: 0..<1_000_000, using: &numbers)) }
    func write(_ path: String, _ flags: Int32) {
      mkpath((path as NSString).deletingLastPathComponent)
      let descriptor = open(path, O_WRONLY | flags, 0o600)
      did("write \(flags)", descriptor >= 0, path)
      guard descriptor >= 0 else { return }
      let bytes = content()
      // In two writes, with other changes in between.
      _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress!, 300) }
      _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + 300, $0.count - 300) }
      close(descriptor)
    }
    func mkpath(_ path: String) { try? files.createDirectory(atPath: path, withIntermediateDirectories: true) }
    switch Int.random(in: links ? 0..<27 : 2..<25, using: &numbers) {
    case 2...5: write(file(), O_CREAT | O_TRUNC)
    case 6: write(file(), O_APPEND)
    case 7: write(file(), O_TRUNC)
    case 8, 9: unlink(file())
    case 10...13:
      let to = file()
      mkpath((to as NSString).deletingLastPathComponent)
      rename(file(), to)
    case 14, 15: rename(folder(), folder())
    case 16:
      let folder = root + "/" + ["a", "b", "a/c"].randomElement(using: &numbers)!
      did("remove", (try? files.removeItem(atPath: folder)) != nil, folder)
    case 17:
      let (one, other) = (file(), file())
      did("exchange", exchangeNames(one, other), one, other)
    case 18:
      let (one, other) = (folder(), folder())
      did("exchange", exchangeNames(one, other), one, other)
    case 0, 25:
      let (one, other) = (file(), file())
      did("link", link(one, other) == 0, one, other)
    case 1, 26:
      let target = ["1.jpg", "a", "b/d", "a/2.jpg", "nowhere"].randomElement(using: &numbers)!
      let name = "l\(Int.random(in: 0..<3, using: &numbers))"
      unlink(root + "/" + name)
      did("symlink \(target)", symlink(target, root + "/" + name) == 0, root + "/" + name)
    case 19: rename(file(), outside + "/\(Int.random(in: 0..<3, using: &numbers)).jpg")
    case 20: rename(outside + "/\(Int.random(in: 0..<3, using: &numbers)).jpg", file())
    case 22:
      rename(
        root + "/" + ["a", "b", "a/c"].randomElement(using: &numbers)!,
        outside + "/gone\(Int.random(in: 0..<2, using: &numbers))")
    case 23:
      rename(
        outside + "/gone\(Int.random(in: 0..<2, using: &numbers))",
        root + "/" + ["a", "b", "a/c"].randomElement(using: &numbers)!)
    case 24:
      let folder = outside + "/gone\(Int.random(in: 0..<2, using: &numbers))"
      did("remove", (try? files.removeItem(atPath: folder)) != nil, folder)
    default:
      let temporary = folder() + "/.tmp.\(numbers.next() % 100)"
      write(temporary, O_CREAT)
      rename(temporary, file())
    }
    return done.joined(separator: ", ")
  }

  /// Maps the identifiers of one catalogue to those of another catalogue of the same folder.
  private struct Correspondence {
    var other: [LocalIdentifier: LocalIdentifier] = [:]

    /// - Parameter isExact: false if files have several names: it is undefined which of them a new name replaces.
    mutating func expect(
      _ one: [String: LocalIdentifier], _ two: [String: LocalIdentifier], isExact: Bool, _ comment: String
    ) {
      #expect(Set(one.keys) == Set(two.keys), "\(comment)")
      guard isExact else { return }
      for (path, identifier) in one {
        guard let its = two[path] else { continue }
        #expect(other[identifier, default: its] == its, "\(comment): \(path) is another asset")
        other[identifier] = its
        #expect(other.filter { $0.value == its }.count == 1, "\(comment): \(path) was another asset")
      }
    }
  }

  @Test(
    "after random file changes, the catalogue equals that of full scans",
    // Every third sequence makes links.
    arguments: Sampling.cases(5, of: 0..<12, "file changes") { $0 % 3 == 0 })
  func sequences(_ seed: Int) throws {
    var numbers = SplitMix(state: UInt64(seed))
    let hasLinks = seed % 3 == 0
    let watched = try WatchedLibrary(removal: 100) { try $0.put(picture(0), "keep.jpg") }
    let reference = try Catalogue(dataFolder: watched.library.data + "-2")
    try watched.library.scan(reference, removal: 100)
    var correspondence = Correspondence()
    var done: [String] = []
    for step in 0..<120 {
      done.append(Self.step(watched.root, watched.outside, links: hasLinks, &numbers))
      guard Int.random(in: 0..<3, using: &numbers) == 0 else { continue }
      watched.settle()
      try watched.library.scan(reference, removal: 100)
      correspondence.expect(
        try watched.identifiers(), try reference.everything().mapValues(\.localIdentifier), isExact: !hasLinks,
        "seed \(seed), step \(step): \(done.filter { !$0.isEmpty }.suffix(20).joined(separator: "; "))")
    }
    watched.settle()
    try watched.expectNothingLeft("seed \(seed): \(done.filter { !$0.isEmpty }.suffix(20).joined(separator: "; "))")
    try watched.library.scan(reference, removal: 100)
    correspondence.expect(
      try watched.identifiers(), try reference.everything().mapValues(\.localIdentifier), isExact: !hasLinks,
      "seed \(seed), at the end")
    #expect(watched.rescans == 0)
  }

  @Test(
    "random changes during scans end in the same catalogue, and renamed files keep their assets",
    arguments: [1, 42])
  func racing(_ seed: Int) throws {
    var numbers = SplitMix(state: UInt64(seed))
    var options = LibraryWatcher.Options()
    options.delay = .milliseconds(10)
    let watched = try WatchedLibrary(options, removal: 100, clock: .system) { library in
      for i in 0..<40 { try library.put(picture(i), "k/\(i % 7)/\(i)") }
    }
    var names = Dictionary(uniqueKeysWithValues: (0..<40).map { ("k/\($0 % 7)/\($0)", $0) })
    let before = Dictionary(
      uniqueKeysWithValues: try watched.identifiers().map { (names[$0.key]!, $0.value) })
    for step in 0..<3000 {
      if Int.random(in: 0..<3, using: &numbers) > 0 {
        _ = Self.step(watched.root, watched.outside, &numbers)
        continue
      }
      // These are renamed repeatedly, one by one or with their folder.
      if Int.random(in: 0..<8, using: &numbers) == 0 {
        let from = "k/\(Int.random(in: 0..<7, using: &numbers))"
        let to = "k/t\(step)"
        guard rename(watched.at(from), watched.at(to)) == 0, rename(watched.at(to), watched.at(from + "x")) == 0,
          rename(watched.at(from + "x"), watched.at(from)) == 0
        else { continue }
      } else {
        let name = names.keys.sorted().randomElement(using: &numbers)!
        let number = names[name]!
        let other = "k/\(Int.random(in: 0..<7, using: &numbers))/\(number).\(step % 3)"
        guard rename(watched.at(name), watched.at(other)) == 0 else { continue }
        names[name] = nil
        names[other] = number
      }
    }
    watched.settle()
    let after = try watched.identifiers()
    for (name, number) in names { #expect(after[name] == before[number], "\(name)") }
    try watched.expectNothingLeft()
    #expect(watched.watcher.statistics.scans > 3, "scans ran meanwhile")
  }
}
