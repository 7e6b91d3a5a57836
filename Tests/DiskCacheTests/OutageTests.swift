import DiskCache
import Foundation
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// With a disk that can't be written, the cache stores nothing, logs one line and counts the entries.
@Suite("Disk cache: full, read-only and broken disks")
struct OutageTests {
  private static let error = "error disk cache write failed"
  private static let recovery = "info disk cache writable again"

  @Test(
    "after a failed write the store pauses, then works again",
    arguments: [
      (DiskStep.createFile, EROFS), (.createFile, EACCES), (.writeFile, ENOSPC), (.writeFile, EDQUOT),
      (.writeFile, EIO), (.renameFile, ENOSPC), (.commit, ENOSPC), (.batchDone, EIO), (.removeFile, EROFS),
    ])
  func refusal(_ step: DiskStep, _ code: Int32) throws {
    let cache = try TemporaryCache()
    let store = cache.open(capacityBytes: 100_000)
    for number in 0..<3 { store.keep(number) }
    cache.refuse { $0 == step ? code : 0 }
    for number in 10..<16 { store.keep(number) }
    var now = store.statistics
    #expect(now.isSuspended && !now.isOff && now.failures == 1)
    #expect(now.stored + now.dropped == 9)
    #expect(cache.lines == [Self.error])
    let steps = cache.state.withLock { $0.steps }

    // During the pause the disk is not written; stored entries are found, damaged ones are not.
    #expect((0..<3).contains { store.finds($0) })
    store.keep(16)
    cache.advance(.seconds(29))
    store.keep(17)
    #expect(cache.state.withLock { $0.steps } == steps && !store.finds(17))

    // After the pause the disk still refuses: no second line.
    cache.advance(.seconds(1))
    for number in 20..<26 { store.keep(number) }
    now = store.statistics
    #expect(now.isSuspended && now.failures == 2)
    #expect(cache.lines == [Self.error])

    cache.refuse { _ in 0 }
    cache.advance(.seconds(30))
    store.keep(30)
    #expect(!store.statistics.isSuspended && store.finds(30))
    #expect(cache.lines == [Self.error, Self.recovery])
    // The next batch removes a row without a file.
    store.keep(31)
    #expect(!cache.exists("entry.partial"))
    #expect(try cache.diskBytes() <= 100_000)
    store.close()
    #expect(try Set(cache.entryFiles().keys).isSubset(of: cache.rows()))
    #expect(store.statistics.corrupt == 0)
  }

  @Test("a file that could not be written leaves no row behind")
  func lostRows() throws {
    let cache = try TemporaryCache()
    let store = cache.open()
    cache.refuse { $0 == .writeFile ? ENOSPC : 0 }
    store.keep(1)
    #expect(!store.finds(1) && store.statistics.dropped == 1)
    cache.refuse { _ in 0 }
    cache.advance(.seconds(30))
    store.keep(2)
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
    #expect(try cache.rows().count == 1)
  }

  @Test("the configured free space of the disk is left free")
  func nearlyFull() throws {
    let cache = try TemporaryCache()
    let limit = DiskStoreLimits().minimumFreeBytes
    let store = cache.open()
    cache.state.withLock { $0.freeBytes = limit }
    store.keep(1)
    #expect(store.statistics.isSuspended)
    #expect(try cache.entryFiles().isEmpty)
    #expect(cache.lines == [Self.error])
    cache.advance(.seconds(30))
    cache.state.withLock { $0.freeBytes = limit + Sample.cost(2) }
    store.keep(2)
    #expect(store.finds(2) && cache.lines == [Self.error, Self.recovery])
    // Unknown free space does not mean none.
    cache.state.withLock { $0.freeBytes = nil }
    store.keep(3)
    #expect(store.finds(3))
  }

  @Test("a store whose folder can't be created works as soon as it can be")
  func folder() throws {
    let cache = try TemporaryCache()
    try Data([1]).write(to: URL(filePath: cache.folder))
    let store = cache.open()
    #expect(store.statistics.isSuspended && cache.lines == [Self.error])
    store.keep(1)
    #expect(!store.finds(1) && store.statistics.dropped == 1 && store.statistics.misses == 1)
    try FileManager.default.removeItem(atPath: cache.folder)
    cache.advance(.seconds(30))
    store.keep(2)
    #expect(store.finds(2) && !store.statistics.isSuspended)
    #expect(cache.lines == [Self.error, Self.recovery])
  }

