import HTTPCore
import HTTPServer
import Synchronization
import Testing

@Suite("The request buffer limit over all connections, with real sockets")
struct RequestBufferTests {
  private static let bound = 1 << 20
  private static let body = 256 << 10

  private static func server(_ handler: any HTTPHandler = EchoHandler()) throws -> TestServer {
    var limits = ServerLimits()
    limits.requestBufferBytes = bound
    limits.parser.bodyBytes = body
    return try TestServer(limits: limits, handler: handler)
  }

  /// Checks that other clients are served and the limit is kept.
  private static func check(_ server: TestServer, by comment: Comment) throws -> Int {
    let client = try TestClient(port: server.port)
    client.send("POST /other HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(client.readToEnd()?.hasSuffix("POST /other ") == true, comment)
    let held = server.server.statistics.requestBufferBytes
    #expect(held <= bound, comment)
    return held
  }

  @Test("a body that exceeds the free budget is refused when announced, and accepted after another request ends")
  func announced() throws {
    let server = try Self.server()
    let request = "POST /b HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: \(Self.body)\r\n\r\n"
    var admitted: [TestClient] = []
    var refused = 0
    for i in 0..<20 {
      let client = try TestClient(port: server.port)
      client.send(request)
      let answer = String(decoding: try #require(client.read()), as: UTF8.self)
      if answer.hasPrefix("HTTP/1.1 100 ") {
        admitted.append(client)
      } else {
        #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("Connection: close\r\n"))
        refused += 1
      }
      #expect(try Self.check(server, by: "\(i)") == admitted.count * Self.body)
    }
    #expect(admitted.count == 4 && refused == 16)
    admitted.removeLast()
    #expect(try server.probe { try Self.check(server, by: "one left") == 3 * Self.body })
    let next = try TestClient(port: server.port)
    next.send(request)
    #expect(next.read(until: "\r\n\r\n")?.hasPrefix("HTTP/1.1 100 ") == true)
    next.send(String(repeating: "x", count: Self.body))
    #expect(next.read(until: "xxx")?.contains(" 200 OK") == true)
    admitted = []
    let isFree = try server.probe { try Self.check(server, by: "all are gone") == 0 }
    #expect(isFree, "a connection holds no budget between two requests")
  }

  @Test("each chunk is counted when its size is announced", arguments: [1, 1000, 70_000])
  func chunks(_ size: Int) throws {
    let server = try Self.server()
    let chunk = "\(String(size, radix: 16))\r\n\(String(repeating: "x", count: size))\r\n"
    let clients = try (0..<12).map { _ in
      let client = try TestClient(port: server.port)
      client.send("POST /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
      client.send(String(repeating: chunk, count: 180_000 / size))
      _ = try Self.check(server, by: "\(size)")
      return client
    }
    let before = try Self.check(server, by: "\(size)")
    #expect(before >= Self.bound / 2, "most of the budget is in use")
    for client in clients { client.send("0\r\n\r\n") }
    let statuses = clients.compactMap { $0.readToEnd()?.dropFirst(9).prefix(3) }
    let served = statuses.filter { $0 == "200" }.count
    #expect(served >= 3 && served < 12 && statuses.filter { $0 == "503" }.count == 12 - served)
    #expect(try Self.check(server, by: "answered") == 0)
  }

  @Test("large heads are counted, complete or not; small heads are free")
  func heads() throws {
    let server = try Self.server()
    let small = try (0..<100).map { _ in
      let client = try TestClient(port: server.port)
      client.send("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 900))")
      return client
    }
    #expect(try Self.check(server, by: "small") == 0)
    var clients: [TestClient] = []
    for i in 0..<60 {
      let client = try TestClient(port: server.port)
      client.send("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 30_000))")
      clients.append(client)
      _ = try Self.check(server, by: "\(i)")
    }
    #expect(try Self.check(server, by: "all") > Self.bound / 2)
    for client in clients { client.send("\r\nConnection: close\r\n\r\n") }
    let answers = clients.compactMap { $0.read() }.map { String(decoding: $0.prefix(12), as: UTF8.self) }
    let served = answers.filter { $0 == "HTTP/1.1 200" }.count
    #expect(served >= 8 && served < 60)
    #expect(answers.filter { $0 == "HTTP/1.1 503" }.count == 60 - served)
    clients = []
    #expect(try server.probe { try Self.check(server, by: "gone") == 0 })
    #expect(small.count == 100)
  }

  @Test("after its response, an idle connection that sent a large request holds no budget")
  func burst() throws {
    let server = try Self.server()
    let client = try TestClient(port: server.port)
    client.send((0..<2000).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined() + "GET /end HT")
    #expect(client.read(until: "GET /1999 ") != nil)
    #expect(try Self.check(server, by: "waiting in the middle of a head") == 0)
    client.send("TP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(client.readToEnd()?.hasSuffix("GET /end ") == true)
  }

  @Test("a request is counted while its handler keeps it, even after the client disconnects")
  func keptByHandler() throws {
    final class RequestHoldingHandler: HTTPHandler {
      let kept = Mutex<[HTTPRequest]>([])
      func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
        guard request.head.target == "/kept" else { return EchoHandler().handle(request, from: peer, responder) }
        kept.withLock { $0.append(request) }
        responder.send(HTTPResponse(.ok))
      }
      func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
      func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
      func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
    }
    let keeper = RequestHoldingHandler()
    let server = try Self.server(keeper)
    var client: TestClient? = try TestClient(port: server.port)
    let head = "X: \(String(repeating: "x", count: 20_000))"
    client?.send("POST /kept HTTP/1.1\r\nHost: a\r\n\(head)\r\nContent-Length: 100000\r\n\r\n")
    client?.send(String(repeating: "x", count: 100_000))
    #expect(client?.read(until: "\r\n\r\n")?.hasPrefix("HTTP/1.1 200 ") == true)
    // The request now owns the array of the head, and the parser uses a new one.
    client?.send("GET / HTTP/1.1\r\nHost: a\r\n\(head)")
    let both = try Self.check(server, by: "kept, and another head")
    #expect(both >= 140_000)
    client = nil
    #expect(try server.probe { try Self.check(server, by: "kept") < both })
    #expect(try Self.check(server, by: "kept") >= 120_000)
    keeper.kept.withLock { $0 = [] }
    #expect(try Self.check(server, by: "let go") == 0)
  }
}
