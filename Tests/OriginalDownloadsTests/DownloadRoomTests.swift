import Foundation
import ObjectStores
import PhotoModel
import Testing

@testable import OriginalDownloads

@Suite struct DownloadRoomTests {
  @Test func `The originals used longest ago make room, but not the pinned ones`() throws {
    let harness = try DownloadHarness()
    for (number, key) in ["a", "b", "c"].enumerated() {
      try harness.download(ObjectKey(stringLiteral: key), DownloadHarness.bytes, read: number)
    }
    let identity = DownloadHarness.identity(300_000)
    harness.downloads.pin("a", identity)
    _ = harness.downloads.open("b", identity)
    try harness.download("d", DownloadHarness.bytes, read: 3)
    #expect(["a", "b", "c", "d"].map { harness.downloads.isLocal($0, identity) } == [true, true, false, true])
    #expect(harness.names.count == 3)
    harness.downloads.pin("b", identity)
    harness.downloads.pin("d", identity)
    let waiter = TestWaiter()
    _ = harness.join("e", 300_000, waiter)
    #expect(throws: DownloadError.noSpace) { try waiter.wait() }
    let tooLarge = TestWaiter()
    _ = harness.join("f", 2_000_000, tooLarge)
    #expect(throws: DownloadError.noSpace) { try tooLarge.wait() }
    harness.downloads.unpin("a", identity)
    try harness.download("e", DownloadHarness.bytes, read: 4)
    #expect(!harness.downloads.isLocal("a", identity))
  }

  @Test func `An evicted original stays readable for those that have it open`() throws {
    let harness = try DownloadHarness()
    try harness.download("a", DownloadHarness.bytes, read: 0)
    let file = try #require(harness.downloads.open("a", DownloadHarness.identity(300_000)))
    for number in 1...3 {
      try harness.download(ObjectKey(stringLiteral: "b\(number)"), DownloadHarness.bytes, read: number)
    }
    #expect(harness.downloads.open("a", DownloadHarness.identity(300_000)) == nil)
    #expect(try file.bytes(at: 0, count: 300_000) == DownloadHarness.bytes)
  }

  @Test func `Requests go before windows, and a window leaves a place free`() throws {
    let harness = try DownloadHarness { $0.downloads = 2 }
    let waiters = (0..<5).map { _ in TestWaiter() }
    _ = harness.join("w1", 10, waiters[0], priority: .window)
    let first = harness.store.nextRead(0)
    _ = harness.join("w2", 10, waiters[1], priority: .window)
    _ = harness.join("w3", 10, waiters[2], priority: .window)
    _ = harness.join("r1", 10, waiters[3])
    let second = harness.store.nextRead(1)
    #expect((first.key, second.key) == ("w1", "r1"))
    // A request for what a window waits for makes it a request.
    _ = harness.join("w3", 10, waiters[4])
    second.begin()
    second.send([UInt8](repeating: 1, count: 10))
    second.end()
    let third = harness.store.nextRead(2)
    #expect(third.key == "w3")
    #expect(harness.downloads.counts.waiting == 1)
    for read in [first, third] {
      read.begin()
      read.send([UInt8](repeating: 1, count: 10))
      read.end()
    }
    let last = harness.store.nextRead(3)
    #expect(last.key == "w2")
    last.begin()
    last.send([UInt8](repeating: 1, count: 10))
    last.end()
    for waiter in waiters { #expect(try waiter.wait().count == 10) }
  }

  @Test func `Waiting downloads have a limit`() throws {
    let harness = try DownloadHarness {
      $0.downloads = 1
      $0.waiting = 1
    }
    let waiters = (0..<3).map { _ in TestWaiter() }
    for (number, waiter) in waiters.enumerated() {
      _ = harness.join(ObjectKey(stringLiteral: "\(number)"), 10, waiter)
    }
    #expect(throws: DownloadError.tooManyDownloads) { try waiters[2].wait() }
  }

  @Test func `A download that waits evicts nothing`() throws {
    let harness = try DownloadHarness { $0.downloads = 1 }
    for (number, key) in (["a", "b", "c"] as [ObjectKey]).enumerated() {
      try harness.download(key, DownloadHarness.bytes, read: number)
    }
    let running = TestWaiter()
    _ = harness.join("d", 300_000, running)
    let read = harness.store.nextRead(3)
    let tickets = (["e", "f"] as [ObjectKey]).map { harness.join($0, 300_000, TestWaiter()) }
    try harness.until { $0.waiting == 2 }
    #expect(harness.downloads.counts.reservedBytes == 300_000)
    for ticket in tickets { harness.downloads.leave(ticket) }
    read.begin()
    read.send(DownloadHarness.bytes)
    read.end()
    #expect(try running.wait() == DownloadHarness.bytes)
    let identity = DownloadHarness.identity(300_000)
    #expect(["a", "b", "c", "d"].map { harness.downloads.isLocal($0, identity) } == [false, true, true, true])
  }

  @Test(arguments: [.request, .window] as [OriginalDownloads.Priority])
  func `A download without room waits until another one ends`(_ priority: OriginalDownloads.Priority) throws {
    let harness = try DownloadHarness { $0.windowBytesPerSecond = 0 }
    let bytes = [UInt8](repeating: 7, count: 600_000)
    let waiters = [TestWaiter(), TestWaiter()]
    _ = harness.join("a", 600_000, waiters[0], priority: priority)
    let first = harness.store.nextRead(0)
    _ = harness.join("b", 600_000, waiters[1])
    try harness.until { $0.running == 1 && $0.waiting == 1 }
    first.begin()
    first.send(bytes)
    first.end()
    #expect(try waiters[0].wait() == bytes)
    let second = harness.store.nextRead(1)
    #expect(second.key == "b")
    second.begin()
    second.send(bytes)
    second.end()
    #expect(try waiters[1].wait() == bytes)
    #expect(harness.downloads.counts.originals == 1 && harness.names.count == 1)
  }
}
