#if canImport(Glibc)
  import Glibc
#endif

/// The bytes that a request parser has received, consumed from the front as lines or as pieces of a body.
///
/// Consumed bytes stay in `bytes` while a head is parsed, because its fields are ranges of them. The head then shares
/// the array. If the head has been released when more bytes arrive, the array is reused and nothing is allocated.
struct InputBuffer: Sendable {
  /// A larger array is not reused for the next request.
  static let reusableCapacityBytes = 2048

  private(set) var bytes: [UInt8] = []
  /// Bytes before this position are consumed.
  private var position = 0
  /// Bytes between `position` and this hold no line feed.
  private var scanned = 0

  /// Bytes that are not consumed.
  var count: Int { bytes.count - position }

  mutating func append(_ received: UnsafeRawBufferPointer) { bytes.append(contentsOf: received) }

  // MARK: Consuming

  /// Consumes `count` bytes. Returns their range in `bytes`.
  mutating func consume(_ count: Int) -> Range<Int> {
    position += count
    return position - count..<position
  }

  /// Consumes and returns the next line without its line end; `nil` if it is incomplete.
  ///
  /// Lines end only in CR LF. RFC 9112 §2.2 allows a recipient to accept a lone LF, but then two recipients may
  /// disagree about the end of a message (§11.2).
  ///
  /// - Parameters:
  ///   - limit: maximum bytes of the line without its line end.
  ///   - tooLong: thrown as soon as the line is longer, even if its end has not arrived.
  mutating func line(limit: Int, else tooLong: ParseError) throws(ParseError) -> Range<Int>? {
    let start = max(scanned, position)
    guard let end = Self.lineFeed(bytes, from: start) else {
      // The line end may be incomplete, so limit + 1 bytes are allowed.
      if count > limit + 1 { throw tooLong }
      scanned = bytes.count
      return nil
    }
    guard end > position, bytes[end - 1] == UInt8(ascii: "\r") else {
      if end - position > limit { throw tooLong }
      throw .bareLineFeed
    }
    let line = position..<end - 1
    if line.count > limit { throw tooLong }
    try Self.rejectControlCharacters(bytes.span, line)
    position = end + 1
    return line
  }

  private static func lineFeed(_ bytes: [UInt8], from start: Int) -> Int? {
    bytes.withUnsafeBytes { bytes in
      guard start < bytes.count, let base = bytes.baseAddress else { return nil }
      return memchr(base + start, 0x0A, bytes.count - start).map { base.distance(to: UnsafeRawPointer($0)) }
    }
  }

  /// Reports NUL and a carriage return inside a line as separate errors (RFC 9112 §2.2, RFC 9110 §5.5); the grammar of
  /// the line rejects the rest.
  private static func rejectControlCharacters(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(ParseError) {
    var isBad = false
    for i in line { isBad = isBad || bytes[i] == 0 || bytes[i] == 0x0D }
    guard isBad else { return }
    for i in line {
      if bytes[i] == 0 { throw .nulByte }
      if bytes[i] == 0x0D { throw .bareCarriageReturn }
    }
  }

  // MARK: Releasing

  /// Removes the consumed bytes from the array. Keeps its memory if it is small and no head shares it.
  mutating func removeConsumed() {
    if count == 0 {
      bytes.removeAll(keepingCapacity: bytes.capacity <= Self.reusableCapacityBytes)
      scanned = 0
      position = 0
    } else if position > 0 {
      bytes.removeFirst(position)
      scanned = max(0, scanned - position)
      position = 0
    }
  }

  /// Moves the bytes that are not consumed to an array of their own. The old array belongs to the head that shares it,
  /// or is freed.
  mutating func detach() {
    bytes = Array(bytes[position...])
    scanned = max(0, scanned - position)
    position = 0
  }
}
