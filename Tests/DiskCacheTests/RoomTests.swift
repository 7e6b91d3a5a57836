import DiskCache
import Dispatch
import Foundation
import GRDB
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// `waitForRoom`: a caller that stores much waits for its own entries, and for nothing else.
@Suite("Disk cache: waiting for room")
struct RoomTests {
  /// Returns when `store.waitForRoom()` has returned, and fails if it does not.
  private func waitForRoom(_ store: DiskStore, meanwhile: () -> Void = {}) throws {
    let hasReturned = Shared(false)
    DispatchQueue.global().async {
      store.waitForRoom()
      hasReturned.value.withLock { $0 = true }
    }
    meanwhile()
    try eventually("the end of waitForRoom") { hasReturned.value.withLock { $0 } }
  }

  @Test("what was stored before is written, also while a turn of the writer is running")
  func written() throws {
    let cache = try TemporaryCache()
    let store = cache.open()
    let gate = Gate()
    gate.shut()
    cache.refuse { step in
      if step == .commit { gate.pass() }
      return 0
    }
    // The first one's turn waits at its commit; the others are for the next.
    for number in 0..<4 { store.store(number) }
    try waitForRoom(store) { gate.open() }
    #expect(store.statistics.stored == 4, "\(store.statistics) \(cache.lines)")
  }

  @Test("the removal of old entries goes on meanwhile")
  func oldEntries() throws {
    let cache = try TemporaryCache()
    let former = cache.open()
    for number in 0..<300 { former.store(number) }
    former.waitUntilIdle()
    former.close()
    let (first, third) = (Gate(), Gate())
    first.shut()
    third.shut()
    defer { third.open() }
    let removed = Shared(0)
    cache.refuse { step in
      guard step == .removeFile else { return 0 }
      let count = removed.value.withLock { count in
        count += 1
        return count
      }
      // A turn removes 128 entries. The first one waits until the new entry is stored; the third one waits too.
      if count == 1 { first.pass() }
      if count == 257 { third.pass() }
      return 0
    }
    let store = cache.open(frame: 2)
    store.store(1000)
    try waitForRoom(store) { first.open() }
    #expect(store.statistics.stored == 1)
    third.open()
    store.waitUntilIdle()
    #expect(store.statistics.outdated == 300 && store.finds(1000))
  }

  @Test("the sweep after a power failure is not awaited: its turns write nothing")
  func sweep() throws {
    let cache = try TemporaryCache()
    cache.open().close()
    try cache.index { try $0.execute(sql: "UPDATE opened SET boot = 'the boot before'") }
    try cache.put([1], "frame-1/00/" + String(repeating: "0", count: 30))
    let gate = Gate()
    gate.shut()
    defer { gate.open() }
    cache.refuse { step in
      if step == .removeFile { gate.pass() }
      return 0
    }
    let store = cache.open()
    store.store(1)
    try waitForRoom(store)
    #expect(store.statistics.stored == 0)
    gate.open()
    store.waitUntilIdle()
    #expect(store.statistics.stored == 1)
    // The sweep is over.
    store.store(2)
    try waitForRoom(store)
    #expect(store.statistics.stored == 2)
  }

  @Test("a store that is off or not writable is not awaited")
  func notWritable() throws {
    let cache = try TemporaryCache()
    try waitForRoom(cache.open(capacityBytes: 0))
    let store = cache.open()
    cache.refuse { $0 == .writeFile ? ENOSPC : 0 }
    store.store(1)
    try waitForRoom(store)
    #expect(store.statistics.dropped == 1 && store.statistics.isSuspended, "\(store.statistics) \(cache.lines)")
    store.close()
    try waitForRoom(store)
  }
}
