import HTTPCore

/// Why a body ended early.
package enum BodyFailure: Error, Sendable, Hashable {
  /// The body is malformed. The handler sends the error response, after which the connection closes.
  case malformed(ParseError)
  /// The body arrived too slowly or not at all.
  case timedOut
  /// The client disconnected, or the response began before the body ended.
  case closed
  /// ``StreamedBody/cancel()`` was called.
  case cancelled
}

/// The result of one read of a body.
package enum BodyRead: Sendable {
  /// Never empty.
  case piece([UInt8])
  case end
  case failed(BodyFailure)
}

/// The body of a request, read in pieces as it arrives. Usable from any thread. Reads are sequential: one at a time.
///
/// Nothing is read from the client, and 100 (Continue) is not sent, until the first `read`. A handler can therefore
/// reject a request without receiving its body. Up to ``ServerLimits/bodyWindowBytes`` are buffered ahead of the
/// reader; beyond that the client waits.
package final class StreamedBody: Sendable {
  /// The announced length in bytes; `nil` for a chunked body.
  package let length: Int?
  private let connection: Connection
  private let loop: EventLoop

  init(length: Int?, connection: Connection, loop: EventLoop) {
    self.length = length
    self.connection = connection
    self.loop = loop
  }

  /// Calls `handler` once with the next result, on the connection's queue. The handler must pass the result on and not
  /// work there. After the end or a failure, every read returns the same result again.
  package func read(_ handler: @escaping @Sendable (BodyRead) -> Void) {
    loop.run { [self] in connection.readBody(handler, for: self) }
  }

  /// Ends the receiving: the pending read, or the next one, fails with `cancelled`, and pieces that were not read are
  /// discarded. The connection closes after the response. No effect after the end of the body.
  package func cancel() {
    loop.run { [self] in connection.cancelBody(self) }
  }
}
