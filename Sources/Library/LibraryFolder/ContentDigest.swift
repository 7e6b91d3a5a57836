// The digest of a file, by which the same content is recognised after this file was removed.

import Cryptography
import PhotoModel

/// SHA-256 over the size and the bytes of a file. Of a file longer than `maximumBytes`, only that many bytes are read,
/// in blocks that are spread evenly over it.
package struct ContentDigest: Sendable, Hashable {
  package static let byteCount = 32
  private static let blockBytes: Int64 = 1 << 20
  private static let maximumBlocks: Int64 = 64
  /// The maximum number of bytes that are read of a file.
  package static let maximumBytes = blockBytes * maximumBlocks

  package let bytes: [UInt8]

  /// - Parameter bytes: `byteCount` bytes; any other number gives `nil`.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  package init(of source: any ByteSource) throws(ByteSourceError) {
    var hash = Digest(.sha256)
    let size = source.size
    withUnsafeBytes(of: size.littleEndian) { hash.update($0) }
    var step = Self.blockBytes
    // Rounded up, so the last block ends with the file.
    if size > Self.maximumBytes { step = (size - Self.blockBytes + Self.maximumBlocks - 2) / (Self.maximumBlocks - 1) }
    for block in 0..<Self.maximumBlocks {
      var offset = block * step
      if size > Self.maximumBytes { offset = min(offset, size - Self.blockBytes) }
      if offset >= size { break }
      hash.update(try source.bytes(at: offset, count: Int(Self.blockBytes)))
    }
    bytes = hash.finalize()
  }
}
