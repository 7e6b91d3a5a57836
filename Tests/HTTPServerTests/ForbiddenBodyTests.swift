import Foundation
import HTTPCore
import HTTPServer
import Testing

@Suite("Responses without a body")
struct ForbiddenBodyTests {
  @Test("a body is not sent after a status that forbids one", arguments: [204, 304], [false, true])
  func forbiddenBody(status: Int, isPrepared: Bool) throws {
    struct Handler: HTTPHandler {
      let status: HTTPStatus
      let isPrepared: Bool
      var answer: HTTPResponse { HTTPResponse(status, body: Array("HTTP/1.1 200 OK".utf8)) }

      func preparedResponse(to request: borrowing HTTPRequest, from peer: Peer) -> PreparedResponse? {
        isPrepared && request.head.target == "/" ? PreparedResponse(answer) : nil
      }
      func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) { responder.send(answer) }
      func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
      func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
      func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
    }
    let server = try TestServer(handler: Handler(status: HTTPStatus(status), isPrepared: isPrepared))
    let client = try TestClient(port: server.port)
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    let heads = try #require(client.readToEnd()).components(separatedBy: "\r\n\r\n")
    #expect(heads.count == 3 && heads.last == "")
    #expect(heads.dropLast().allSatisfy { $0.hasPrefix("HTTP/1.1 \(status) ") && !$0.contains("200 OK") })
  }
}
