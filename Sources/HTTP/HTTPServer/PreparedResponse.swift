import HTTPCore

/// A response in ready-to-send form, cached by its creator and sent many times, each with one gathered send.
///
/// Immutable and shared. Sending copies the small head and never the body.
package final class PreparedResponse: Sendable {
  let status: HTTPStatus
  /// Status line and fields, including `Content-Length`. `Date`, `Connection` and the empty line are added when the
  /// response is sent.
  let head: [UInt8]
  let body: [UInt8]
  /// The bytes that are sent between the head and `body`, and after it: the rest of a chunked body, with its framing.
  let opening: [UInt8]
  let closing: [UInt8]
  /// The framing of the body. A chunked response is not for HTTP/1.0.
  package let isChunked: Bool
  /// Size of the body without its framing.
  let contentBytes: Int
  let makeMemoryOwner: (@Sendable () -> (any MemoryOwner)?)?
  /// Offsets in `head` and in `opening` where the request identifier is written over the placeholder.
  private let identifierOffsets: (head: Int?, opening: Int?)

  /// Maximum size of a prepared head and `opening`.
  static let maximumHeadBytes = 2048

  /// Returns `nil` if the head is larger than ``maximumHeadBytes``. Each send replaces ``requestIDPlaceholder`` in a
  /// field by the identifier of the request.
  ///
  /// - Parameters:
  ///   - response: the response to prepare. Its `owner` is not kept: the holder of the prepared response accounts for
  ///     the memory.
  ///   - makeMemoryOwner: called on a connection's queue each time a send is incomplete. The returned owner accounts
  ///     for the waiting bytes and is held until the last byte was handed to the kernel or the connection ended. The
  ///     closure must hold a lock no longer than a lookup takes.
  package convenience init?(_ response: HTTPResponse, makeMemoryOwner: (@Sendable () -> (any MemoryOwner)?)? = nil) {
    // A client would take a body after 204 or 304 for the beginning of the next response.
    let forbidsBody = response.head.status.forbidsBody
    self.init(
      response.head, forbidsBody ? .none : .length(response.body.count), [], forbidsBody ? [] : response.body, [],
      makeMemoryOwner)
  }

  /// A response in one chunk. Returns `nil` if its head and `opening` are larger than ``maximumHeadBytes``.
  ///
  /// - Parameters:
  ///   - opening: the body's first bytes, which may have the placeholder too.
  ///   - body: the bytes that are shared, and not copied for a send.
  ///   - closing: the body's last bytes.
  package convenience init?(
    chunked head: ResponseHead, opening: [UInt8], body: [UInt8], closing: [UInt8],
    makeMemoryOwner: (@Sendable () -> (any MemoryOwner)?)? = nil
  ) {
    let size = opening.count + body.count + closing.count
    self.init(
      head, .chunked, ResponseWriter.chunkStart(size) + opening, body,
      closing + ResponseWriter.chunkEnd + ResponseWriter.lastChunk, makeMemoryOwner, contentBytes: size)
  }

  private init?(
    _ head: ResponseHead, _ framing: BodyFraming, _ opening: [UInt8], _ body: [UInt8], _ closing: [UInt8],
    _ makeMemoryOwner: (@Sendable () -> (any MemoryOwner)?)?, contentBytes: Int? = nil
  ) {
    let prefix = ResponseWriter.headPrefix(head, framing: framing)
    guard prefix.count + opening.count <= Self.maximumHeadBytes else { return nil }
    let placeholder = Array(Self.requestIDPlaceholder.utf8)
    self.head = prefix
    self.opening = opening
    self.body = body
    self.closing = closing
    self.contentBytes = contentBytes ?? body.count
    self.makeMemoryOwner = makeMemoryOwner
    status = head.status
    isChunked = framing == .chunked
    identifierOffsets = (
      prefix.firstRange(of: placeholder)?.lowerBound, opening.firstRange(of: placeholder)?.lowerBound
    )
  }

  /// Placeholder for the request identifier.
  package static let requestIDPlaceholder = String(repeating: "#", count: RequestIdentifier.digitCount)

  /// Memory cost without the body.
  package var headBytes: Int { head.count + opening.count + closing.count + 128 }

  /// Copies the head with the request identifier filled in. Returns the number of bytes written.
  func writeHead(to bytes: UnsafeMutableRawBufferPointer, identifier: RequestIdentifier) -> Int {
    write(head, identifierOffsets.head, to: bytes, identifier)
  }

  /// Like ``writeHead(to:identifier:)``, for the bytes between the head and the body.
  func writeOpening(to bytes: UnsafeMutableRawBufferPointer, identifier: RequestIdentifier) -> Int {
    write(opening, identifierOffsets.opening, to: bytes, identifier)
  }

  private func write(
    _ source: [UInt8], _ identifierOffset: Int?, to bytes: UnsafeMutableRawBufferPointer,
    _ identifier: RequestIdentifier
  ) -> Int {
    bytes.copyBytes(from: source)
    if let identifierOffset {
      identifier.write(to: UnsafeMutableRawBufferPointer(rebasing: bytes[identifierOffset...]))
    }
    return source.count
  }
}
