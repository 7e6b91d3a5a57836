/// The lines of the chunked transfer coding (RFC 9112 §7.1), and a limit on the bytes that they add to a body.
struct ChunkedCoding: Sendable {
  /// Maximum bytes of the line before a chunk, with its extensions.
  static let lineLimit = 256
  /// Bytes that the lines may use beyond 16 bytes per chunk and twice the announced data.
  private static let overheadLimitBytes = 16_384

  private var overheadBytes = 0

  /// Parses the line before a chunk: chunk-size [chunk-ext]. Returns the size of the chunk; 0 ends the body.
  ///
  /// - Parameter line: a range of `bytes` without the line end.
  static func size(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(ParseError) -> Int {
    var size = 0
    var digits = 0
    var i = line.lowerBound
    while i < line.upperBound, let value = HTTPGrammar.hexValue(bytes[i]) {
      digits += 1
      if digits > 15 { throw .malformedChunk }
      size = size << 4 | Int(value)
      i += 1
    }
    if digits == 0 { throw .malformedChunk }
    // RFC 9112 §7.1.1: BWS, then extensions. Their meaning is ignored, but their bytes are counted.
    while i < line.upperBound, bytes[i] == 0x20 || bytes[i] == 0x09 { i += 1 }
    if i < line.upperBound {
      guard bytes[i] == UInt8(ascii: ";") else { throw .malformedChunk }
      for j in i..<line.upperBound where !HTTPGrammar.isFieldContent(bytes[j]) { throw .malformedChunk }
    } else if i > line.lowerBound + digits {
      throw .malformedChunk
    }
    return size
  }

  /// Counts the line before a chunk. Otherwise many small chunks with long extensions would make the parser read far
  /// more than the body limit.
  mutating func count(lineBytes: Int, dataBytes: Int) throws(ParseError) {
    overheadBytes = max(0, overheadBytes + lineBytes - 16 - 2 * dataBytes)
    if overheadBytes > Self.overheadLimitBytes { throw .malformedChunk }
  }
}
