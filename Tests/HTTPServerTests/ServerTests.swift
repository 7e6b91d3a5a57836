import Foundation
import HTTPCore
import HTTPServer
import Synchronization
import Telemetry
import Testing

@Suite("Server, with real sockets and a manual clock")
struct ServerTests {
  // MARK: Slow clients

  @Test("a client that sends its head byte by byte gets 408 after the header timeout")
  func slowHead() throws {
    let server = try TestServer()
    let client = try TestClient(port: server.port)
    client.send("GET / HT")
    try server.pass(seconds: 10)
    client.send("TP/1.1\r\n")
    try server.pass(seconds: 4.9)
    client.send("Host: a\r\n")
    try server.pass(seconds: 0.2)
    let answer = try #require(client.readToEnd())
    #expect(answer.hasPrefix("HTTP/1.1 408 ") && answer.contains("Connection: close\r\n"))
  }

  @Test("a client that sends its body slowly gets 408 after the body timeout")
  func slowBody() throws {
    let server = try TestServer()
    let client = try TestClient(port: server.port)
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345")
    try server.pass(seconds: 59)
    client.send("6")
    try server.pass(seconds: 2)
    #expect(client.readToEnd()?.hasPrefix("HTTP/1.1 408 ") == true)
  }

  @Test("an idle connection is closed without a response, before the first request and between requests")
  func idle() throws {
    let server = try TestServer()
    let silent = try TestClient(port: server.port)
    let idle = try TestClient(port: server.port)
    idle.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(idle.read(until: "GET /1 ") != nil)
    try server.pass(seconds: 16)
    #expect(silent.readToEnd() == "")
    idle.send("GET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(idle.read(until: "GET /2 ") != nil)
    try server.pass(seconds: 76)
    #expect(idle.readToEnd() == "")
  }

  /// More than any socket's buffer takes.
  private struct LargeHandler: HTTPHandler {
    static let size = 64 << 20
    /// Room for one connection.
    static let limits = ServerLimits(responseBufferBytes: 65 << 20)

    func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
      let isLarge = request.head.target == "/large"
      responder.send(HTTPResponse(.ok, body: [UInt8](repeating: 120, count: isLarge ? Self.size : 1)))
    }
    func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
    func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
    func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
  }

  @Test("a client that reads nothing of a large response is disconnected")
  func stalledReader() throws {
    let server = try TestServer(limits: LargeHandler.limits, handler: LargeHandler())
    let client = try TestClient(port: server.port, receiveBuffer: 4096)
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
    try server.pass(seconds: 29)
    // The client's system takes some kilobytes, at any moment; each KiB earns a second.
    try server.pass(seconds: 20)
    let got = try #require(client.readToEnd())
    #expect(got.hasPrefix("HTTP/1.1 200 ") && got.utf8.count < LargeHandler.size)
  }

  @Test("a client that reads below the minimum rate is disconnected")
  func slowReader() throws {
    var limits = LargeHandler.limits
    limits.minimumSendBytesPerSecond = 1 << 20
    let server = try TestServer(limits: limits, handler: LargeHandler())
    let client = try TestClient(port: server.port, receiveBuffer: 4096)
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
    var got = 0
    // Each step takes less than the send timeout, and the client reads something.
    for _ in 0..<4 {
      try server.pass(seconds: 20)
      guard let bytes = client.read(100_000), !bytes.isEmpty else { break }
      got += bytes.count
      try server.probe()
    }
    try server.pass(seconds: 20)
    let rest = try #require(client.readToEnd())
    #expect(got + rest.utf8.count < LargeHandler.size)
  }

  @Test("a client above the minimum rate stays, although the send buffer remains nearly full")
  func steadyReader() throws {
    let server = try TestServer(limits: LargeHandler.limits, handler: LargeHandler())
    let client = try TestClient(port: server.port, receiveBuffer: 4096)
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
    for _ in 0..<20 {
      try server.pass(seconds: 20)
      var missing = 30 << 10
      while missing > 0 {
        let bytes = try #require(client.read(missing))
        try #require(!bytes.isEmpty, "disconnected")
        missing -= bytes.count
      }
    }
  }

  @Test("a client that reads gets the whole response")
  func largeAnswer() throws {
    let server = try TestServer(limits: LargeHandler.limits, handler: LargeHandler())
    let client = try TestClient(port: server.port)
    client.send("GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    let got = try #require(client.readToEnd())
    #expect(
      got.utf8.count - LargeHandler.size
        == (got.range(of: "\r\n\r\n").map { got.utf8.distance(from: got.startIndex, to: $0.upperBound) }))
  }

