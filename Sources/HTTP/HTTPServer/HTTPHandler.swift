import HTTPCore

/// Produces the responses to the requests that the server receives.
package protocol HTTPHandler: Sendable {
  /// The response to a request that can be served from memory; `nil` for every other request.
  ///
  /// Called on a connection's queue, before `handle`, for every request. It holds a lock no longer than a look-up takes
  /// and makes no call-outs. For HEAD it returns the response to GET; the server omits the body.
  func preparedResponse(to request: borrowing HTTPRequest, from peer: Peer) -> PreparedResponse?

  /// Handles a request and responds through `responder`, now or later, from any thread.
  ///
  /// Called on a connection's queue, so the handler must move blocking work, and work that takes longer than a look-up,
  /// to another queue. The client gets 500 if the responder is released without a response.
  func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder)

  /// Whether the body of a request is streamed. Otherwise the whole body comes with the request, limited by
  /// ``ParserLimits/bodyBytes``.
  ///
  /// Called on a connection's queue when the head is complete and announces a body. The decision depends only on the
  /// head and the peer. A handler that rejects a request by its head returns `true`: then it can respond before any of
  /// the body is read.
  func streamsBody(_ head: RequestHead, from peer: Peer) -> Bool

  /// Handles a request whose body is streamed. The rules of `handle(_:from:_:)` apply. If the response begins before
  /// the body has ended, the connection closes after it.
  func handle(_ head: RequestHead, _ body: StreamedBody, from peer: Peer, _ responder: Responder)

  /// The response to a malformed message. The connection closes after it.
  func response(to error: ParseError) -> HTTPResponse

  /// The response to a request whose responder was released without a response.
  func unansweredResponse() -> HTTPResponse

  /// The response that replaces one whose body does not fit into ``ServerLimits/responseBufferBytes``, because slow
  /// clients hold that memory. It must be small: it is not counted itself.
  func overloadedResponse() -> HTTPResponse
}

extension HTTPHandler {
  package func preparedResponse(to request: borrowing HTTPRequest, from peer: Peer) -> PreparedResponse? { nil }
  package func streamsBody(_ head: RequestHead, from peer: Peer) -> Bool { false }
  package func handle(_ head: RequestHead, _ body: StreamedBody, from peer: Peer, _ responder: Responder) {}
}
