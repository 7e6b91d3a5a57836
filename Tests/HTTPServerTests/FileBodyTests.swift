import Dispatch
import Foundation
import HTTPCore
import Primitives
import Synchronization
import Testing

@testable import HTTPServer

#if canImport(Glibc)
  import Glibc
#endif

/// A file without a name, with known bytes, that is sent in segments of 1 MiB.
private final class SentFile: SendableFile {
  /// More than the buffers of a connection hold.
  static let size = 12 << 20
  static let segmentBytes = 1 << 20
  static let bytes: [UInt8] = {
    // Of a prime length, so that no two segments are equal.
    let block = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 >> 8) }
    var bytes: [UInt8] = []
    while bytes.count < size { bytes += block.prefix(size - bytes.count) }
    return bytes
  }()

  private let file: Int32
  private let unreadable: Int32
  /// Whether further reads of the file fail with EBADF.
  let isUnreadable = Atomic<Bool>(false)

  init() throws {
    var path = Array((NSTemporaryDirectory() + "/body-XXXXXX").utf8CString)
    file = mkstemp(&path)
    unreadable = open(path, O_WRONLY)
    try #require(file >= 0 && unreadable >= 0)
    unlink(path)
    try #require(write(file, Self.bytes, Self.size) == Self.size)
    // Only pages that are written to the disk can be evicted.
    try #require(fsync(file) == 0)
  }
  deinit {
    close(file)
    close(unreadable)
  }

  var descriptor: Int32 { isUnreadable.load(ordering: .relaxed) ? unreadable : file }

  func cut() { ftruncate(file, 0) }

  func evict() { posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) }

  /// Whether the pages of a file here can be evicted, or the file system can't tell what is in the page cache.
  static let canBeMissing: Bool = {
    guard let file = try? SentFile() else { return false }
    file.evict()
    return !file.isCached(0..<Int64(size))
  }()

  /// The segments of the whole file. One step collects them all.
  final class Body: BodySource {
    let length = Int64(SentFile.size)
    let memory = BodyMemory()
    private let file: SentFile
    private let position = Mutex<Int64>(0)

    init(_ file: SentFile) { self.file = file }

    func next() throws(BodySourceError) -> BodySegment? {
      position.withLock { position -> BodySegment? in
        guard position < length else { return nil }
        defer { position += Int64(SentFile.segmentBytes) }
        return .file(file, position..<position + Int64(SentFile.segmentBytes))
      }
    }
  }
}

@Suite("Bodies of files, with real sockets")
struct FileBodyTests {
  private final class Handler: HTTPHandler {
    let file: SentFile
    private let queue = DispatchQueue(label: "test.files")
    private let gate = DispatchSemaphore(value: 0)
    let began = DispatchSemaphore(value: 0)
    /// Signalled for each piece of work that is submitted.
    let submitted = DispatchSemaphore(value: 0)
    let failures = Mutex<[BodySourceError]>([])

    init(_ file: SentFile) {
      self.file = file
      queue.async { [gate] in gate.wait() }
    }

    /// Runs the work that was submitted, and lets later work run at once.
    func runWork() { gate.signal() }

