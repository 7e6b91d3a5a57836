/// The input of a decoder that reads its file in order: some bytes of a source before its cursor.
struct DecoderInput {
  static let capacity = 64 * 1024

  private var cursor: SourceCursor
  /// The time of cursors that are done.
  private var pastReadTime = Duration.zero
  private var buffer = [UInt8](repeating: 0, count: capacity)
  /// The unread bytes are at `buffer[start..<end]`.
  private var start = 0
  private var end = 0

  init(cursor: SourceCursor) { self.cursor = cursor }

  var available: Int { end - start }
  var readTime: Duration { pastReadTime + cursor.readTime }
  /// The position in the file of the next byte.
  var position: Int64 { cursor.position - Int64(available) }

  /// Goes on with another part of the source; unread bytes are dropped.
  mutating func restart(_ next: SourceCursor) {
    pastReadTime += cursor.readTime
    cursor = next
    (start, end) = (0, 0)
  }

  /// Gives the body all available bytes, and skips as many of them as it returns.
  mutating func use(_ body: (UnsafeBufferPointer<UInt8>) -> Int) {
    let used = buffer.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[start..<end])) }
    skip(used)
  }

  /// Makes bytes available.
  ///
  /// - Parameter count: at most ``capacity``.
  /// - Throws: `truncated` if the file ends before that many bytes.
  @inline(__always)
  mutating func require(_ count: Int) throws(CodecError) {
    if available < count { try fill(count) }
  }

  private mutating func fill(_ count: Int) throws(CodecError) {
    while available < count {
      if start > 0 {
        buffer.withUnsafeMutableBufferPointer { [start, end] in
          for (to, from) in (start..<end).enumerated() { $0[to] = $0[from] }
        }
        (start, end) = (0, end - start)
      }
      let got = try buffer.withUnsafeMutableBufferPointer { [end, cursor] (buffer) throws(CodecError) in
        try cursor.read(into: UnsafeMutableBufferPointer(rebasing: buffer[end...]))
      }
      end += got
    }
  }

  /// An available byte, which stays unread.
  subscript(i: Int) -> UInt8 { buffer[start + i] }

  /// Skips available bytes.
  mutating func skip(_ count: Int) {
    precondition(count <= available, "bytes that are not available")
    start += count
  }

  /// The next byte, which must be available.
  mutating func next() -> UInt8 {
    defer { start += 1 }
    return buffer[start]
  }
}
