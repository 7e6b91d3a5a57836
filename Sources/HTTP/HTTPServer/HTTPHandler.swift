import HTTPCore

/// Handles one request whose body is streamed. Called on the connection's queue, at most once; the rules of
/// ``HTTPHandler/handle(_:from:_:)`` apply. If the response begins before the body has ended, the connection closes
/// after it.
package typealias StreamHandler = (_ body: StreamedBody, _ responder: Responder) -> Void

/// Produces the responses to the requests that the server receives.
package protocol HTTPHandler: Sendable {
  /// The response to a request that can be served from memory; `nil` for every other request.
  ///
  /// Called on a connection's queue, before `handle`, for every request without `Range`. It holds a lock no longer than
  /// a lookup takes and makes no call-outs. For HEAD it returns the response to GET; the server omits the body.
  func preparedResponse(to request: borrowing HTTPRequest, from peer: Peer) -> PreparedResponse?

  /// The response to a GET request with `Range` that can be sent from an open file; `nil` for every other request. It
  /// is sent if its bytes are in the page cache and the file is unchanged; otherwise `handle` gets the request.
  ///
  /// Called like `preparedResponse`, for every request with `Range`.
  func preparedRange(of request: borrowing HTTPRequest, from peer: Peer) -> PreparedRange?

  /// Handles a request and responds through `responder`, now or later, from any thread.
  ///
  /// Called on a connection's queue, so the handler must move blocking work, and work that takes longer than a lookup,
  /// to another queue. The client gets 500 if the responder is released without a response.
  func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder)

  /// Decides how the body of a request is received. A stream handler receives it as a stream. `nil`: the whole body
  /// comes with the request to `handle(_:from:_:)`, limited by ``ParserLimits/bodyBytes``.
  ///
  /// Called once for a request, on a connection's queue, when the head is complete and announces a body. The stream
  /// handler keeps the decision, so that no later check can contradict it. A request that is rejected by its head gets
  /// a stream handler too: it responds before any of the body is read.
  func streamHandler(for head: RequestHead, from peer: Peer) -> StreamHandler?

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
  package func preparedRange(of request: borrowing HTTPRequest, from peer: Peer) -> PreparedRange? { nil }
  package func streamHandler(for head: RequestHead, from peer: Peer) -> StreamHandler? { nil }
}
