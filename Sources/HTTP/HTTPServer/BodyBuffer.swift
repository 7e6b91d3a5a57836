/// The pieces of a streamed body that the handler has not read yet.
struct BodyBuffer {
  /// Smaller pieces are merged up to this size, so a client that sends one byte per chunk does not cost one array per
  /// byte.
  private static let pieceBytes = 65_536

  private var pieces: [[UInt8]] = []
  private(set) var byteCount = 0
  private var end: BodyRead?

  var hasEnded: Bool { end != nil }

  mutating func append(_ piece: [UInt8]) {
    byteCount += piece.count
    if let lastCount = pieces.last?.count, lastCount + piece.count <= Self.pieceBytes {
      pieces[pieces.count - 1] += piece
    } else {
      pieces.append(piece)
    }
  }

  /// Sets the result after the last piece. Only the first call has an effect.
  mutating func end(_ end: BodyRead) {
    if self.end == nil { self.end = end }
  }

  /// Removes and returns the next piece, then the end; `nil` if neither has arrived. A failure is returned at once, and
  /// the buffered pieces are discarded.
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
