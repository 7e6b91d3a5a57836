import Cryptography
import Foundation
import ObjectStores
import PhotoModel
import Testing

@testable import OriginalDownloads

@Suite struct DamagedDownloadsTests {
  @Test func `Bytes with another checksum, or too few, are not kept`() throws {
    let harness = try DownloadHarness()
    for (number, (sent, sha256)) in [
      (DownloadHarness.bytes, [UInt8](repeating: 0, count: 32)), (Array(DownloadHarness.bytes[..<10]), nil as [UInt8]?),
    ].enumerated() {
      let waiter = TestWaiter()
      _ = harness.join("a.jpg", 300_000, waiter)
      let read = harness.store.nextRead(number)
      read.begin(sha256: sha256)
      read.send(sent)
      read.end()
      let problem: ObjectStoreError.ResponseProblem = number == 0 ? .wrongChecksum : .wrongLength
      #expect(throws: DownloadError.store(.malformed(problem))) { try waiter.wait() }
      #expect(harness.names.isEmpty)
    }
  }

  /// Waits for an original whose entity tag is given, and serves each of its reads.
  private static func download(
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
    var bytes = DownloadHarness.bytes
    bytes[position] ^= 1
    return bytes
  }

  private static let md5Tag = "\"\(Digest.digest(DownloadHarness.bytes, .md5).hexadecimal)\""

  @Test func `Bytes that differ from the MD5 in the entity tag are read once more`() throws {
    let harness = try DownloadHarness()
    let read = try Self.download(
      "a.jpg", Self.md5Tag.uppercased(), reads: [Self.damaged(150_000), DownloadHarness.bytes], from: harness)
    #expect(read == DownloadHarness.bytes)
    #expect(throws: DownloadError.store(.malformed(.wrongChecksum))) {
      try Self.download(
        "b.jpg", Self.md5Tag, reads: [Self.damaged(150_000), Self.damaged(150_001)], first: 2, from: harness)
    }
    #expect(
      try Self.download("c.jpg", Self.md5Tag, reads: [DownloadHarness.bytes], first: 4, from: harness)
        == DownloadHarness.bytes)
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
    first.send(isDamaged ? Self.damaged(5) : DownloadHarness.bytes)
    first.end()
    let second = harness.store.nextRead(1)
    #expect(arriving.availableBytes == 300_000, "what has arrived stays readable")
    second.begin()
    second.send(DownloadHarness.bytes)
    second.end()
    #expect(try waiter.wait() == DownloadHarness.bytes)
    #expect(arriving.isUnchanged == !isDamaged)
  }

  @Test func `An entity tag that looks like an MD5 and is none costs one more read, once for a store`() throws {
    let harness = try DownloadHarness()
    let tag = "\"0123456789abcdef0123456789abcdef\""
    #expect(
      try Self.download("a.jpg", tag, reads: [DownloadHarness.bytes, DownloadHarness.bytes], from: harness)
        == DownloadHarness.bytes)
    #expect(
      try Self.download("b.jpg", tag, reads: [DownloadHarness.bytes], first: 2, from: harness) == DownloadHarness.bytes)
    #expect(harness.store.readCount == 3)
  }

  @Test func `Bytes that differ from the fingerprint in the catalogue are read once more`() throws {
    let harness = try DownloadHarness()
    let right = Self.fingerprint()
    for (number, position) in [0, 299_999].enumerated() {
      let read = try Self.download(
        number == 0 ? "a.jpg" : "b.jpg", "\"v1\"", right, reads: [Self.damaged(position), DownloadHarness.bytes],
        first: 2 * number, from: harness)
      #expect(read == DownloadHarness.bytes)
    }
    // The fingerprint itself may be of damaged bytes: what comes twice is what the store has.
    let other = [UInt8](repeating: 0, count: 16).withUnsafeBytes { FileFingerprint($0) }
    let same = try Self.download(
      "c.jpg", "\"v1\"", other, reads: [DownloadHarness.bytes, DownloadHarness.bytes], first: 4, from: harness)
    #expect(same == DownloadHarness.bytes && harness.store.readCount == 6)
    #expect(harness.downloads.open("c.jpg", DownloadHarness.identity(300_000), fingerprint: other) != nil)
  }

  /// That of the harness's bytes.
  private static func fingerprint() -> FileFingerprint? {
    var hash = Digest(.sha256)
    withUnsafeBytes(of: Int64(300_000).littleEndian) { hash.update($0) }
    hash.update(DownloadHarness.bytes[..<2048])
    hash.update(DownloadHarness.bytes[297_952...])
    let digest = Array(hash.finalize().prefix(16))
    return digest.withUnsafeBytes { FileFingerprint($0) }
  }

  @Test(arguments: [0, 299_999])
  func `A local original that differs from its fingerprint is in the cloud, once in a run`(_ position: Int) throws {
    let harness = try DownloadHarness()
    let identity = DownloadHarness.identity(300_000)
    let right = Self.fingerprint()
    for number in 0..<2 {
      try harness.download("a", DownloadHarness.bytes, read: number)
      #expect(harness.downloads.open("a", identity, fingerprint: right) != nil)
      let name = try #require(harness.names.first)
      try Data(Self.damaged(position)).write(to: URL(fileURLWithPath: "\(harness.path)/\(name)"))
      // The second time it counts as what the store has, so that it is not downloaded in a loop.
      #expect((harness.downloads.open("a", identity, fingerprint: right) == nil) == (number == 0))
      #expect(harness.names.count == number)
      #expect(harness.downloads.counts.originals == number)
    }
  }

  @Test func `A damaged original is downloaded again`() throws {
    let harness = try DownloadHarness()
    try harness.download("a", DownloadHarness.bytes, read: 0)
    let name = try #require(harness.names.first)
    try Data([1, 2]).write(to: URL(fileURLWithPath: "\(harness.path)/\(name)"))
    #expect(harness.downloads.open("a", DownloadHarness.identity(300_000)) == nil)
    try harness.download("a", DownloadHarness.bytes, read: 1)
  }
}
