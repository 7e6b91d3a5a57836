import PhotoModel

/// A part of a source that is read into memory.
struct SourcePart {
  private let cursor: SourceCursor
  private(set) var bytes: [UInt8]
  private var filled = 0

  /// - Parameter range: as many bytes are allocated, so the caller must check its own limits first.
  init(_ range: ByteRange, of source: any ByteSource, _ stop: StopFlag) {
    cursor = SourceCursor(source: source, range: range, stop: stop)
    bytes = [UInt8](repeating: 0, count: range.length)
  }

  var readTime: Duration { cursor.readTime }

  /// Reads the rest of the bytes. Returns true.
  ///
  /// - Throws: `truncated` if the file ends first.
  mutating func read() throws(CodecError) -> Bool {
    while filled < bytes.count {
      let got = try bytes.withUnsafeMutableBufferPointer { [filled, cursor] (buffer) throws(CodecError) in
        try cursor.read(into: UnsafeMutableBufferPointer(rebasing: buffer[filled...]))
      }
      filled += got
    }
    return true
  }
}
