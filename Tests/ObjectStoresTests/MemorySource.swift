import PhotoModel

/// Bytes in memory as a source that returns a few at a time.
final class MemorySource: ByteSource {
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var size: Int64 { Int64(bytes.count) }
  var canReturnNotYet: Bool { false }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    guard offset < size else { return .end }
    let count = min(buffer.count, bytes.count - Int(offset), 10_000)
    bytes.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)..<Int(offset) + count]))
    }
    return .bytes(count)
  }
}