  @Test("a folder that is removed while the store runs is created again")
  func removed() throws {
    let cache = try TemporaryCache()
    let store = cache.open()
    store.keep(1)
    try FileManager.default.removeItem(atPath: cache.folder)
    #expect(!store.finds(1))
    store.keep(2)
    cache.advance(.seconds(30))
    store.keep(3)
    #expect(store.finds(3))
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
  }

  @Test("writes that wait are limited, and found meanwhile")
  func pending() throws {
    let cache = try TemporaryCache()
    var limits = DiskStoreLimits()
    limits.pendingBytes = 100_000
    let store = cache.open(limits: limits)
    let gate = Gate()
    gate.shut()
    cache.refuse { step in
      if step == .commit { gate.pass() }
      return 0
    }
    for number in 0..<30 { store.store(number) }
    let waiting = (0..<30).filter { store.finds($0) }
    let dropped = store.statistics.dropped
    #expect(dropped > 0 && waiting.count == 30 - dropped && store.statistics.stored == 0)
    #expect(waiting.reduce(0) { $0 + Sample.bytes($1).count } <= 100_000)
    gate.open()
    store.waitUntilIdle()
    #expect((0..<30).filter { store.finds($0) } == waiting)
    #expect(store.statistics.stored == waiting.count)
    // There is room again.
    store.keep(40)
    #expect(store.finds(40))
  }

  @Test("uses that wait for the index are limited")
  func notes() throws {
    let cache = try TemporaryCache()
    var limits = DiskStoreLimits()
    limits.pendingIndexUpdates = 8
    let store = cache.open(limits: limits)
    for number in 0..<20 { store.keep(number) }
    for number in (0..<20).reversed() { #expect(store.finds(number)) }
    store.waitUntilIdle()
    #expect(store.statistics.hits == 20)
    store.close()
    #expect(try cache.rows().count == 20)
  }

  @Test("a second store on a folder is off and logs it once; it opens the folder after the first one closes")
  func taken() throws {
    let cache = try TemporaryCache()
    let first = cache.open()
    first.keep(1)
    let second = cache.open()
    #expect(second.statistics.isOff)
    #expect(cache.lines == ["notice disk cache waits for another process"])
    second.keep(2)
    #expect(!second.finds(1) && !second.contains(Sample.key(1), .frame) && !first.finds(2))
    first.close()
    #expect(first.statistics.isOff && !first.finds(1))
    #expect(second.reopen() && !second.reopen())
    #expect(second.finds(1) && !second.statistics.isOff)
    #expect(cache.lines == ["notice disk cache waits for another process", "info disk cache enabled"])
    second.keep(3)
    #expect(second.finds(3) && second.statistics.dropped == 0)
    #expect(!first.reopen(), "a closed store stays off")
  }

  @Test("attempts to open a folder that another store uses are silent, and end when the store is closed")
  func stillTaken() throws {
    let cache = try TemporaryCache()
    let first = cache.open()
    let second = cache.open()
    for _ in 0..<3 { #expect(!second.reopen()) }
    #expect(second.statistics.isOff && second.statistics.failures == 0)
    #expect(cache.lines == ["notice disk cache waits for another process"])
    second.close()
    first.close()
    #expect(!second.reopen() && second.statistics.isOff)
    #expect(!cache.open().statistics.isOff)
  }

  @Test("a store whose folder another store takes during an outage is off until it is free again")
  func takenLater() throws {
    let cache = try TemporaryCache()
    let first = cache.open()
    first.keep(1)
    cache.refuse { $0 == .writeFile ? EIO : 0 }
    first.keep(2)
    cache.refuse { _ in 0 }
    let second = cache.open()
    cache.advance(.seconds(30))
    first.keep(3)
    #expect(first.statistics.isOff && first.statistics.dropped == 2 && !first.reopen())
    second.keep(4)
    second.close()
    #expect(first.reopen() && first.finds(1) && first.finds(4) && !first.finds(3))
    first.keep(5)
    #expect(first.finds(5) && !first.statistics.isSuspended)
  }

  @Test("a store without capacity is off and creates no file")
  func off() throws {
    let cache = try TemporaryCache()
    let store = cache.open(capacityBytes: 0)
    store.keep(1)
    #expect(store.statistics.isOff && !store.finds(1) && cache.lines.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: cache.folder))
    store.close()
  }
}
