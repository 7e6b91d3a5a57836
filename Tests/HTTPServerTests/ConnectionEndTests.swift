import Foundation
import HTTPCore
import HTTPServer
import Synchronization
import Testing

@Suite("The last requests of a connection")
struct ConnectionEndTests {
  /// Answers with the path. `/held` is answered when the test says so.
  private final class Handler: HTTPHandler {
    private let held = Mutex<Responder?>(nil)

    func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
      let path = "\(request.target.path)"
      if path == "/held" { return held.withLock { $0 = responder } }
      responder.send(HTTPResponse(.ok, body: Array(path.utf8)))
    }

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
}
