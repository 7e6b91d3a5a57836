/// The body of a response, produced while it is sent: bytes in memory and parts of open files, in order.
///
/// The server asks for the next segment when most of the earlier ones are sent, so a body of any size takes little
/// memory. It releases the source when the response is complete or the client has gone.
package protocol BodySource: AnyObject, Sendable {
  /// The length of the body in bytes. The segments have exactly this length together.
  var length: Int64 { get }

  /// The memory that the segments take. Before the body begins, the server reserves memory for all segments that may
  /// wait for the client at a time, so a body that has begun never lacks memory.
  var memory: BodyMemory { get }

  /// The next segment; `nil` at the end. Called on a work queue, never on a connection's loop, and never by two threads
  /// at a time. May block on the disk.
  ///
  /// - Throws: if the rest of the body can't be produced as the head has announced it. The server then closes the
  ///   connection, so the client sees a response that is shorter than its Content-Length (RFC 9112 §8).
  func next() throws(BodySourceError) -> BodySegment?

  /// Called on any thread when the client has disconnected: a call of `next` that takes long should throw soon. Does
  /// nothing by default.
  func cancel()
}

extension BodySource {
  package func cancel() {}
}

/// Upper bounds, in bytes, for the segments of a body that are in memory (``BodySegment/bytes(_:)``).
package struct BodyMemory: Sendable, Hashable {
  /// The sum of all these segments.
  package private(set) var totalBytes: Int64
  /// The largest of these segments.
  package private(set) var largestBytes: Int64

  package init(totalBytes: Int64 = 0, largestBytes: Int64 = 0) {
    self.totalBytes = totalBytes
    self.largestBytes = largestBytes
  }

  /// Adds bytes that are sent in one segment, or in segments of at most `segmentBytes`.
  package mutating func add(_ bytes: Int64, inSegmentsOf segmentBytes: Int64 = .max) {
    totalBytes += bytes
    largestBytes = max(largestBytes, min(bytes, segmentBytes))
  }
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

/// Why the rest of a body can't be sent.
package enum BodySourceError: Error, Sendable, Hashable {
  /// The file is no longer the one that the response head describes.
  case fileChanged
  /// A read failed, with the code of `errno`.
  case readFailed(code: Int32)
  /// Slow clients hold all memory of the response budget.
  case overloaded
}
