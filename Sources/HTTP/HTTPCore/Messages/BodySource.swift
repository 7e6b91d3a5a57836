/// The body of a response, produced while it is sent: bytes in memory and parts of open files, in order.
///
/// The server asks for the next segment when most of the earlier ones are sent, so a body of any size takes little
/// memory. It releases the source when the response is complete or the client has gone.
package protocol BodySource: AnyObject, Sendable {
  /// The length of the body in bytes. The segments have exactly this length together.
  var length: Int64 { get }

  /// The next segment; `nil` at the end. Called on a work queue, never on a connection's loop, and never by two threads
  /// at a time. May block on the disk.
  ///
  /// - Throws: if the rest of the body can't be sent truthfully. The server then closes the connection, so the client
  ///   sees a response that is shorter than its Content-Length (RFC 9112 §8).
  func next() throws(BodySourceError) -> BodySegment?

  /// The client has gone: a call of `next` that takes long should end, with an error. Called on any thread. By default
  /// nothing happens.
  func cancel()
}

extension BodySource {
  package func cancel() {}
}

/// A part of a body.
package enum BodySegment: Sendable {
  case bytes([UInt8])
  /// A range of an open file, in bytes. The server holds the file until the range is sent.
  case file(any SendableFile, Range<Int64>)

  package var length: Int64 {
    switch self {
    case .bytes(let bytes): Int64(bytes.count)
    case .file(_, let range): Int64(range.count)
    }
  }
}

/// An open file whose bytes can be sent. Its owner closes the descriptor when the last reference is released.
package protocol SendableFile: AnyObject, Sendable {
  var descriptor: Int32 { get }
}

/// The rest of a body can't be sent.
package enum BodySourceError: Error, Sendable, Hashable {
  /// The file is no longer the one that the response head describes.
  case fileChanged
  /// A read failed, with the code of `errno`.
  case readFailed(code: Int32)
}