    func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
      if request.head.target == "/probe" { return responder.send(HTTPResponse(.ok)) }
      DispatchQueue.global().async { [self] in
        do throws(BodySourceError) {
          try responder.send(ResponseHead(.ok), body: SentFile.Body(file)) { [self] work in
            queue.async(execute: work)
            submitted.signal()
            return true
          } onFailure: { [self] error in
            failures.withLock { $0.append(error) }
          }
        } catch {
          responder.send(HTTPResponse(503))
        }
        began.signal()
      }
    }
    func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
    func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
    func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
  }

  /// Reads everything up to the end of the stream, on a thread of its own.
  private final class Reader: Sendable {
    private let received = Mutex<[UInt8]>([])
    private let ended = DispatchSemaphore(value: 0)

    init(_ client: TestClient) {
      Thread.detachNewThread { [self] in
        while let bytes = client.read(), !bytes.isEmpty { received.withLock { $0 += bytes } }
        ended.signal()
      }
    }

    /// The body, when the stream has ended.
    func body() throws -> [UInt8] {
      try #require(ended.wait(timeout: .now() + 60) == .success)
      let all = received.withLock { $0 }
      let start = try #require(all.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound)
      return Array(all[start...])
    }
  }

  /// Asks for the file. Returns when the server has sent as much as the buffers of the connection hold.
  private func ask(_ server: TestServer, _ handler: Handler) throws -> TestClient {
    let client = try TestClient(port: server.port)
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    try #require(handler.began.wait(timeout: .now() + 60) == .success)
    // The connection takes several turns.
    for _ in 0..<20 { try server.probe() }
    return client
  }

  /// A server that has sent the beginning of a file to a client, whose reader begins when the rest of the file is no
  /// longer in the page cache. Returns when the server has submitted work to load it.
  private func sendEvictedFile(_ handler: Handler, prepare: () -> Void = {}) throws -> (TestServer, Reader) {
    let server = try TestServer(handler: handler)
    let client = try ask(server, handler)
    handler.file.evict()
    prepare()
    server.clock.advance(seconds: 2)
    let reader = Reader(client)
    try #require(handler.submitted.wait(timeout: .now() + 60) == .success)
    return (server, reader)
  }

  @Test(
    "bytes that left the page cache while a client was slow are loaded on the queue for files, not on the loop",
    .enabled(if: SentFile.canBeMissing))
  func evicted() throws {
    let handler = Handler(try SentFile())
    let (server, reader) = try sendEvictedFile(handler)
    // The loop answers others while the disk is waited for, and the waiting client misses no deadline.
    try server.pass(seconds: 3600)
    handler.runWork()
    let isWhole = try reader.body() == SentFile.bytes
    #expect(isWhole && handler.failures.withLock { $0.isEmpty })
  }

  @Test(
    "a file that can't be read again ends the response early, and its cause is reported once",
    .enabled(if: SentFile.canBeMissing))
  func unreadable() throws {
    let handler = Handler(try SentFile())
    let (server, reader) = try sendEvictedFile(handler) {
      handler.file.isUnreadable.store(true, ordering: .relaxed)
    }
    handler.runWork()
    let body = try reader.body()
    #expect(body.count < SentFile.size && body[...] == SentFile.bytes[..<body.count])
    try server.probe()
    #expect(handler.failures.withLock { $0 } == [.readFailed(code: EBADF)])
  }

  @Test("a file that is cut while it is sent ends the response early, and its cause is reported once")
  func cut() throws {
    let handler = Handler(try SentFile())
    let server = try TestServer(handler: handler)
    let client = try ask(server, handler)
    handler.file.cut()
    let body = try Reader(client).body()
    #expect(body.count < SentFile.size)
    try server.probe()
    #expect(handler.failures.withLock { $0 } == [.fileChanged])
    handler.runWork()
  }

  @Test("one flush sends a share of a file, so that other connections have their turn")
  func turns() throws {
    let loop = EventLoop(index: 0, clock: ManualClock().clock, accessLog: nil)
    let reservation = try #require(ByteBudget(capacityBytes: 1).tryReserve(0))
    let file = try SentFile()
    // It takes everything at once, as a client does that reads at least as fast as the server sends.
    let sink = open("/dev/null", O_WRONLY)
    defer { close(sink) }
    let sizes = loop.queue.sync { () -> [Int] in
      var storage = sockaddr_storage()
      var sender = ResponseSender(loop: loop, peer: Peer(&storage))
      let loader = FileLoader(submit: { _ in false }, onFailure: { _ in })
      let end = Int64(SentFile.segmentBytes)
      for start in 0..<Int64(3) {
        sender.appendSegment(.file(file, start * end..<(start + 1) * end), reservedBy: reservation, loader: loader)
      }
      var sizes: [Int] = []
      while sizes.count < 10, case .unfinished(let sentBytes) = sender.flush(to: sink) { sizes.append(sentBytes) }
      return sizes
    }
    #expect(sizes == [SentFile.segmentBytes, SentFile.segmentBytes])
  }
}
