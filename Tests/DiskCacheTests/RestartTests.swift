import DiskCache
import Foundation
import GRDB
import PhotoFixtures
import Testing

@Suite("Disk cache: restarts")
struct RestartTests {
  @Test("entries, totals and the order of uses survive a restart")
  func order() throws {
    let cache = try TemporaryCache()
    // Nine entries of 13 to 21 KB.
    let numbers = [2, 3, 4, 5, 7, 8, 10, 12, 13]
    let capacity = numbers.reduce(0) { $0 + Sample.cost($1) }
    var store = cache.open(capacityBytes: capacity)
    for number in numbers { store.keep(number) }
    for number in [2, 5, 3] { #expect(store.finds(number)) }
    let before = store.statistics.frames
    store.close()
    store = cache.open(capacityBytes: capacity)
    #expect(store.statistics.frames == before && before.entries == 9)
    for (new, gone) in [(100, 4), (101, 7), (102, 8)] {
      store.keep(new)
      #expect(!store.contains(Sample.key(gone), .frame), "\(gone) should have gone for \(new)")
    }
    #expect([2, 5, 3].allSatisfy { store.contains(Sample.key($0), .frame) })
  }

  @Test("entries of another epoch are not found and are removed in the background; those of the other kind remain")
  func epochs() throws {
    let cache = try TemporaryCache()
    var store = cache.open()
    for number in 0..<300 { store.store(number) }
    for number in 0..<5 { store.store(number, .derivative) }
    store.close()
    store = cache.open(frame: 2)
    #expect((0..<300).allSatisfy { !store.finds($0) })
    store.waitUntilIdle()
    #expect(store.statistics.outdated == 300 && store.statistics.frames.entries == 0)
    #expect(!cache.exists("frame-1") && (0..<5).allSatisfy { store.finds($0, .derivative) })
    store.keep(1)
    #expect(store.finds(1))
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
    // Back to epoch 1: its old entries are gone.
    store = cache.open()
    #expect(!store.finds(1))
  }

  @Test("old epochs are evicted first when there is no room")
  func room() throws {
    let cache = try TemporaryCache()
    let capacity = Int64(500_000)
    var store = cache.open(capacityBytes: capacity)
    for number in 0..<60 { store.keep(number) }
    store.close()
    store = cache.open(capacityBytes: capacity, frame: 2)
    for number in 100..<120 { store.store(number) }
    store.waitUntilIdle()
    #expect(store.statistics.evicted == 0)
    #expect((100..<120).allSatisfy { store.finds($0) })
  }

  @Test("files and folders are accessible only to their owner")
  func modes() throws {
    let cache = try TemporaryCache()
    let store = cache.open()
    store.keep(1)
    let paths = [try cache.onlyFile(), "index.sqlite", "index.sqlite-wal", "lock"]
    for path in paths { #expect(try mode(cache, path) == 0o600, "\(path)") }
    let file = try cache.onlyFile()
    for path in ["", String(file.prefix(7)), String(file.prefix(10))] {
      #expect(try mode(cache, path) == 0o700, "\(path)")
    }
  }

  private func mode(_ cache: TemporaryCache, _ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: cache.folder + "/" + path)[.posixPermissions] as? Int
  }

  @Test(
    "a damaged, foreign or newer index is removed with all entries",
    arguments: ["text", "cut in half", "empty", "newer", "another's tables", "gone"])
  func damagedIndex(_ what: String) throws {
    let cache = try TemporaryCache()
    var store = cache.open()
    for number in 0..<200 { store.store(number) }
    store.close()
    try cache.put([1], "frame-1/ab/not one of ours")
    try cache.put([1], "somebody's/own/file")
    try cache.put([1], "frame-01/ab/" + String(repeating: "0", count: 30))
    let bytes = try #require(cache.contents("index.sqlite"))
    switch what {
    case "text": try cache.put(Array(repeating: 0x20, count: 10_000), "index.sqlite")
    case "cut in half": try cache.put(Array(bytes.prefix(bytes.count / 2)), "index.sqlite")
    case "empty": try cache.put([], "index.sqlite")
    case "newer": try cache.index { try $0.execute(sql: "PRAGMA user_version = 3") }
    case "another's tables":
      try cache.index { try $0.execute(sql: "DROP TABLE total; CREATE TABLE total (kind TEXT)") }
    default: try FileManager.default.removeItem(atPath: cache.folder + "/index.sqlite")
    }
    store = cache.open()
    store.waitUntilIdle()
    store.keep(500)
    if what == "cut in half" {
      // May be detected only when the missing part is read.
      cache.advance(.seconds(30))
      store.keep(501)
      cache.advance(.seconds(30))
    }
    store.keep(502)
    #expect(store.finds(502) && !store.statistics.isSuspended)
    #expect((0..<200).allSatisfy { !store.contains(Sample.key($0), .frame) })
    store.close()
    let left = Set(try cache.entryFiles().keys)
    let others = [
      "frame-1/ab/not one of ours", "somebody's/own/file", "frame-01/ab/" + String(repeating: "0", count: 30),
    ]
    #expect(try left == cache.rows().union(others))
  }

  /// A part has a byte in 582 of the index, seven or eight on each page.
  @Test(
    "a changed byte anywhere in the index harms only the cache",
    arguments: Sampling.cases(2, of: 0..<6, "bytes of the index"))
  func turnedIndex(_ part: Int) throws {
    let cache = try TemporaryCache()
    var store = cache.open()
    for number in 0..<60 { store.store(number) }
    store.close()
    let bytes = try #require(cache.contents("index.sqlite"))
    for position in stride(from: part * 13, to: bytes.count, by: 6 * 97) {
      var turned = bytes
      turned[position] ^= UInt8(truncatingIfNeeded: 1 << (position % 8))
      try cache.put(turned, "index.sqlite")
      store = cache.open(capacityBytes: 300_000, frame: 1)
      for number in 100..<105 { store.store(number) }
      _ = (0..<60).filter { store.finds($0) }
      store.waitUntilIdle()
      cache.advance(.seconds(31))
      store.keep(106)
      cache.advance(.seconds(31))
      store.keep(107)
      #expect(store.finds(107), "byte \(position)")
      #expect(store.statistics.corrupt == 0)
      store.close()
    }
  }

  @Test("after a power failure, files without rows and rows without files are removed and the rest remains")
  func powerCut() throws {
    let cache = try TemporaryCache()
    var store = cache.open()
    for number in 0..<40 { store.store(number, number % 2 == 0 ? .frame : .derivative) }
    // A store that is closed before its first turn keeps nothing.
    store.waitUntilIdle()
    store.close()
    let path = try #require(cache.entryFiles().keys.first { $0.hasPrefix("frame-1/") })
    let orphan = "frame-1/00/" + String(repeating: "0", count: 30)
    try cache.put([1], orphan)
    try FileManager.default.removeItem(atPath: cache.folder + "/" + path)

    // The store was closed properly, so the folder is not walked.
    store = cache.open()
    store.waitUntilIdle()
    #expect(store.statistics.frames.entries == 20 && cache.exists(orphan))
    store.close()

    try cache.index { try $0.execute(sql: "UPDATE opened SET boot = 'the boot before'") }
    store = cache.open()
    store.waitUntilIdle()
    #expect(store.statistics.frames.entries == 19 && !cache.exists(orphan))
    #expect((0..<40).filter { store.finds($0, $0 % 2 == 0 ? .frame : .derivative) }.count == 39)
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
  }

  @Test("nothing is stored before the traces of a power failure are removed")
  func sweepFirst() throws {
    let cache = try TemporaryCache()
    cache.open().close()
    try cache.index { try $0.execute(sql: "UPDATE opened SET boot = 'the boot before'") }
    let orphan = "frame-1/00/" + String(repeating: "0", count: 30)
    try cache.put(Array(repeating: 1, count: 90_000), orphan)
    cache.refuse { [unowned cache] step in
      if step == .createFile { #expect(!cache.exists(orphan)) }
      return 0
    }
    let store = cache.open(capacityBytes: 100_000)
    for number in 0..<5 { store.store(number) }
    store.waitUntilIdle()
    #expect(store.statistics.stored == 5)
  }
}
