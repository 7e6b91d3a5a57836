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
  private static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

  @Test func `All who wait for an original get it from one download`() throws {
    let harness = try DownloadHarness()
    let waiters = (0..<50).map { _ in TestWaiter() }
    for waiter in waiters { _ = harness.join("a.jpg", 300_000, waiter) }
    let read = harness.store.nextRead(0)
    read.begin(sha256: Digest.sha256(Self.bytes))
    read.send(Array(Self.bytes[..<1000]))
    waiters[0].waitForBytes(1000)
    let late = TestWaiter()
    _ = harness.join("a.jpg", 300_000, late)
    read.send(Array(Self.bytes[1000...]))
    read.end()
    for waiter in waiters + [late] { #expect(try waiter.wait() == Self.bytes) }
    #expect(harness.store.readCount == 1)
    // And then it is here.
    #expect(harness.downloads.isLocal("a.jpg", DownloadHarness.identity(300_000)))
    let local = TestWaiter()
    _ = harness.join("a.jpg", 300_000, local)
    #expect(try local.wait() == Self.bytes)
    let file = try #require(harness.downloads.open("a.jpg", DownloadHarness.identity(300_000)))
    #expect(try file.bytes(at: 5, count: 10) == Array(Self.bytes[5..<15]))
    #expect(harness.store.readCount == 1)
    #expect(harness.downloads.open("a.jpg", DownloadHarness.identity(300_000, "\"v2\"")) == nil)
  }

  @Test func `An uploaded file becomes an original if there is room for it`() throws {
    let harness = try DownloadHarness()
    try harness.fetch("old.jpg", Self.bytes, read: 0)
    try harness.fetch("a.jpg", Self.bytes, read: 1)
    let identity = DownloadHarness.identity(300_000)
    let file = try #require(harness.downloads.open("a.jpg", identity))
    for key in ["b.jpg", "b.jpg", "c.jpg"] as [ObjectKey] { harness.downloads.adopt(file, key, identity) }
    for (key, isLocal) in [("old.jpg", false), ("a.jpg", true), ("b.jpg", true), ("c.jpg", true)] as [(ObjectKey, Bool)]
    {
      #expect(harness.downloads.isLocal(key, identity) == isLocal, "\(key)")
    }
    let adopted = try #require(harness.downloads.open("c.jpg", identity))
    #expect(try adopted.bytes(at: 0, count: 300_000) == Self.bytes)
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
    read.send(Array(Self.bytes[..<100_000]))
    waiter.waitForBytes(100_000)
    let arriving = try #require(harness.downloads.arriving(ticket))
    var buffer = [UInt8](repeating: 0, count: 1000)
    func readArriving(_ offset: Int64) throws -> ByteRead {
      try buffer.withUnsafeMutableBytes { try arriving.read(into: $0, at: offset) }
    }
    #expect(arriving.size == 300_000)
    #expect(try readArriving(99_500) == .bytes(500))
    #expect(Array(buffer[..<500]) == Array(Self.bytes[99_500..<100_000]))
    #expect(try readArriving(100_000) == .notYet)
    #expect(try readArriving(300_000) == .end)
    read.send(Array(Self.bytes[100_000...]))
    read.end()
    #expect(try waiter.wait() == Self.bytes)
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
    try harness.fetch("a.jpg", Self.bytes, read: 1)
    #expect(waiters.allSatisfy { $0.ends == 0 })
    #expect(harness.names.count == 1)
  }

  /// A download of `a.jpg` whose only caller has left because of its deadline, after 1000 bytes.
  private static func leftWithBytes(_ harness: DownloadHarness) -> (waiter: TestWaiter, read: StubStore.Read) {
    let waiter = TestWaiter()
    let ticket = harness.join("a.jpg", 300_000, waiter)
    let read = harness.store.nextRead(0)
    read.begin()
    read.send(Array(bytes[..<1000]))
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
    read.send(Array(Self.bytes[1000...]))
    read.end()
    harness.until { $0.originals == 1 }
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
    harness.until { $0.running == 0 && $0.reservedBytes == 0 }
  }

  @Test(
    arguments: [
      (.changed, .store(.changed)), (.timedOut, .store(.timedOut)), (.slowDown, .store(.slowDown)),
    ] as [(ObjectStoreError, OriginalDownloadError)])
  func `A failed download fails for all who wait, and leaves no file`(
    _ failure: ObjectStoreError, _ error: OriginalDownloadError
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
    #expect(OriginalFetchError(.system(SystemError(code: code))) == .noSpace)
  }

  @Test func `A local folder that fails is no failure of the store`() throws {
    let harness = try DownloadHarness()
    try FileManager.default.removeItem(atPath: harness.path)
    let waiter = TestWaiter()
    _ = harness.join("a.jpg", 10, waiter)
    let error = #expect(throws: OriginalDownloadError.self) { try waiter.wait() }
    guard case .localStoreFailed? = error.map(OriginalFetchError.init) else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `An object that is not the catalogue's is not downloaded`() throws {
    let harness = try DownloadHarness()
    let waiter = TestWaiter()
    _ = harness.join("a.jpg", 10, TestWaiter())
    _ = harness.downloads.join("a.jpg", DownloadHarness.identity(10, "\"v0\""), priority: .request, waiter)
    #expect(throws: OriginalDownloadError.store(.changed)) { try waiter.wait() }
    let missing = TestWaiter()
    _ = harness.downloads.join("b.jpg", DownloadHarness.identity(10), priority: .request, missing)
    #expect(throws: OriginalDownloadError.store(.notFound)) { try missing.wait() }
    #expect(harness.store.readCount <= 1)
  }

  @Test func `Bytes with another checksum, or too few, are not kept`() throws {
    let harness = try DownloadHarness()
    for (number, (sent, sha256)) in [
      (Self.bytes, [UInt8](repeating: 0, count: 32)), (Array(Self.bytes[..<10]), nil as [UInt8]?),
    ].enumerated() {
      let waiter = TestWaiter()
      _ = harness.join("a.jpg", 300_000, waiter)
      let read = harness.store.nextRead(number)
      read.begin(sha256: sha256)
      read.send(sent)
      read.end()
      let problem: ObjectStoreError.AnswerProblem = number == 0 ? .wrongChecksum : .wrongLength
      #expect(throws: OriginalDownloadError.store(.malformed(problem))) { try waiter.wait() }
      #expect(harness.names.isEmpty)
    }
  }

  /// Waits for an original whose entity tag is given, and serves each of its reads.
  private static func fetch(
    _ key: ObjectKey, _ tag: String, _ fingerprint: FileFingerprint? = nil, reads: [[UInt8]], first: Int = 0,
    from harness: DownloadHarness
  ) throws -> [UInt8] {
    harness.store.set(key, ObjectIdentity(size: 300_000, version: .entityTag(tag)))
    let waiter = TestWaiter()
    _ = harness.downloads.join(
      key, DownloadHarness.identity(300_000, tag), fingerprint: fingerprint, priority: .request, waiter)
    for (number, bytes) in reads.enumerated() {
      let read = harness.store.nextRead(first + number)
      read.begin()
      read.send(bytes)
      read.end()
    }
    return try waiter.wait()
  }

  /// The same length with one other byte.
  private static func damaged(_ position: Int) -> [UInt8] {
    var bytes = bytes
    bytes[position] ^= 1
    return bytes
  }

  private static let md5Tag = "\"\(Digest.digest(bytes, .md5).hexadecimal)\""

  @Test func `Bytes that differ from the MD5 in the entity tag are read once more`() throws {
    let harness = try DownloadHarness()
    let read = try Self.fetch(
      "a.jpg", Self.md5Tag.uppercased(), reads: [Self.damaged(150_000), Self.bytes], from: harness)
    #expect(read == Self.bytes)
    #expect(throws: OriginalDownloadError.store(.malformed(.wrongChecksum))) {
      try Self.fetch(
        "b.jpg", Self.md5Tag, reads: [Self.damaged(150_000), Self.damaged(150_001)], first: 2, from: harness)
    }
    #expect(try Self.fetch("c.jpg", Self.md5Tag, reads: [Self.bytes], first: 4, from: harness) == Self.bytes)
    #expect(harness.names.count == 2)
  }

  @Test(arguments: [true, false])
  func `A reader of the beginning learns whether other bytes came`(_ isDamaged: Bool) throws {
    let harness = try DownloadHarness()
    let tag = isDamaged ? Self.md5Tag : "\"0123456789abcdef0123456789abcdef\""
    harness.store.set("a.jpg", ObjectIdentity(size: 300_000, version: .entityTag(tag)))
    let waiter = TestWaiter()
    let identity = DownloadHarness.identity(300_000, tag)
    let ticket = harness.downloads.join("a.jpg", identity, priority: .request, waiter)
    let first = harness.store.nextRead(0)
    let arriving = try #require(harness.downloads.arriving(ticket))
    first.begin()
    first.send(isDamaged ? Self.damaged(5) : Self.bytes)
    first.end()
    let second = harness.store.nextRead(1)
    #expect(arriving.availableBytes == 300_000, "what has arrived stays readable")
    second.begin()
    second.send(Self.bytes)
    second.end()
    #expect(try waiter.wait() == Self.bytes)
    #expect(arriving.isUnchanged == !isDamaged)
  }

  @Test func `An entity tag that looks like an MD5 and is none costs one more read, once for a store`() throws {
    let harness = try DownloadHarness()
    let tag = "\"0123456789abcdef0123456789abcdef\""
    #expect(try Self.fetch("a.jpg", tag, reads: [Self.bytes, Self.bytes], from: harness) == Self.bytes)
    #expect(try Self.fetch("b.jpg", tag, reads: [Self.bytes], first: 2, from: harness) == Self.bytes)
    #expect(harness.store.readCount == 3)
  }

  @Test func `Bytes that differ from the fingerprint in the catalogue are read once more`() throws {
    let harness = try DownloadHarness()
    let right = Self.fingerprint()
    for (number, position) in [0, 299_999].enumerated() {
      let read = try Self.fetch(
        number == 0 ? "a.jpg" : "b.jpg", "\"v1\"", right, reads: [Self.damaged(position), Self.bytes],
        first: 2 * number, from: harness)
      #expect(read == Self.bytes)
    }
    // The fingerprint itself may be of damaged bytes: what comes twice is what the store has.
    let other = [UInt8](repeating: 0, count: 16).withUnsafeBytes { FileFingerprint($0) }
    let same = try Self.fetch("c.jpg", "\"v1\"", other, reads: [Self.bytes, Self.bytes], first: 4, from: harness)
    #expect(same == Self.bytes && harness.store.readCount == 6)
    #expect(harness.downloads.open("c.jpg", DownloadHarness.identity(300_000), fingerprint: other) != nil)
  }

  /// That of `bytes`.
  private static func fingerprint() -> FileFingerprint? {
    var hash = Digest(.sha256)
    withUnsafeBytes(of: Int64(300_000).littleEndian) { hash.update($0) }
    hash.update(bytes[..<2048])
    hash.update(bytes[297_952...])
    let digest = Array(hash.finalize().prefix(16))
    return digest.withUnsafeBytes { FileFingerprint($0) }
  }

  @Test(arguments: [0, 299_999])
  func `A local original that differs from its fingerprint is in the cloud, once in a run`(_ position: Int) throws {
    let harness = try DownloadHarness()
    let identity = DownloadHarness.identity(300_000)
    let right = Self.fingerprint()
    for number in 0..<2 {
      try harness.fetch("a", Self.bytes, read: number)
      #expect(harness.downloads.open("a", identity, fingerprint: right) != nil)
      let name = try #require(harness.names.first)
      try Data(Self.damaged(position)).write(to: URL(fileURLWithPath: "\(harness.path)/\(name)"))
      // The second time it counts as what the store has, so that it is not fetched in a loop.
      #expect((harness.downloads.open("a", identity, fingerprint: right) == nil) == (number == 0))
      #expect(harness.names.count == number)
      #expect(harness.downloads.counts.originals == number)
    }
  }

  @Test func `A receiver of more than its limit pauses the store, and loses nothing`() throws {
    let harness = try DownloadHarness { $0.pendingBytes = 1000 }
    let waiter = TestWaiter()
    _ = harness.join("a.jpg", 300_000, waiter)
    let read = harness.store.nextRead(0)
    read.begin()
    for start in stride(from: 0, to: 300_000, by: 700) {
      read.send(Array(Self.bytes[start..<min(start + 700, 300_000)]))
    }
    read.end()
    #expect(try waiter.wait() == Self.bytes)
  }

  @Test func `The originals used longest ago make room, but not the pinned ones`() throws {
    let harness = try DownloadHarness()
    for (number, key) in ["a", "b", "c"].enumerated() {
      try harness.fetch(ObjectKey(stringLiteral: key), Self.bytes, read: number)
    }
    let identity = DownloadHarness.identity(300_000)
    harness.downloads.pin("a", identity)
    _ = harness.downloads.open("b", identity)
    try harness.fetch("d", Self.bytes, read: 3)
    #expect(["a", "b", "c", "d"].map { harness.downloads.isLocal($0, identity) } == [true, true, false, true])
    #expect(harness.names.count == 3)
    harness.downloads.pin("b", identity)
    harness.downloads.pin("d", identity)
    let waiter = TestWaiter()
    _ = harness.join("e", 300_000, waiter)
    #expect(throws: OriginalDownloadError.noSpace) { try waiter.wait() }
    let tooLarge = TestWaiter()
    _ = harness.join("f", 2_000_000, tooLarge)
    #expect(throws: OriginalDownloadError.noSpace) { try tooLarge.wait() }
    harness.downloads.unpin("a", identity)
    try harness.fetch("e", Self.bytes, read: 4)
    #expect(!harness.downloads.isLocal("a", identity))
  }

  @Test func `An evicted original stays readable for those that have it open`() throws {
    let harness = try DownloadHarness()
    try harness.fetch("a", Self.bytes, read: 0)
    let file = try #require(harness.downloads.open("a", DownloadHarness.identity(300_000)))
    for number in 1...3 { try harness.fetch(ObjectKey(stringLiteral: "b\(number)"), Self.bytes, read: number) }
    #expect(harness.downloads.open("a", DownloadHarness.identity(300_000)) == nil)
    #expect(try file.bytes(at: 0, count: 300_000) == Self.bytes)
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
    #expect(throws: OriginalDownloadError.tooManyDownloads) { try waiters[2].wait() }
  }

  @Test func `A download that waits evicts nothing`() throws {
    let harness = try DownloadHarness { $0.downloads = 1 }
    for (number, key) in (["a", "b", "c"] as [ObjectKey]).enumerated() {
      try harness.fetch(key, Self.bytes, read: number)
    }
    let running = TestWaiter()
    _ = harness.join("d", 300_000, running)
    let read = harness.store.nextRead(3)
    let tickets = (["e", "f"] as [ObjectKey]).map { harness.join($0, 300_000, TestWaiter()) }
    harness.until { $0.waiting == 2 }
    #expect(harness.downloads.counts.reservedBytes == 300_000)
    for ticket in tickets { harness.downloads.leave(ticket) }
    read.begin()
    read.send(Self.bytes)
    read.end()
    #expect(try running.wait() == Self.bytes)
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
    harness.until { $0.running == 1 && $0.waiting == 1 }
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

  @Test func `After a restart complete originals are here, and half ones are gone`() throws {
    let harness = try DownloadHarness()
    try harness.fetch("a", Self.bytes, read: 0)
    try harness.fetch("b", Self.bytes, read: 1)
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

  @Test func `A damaged original is downloaded again`() throws {
    let harness = try DownloadHarness()
    try harness.fetch("a", Self.bytes, read: 0)
    let name = try #require(harness.names.first)
    try Data([1, 2]).write(to: URL(fileURLWithPath: "\(harness.path)/\(name)"))
    #expect(harness.downloads.open("a", DownloadHarness.identity(300_000)) == nil)
    try harness.fetch("a", Self.bytes, read: 1)
  }
}
