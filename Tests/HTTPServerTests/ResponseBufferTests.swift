import Dispatch
import HTTPCore
import HTTPServer
import Synchronization
import Testing

@Suite("The response buffer limit for responses without an owner, with real sockets")
struct ResponseBufferTests {
  /// Responds with the number of bytes given in the path; below `/owned/` with an owner.
  struct SizeHandler: HTTPHandler {
    private final class Owner: Sendable {}

    func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
      let path = request.head.target
      let size = path.split(separator: "/").last.flatMap { Int($0) } ?? 0
      responder.send(
        HTTPResponse(
          .ok, body: [UInt8](repeating: 120, count: size), owner: path.hasPrefix("/owned/") ? Owner() : nil))
    }

    func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
    func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
    func overloadedResponse() -> HTTPResponse { HTTPResponse(503, body: Array("slow".utf8)) }
  }

  /// More than any socket's buffer takes.
  private static let size = 24 << 20

  /// Number of bytes counted for it: an array allocates slightly more than its content.
  private static func waiting(_ server: TestServer) -> Int {
    let held = server.server.statistics.responseBufferBytes
    #expect(held % size < 65_536, "\(held)")
    return held / size
  }

  /// A server with budget for two such responses, and two clients that requested one each and read nothing.
  private static func fullServer() throws -> (TestServer, [TestClient]) {
    var limits = ServerLimits()
    limits.responseBufferBytes = 2 * size + size / 2
    let server = try TestServer(limits: limits, handler: SizeHandler())
    let clients = try (0..<2).map { _ in try ask(server, "/\(size)", receiveBuffer: 4096) }
    try server.probe()
    #expect(waiting(server) == 2)
    return (server, clients)
  }

  private static func ask(
    _ server: TestServer, _ path: String, _ method: String = "GET", receiveBuffer: Int32 = 0
  ) throws -> TestClient {
    let client = try TestClient(port: server.port, receiveBuffer: receiveBuffer)
    client.send("\(method) \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    return client
  }

  private static func status(_ server: TestServer, _ path: String, _ method: String = "GET") throws -> String? {
    try ask(server, path, method).readToEnd().map { String($0.dropFirst(9).prefix(3)) }
  }

  @Test("a response that does not fit is replaced by 503, and the connection stays open")
  func refused() throws {
    let (server, clients) = try Self.fullServer()
    let client = try TestClient(port: server.port)
    client.send("GET /\(Self.size) HTTP/1.1\r\nHost: a\r\n\r\n")
    let answer = try #require(client.read(until: "slow"))
    #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("\r\nContent-Length: 4\r\n"))
    client.send("GET /1000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(client.readToEnd()?.hasPrefix("HTTP/1.1 200 ") == true)
    #expect(Self.waiting(server) == 2 && clients.count == 2)
  }

  @Test(
    "a response that is small, has an owner, has no body or fits is sent despite a full buffer",
    arguments: [
      ("GET", "/2048"), ("GET", "/owned/\(size)"), ("HEAD", "/\(size)"), ("GET", "/0"), ("GET", "/\(size / 4)"),
    ])
  func served(_ method: String, _ path: String) throws {
    let (server, clients) = try Self.fullServer()
    #expect(try Self.status(server, path, method) == "200")
    #expect(Self.waiting(server) == 2 && clients.count == 2)
  }

  enum End: CaseIterable { case read, hungUp, timedOut }

  @Test("the budget is free again when a slow client has read, disconnected or timed out", arguments: End.allCases)
  func roomAgain(_ end: End) throws {
    var (server, clients) = try Self.fullServer()
    #expect(try Self.status(server, "/\(Self.size)") == "503")
    switch end {
    case .read: #expect((clients[0].readToEnd()?.utf8.count ?? 0) > Self.size)
    case .hungUp: clients.removeFirst()
    case .timedOut:
      try server.pass(seconds: 31)
      for client in clients { #expect(client.readToEnd() != nil) }
    }
    #expect(try Self.status(server, "/\(Self.size)") == "200")
    try server.probe()
    #expect(Self.waiting(server) == (end == .timedOut ? 0 : 1))
  }

  @Test("a client that reads gets any number of responses, also pipelined, and holds no budget afterwards")
  func quickReader() throws {
    var limits = ServerLimits()
    limits.responseBufferBytes = 150_000
    let server = try TestServer(limits: limits, handler: SizeHandler())
    let client = try TestClient(port: server.port)
    client.send(String(repeating: "GET /100000 HTTP/1.1\r\nHost: a\r\n\r\n", count: 100))
    client.send("GET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    let answers = try #require(client.readToEnd())
    #expect(answers.split(separator: "HTTP/1.1 200 ").count == 101 && !answers.contains("HTTP/1.1 503"))
    try server.probe()
    #expect(server.server.statistics.responseBufferBytes == 0)
  }

  @Test("a response larger than the whole budget is always refused")
  func tooLarge() throws {
    var limits = ServerLimits()
    limits.responseBufferBytes = 99_999
    let server = try TestServer(limits: limits, handler: SizeHandler())
    #expect(try Self.status(server, "/100000") == "503")
    #expect(try Self.status(server, "/90000") == "200")
  }

  // MARK: Bodies produced while they are sent

  /// Responds with a body of segments in memory; to `/probe` at once, and to `/complete` with a counted body.
  private final class SourceHandler: HTTPHandler {
    /// What may wait for a client: 64 KiB of one step, 256 KiB of the next one, and its last segment.
    static let waitingBytes = (64 + 256 + 128) << 10
    /// The sources are called here.
    let queue = DispatchQueue(label: "test.sources")

    private final class Source: BodySource {
      static let segmentBytes: Int64 = 128 << 10
      let length = Int64(ResponseBufferTests.size)
      let memory = BodyMemory(totalBytes: Int64(ResponseBufferTests.size), largestBytes: Source.segmentBytes)
      private let left = Mutex(Int64(ResponseBufferTests.size))

      func next() throws(BodySourceError) -> BodySegment? {
        let count = left.withLock { left in
          let count = min(left, Self.segmentBytes)
          left -= count
          return count
        }
        return count > 0 ? .bytes([UInt8](repeating: 120, count: Int(count))) : nil
      }
    }

    func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
      if request.head.target == "/probe" { return responder.send(HTTPResponse(.ok)) }
      if request.head.target == "/complete" {
        return responder.send(HTTPResponse(.ok, body: [UInt8](repeating: 120, count: Self.waitingBytes / 2)))
      }
      queue.async { [queue] in
        do throws(BodySourceError) {
          try responder.send(ResponseHead(.ok), body: Source()) { work in
            queue.async(execute: work)
            return true
          } onFailure: { _ in
          }
        } catch {
          responder.send(HTTPResponse(503, body: Array("\(error)".utf8)))
        }
      }
    }

    func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
    func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
    func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
  }

  @Test(
    "a body of bytes that is produced while it is sent reserves what may wait for the client, or is refused",
    arguments: [true, false])
  func sources(areRead: Bool) throws {
    var limits = ServerLimits()
    // Three quarters of it hold two bodies.
    limits.responseBufferBytes = SourceHandler.waitingBytes / 3 * 8 + 4000
    let handler = SourceHandler()
    let server = try TestServer(limits: limits, handler: handler)
    var clients = try (0..<2).map { _ in try Self.ask(server, "/", receiveBuffer: 4096) }
    try server.probe()
    handler.queue.sync {}
    #expect(server.server.statistics.responseBufferBytes == 2 * SourceHandler.waitingBytes)
    let third = try TestClient(port: server.port)
    third.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    let refused = try #require(third.read(until: "overloaded"))
    #expect(refused.hasPrefix("HTTP/1.1 503 "))
    // The other quarter is for complete responses.
    #expect(try Self.status(server, "/complete") == "200")
    // Also when it is full, the bodies that have begun come to their end.
    if areRead {
      for client in clients { #expect((client.readToEnd()?.utf8.count ?? 0) > Self.size) }
    }
    clients = []
    let isFree = try server.probe { server.server.statistics.responseBufferBytes == 0 }
    #expect(isFree)
    third.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect((third.readToEnd()?.utf8.count ?? 0) > Self.size)
  }
}
