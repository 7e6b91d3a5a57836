import HTTPCore

/// Who is at the other end of a connection.
package enum Peer: Sendable, Hashable {
  /// A socket file: as near as this machine.
  case unix
  case address(String, isLoopback: Bool)

  package var isLoopback: Bool {
    switch self {
    case .unix: true
    case .address(_, let isLoopback): isLoopback
    }
  }
}

/// What answers requests.
package protocol HTTPHandler: Sendable {
  /// Answers a request through `responder`, now or later, from any thread.
  ///
  /// Called on a connection's queue: whatever blocks or takes longer than a lookup belongs elsewhere. A responder that
  /// is let go without an answer answers 500.
  func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder)

  /// The answer to a message that is no request. The connection closes after it.
  func response(to error: ParseError) -> HTTPResponse

  /// The answer to a request whose responder was let go without one.
  func responseToAbandonment() -> HTTPResponse
}