  @Test("a normal client is served while others are slow")
  func healthyAmongSlow() throws {
    let server = try TestServer()
    let slow = try (0..<200).map { _ in
      let client = try TestClient(port: server.port)
      client.send("GET / HTTP/1.1\r\nHost: a\r\nX: ")
      return client
    }
    try server.probe()
    let healthy = try TestClient(port: server.port)
    healthy.send("GET /here HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(healthy.readToEnd()?.hasSuffix("GET /here ") == true)
    #expect(slow.count == 200)
  }

  // MARK: Back-pressure

  /// Writes pieces without end, each when the connection is writable, and records how far it is ahead of the reader.
  private final class EndlessHandler: HTTPHandler {
    let written = Atomic<Int>(0)
    let closed = Atomic<Bool>(false)
    let waits: Bool
    static let piece = [UInt8](repeating: 120, count: 32_768)

    init(waits: Bool) { self.waits = waits }

    func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
      if request.head.target == "/probe" { return responder.send(HTTPResponse(.ok)) }
      responder.onClose { [self] in closed.store(true, ordering: .relaxed) }
      responder.start(ResponseHead(.ok))
      next(responder)
    }

    private func next(_ responder: Responder) {
      guard !closed.load(ordering: .relaxed), written.load(ordering: .relaxed) < 1 << 30 else { return }
      written.add(Self.piece.count, ordering: .relaxed)
      guard waits else {
        responder.write([Self.piece])
        return next(responder)
      }
      responder.write([Self.piece]) { [self] in next(responder) }
    }

    func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
    func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
    func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
  }

  @Test("a producer that waits for writability is never far ahead of its reader")
  func backPressure() throws {
    let handler = EndlessHandler(waits: true)
    let server = try TestServer(handler: handler)
    let client = try TestClient(port: server.port, receiveBuffer: 65_536)
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    var read = 0
    while read < 8 << 20 {
      let bytes = try #require(client.read())
      try #require(!bytes.isEmpty)
      read += bytes.count
    }
    try server.probe()
    // The low watermark, one piece and two socket buffers: a few megabytes, far below a gigabyte.
    let written = handler.written.load(ordering: .relaxed)
    #expect(written < read + (16 << 20))
  }

  @Test("a producer that ignores writability loses its connection, and the output queue stays bounded")
  func impatientProducer() throws {
    var limits = ServerLimits()
    limits.outputQueueBytes = 1 << 20
    let handler = EndlessHandler(waits: false)
    let server = try TestServer(limits: limits, handler: handler)
    let client = try TestClient(port: server.port, receiveBuffer: 4096)
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(client.readToEnd() != nil)
    let isClosed = handler.closed.load(ordering: .relaxed)
    #expect(isClosed)
    let written = handler.written.load(ordering: .relaxed)
    #expect(written < 64 << 20)
  }

  // MARK: Messages

