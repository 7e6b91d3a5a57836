import HTTPCore

/// Why there is no more of a body.
package enum BodyFailure: Error, Sendable, Hashable {
  /// What came is no body. Whoever answers says so; the connection closes behind it.
  case malformed(ParseError)
  /// It came too slowly, or not at all.
  case timedOut
  /// The client is gone, or the answer has begun without the rest.
  case closed
}

/// What there is next of a body.
package enum BodyRead: Sendable {
  /// Never empty.
  case piece([UInt8])
  case end
  case failed(BodyFailure)
}

/// The body of a request, taken in pieces as it comes. Usable from any thread; reads come one after the other.
///
/// Nothing is read from the client, and one that waits for 100 (Continue) does not get it, until the first piece is asked
/// for: whoever refuses a request answers without asking. A few pieces are held ahead of the reader
/// (``ServerLimits/bodyWindowBytes``); beyond that the client waits.
package final class StreamedBody: Sendable {
  /// What the request says that it will be; `nil`: it does not.
  package let length: Int?
  private let connection: Connection
  private let loop: EventLoop

  init(length: Int?, connection: Connection, loop: EventLoop) {
    self.length = length
    self.connection = connection
    self.loop = loop
  }

  /// Calls `handler` once with what comes next, on the connection's queue: it passes it on, and does not work there. Behind
  /// the end or a failure the same comes again.
  package func read(_ handler: @escaping @Sendable (BodyRead) -> Void) {
    loop.run { [self] in connection.readBody(handler, for: self) }
  }
}

/// What a connection holds of a body that is taken in pieces. On the loop's queue.
struct BodyBuffer {
  /// Smaller pieces than this are put together: a client that sends a byte a chunk does not make us hold an array a byte.
  private static let pieceBytes = 65_536

  private var pieces: [[UInt8]] = []
  private(set) var byteCount = 0
  private var end: BodyRead?

  var hasEnded: Bool { end != nil }

  mutating func append(_ piece: [UInt8]) {
    byteCount += piece.count
    if let last = pieces.last, last.count + piece.count <= Self.pieceBytes {
      pieces[pieces.count - 1] += piece
    } else {
      pieces.append(piece)
    }
  }

  mutating func end(_ end: BodyRead) {
    if self.end == nil { self.end = end }
  }

  /// A failure is told at once: what came before it is of no use.
  mutating func next() -> BodyRead? {
    if case .failed = end {
      pieces = []
      byteCount = 0
      return end
    }
    guard !pieces.isEmpty else { return end }
    let piece = pieces.removeFirst()
    byteCount -= piece.count
    return .piece(piece)
  }
}
