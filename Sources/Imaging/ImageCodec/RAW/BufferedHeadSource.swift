import PhotoModel

/// A file whose first bytes are in memory. A RAW file has several parsers, for its header, its previews and its
/// colours, and each has a reader that begins there.
final class BufferedHeadSource: ByteSource {
  private let source: any ByteSource
  private let head: [UInt8]

  /// - Parameter reader: that has read the start of the file, and nothing after it.
  init(of source: any ByteSource, _ reader: HeaderReader) {
    self.source = source
    head = reader.head
  }

  var size: Int64 { source.size }
  var canReturnNotYet: Bool { source.canReturnNotYet }
  var isUnchanged: Bool { source.isUnchanged }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    guard offset >= 0, offset < Int64(head.count), !buffer.isEmpty else {
      return try source.read(into: buffer, at: offset)
    }
    let part = head[Int(offset)...].prefix(buffer.count)
    part.withUnsafeBytes { buffer.copyMemory(from: $0) }
    return .bytes(part.count)
  }
}