  @Test("a hundred pipelined requests get responses in order, over several turns")
  func pipelining() throws {
    let server = try TestServer()
    let client = try TestClient(port: server.port)
    client.send((0..<100).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
    client.finishSending()
    let answers = try #require(client.readToEnd())
    let paths = answers.components(separatedBy: "\r\n\r\nGET /").dropFirst().map { $0.prefix { $0.isNumber } }
    #expect(paths.map { Int($0) } == (0..<100).map { $0 })
  }

  @Test("100 Continue is sent before the body arrives, and only to a client that expects it")
  func expectation() throws {
    let server = try TestServer()
    let client = try TestClient(port: server.port)
    client.send("POST /b HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    #expect(client.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
    client.send("hi")
    #expect(client.read(until: "POST /b hi")?.hasPrefix("HTTP/1.1 200 OK") == true)
    client.send("POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n")
    try server.probe()
    client.send("ho")
    #expect(client.read(until: "POST /c ho")?.hasPrefix("HTTP/1.1 200 OK") == true)
    client.send("POST /d HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\nContent-Length: 2\r\n\r\n")
    #expect(client.readToEnd()?.hasPrefix("HTTP/1.1 417 ") == true)
  }

  @Test(
    "version and Connection field determine whether the connection stays open and the response says so",
    arguments: [
      ("1.0", "", "close"), ("1.0", "Connection: keep-alive\r\n", "keep-alive"), ("1.1", "", nil),
      ("1.1", "Connection: close\r\n", "close"),
    ] as [(String, String, String?)])
  func persistence(_ version: String, _ field: String, _ connection: String?) throws {
    let server = try TestServer()
    let client = try TestClient(port: server.port)
    client.send("GET /1 HTTP/\(version)\r\nHost: a\r\n\(field)\r\n")
    let first = try #require(client.read(until: "GET /1 "))
    #expect(first.contains("Connection: ") == (connection != nil))
    if let connection { #expect(first.contains("Connection: \(connection)\r\n")) }
    client.send("GET /2 HTTP/\(version)\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(client.readToEnd()?.isEmpty == (connection == "close"))
  }

  @Test("HEAD is GET without the body")
  func head() throws {
    let server = try TestServer()
    func answer(_ method: String) throws -> [String] {
      let client = try TestClient(port: server.port)
      client.send("\(method) /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      return try #require(client.readToEnd()).components(separatedBy: "\r\n\r\n")
    }
    let (get, head) = (try answer("GET"), try answer("HEAD"))
    #expect(get[1] == "GET /x " && head[1] == "")
    #expect(head[0].contains("Content-Length: 8") && get[0].contains("Content-Length: 7"))
    #expect(get[0].contains("Date: Sun, 06 Nov 1994 08:49:37 GMT"))
  }

  @Test("each request has a new identifier, also in prepared responses", arguments: [false, true])
  func identifiers(isChunked: Bool) throws {
    struct Handler: HTTPHandler {
      let prepared: PreparedResponse?

      init(isChunked: Bool) {
        let field = "<\(PreparedResponse.requestIDPlaceholder)>"
        prepared =
          isChunked
          ? PreparedResponse(
            chunked: ResponseHead(.ok, [("X-Other", field)]), opening: Array("X-ID: \(field)\r\n\r\n".utf8),
            body: Array("body".utf8), closing: Array("end".utf8))
          : PreparedResponse(HTTPResponse(.ok, [("X-ID", field)], body: Array("body".utf8)))
      }

      func preparedResponse(to request: borrowing HTTPRequest, from peer: Peer) -> PreparedResponse? {
        request.head.target == "/probe" ? nil : prepared
      }
      func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
        responder.send(HTTPResponse(.ok, [("X-ID", "<\(responder.requestID)>")]))
      }
      func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
      func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
      func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
    }
    let server = try TestServer(handler: Handler(isChunked: isChunked))
    let client = try TestClient(port: server.port)
    client.send(
      String(repeating: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", count: 600) + "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"
        + "GET /probe HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    let text = try #require(client.readToEnd())
    let names = text.components(separatedBy: "X-ID: <").dropFirst().map { String($0.prefix { $0 != ">" }) }
    // In the chunk, the response to HEAD has no identifier.
    #expect(names.count == (isChunked ? 601 : 602) && Set(names).count == names.count)
    #expect(names.allSatisfy { $0.utf8.count == 32 && $0.allSatisfy(\.isHexDigit) })
    #expect(text.components(separatedBy: "\r\n\r\nbody\(isChunked ? "end\r\n0\r\n\r\n" : "")").count == 601)
    let framing = isChunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: 4\r\n"
    #expect(text.components(separatedBy: framing).count == 602)
  }

  // MARK: Limits

  @Test("the connection limit is kept, and a waiting connection is accepted when another closes")
  func connectionLimit() throws {
    var limits = ServerLimits()
    limits.connections = 2
    let server = try TestServer(limits: limits)
    var first: TestClient? = try TestClient(port: server.port)
    let second = try TestClient(port: server.port)
    for client in [first!, second] {
      client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(client.read(until: "GET /1 ") != nil)
    }
    let third = try TestClient(port: server.port)
    third.send("GET /3 HTTP/1.1\r\nHost: a\r\n\r\n")
    // It is not accepted yet: a request on an accepted connection gets its response first.
    second.send("GET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(second.read(until: "GET /2 ") != nil)
    first = nil
    #expect(third.read(until: "GET /3 ") != nil)
  }

  @Test("connections per address are limited, except for proxies")
  func connectionsPerAddress() throws {
    var limits = ServerLimits()
    limits.connectionsPerAddress = 1
    for (proxies, isTaken) in [([], false), (["127.0.0.0/8"], true)] as [([String], Bool)] {
      let server = try TestServer(limits: limits, proxies: proxies)
      let first = try TestClient(port: server.port)
      first.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(first.read(until: "GET /1 ") != nil)
      let second = try TestClient(port: server.port)
      second.send("GET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      #expect(second.readToEnd()?.isEmpty == !isTaken)
      #expect(server.server.statistics.refusedConnections == (isTaken ? 0 : 1))
    }
  }

  @Test("draining serves accepted requests, closes idle connections, accepts no new ones and finishes")
  func drain() async throws {
    final class Gate: HTTPHandler {
      let held = Mutex<Responder?>(nil)
      func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
        if request.head.target == "/probe" { return responder.send(HTTPResponse(.ok)) }
        held.withLock { $0 = responder }
      }
      func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
      func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
      func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
    }
    let gate = Gate()
    let server = try TestServer(handler: gate)
    let busy = try TestClient(port: server.port)
    let idle = try TestClient(port: server.port)
    idle.send("GET /probe HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(idle.read(until: "\r\n\r\n") != nil)
    let fresh = try TestClient(port: server.port)
    let silent = try TestClient(port: server.port)
    busy.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
    try server.probe()
    // Started here and not on a thread that other tests may block.
    let (drained, end) = AsyncStream.makeStream(of: Void.self)
    server.server.drain(deadline: .seconds(60)) { end.finish() }
    #expect(idle.readToEnd() == "", "a connection between two requests closes at once")
    fresh.send("GET /probe HTTP/1.1\r\nHost: a\r\n\r\n")
    let first = try #require(fresh.readToEnd())
    #expect(first.hasPrefix("HTTP/1.1 200") && first.contains("Connection: close\r\n"))
    server.clock.advance(seconds: 1)
    server.server.tick()
    #expect(silent.readToEnd() == "", "a connection without a request closes after the grace period")
    let responder = try #require(gate.held.withLock { $0.take() })
    responder.send(HTTPResponse(.ok, body: Array("done".utf8)))
    let answer = try #require(busy.readToEnd())
    #expect(answer.hasSuffix("done") && answer.contains("Connection: close\r\n"))
    for await _ in drained {}
    #expect(throws: (any Error).self) { try TestClient(port: server.port) }
  }
}
