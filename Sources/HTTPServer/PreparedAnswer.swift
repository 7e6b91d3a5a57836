import HTTPCore

/// An answer that is ready but for the moment: kept by whoever gave it, sent again and again with one gathered send.
///
/// Immutable and shared; sending it copies its head, which is small, and never its body.
package final class PreparedAnswer: Sendable {
  package let status: HTTPStatus
  /// Status line and fields, `Content-Length` among them. `Date`, `Connection` and the empty line are added as it is sent.
  package let head: [UInt8]
  package let body: [UInt8]
  let ownerOfWaiting: (@Sendable () -> (any MemoryOwner)?)?
  /// Where in `head` the request's identifier goes, over as many bytes as it has digits.
  private let identifierOffset: Int?

  /// The largest head that is prepared.
  package static let maximumHeadBytes = 2048

  /// `nil`: the head is too large to be kept. Where ``placeholder`` stands in a field, the identifier of each request will.
  ///
  /// - Parameters:
  ///   - response: its `owner` is not kept: whoever keeps this answers for it.
  ///   - ownerOfWaiting: called on a connection's queue each time that not all of this could be sent at once. What it gives
  ///     answers for the memory of what waits, and is held until the last byte was handed to the kernel or the connection
  ///     ended. It takes no lock for longer than a look-up.
  package init?(_ response: HTTPResponse, ownerOfWaiting: (@Sendable () -> (any MemoryOwner)?)? = nil) {
    let length = response.head.status.forbidsBody ? BodyFraming.none : .length(response.body.count)
    let head = ResponseWriter.preparedHead(response.head, framing: length)
    guard head.count <= Self.maximumHeadBytes else { return nil }
    self.head = head
    status = response.head.status
    body = response.body
    self.ownerOfWaiting = ownerOfWaiting
    identifierOffset = head.firstRange(of: Array(Self.placeholder.utf8))?.lowerBound
  }

  /// Stands for the identifier of whichever request is answered.
  package static let placeholder = String(repeating: "#", count: RequestIdentifier.digitCount)

  /// What it costs to keep, beside its body.
  package var headByteCount: Int { head.count + 128 }

  /// Copies the head, with the identifier in it; how many bytes that is.
  func writeHead(to bytes: UnsafeMutableRawBufferPointer, identifier: RequestIdentifier) -> Int {
    bytes.copyBytes(from: head)
    if let identifierOffset {
      identifier.write(to: UnsafeMutableRawBufferPointer(rebasing: bytes[identifierOffset...]))
    }
    return head.count
  }
}
