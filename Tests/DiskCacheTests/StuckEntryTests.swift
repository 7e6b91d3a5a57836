import DiskCache
import Foundation
import GRDB
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// One entry whose file can't be removed, or that is no file, does not stop the others.
@Suite("Disk cache: entries that can't be removed")
struct StuckEntryTests {
  private static let warning = "warning cache entry not removable"

  /// Names in the cache's folder for what was in an entry's place.
  private func displaced(in cache: TemporaryCache) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: cache.folder).filter { $0.hasPrefix("displaced-") }
  }

  /// Puts a folder in the place of the only entry.
  private func replace(_ path: String, in cache: TemporaryCache, isEmpty: Bool) throws {
    unlink(cache.folder + "/" + path)
    if isEmpty {
      #expect(mkdir(cache.folder + "/" + path, 0o700) == 0)
    } else {
      try cache.put([1], path + "/inside")
    }
  }

  @Test("a folder in an entry's place makes room for the entry, and files in it are kept", arguments: [false, true])
  func folder(isEmpty: Bool) throws {
    for isLookedUp in [false, true] {
      let cache = try TemporaryCache()
      let store = cache.open()
      store.keep(1)
      try replace(cache.onlyFile(), in: cache, isEmpty: isEmpty)
      if isLookedUp {
        #expect(!store.finds(1))
        store.waitUntilIdle()
      }
      store.keep(2)
      store.keep(1)
      #expect(store.finds(1) && store.finds(2))
      #expect(!store.statistics.isSuspended && store.statistics.failures == 0 && store.statistics.dropped == 0)
      let names = try displaced(in: cache)
      #expect(names.count == (isEmpty ? 0 : 1))
      for name in names { #expect(cache.contents(name + "/inside") == [1]) }
      store.close()
      #expect(try cache.rows() == Set(cache.entryFiles().keys))
    }
  }

  @Test("a folder in the place of an entry that was never stored makes room too")
  func unknown() throws {
    let first = try TemporaryCache()
    first.open().keep(1)
    let path = try first.onlyFile()
    let cache = try TemporaryCache()
    try cache.put([1], path + "/inside")
    let store = cache.open()
    store.keep(1)
    #expect(store.finds(1) && store.statistics.failures == 0)
    #expect(try displaced(in: cache).count == 1)
  }

  @Test("each start logs once that folders were moved aside, and they can be named")
  func displacedFolders() throws {
    let cache = try TemporaryCache()
    #expect(DiskStore.displacedNames(in: cache.folder) == [])
    let names = ["displaced-1f", "displaced-a"]
    for name in names + ["displaced-mine", "other"] { try cache.put([1], name + "/inside") }
    for start in 1...2 {
      let store = cache.open()
      store.keep(1)
      store.close()
      #expect(cache.lines == Array(repeating: "warning disk cache has files that are not its own", count: start))
    }
    #expect(DiskStore.displacedNames(in: cache.folder) == names)
    for name in names { #expect(cache.contents(name + "/inside") == [1]) }
  }

  /// What is in the place of a folder.
  enum FolderPlace: CaseIterable {
    case prefixFile, groupFile, danglingLink
  }

  /// Stores an entry whose folder's place is taken, and another entry. Returns the store.
  private func keepBehind(_ place: FolderPlace, in cache: TemporaryCache) throws -> DiskStore {
    let first = try TemporaryCache()
    first.open().keep(1)
    let parts = try first.onlyFile().split(separator: "/")
    let (group, prefix) = (String(parts[0]), "\(parts[0])/\(parts[1])")
    switch place {
    case .prefixFile: try cache.put([1], prefix)
    case .groupFile: try cache.put([1], group)
    case .danglingLink:
      try FileManager.default.createDirectory(atPath: cache.folder + "/" + group, withIntermediateDirectories: true)
      #expect(symlink("nothing", cache.folder + "/" + prefix) == 0)
    }
    let store = cache.open()
    store.keep(1)
    store.keep(2)
    return store
  }

  @Test("a file in the place of a folder makes room for the folder, and is kept", arguments: FolderPlace.allCases)
  func fileForFolder(_ place: FolderPlace) throws {
    let cache = try TemporaryCache()
    let store = try keepBehind(place, in: cache)
    #expect(store.finds(1) && store.finds(2))
    #expect(!store.statistics.isSuspended && store.statistics.failures == 0 && store.statistics.dropped == 0)
    let names = try displaced(in: cache)
    #expect(names.count == 1)
    if place != .danglingLink { for name in names { #expect(cache.contents(name) == [1]) } }
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
  }

  @Test("an entry is left out if what is in the place of its folder can't be moved, and others are stored")
  func stuckFileForFolder() throws {
    let cache = try TemporaryCache()
    refuseRemovals(.max, in: cache)
    let store = try keepBehind(.prefixFile, in: cache)
    #expect(!store.finds(1) && store.finds(2))
    #expect(!store.statistics.isSuspended && store.statistics.failures == 0 && store.statistics.dropped == 1)
    #expect(cache.lines.contains(Self.warning))
    cache.refuse { _ in 0 }
    store.keep(1)
    #expect(store.finds(1))
  }

  @Test("the sweep after a power cut passes a file in the place of a folder")
  func sweptFileForFolder() throws {
    let cache = try TemporaryCache()
    var store = cache.open()
    store.keep(1)
    store.close()
    let path = try cache.onlyFile()
    let prefix = (path as NSString).deletingLastPathComponent
    unlink(cache.folder + "/" + path)
    #expect(rmdir(cache.folder + "/" + prefix) == 0)
    try cache.put([1], prefix)
    try cache.index { try $0.execute(sql: "UPDATE opened SET boot = 'the boot before'") }
    store = cache.open()
    store.keep(1)
    #expect(store.finds(1) && !store.statistics.isSuspended && store.statistics.failures == 0)
  }

  /// Lets the first removals of files fail.
  private func refuseRemovals(_ count: Int, in cache: TemporaryCache) {
    let left = Shared(count)
    cache.refuse { step in
      guard step == .removeFile else { return 0 }
      return left.value.withLock { left in
        left -= 1
        return left >= 0 ? EPERM : 0
      }
    }
  }

  @Test("a file that can't be removed stays, and another entry is evicted; that is logged once")
  func eviction() throws {
    let cache = try TemporaryCache()
    let store = cache.open(capacityBytes: 100_000)
    for number in 0..<20 { store.keep(number) }
    refuseRemovals(2, in: cache)
    for number in 20..<40 { store.keep(number) }
    #expect(store.finds(39))
    #expect(!store.statistics.isSuspended && store.statistics.failures == 0 && store.statistics.dropped == 0)
    #expect(cache.lines == [Self.warning])
    #expect(try cache.diskBytes() <= 100_000)
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
  }

  @Test("an entry whose old file can't be removed is not replaced, and the others are stored")
  func replacement() throws {
    let cache = try TemporaryCache()
    let store = cache.open()
    store.keep(1)
    refuseRemovals(1, in: cache)
    store.keep(1)
    store.keep(2)
    #expect(store.finds(1) && store.finds(2))
    #expect(store.statistics.dropped == 1 && store.statistics.failures == 0)
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
  }

  @Test("an entry that is not replaced does not stop the eviction of others for the same batch")
  func replacementInFullStore() throws {
    let cache = try TemporaryCache()
    let store = cache.open(capacityBytes: 100_000)
    for number in 0..<20 { store.keep(number) }
    let oldest = try #require((0..<20).first { store.contains(Sample.key($0), .frame) })
    let gate = Gate()
    gate.shut()
    // The writer waits in a turn of its own, so that the entries after it are one batch.
    cache.refuse { step in
      if step == .commit { gate.pass() }
      return 0
    }
    store.store(20)
    store.store(oldest)
    for number in 21..<25 { store.store(number) }
    refuseRemovals(2, in: cache)
    gate.open()
    store.waitUntilIdle()
    #expect(store.finds(24) && !store.statistics.isSuspended && store.statistics.failures == 0)
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
  }

  @Test("the other entries of a subject are removed, and the one that can't be is tried again")
  func subject() throws {
    let cache = try TemporaryCache()
    let store = cache.open()
    let subject = DiskStore.Subject("subject")
    let keys = (0..<4 as Range<UInt8>).map { DiskStore.Key(subject, digestOf: [$0]) }
    for key in keys { store.store([1, 2, 3], info: [], for: key, .frame) }
    store.waitUntilIdle()
    refuseRemovals(1, in: cache)
    #expect(!store.removeEntries(of: [subject]))
    #expect(keys.count { store.entry(for: $0, .frame) != nil } == 1)
    #expect(store.removeEntries(of: [subject]))
    #expect(keys.allSatisfy { store.entry(for: $0, .frame) == nil })
    #expect(store.statistics.failures == 0)
  }

  @Test("if no file can be removed, the store pauses, and files and index still agree")
  func folderFault() throws {
    let cache = try TemporaryCache()
    let store = cache.open(capacityBytes: 100_000)
    for number in 0..<20 { store.keep(number) }
    refuseRemovals(.max, in: cache)
    for number in 20..<30 { store.keep(number) }
    #expect(store.statistics.isSuspended && cache.lines.contains("error disk cache write failed"))
    cache.refuse { _ in 0 }
    cache.advance(.seconds(30))
    store.keep(30)
    #expect(store.finds(30) && !store.statistics.isSuspended)
    #expect(try cache.diskBytes() <= 100_000)
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
  }
}
