import Dispatch
import HTTPCore
import HTTPServer
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Bodies whose first bytes take long")
struct LongBodyTests {
  /// Computes until it is cancelled.
  private final class LongSource: BodySource {
    let length: Int64 = 1 << 20
    let memory = BodyMemory()
    private let cancelled = DispatchSemaphore(value: 0)

    func next() throws(BodySourceError) -> BodySegment? {
      cancelled.wait()
      throw .readFailed(code: ECANCELED)
    }
    func cancel() { cancelled.signal() }
  }

  private struct Handler: HTTPHandler {
    let began = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)
    private let queue = DispatchQueue(label: "test")

    func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
      queue.async {
        began.signal()
        try? responder.send(HTTPResponse(.ok).head, body: LongSource()) { _ in
          false
        } onFailure: { _ in
        }
        ended.signal()
      }
    }
    func response(to error: ParseError) -> HTTPResponse { HTTPResponse(error.status) }
    func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
    func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
  }

  @Test("a client that leaves before the first byte ends the work")
  func cancelled() throws {
    let handler = Handler()
    let server = try TestServer(handler: handler)
    do {
      let client = try TestClient(port: server.port)
      client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(handler.began.wait(timeout: .now() + 60) == .success)
    }
    #expect(handler.ended.wait(timeout: .now() + 60) == .success)
  }
}
