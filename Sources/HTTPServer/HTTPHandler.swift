import HTTPCore

/// What answers requests.
package protocol HTTPHandler: Sendable {
  /// The answer to a request that needs nothing but a look at memory; `nil` for every other.
  ///
  /// Called on a connection's queue, before `handle`, for every request. It takes no lock for longer than a look-up and
  /// calls nobody. For HEAD it is the answer to GET; its body is not sent.
  func preparedAnswer(to request: borrowing HTTPRequest, from peer: Peer) -> PreparedAnswer?

  /// Answers a request through `responder`, now or later, from any thread.
  ///
  /// Called on a connection's queue: whatever blocks or takes longer than a lookup belongs elsewhere. A responder that
  /// is let go without an answer answers 500.
  func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder)

  /// Whether the body of a request is taken in pieces; else it comes whole with the request, within
  /// ``ParserLimits/bodyBytes``.
  ///
  /// Called on a connection's queue when the head is complete and announces a body. It decides by the head alone.
  func takesBodyInPieces(_ head: RequestHead) -> Bool

  /// Answers a request whose body comes in pieces. As for `handle`; an answer that begins before the body has ended is the
  /// connection's last.
  func handle(_ head: RequestHead, _ body: StreamedBody, from peer: Peer, _ responder: Responder)

  /// The answer to a message that is no request. The connection closes after it.
  func response(to error: ParseError) -> HTTPResponse

  /// The answer to a request whose responder was let go without one.
  func responseToAbandonment() -> HTTPResponse

  /// The answer that takes the place of one for whose body there is no room, since clients who read slowly have it
  /// (``ServerLimits/answerBytes``). Small: it is not counted itself.
  func responseToSlowReaders() -> HTTPResponse
}

extension HTTPHandler {
  package func preparedAnswer(to request: borrowing HTTPRequest, from peer: Peer) -> PreparedAnswer? { nil }
  package func takesBodyInPieces(_ head: RequestHead) -> Bool { false }
  package func handle(_ head: RequestHead, _ body: StreamedBody, from peer: Peer, _ responder: Responder) {}
}
