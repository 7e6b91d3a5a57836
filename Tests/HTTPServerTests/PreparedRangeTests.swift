import CPhotodSystem
import Dispatch
import Foundation
import HTTPCore
import HTTPServer
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Prepared ranges, with real sockets")
struct PreparedRangeTests {
  /// A file without a name, with known bytes.
  private final class File: PreparedFile {
    static let size = 1 << 20
    let descriptor: Int32
    let isSame = Atomic<Bool>(true)

    static let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 >> 8) }

    init() throws {
      var path = Array((NSTemporaryDirectory() + "/range-XXXXXX").utf8CString)
      descriptor = mkstemp(&path)
      try #require(descriptor >= 0)
      unlink(path)
      try #require(write(descriptor, Self.bytes, Self.size) == Self.size)
    }
    deinit { close(descriptor) }

    /// Removes the file from the page cache. Later reads load what they read, and nothing else.
    func evict() {
      // Only pages that are written to the disk can be evicted.
      fsync(descriptor)
      posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
      posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM)
    }

    func load(_ range: Range<Int>) throws {
      var bytes = [UInt8](repeating: 0, count: range.count)
      let count = pread(descriptor, &bytes, range.count, off_t(range.lowerBound))
      try #require(count == range.count)
    }

    var hasSameChangeTime: Bool { isSame.load(ordering: .relaxed) }

    func hasOverwrites(in range: Range<Int64>) -> Bool { range.contains(5) }

    /// Byte 5 of the file is not sent.
    func overwrite(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) {
      if offset <= 5, offset + Int64(bytes.count) > 5 { bytes[Int(5 - offset)] = 0xEE }
    }

    /// Whether the file system says what is in the page cache.
    var isSupported: Bool {
      var byte: UInt8 = 0
      return withUnsafeMutableBytes(of: &byte) {
        photod_read_cached(descriptor, $0.baseAddress, 1, 0) == 1
      }
    }
  }

  /// Whether ranges can be prepared on this file system (preadv2(2), RWF_NOWAIT); tmpfs has none.
  private static let isSupported = (try? File())?.isSupported == true

  /// Whether pages of a file here can be evicted.
  private static let canEvict: Bool = {
    guard isSupported, let file = try? File() else { return false }
    file.evict()
    return !file.isCached(0..<1)
  }()

  /// The representation begins at this offset of the file.
  private static let offset = 3

  private struct Handler: HTTPHandler {
    let file: File

    func preparedRange(of request: borrowing HTTPRequest, from peer: Peer) -> PreparedRange? {
      guard request.head.method == .get, let head = PreparedRange.makeHead([("X-Path", "loop")]),
        let part = ByteRanges.plainPart(request.head, size: File.size - PreparedRangeTests.offset)
      else { return nil }
      return PreparedRange(
        head: head, range: part, size: File.size - PreparedRangeTests.offset, offset: Int64(PreparedRangeTests.offset),
        file: file)
    }
    func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
      responder.send(HTTPResponse(.ok, [("X-Path", "handler")], body: Array("end".utf8)))
    }
    func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
    func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
    func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
  }

  private static func request(_ range: String, method: String = "GET", closes: Bool = false) -> String {
    "\(method) / HTTP/1.1\r\nHost: a\r\nRange: bytes=\(range)\r\n\(closes ? "Connection: close\r\n" : "")\r\n"
  }

  /// All bytes up to the end of the stream.
  private static func readToEnd(_ client: TestClient) throws -> [UInt8] {
    var all: [UInt8] = []
    while true {
      let bytes = try #require(client.read())
      if bytes.isEmpty { return all }
      all += bytes
    }
  }

  /// The representation's bytes, as they must be sent.
  private static func expected(_ range: Range<Int>) -> [UInt8] {
    var bytes = Array(File.bytes[range.lowerBound + offset..<range.upperBound + offset])
    if range.contains(5 - offset) { bytes[5 - offset - range.lowerBound] = 0xEE }
    return bytes
  }

  @Test(
    "a range is sent with its fields, without the bytes that must not be sent; its end is cut off at the size",
    .enabled(if: isSupported))
  func fields() throws {
    let file = try File()
    let server = try TestServer(handler: Handler(file: file))
    let size = File.size - Self.offset
    for (field, range) in [
      ("0-0", 0..<1), ("0-9", 0..<10), ("2-2", 2..<3), ("3-9", 3..<10), ("1000-66535", 1000..<66_536),
      ("0-65535", 0..<65_536),
      ("\(size - 5)-", size - 5..<size), ("\(size - 5)-\(size)", size - 5..<size),
    ] {
      let client = try TestClient(port: server.port)
      client.send(Self.request(field, closes: true))
      let head = """
        HTTP/1.1 206 Partial Content\r
        X-Path: loop\r
        Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)\r
        Content-Length: \(range.count)\r
        Date: Sun, 06 Nov 1994 08:49:37 GMT\r
        Connection: close\r
        \r

        """
      let isSent = try Self.readToEnd(client) == Array(head.utf8) + Self.expected(range)
      #expect(isSent, "\(field)")
    }
    #expect(server.server.statistics.preparedResponses == 8)
  }

  @Test(
    "pipelined ranges are sent in order to a client that reads them late, and hold counted memory only meanwhile",
    .enabled(if: isSupported))
  func pipelined() throws {
    let file = try File()
    let server = try TestServer(handler: Handler(file: file))
    let client = try TestClient(port: server.port, receiveBuffer: 4096)
    let ranges = (0..<60).map { $0 * 1000..<$0 * 1000 + PreparedRange.maximumBytes }
    client.send(ranges.map { Self.request("\($0.lowerBound)-\($0.upperBound - 1)") }.joined())
    client.send(Self.request("x", closes: true))
    // The connection yields to others several times before the kernel takes no more.
    var held = 0
    let holds = try server.probe {
      held = server.server.statistics.responseBufferBytes
      return held > 0
    }
    #expect(holds && held <= PreparedRange.maximumBytes)
    var rest = try Self.readToEnd(client)[...]
    for range in ranges {
      let end = try #require(rest.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound)
      let isNext = Array(rest[end...].prefix(range.count)) == Self.expected(range)
      try #require(isNext, "\(range)")
      rest = rest[(end + range.count)...]
    }
    #expect(String(decoding: rest, as: UTF8.self).hasSuffix("\r\n\r\nend"))
    try server.probe()
    #expect(server.server.statistics.responseBufferBytes == 0)
  }

  @Test(
    "a file that changes while ranges are sent ends the connection before the end of a range",
    .enabled(if: isSupported))
  func changed() throws {
    let file = try File()
    let server = try TestServer(handler: Handler(file: file))
    let client = try TestClient(port: server.port, receiveBuffer: 4096)
    let length = PreparedRange.maximumBytes
    let body = Self.expected(1000..<1000 + length)
    client.send(String(repeating: Self.request("1000-\(999 + length)"), count: 60))
    // The file changes while the end of a range is queued, between two events: a range that begins later has the handler's
    // answer.
    while file.isSame.load(ordering: .relaxed) {
      server.onLoop {
        if server.server.statistics.responseBufferBytes > 0 { file.isSame.store(false, ordering: .relaxed) }
      }
    }
    var rest = try Self.readToEnd(client)[...]
    var complete = 0
    while let end = rest.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound, rest[end...].count >= length {
      let isNext = rest[end...].prefix(length).elementsEqual(body)
      try #require(isNext, "range \(complete)")
      rest = rest[(end + length)...]
      complete += 1
    }
    #expect(complete < 60 && rest.count < length)
  }

  @Test(
    "the handler gets the request if only the end of a longer range is in the page cache", .enabled(if: canEvict))
  func endCached() throws {
    let file = try File()
    let server = try TestServer(handler: Handler(file: file))
    let length = PreparedRange.maximumBytes
    let end = 65_536 + length + Self.offset
    file.evict()
    for (loaded, path) in [(end - 4096..<end, "handler"), (0..<File.size, "loop")] {
      try file.load(loaded)
      let client = try TestClient(port: server.port)
      client.send(Self.request("65536-\(65_535 + length)", closes: true))
      let answer = String(decoding: try Self.readToEnd(client).prefix(200), as: UTF8.self)
      #expect(answer.contains("X-Path: \(path)\r\n"), "\(loaded)")
    }
    #expect(server.server.statistics.preparedResponses == 1)
  }

  @Test(
    "the handler gets the request if the file has changed, is shorter, or slow clients hold all memory for responses",
    arguments: ["changed", "shorter", "memory"])
  func handler(_ reason: String) throws {
    let file = try File()
    var limits = ServerLimits()
    switch reason {
    case "changed": file.isSame.store(false, ordering: .relaxed)
    case "shorter": ftruncate(file.descriptor, 50)
    default: limits.responseBufferBytes = 4000
    }
    let server = try TestServer(limits: limits, handler: Handler(file: file))
    let client = try TestClient(port: server.port)
    client.send(Self.request("0-4095", closes: true))
    let answer = try #require(client.readToEnd())
    #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("X-Path: handler") && answer.hasSuffix("\r\n\r\nend"))
    #expect(server.server.statistics.preparedResponses == 0)
  }
}
