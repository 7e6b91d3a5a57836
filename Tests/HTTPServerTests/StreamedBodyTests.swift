import Foundation
import HTTPCore
import HTTPServer
import Synchronization
import Testing

@Suite("Streamed request bodies, with real sockets")
struct StreamedBodyTests {
  /// Reads the body posted to /stream, one piece whenever the test allows it, and responds with the number of bytes.
  private final class Reader: HTTPHandler {
    private struct State {
      var total = 0
      var allowed = Int.max
      var waiting: [@Sendable () -> Void] = []
      var failures: [BodyFailure] = []
      var decisions = 0
      var used: [Int] = []
    }

    private let state = Mutex(State())
    private let refusesAbove: Int

    init(refusingAbove refusesAbove: Int = .max) { self.refusesAbove = refusesAbove }

    /// Number of further pieces to read; after them the reader stops.
    func allow(_ pieces: Int) {
      let waiting = state.withLock { state in
        state.allowed = pieces
        defer { state.waiting = [] }
        return state.waiting
      }
      for next in waiting { next() }
    }

    var total: Int { state.withLock { $0.total } }
    /// The number of decisions to stream a body, and those whose handler was called, in order.
    var decisions: (count: Int, used: [Int]) { state.withLock { ($0.decisions, $0.used) } }
    var failures: [BodyFailure] { state.withLock { $0.failures } }

    func streamHandler(for head: RequestHead, from peer: Peer) -> StreamHandler? {
      guard head.target == "/stream" else { return nil }
      let decision = state.withLock { state in
        state.decisions += 1
        return state.decisions
      }
      return { [self] body, responder in
        state.withLock { $0.used.append(decision) }
        if let length = body.length, length > refusesAbove { return responder.send(HTTPResponse(413)) }
        next(body, 0, responder)
      }
    }

    private func next(_ body: StreamedBody, _ sum: Int, _ responder: Responder) {
      let mayRead = state.withLock { state in
        if state.allowed > 0 {
          state.allowed -= state.allowed == .max ? 0 : 1
          return true
        }
        state.waiting.append { [self] in next(body, sum, responder) }
        return false
      }
      guard mayRead else { return }
      body.read { [self] read in
        switch read {
        case .piece(let piece):
          state.withLock { $0.total += piece.count }
          if sum + piece.count > refusesAbove { return responder.send(HTTPResponse(413)) }
          next(body, sum + piece.count, responder)
        case .end: responder.send(HTTPResponse(.ok, body: Array("\(sum) bytes".utf8)))
        case .failed(let failure):
          state.withLock { $0.failures.append(failure) }
          switch failure {
          case .malformed(let error): responder.send(HTTPResponse(error.status))
          case .timedOut: responder.send(HTTPResponse(408))
          case .closed, .cancelled: break
          }
        }
      }
    }

