import Cryptography
import Foundation
import ObjectStores
import PhotoModel
import Testing

@testable import OriginalDownloads

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct OriginalDownloadsTests {
  @Test func `All who wait for an original get it from one download`() throws {
    let harness = try DownloadHarness()
    let waiters = (0..<50).map { _ in TestWaiter() }
    for waiter in waiters { _ = harness.join("a.jpg", 300_000, waiter) }
    let read = harness.store.nextRead(0)
    read.begin(sha256: Digest.sha256(DownloadHarness.bytes))
    read.send(Array(DownloadHarness.bytes[..<1000]))
    waiters[0].waitForBytes(1000)
    let late = TestWaiter()
    _ = harness.join("a.jpg", 300_000, late)
    read.send(Array(DownloadHarness.bytes[1000...]))
    read.end()
    for waiter in waiters + [late] { #expect(try waiter.wait() == DownloadHarness.bytes) }
    #expect(harness.store.readCount == 1)
    // And then it is here.
    #expect(harness.downloads.isLocal("a.jpg", DownloadHarness.identity(300_000)))
    let local = TestWaiter()
    _ = harness.join("a.jpg", 300_000, local)
    #expect(try local.wait() == DownloadHarness.bytes)
    let file = try #require(harness.downloads.open("a.jpg", DownloadHarness.identity(300_000)))
    #expect(try file.bytes(at: 5, count: 10) == Array(DownloadHarness.bytes[5..<15]))
    #expect(harness.store.readCount == 1)
    #expect(harness.downloads.open("a.jpg", DownloadHarness.identity(300_000, "\"v2\"")) == nil)
  }

  @Test func `An uploaded file becomes an original if there is room for it`() throws {
    let harness = try DownloadHarness()
    try harness.download("old.jpg", DownloadHarness.bytes, read: 0)
    try harness.download("a.jpg", DownloadHarness.bytes, read: 1)
    let identity = DownloadHarness.identity(300_000)
    let file = try #require(harness.downloads.open("a.jpg", identity))
    for key in ["b.jpg", "b.jpg", "c.jpg"] as [ObjectKey] { harness.downloads.adopt(file, key, identity) }
    for (key, isLocal) in [("old.jpg", false), ("a.jpg", true), ("b.jpg", true), ("c.jpg", true)] as [(ObjectKey, Bool)]
    {
      #expect(harness.downloads.isLocal(key, identity) == isLocal, "\(key)")
    }
    let adopted = try #require(harness.downloads.open("c.jpg", identity))
    #expect(try adopted.bytes(at: 0, count: 300_000) == DownloadHarness.bytes)
    #expect(harness.downloads.counts.reservedBytes == 0)
    for key in ["a.jpg", "b.jpg", "c.jpg"] as [ObjectKey] { harness.downloads.pin(key, identity) }
    harness.downloads.adopt(adopted, "d.jpg", identity)
    #expect(!harness.downloads.isLocal("d.jpg", identity))
    #expect(harness.names.count == 3)
  }

  @Test func `The beginning is readable while the rest is on its way`() throws {
    let harness = try DownloadHarness()
    let waiter = TestWaiter()
    let ticket = harness.join("a.jpg", 300_000, waiter)
    let read = harness.store.nextRead(0)
    read.begin()
    read.send(Array(DownloadHarness.bytes[..<100_000]))
    waiter.waitForBytes(100_000)
    let arriving = try #require(harness.downloads.arriving(ticket))
    var buffer = [UInt8](repeating: 0, count: 1000)
    func readArriving(_ offset: Int64) throws -> ByteRead {
      try buffer.withUnsafeMutableBytes { try arriving.read(into: $0, at: offset) }
    }
    #expect(arriving.size == 300_000)
    #expect(try readArriving(99_500) == .bytes(500))
    #expect(Array(buffer[..<500]) == Array(DownloadHarness.bytes[99_500..<100_000]))
    #expect(try readArriving(100_000) == .notYet)
    #expect(try readArriving(300_000) == .end)
    read.send(Array(DownloadHarness.bytes[100_000...]))
    read.end()
    #expect(try waiter.wait() == DownloadHarness.bytes)
    // The source outlives the download.
    #expect(try readArriving(299_999) == .bytes(1))
  }

  @Test func `The last who leaves ends the download`() throws {
    let harness = try DownloadHarness()
    let waiters = [TestWaiter(), TestWaiter()]
    let tickets = waiters.map { harness.join("a.jpg", 300_000, $0) }
    let read = harness.store.nextRead(0)
    read.begin()
    read.send([1, 2, 3])
    waiters[1].waitForBytes(3)
    let arriving = try #require(harness.downloads.arriving(tickets[0]))
    harness.downloads.leave(tickets[0])
    harness.downloads.leave(tickets[0])
    #expect(harness.downloads.counts.reservedBytes == 300_000)
    harness.downloads.leave(tickets[1])
    #expect(harness.downloads.counts.reservedBytes == 0)
    var byte: UInt8 = 0
    #expect(throws: ByteSourceError.readFailed(code: 5)) {
      try withUnsafeMutableBytes(of: &byte) { try arriving.read(into: $0, at: 3) }
    }
    // A new one begins from the start.
    try harness.download("a.jpg", DownloadHarness.bytes, read: 1)
    #expect(waiters.allSatisfy { $0.ends == 0 })
    #expect(harness.names.count == 1)
  }

  /// A download of `a.jpg` whose only caller has left because of its deadline, after 1000 bytes.
  private static func leftWithBytes(_ harness: DownloadHarness) -> (waiter: TestWaiter, read: StubStore.Read) {
    let waiter = TestWaiter()
    let ticket = harness.join("a.jpg", 300_000, waiter)
    let read = harness.store.nextRead(0)
    read.begin()
    read.send(Array(DownloadHarness.bytes[..<1000]))
    waiter.waitForBytes(1000)
    harness.downloads.leave(ticket, continuing: true)
    return (waiter, read)
  }

  @Test func `When the last caller runs out of time, the download goes on for the next one`() throws {
    let harness = try DownloadHarness { $0.windowBytesPerSecond = 0 }
    let (waiter, read) = Self.leftWithBytes(harness)
    #expect(harness.downloads.counts.running == 1)
    let next = TestWaiter()
    let nextTicket = harness.join("a.jpg", 300_000, next)
    #expect(harness.downloads.arriving(nextTicket)?.availableBytes == 1000)
    harness.downloads.leave(nextTicket, continuing: true)
    read.send(Array(DownloadHarness.bytes[1000...]))
    read.end()
    try harness.until { $0.originals == 1 }
    #expect(harness.store.readCount == 1 && waiter.ends == 0 && next.ends == 0)
  }

  @Test func `A download without a caller ends when a request needs its place, or nothing has arrived`() throws {
    let harness = try DownloadHarness { $0.downloads = 1 }
    _ = Self.leftWithBytes(harness)
    let other = harness.join("b.jpg", 300_000, TestWaiter())
    #expect(harness.store.nextRead(1).key == "b.jpg")
    #expect(harness.downloads.counts.ended.abandoned == 1)
    harness.downloads.leave(other, continuing: true)
    #expect(harness.downloads.counts.ended.abandoned == 2)
    try harness.until { $0.running == 0 && $0.reservedBytes == 0 }
  }

  @Test(
    arguments: [
      (.changed, .store(.changed)), (.timedOut, .store(.timedOut)), (.slowDown, .store(.slowDown)),
    ] as [(ObjectStoreError, DownloadError)])
  func `A failed download fails for all who wait, and leaves no file`(
    _ failure: ObjectStoreError, _ error: DownloadError
  ) throws {
    let harness = try DownloadHarness()
    let waiters = [TestWaiter(), TestWaiter()]
    for waiter in waiters { _ = harness.join("a.jpg", 300_000, waiter) }
    let read = harness.store.nextRead(0)
    read.begin()
    read.send([1, 2, 3])
    read.end(.failure(failure))
    for waiter in waiters { #expect(throws: error) { try waiter.wait() } }
    #expect(harness.names.isEmpty)
    #expect(harness.downloads.counts.reservedBytes == 0)
  }

  @Test(arguments: [ENOSPC, EDQUOT, EFBIG])
  func `A full disk of this machine is no room for the original, and no failure of the store`(_ code: Int32) {
    #expect(OriginalDownloadError(.system(SystemError(code: code))) == .noSpace)
  }

  @Test func `A local folder that fails is no failure of the store`() throws {
    let harness = try DownloadHarness()
    try FileManager.default.removeItem(atPath: harness.path)
    let waiter = TestWaiter()
    _ = harness.join("a.jpg", 10, waiter)
    let error = #expect(throws: DownloadError.self) { try waiter.wait() }
    guard case .localStoreFailed? = error.map(OriginalDownloadError.init) else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `An object that is not the catalogue's is not downloaded`() throws {
    let harness = try DownloadHarness()
    let waiter = TestWaiter()
    _ = harness.join("a.jpg", 10, TestWaiter())
    _ = harness.downloads.join("a.jpg", DownloadHarness.identity(10, "\"v0\""), priority: .request, waiter)
    #expect(throws: DownloadError.store(.changed)) { try waiter.wait() }
    let missing = TestWaiter()
    _ = harness.downloads.join("b.jpg", DownloadHarness.identity(10), priority: .request, missing)
    #expect(throws: DownloadError.store(.notFound)) { try missing.wait() }
    #expect(harness.store.readCount <= 1)
  }

  @Test func `A receiver of more than its limit pauses the store, and loses nothing`() throws {
    let harness = try DownloadHarness { $0.pendingBytes = 1000 }
    let waiter = TestWaiter()
    _ = harness.join("a.jpg", 300_000, waiter)
    let read = harness.store.nextRead(0)
    read.begin()
    for start in stride(from: 0, to: 300_000, by: 700) {
      read.send(Array(DownloadHarness.bytes[start..<min(start + 700, 300_000)]))
    }
    read.end()
    #expect(try waiter.wait() == DownloadHarness.bytes)
  }

  @Test func `After a restart complete originals are here, and half ones are gone`() throws {
    let harness = try DownloadHarness()
    try harness.download("a", DownloadHarness.bytes, read: 0)
    try harness.download("b", DownloadHarness.bytes, read: 1)
    let half = TestWaiter()
    _ = harness.join("c", 300_000, half)
    let read = harness.store.nextRead(2)
    read.begin()
    read.send([1])
    half.waitForBytes(1)
    try Data([1]).write(to: URL(fileURLWithPath: harness.path + "/mine.txt"))
    #expect(harness.names.contains { $0.hasPrefix("partial-") })
    let again = try DownloadHarness.open(harness.store, harness.path)
    #expect(
      again.counts
        == OriginalDownloads.Counts(
          originals: 2, usedBytes: 600_000, reservedBytes: 0, running: 0, waiting: 0, paused: 0,
          ended: OriginalDownloads.EndedCounts()))
    #expect(again.open("b", DownloadHarness.identity(300_000)) != nil)
    #expect(!harness.names.contains { $0.hasPrefix("partial-") })
    #expect(harness.names.contains("mine.txt"))
    // With less room than before.
    let smaller = try DownloadHarness.open(harness.store, harness.path) { $0.diskBytes = 400_000 }
    smaller.trim()
    #expect(smaller.counts.originals == 1)
    #expect(harness.names.count == 2)
  }
}
