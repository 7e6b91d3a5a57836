import HTTPCore

/// A response in ready-to-send form, cached by its creator and sent many times, each with one gathered send.
///
/// Immutable and shared. Sending copies the small head and never the body.
package final class PreparedResponse: Sendable {
  package let status: HTTPStatus
  /// Status line and fields, including `Content-Length`. `Date`, `Connection` and the empty line are added when the
  /// response is sent.
  package let head: [UInt8]
  package let body: [UInt8]
  let makeMemoryOwner: (@Sendable () -> (any MemoryOwner)?)?
  /// Offset in `head` where the request identifier is written over the placeholder.
  private let identifierOffset: Int?

  /// Maximum size of a prepared head.
  package static let maximumHeadBytes = 2048

  /// Returns `nil` if the head is larger than ``maximumHeadBytes``. Each send replaces ``requestIDPlaceholder`` in a
  /// field by the identifier of the request.
  ///
  /// - Parameters:
  ///   - response: the response to prepare. Its `owner` is not kept: the holder of the prepared response accounts for
  ///     the memory.
  ///   - makeMemoryOwner: called on a connection's queue each time a send is incomplete. The returned owner accounts
  ///     for the waiting bytes and is held until the last byte was handed to the kernel or the connection ended. The
  ///     closure must hold a lock no longer than a look-up takes.
  package init?(_ response: HTTPResponse, makeMemoryOwner: (@Sendable () -> (any MemoryOwner)?)? = nil) {
    let length = response.head.status.forbidsBody ? BodyFraming.none : .length(response.body.count)
    let head = ResponseWriter.headPrefix(response.head, framing: length)
    guard head.count <= Self.maximumHeadBytes else { return nil }
    self.head = head
    status = response.head.status
    body = response.body
    self.makeMemoryOwner = makeMemoryOwner
    identifierOffset = head.firstRange(of: Array(Self.requestIDPlaceholder.utf8))?.lowerBound
  }

  /// Placeholder for the request identifier.
  package static let requestIDPlaceholder = String(repeating: "#", count: RequestIdentifier.digitCount)

  /// Memory cost without the body.
  package var headBytes: Int { head.count + 128 }

  /// Copies the head with the request identifier filled in. Returns the number of bytes written.
  func writeHead(to bytes: UnsafeMutableRawBufferPointer, identifier: RequestIdentifier) -> Int {
    bytes.copyBytes(from: head)
    if let identifierOffset {
      identifier.write(to: UnsafeMutableRawBufferPointer(rebasing: bytes[identifierOffset...]))
    }
    return head.count
  }
}