    func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
      responder.send(HTTPResponse(.ok, body: Array("whole \(request.body.count)".utf8)))
    }
    func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
    func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
    func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
  }

  private static func head(_ fields: String, path: String = "/stream") -> String {
    "POST \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n"
  }

  @Test("a body much larger than the buffer limit is received, and the connection serves the next request")
  func large() async throws {
    let reader = Reader()
    let server = try TestServer(handler: reader)
    let client = try TestClient(port: server.port)
    let size = 40 << 20
    let piece = String(repeating: "x", count: 1 << 20)
    client.send(Self.head("Content-Length: \(size)"))
    for _ in 0..<40 { client.send(piece) }
    client.send(Self.head("Content-Length: 3", path: "/other") + "abc")
    // Both responses may arrive in one read.
    #expect(client.read(until: "whole 3")?.contains("\(size) bytes") == true)
    try server.probe()
    #expect(server.server.statistics.requestBufferBytes == 0)
  }

  @Test("a chunked body is streamed, and the request after it is served")
  func chunked() throws {
    let server = try TestServer(handler: Reader())
    let client = try TestClient(port: server.port)
    var message = Self.head("Transfer-Encoding: chunked")
    for _ in 0..<3000 { message += "3\r\nabc\r\n" }
    client.send(message + "0\r\n\r\n" + Self.head("Content-Length: 0"))
    #expect(client.read(until: "whole 0")?.contains("9000 bytes") == true, "a request without a body is not streamed")
  }

  @Test("how a body is received is decided once for each request, and the handler of that decision receives it")
  func decidedOnce() throws {
    let reader = Reader()
    let server = try TestServer(handler: reader)
    let client = try TestClient(port: server.port)
    for count in 1...3 {
      client.send(Self.head("Content-Length: \(count)") + String(repeating: "x", count: count))
      #expect(client.read(until: "\(count) bytes") != nil)
    }
    #expect(reader.decisions.count == 3 && reader.decisions.used == [1, 2, 3])
  }

  @Test("a slow handler stops the client and buffers at most the body window")
  func backPressure() throws {
    let reader = Reader()
    reader.allow(1)
    let server = try TestServer(limits: ServerLimits(bodyWindowBytes: 128 << 10), handler: reader)
    let client = try TestClient(port: server.port)
    _ = fcntl(client.descriptor, F_SETFL, fcntl(client.descriptor, F_GETFL) | O_NONBLOCK)
    let size = 64 << 20
    client.send(Self.head("Content-Length: \(size)"))
    let piece = [UInt8](repeating: 120, count: 1 << 20)
    var sent = 0
    // Send until the socket buffers stay full.
    for _ in 0..<50 {
      while true {
        let count = Glibc.send(client.descriptor, piece, piece.count, Int32(MSG_NOSIGNAL))
        if count <= 0 { break }
        sent += count
      }
      try server.probe()
    }
    #expect(sent < size / 2)
    #expect(reader.total <= 64 << 10)
    // The window, one socket read, and the head with the bytes that came with it.
    #expect((192 << 10...260 << 10).contains(server.server.statistics.requestBufferBytes))
    // No deadline runs while the handler is slow.
    try server.pass(seconds: 1000)
    reader.allow(.max)
    _ = fcntl(client.descriptor, F_SETFL, fcntl(client.descriptor, F_GETFL) & ~O_NONBLOCK)
    while sent < size {
      let count = Glibc.send(client.descriptor, piece, min(piece.count, size - sent), Int32(MSG_NOSIGNAL))
      try #require(count > 0)
      sent += count
    }
    #expect(client.read(until: "\(size) bytes") != nil)
  }

  @Test("100 Continue is sent when the handler reads the body, and not if it responds without reading")
  func expectation() throws {
    let reader = Reader(refusingAbove: 1000)
    reader.allow(0)
    let server = try TestServer(handler: reader)
    let client = try TestClient(port: server.port)
    client.send(Self.head("Content-Length: 3\r\nExpect: 100-continue"))
    try server.probe()
    reader.allow(.max)
    #expect(client.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
    client.send("abc")
    #expect(client.read(until: "3 bytes")?.hasPrefix("HTTP/1.1 200 ") == true)
    let other = try TestClient(port: server.port)
    other.send(Self.head("Content-Length: 1001\r\nExpect: 100-continue"))
    let answer = try #require(other.readToEnd())
    #expect(answer.hasPrefix("HTTP/1.1 413 ") && answer.contains("Connection: close\r\n"))
    // A client that sends the body at once gets no 100 Continue.
    let hasty = try TestClient(port: server.port)
    hasty.send(Self.head("Content-Length: 3\r\nExpect: 100-continue") + "abc")
    #expect(hasty.read(until: "3 bytes")?.hasPrefix("HTTP/1.1 200 ") == true)
  }

  @Test("the client receives a response that is sent in the middle of the body, and the connection closes")
  func refusedInTheMiddle() throws {
    let reader = Reader(refusingAbove: 1000)
    let server = try TestServer(handler: reader)
    let client = try TestClient(port: server.port)
    client.send(Self.head("Transfer-Encoding: chunked") + "fff\r\n" + String(repeating: "x", count: 4095) + "\r\n")
    let answer = try #require(client.readToEnd())
    #expect(answer.hasPrefix("HTTP/1.1 413 ") && answer.contains("Connection: close\r\n"))
    try server.probe()
    #expect(server.server.statistics.requestBufferBytes == 0)
  }

  @Test("a sender below the minimum rate gets an error; a slow sender above it does not")
  func slow() throws {
    let reader = Reader()
    let server = try TestServer(limits: ServerLimits(minimumBodyBytesPerSecond: 10), handler: reader)
    let client = try TestClient(port: server.port)
    client.send(Self.head("Content-Length: 6000"))
    // 200 bytes every 20 seconds: exactly the minimum rate, for 400 seconds in total.
    for _ in 0..<20 {
      client.send(String(repeating: "x", count: 200))
      try server.pass(seconds: 20)
    }
    #expect(try server.probe { reader.total == 4000 })
    #expect(reader.failures.isEmpty)
    // Now only single bytes at long intervals.
    for _ in 0..<12 where reader.failures.isEmpty {
      client.send("x")
      try server.pass(seconds: 50)
    }
    #expect(client.readToEnd()?.hasPrefix("HTTP/1.1 408 ") == true)
    #expect(reader.failures == [.timedOut])
  }

  @Test("a sender whose body stalls gets an error")
  func halt() throws {
    let reader = Reader()
    let server = try TestServer(handler: reader)
    let client = try TestClient(port: server.port)
    client.send(Self.head("Content-Length: 10") + "12345")
    try server.pass(seconds: 59)
    #expect(reader.failures.isEmpty)
    try server.pass(seconds: 2)
    #expect(client.readToEnd()?.hasPrefix("HTTP/1.1 408 ") == true)
  }

  @Test("the handler learns that the client disconnected in the middle of a body", arguments: [true, false])
  func gone(_ isHalf: Bool) throws {
    let reader = Reader()
    let server = try TestServer(handler: reader)
    var client: TestClient? = try TestClient(port: server.port)
    client?.send(Self.head("Content-Length: 10") + "12345")
    try server.probe()
    if isHalf { client?.finishSending() } else { client = nil }
    #expect(try server.probe { !reader.failures.isEmpty })
    #expect(reader.failures == [.closed] && reader.total == 5)
    #expect(try server.probe { server.server.statistics.requestBufferBytes == 0 })
  }

  @Test("a malformed chunk fails the body, and the client gets an error response")
  func malformed() throws {
    let reader = Reader()
    let server = try TestServer(handler: reader)
    let client = try TestClient(port: server.port)
    client.send(Self.head("Transfer-Encoding: chunked") + "3\r\nabc\r\nxyz\r\n")
    #expect(client.readToEnd()?.hasPrefix("HTTP/1.1 400 ") == true)
    #expect(reader.failures == [.malformed(.malformedChunk)])
  }

  @Test("a client that half-closes after its body gets its response, even if the body is read late")
  func finished() throws {
    let reader = Reader()
    reader.allow(0)
    let server = try TestServer(handler: reader)
    let client = try TestClient(port: server.port)
    client.send(Self.head("Content-Length: 5") + "12345")
    client.finishSending()
    try server.probe()
    reader.allow(.max)
    #expect(client.readToEnd()?.contains("5 bytes") == true)
  }

  @Test("streamed bodies share the request budget, and one that exceeds it is refused")
  func bounded() throws {
    let reader = Reader()
    reader.allow(0)
    let limits = ServerLimits(requestBufferBytes: 1 << 20, bodyWindowBytes: 192 << 10)
    let server = try TestServer(limits: limits, handler: reader)
    let clients = try (0..<4).map { _ in
      let client = try TestClient(port: server.port)
      client.send(Self.head("Content-Length: 5"))
      return client
    }
    try server.probe()
    let fifth = try TestClient(port: server.port)
    fifth.send(Self.head("Content-Length: 5"))
    #expect(fifth.readToEnd()?.hasPrefix("HTTP/1.1 503 ") == true)
    #expect(clients.count == 4)
  }
}
