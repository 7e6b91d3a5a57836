import Foundation
import HTTPCore
import HTTPServer
import Synchronization
import Testing

@Suite("The last requests of a connection")
struct ConnectionEndTests {
  /// Answers with the path. `/held`, and the rest of `/pieces`, are answered when the test says so, `/dropped` never.
  /// `/blocking`
  /// blocks the event loop until the test says so.
  private final class Handler: HTTPHandler {
    private let held = Mutex<Responder?>(nil)
    private let found = Mutex<[String]>([])
    let blocks = DispatchSemaphore(value: 0)
    let mayContinue = DispatchSemaphore(value: 0)

    /// The paths of the requests, and what the test has added.
    var events: [String] { found.withLock { $0 } }
    func append(_ event: String) { found.withLock { $0.append(event) } }

    func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
      let path = request.head.target
      append(path)
      if path == "/blocking" {
        blocks.signal()
        mayContinue.wait()
      }
      if path == "/pieces" {
        responder.start(ResponseHead(.ok, []))
        responder.write([Array("first ".utf8)])
        return held.withLock { $0 = responder }
      }
      if path == "/held" { return held.withLock { $0 = responder } }
      if path == "/watched" {
        for number in 1...2 { responder.onClose { [self] in append("closed \(number)") } }
        return held.withLock { $0 = responder }
      }
      if path == "/dropped" { return }
      responder.send(HTTPResponse(.ok, body: Array(path.utf8)))
    }

    func finishPieces() {
      guard let responder = held.withLock({ $0.take() }) else { return }
      responder.write([Array("second".utf8)])
      responder.finish()
    }

    /// Adds a close handler to the response that waits.
    func watchHeld() { held.withLock { $0 }?.onClose { [self] in append("closed late") } }

    func answerHeld() { held.withLock { $0.take() }?.send(HTTPResponse(.ok, body: Array("/held".utf8))) }

    func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
    func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError, body: Array("no answer".utf8)) }
    func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
  }

  private static func request(_ path: String, method: String = "GET", _ fields: String = "") -> String {
    "\(method) \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
  }

  @Test("requests that a client sends before it half-closes are answered, also those that arrive during a response")
  func halfClosed() throws {
    let handler = Handler()
    let server = try TestServer(handler: handler)
    let client = try TestClient(port: server.port)
    client.send(Self.request("/held"))
    try server.probe()
    client.send(Self.request("/1") + Self.request("/2") + "GET /incomplete HT")
    client.finishSending()
    try server.probe()
    handler.answerHeld()
    let answers = try #require(client.readToEnd()).components(separatedBy: "HTTP/1.1 200 OK\r\n").dropFirst()
    #expect(answers.map { $0.components(separatedBy: "\r\n\r\n").last } == ["/held", "/1", "/2"])
  }

  @Test("a client that half-closes between two pieces of a response gets the others too", arguments: ["1.0", "1.1"])
  func halfClosedInBody(_ version: String) throws {
    let handler = Handler()
    let server = try TestServer(handler: handler)
    let client = try TestClient(port: server.port)
    client.send("GET /pieces HTTP/\(version)\r\nHost: a\r\n\r\n")
    var answer = ""
    while !answer.contains("first ") {
      let bytes = try #require(client.read())
      try #require(!bytes.isEmpty)
      answer += String(decoding: bytes, as: UTF8.self)
    }
    client.finishSending()
    try server.probe()
    handler.finishPieces()
    answer += try #require(client.readToEnd())
    // The size of the chunk after the half-close begins with a zero.
    let chunks = "6\r\nfirst \r\n06\r\nsecond\r\n0\r\n\r\n"
    #expect(answer.hasSuffix(version == "1.0" ? "first second" : chunks), "\(answer)")
  }

  @Test("a request that the handler drops gets an error, for HEAD without a body, and the next one its response")
  func dropped() throws {
    let server = try TestServer(handler: Handler())
    for method in ["GET", "HEAD"] {
      let client = try TestClient(port: server.port)
      client.send(Self.request("/dropped", method: method) + Self.request("/next", "Connection: close\r\n"))
      let parts = try #require(client.readToEnd()).components(separatedBy: "\r\n\r\n")
      #expect(parts.count == 3 && parts[0].hasPrefix("HTTP/1.1 500 ") && parts[0].contains("Content-Length: 9"))
      #expect(parts[1].hasPrefix(method == "GET" ? "no answerHTTP/1.1 200 " : "HTTP/1.1 200 "))
      #expect(parts.last == "/next")
    }
  }

  @Test("a drain whose last connection closes at once still serves the clients in the accept queue")
  func drained() throws {
    let handler = Handler()
    let server = try TestServer(handler: handler)
    let first = try TestClient(port: server.port)
    first.send(Self.request("/blocking", "Connection: close\r\n"))
    handler.blocks.wait()
    let queued = try TestClient(port: server.port)
    queued.send(Self.request("/queued"))
    let end = DispatchSemaphore(value: 0)
    server.server.drain(deadline: .seconds(60)) {
      handler.append("drained")
      end.signal()
    }
    handler.mayContinue.signal()
    end.wait()
    #expect(handler.events == ["/blocking", "/queued", "drained"])
    #expect(first.readToEnd()?.hasSuffix("/blocking") == true && queued.readToEnd()?.hasSuffix("/queued") == true)
  }

  @Test("every handler for a client that leaves is called once, also one that is added later")
  func watched() throws {
    let handler = Handler()
    let server = try TestServer(handler: handler)
    var client: TestClient? = try TestClient(port: server.port)
    client?.send(Self.request("/watched"))
    try server.probe()
    client = nil
    let isClosed = try server.probe { handler.events.contains("closed 2") }
    handler.watchHeld()
    #expect(isClosed && handler.events.filter { $0.hasPrefix("closed") } == ["closed 1", "closed 2", "closed late"])
  }

  @Test("no handler for a client that leaves is called after the response")
  func answeredAndWatched() throws {
    let handler = Handler()
    let server = try TestServer(handler: handler)
    let client = try TestClient(port: server.port)
    client.send(Self.request("/watched", "Connection: close\r\n"))
    try server.probe()
    handler.answerHeld()
    #expect(client.readToEnd()?.hasSuffix("/held") == true)
    try server.probe()
    #expect(!handler.events.contains { $0.hasPrefix("closed") })
  }
}
