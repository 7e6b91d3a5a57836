import Dispatch
import HTTPCore
import HTTPServer
import Synchronization
import Testing

@Suite("Memory owners of responses, with real sockets")
struct MemoryOwnerTests {
  enum Form: String, CaseIterable, Sendable {
    case whole, pieces, prepared, preparedChunk
  }

  /// Responds with owners that it counts.
  final class OwningHandler: HTTPHandler {
    /// More than any socket's buffer takes.
    static let size = 24 << 20

    let created = Atomic<Int>(0)
    let released = Atomic<Int>(0)
    /// Signalled by each owner in its deinit.
    let didRelease = DispatchSemaphore(value: 0)
    private let form: Form
    private let prepared = Mutex<[String: PreparedResponse]>([:])

    init(_ form: Form) { self.form = form }

    private final class Owner: Sendable {
      private let handler: OwningHandler
      init(_ handler: OwningHandler) {
        self.handler = handler
        handler.created.add(1, ordering: .relaxed)
      }
      deinit {
        handler.released.add(1, ordering: .relaxed)
        handler.didRelease.signal()
      }
    }

    private static func body(_ path: String) -> [UInt8] {
      [UInt8](repeating: 120, count: path == "/large" ? size : 1000)
    }

    func preparedResponse(to request: borrowing HTTPRequest, from peer: Peer) -> PreparedResponse? {
      let path = request.head.target
      guard form == .prepared || form == .preparedChunk, path != "/probe" else { return nil }
      return prepared.withLock { prepared in
        if let answer = prepared[path] { return answer }
        let makeOwner: @Sendable () -> (any MemoryOwner)? = { [unowned self] in Owner(self) }
        prepared[path] =
          form == .prepared
          ? PreparedResponse(HTTPResponse(.ok, body: Self.body(path)), makeMemoryOwner: makeOwner)
          : PreparedResponse(
            chunked: ResponseHead(.ok), opening: Array("<".utf8), body: Self.body(path), closing: Array(">".utf8),
            makeMemoryOwner: makeOwner)
        return prepared[path]
      }
    }

    func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
      let path = request.head.target
      if path == "/probe" { return responder.send(HTTPResponse(.ok)) }
      if form == .whole {
        responder.send(HTTPResponse(.ok, body: Self.body(path), owner: Owner(self)))
      } else {
        responder.start(ResponseHead(.ok))
        responder.write([Self.body("/small"), Self.body("/small")], owner: Owner(self))
        responder.write([Self.body(path)], owner: Owner(self))
        responder.finish()
      }
    }

    func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
    func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
    func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }

    /// Waits until all created owners are released; `false` if one never is.
    func waitUntilReleased() -> Bool {
      for _ in 0..<created.load(ordering: .relaxed) {
        if didRelease.wait(timeout: .now() + 30) == .timedOut { return false }
      }
      return released.load(ordering: .relaxed) == created.load(ordering: .relaxed)
    }

    var held: Int { created.load(ordering: .relaxed) - released.load(ordering: .relaxed) }
  }

  /// A client that requested a large response and reads none of it.
  private static func stalled(_ server: TestServer, _ handler: OwningHandler, _ form: Form) throws -> TestClient {
    let client = try TestClient(port: server.port, receiveBuffer: 4096)
    client.send("GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    // Twice, because owners are released after the response to the first probe.
    try server.probe()
    try server.probe()
    #expect(handler.created.load(ordering: .relaxed) == (form == .pieces ? 2 : 1))
    #expect(handler.held == 1, "the owner of the small piece is released, that of the large piece is held")
    return client
  }

  @Test("an owner is held until the client has read everything", arguments: Form.allCases)
  func read(_ form: Form) throws {
    let handler = OwningHandler(form)
    let server = try TestServer(handler: handler)
    let client = try Self.stalled(server, handler, form)
    let answer = try #require(client.readToEnd())
    #expect(answer.utf8.count > OwningHandler.size)
    if form == .preparedChunk { #expect(answer.hasSuffix("x>\r\n0\r\n\r\n") && answer.contains("\r\n<x")) }
    #expect(handler.waitUntilReleased())
  }

  @Test("an owner is released when the client disconnects", arguments: Form.allCases)
  func hangUp(_ form: Form) throws {
    let handler = OwningHandler(form)
    let server = try TestServer(handler: handler)
    var client: TestClient? = try Self.stalled(server, handler, form)
    #expect(client != nil)
    client = nil
    #expect(handler.waitUntilReleased())
  }

  @Test("an owner is released when the client times out", arguments: Form.allCases)
  func deadline(_ form: Form) throws {
    let handler = OwningHandler(form)
    let server = try TestServer(handler: handler)
    let client = try Self.stalled(server, handler, form)
    try server.pass(seconds: 29)
    try server.probe()
    #expect(handler.held == 1)
    // When the kernel takes some more bytes on a busy machine, the time begins again.
    let isReleased = try server.probe {
      try server.pass(seconds: 31)
      return handler.held == 0
    }
    #expect(isReleased && handler.waitUntilReleased())
    #expect(client.readToEnd() != nil)
  }

  @Test("the deinit of an owner may write to the connection that held it")
  func writingAtTheEnd() throws {
    struct Handler: HTTPHandler {
      private final class Owner: Sendable {
        private let responder: Responder
        init(_ responder: Responder) { self.responder = responder }
        deinit {
          responder.write([Array("the end".utf8)])
          responder.finish()
        }
      }
      func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
        responder.start(ResponseHead(.ok))
        responder.write([[UInt8](repeating: 120, count: OwningHandler.size)], owner: Owner(responder))
      }
      func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
      func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
      func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
    }
    let server = try TestServer(handler: Handler())
    let client = try TestClient(port: server.port)
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(client.readToEnd()?.hasSuffix("x\r\n7\r\nthe end\r\n0\r\n\r\n") == true)
  }

  @Test(
    "a response sent at once releases its owner, and a prepared response requests none",
    arguments: Form.allCases)
  func atOnce(_ form: Form) throws {
    let handler = OwningHandler(form)
    let server = try TestServer(handler: handler)
    let client = try TestClient(port: server.port)
    let end = form == .pieces || form == .preparedChunk ? "0\r\n\r\n" : "xxx"
    for method in ["GET", "HEAD", "GET"] {
      client.send("\(method) /small HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(client.read(until: method == "HEAD" ? "\r\n\r\n" : end) != nil)
    }
    try server.probe()
    #expect(handler.created.load(ordering: .relaxed) == [.whole: 3, .pieces: 6, .prepared: 0, .preparedChunk: 0][form])
    #expect(handler.waitUntilReleased())
  }
}
