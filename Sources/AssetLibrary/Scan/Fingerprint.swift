// By what a file is known again whose name and inode are both other ones: it was moved from one disk to another, or the
// library came back from a backup.

import Crypto
import Foundation
import PhotoModel

/// SHA-256 over a file's size, its first and its last bytes, cut to 128 bits.
///
/// A hint, not a proof: what is in the middle is not looked at. Whoever believes it makes sure that the other file is gone,
/// and that the two say the same of themselves.
struct Fingerprint: Sendable, Hashable {
  /// At each end: the last are compressed pixels, which are nowhere the same twice. More would be hashed for nothing, and a
  /// scan would spend as much on it as on everything else where the processor has no instructions for SHA-256.
  static let sampleBytes = 2048

  let bytes: [UInt8]

  /// Reads both ends. Throws ``ByteSourceError``.
  init(of source: any ByteSource) throws(ByteSourceError) {
    var hash = SHA256()
    withUnsafeBytes(of: source.size.littleEndian) { hash.update(bufferPointer: $0) }
    let head = try source.bytes(at: 0, count: Self.sampleBytes)
    head.withUnsafeBytes { hash.update(bufferPointer: $0) }
    let start = max(Int64(head.count), source.size - Int64(Self.sampleBytes))
    if start < source.size {
      try source.bytes(at: start, count: Self.sampleBytes).withUnsafeBytes { hash.update(bufferPointer: $0) }
    }
    bytes = Array(hash.finalize().prefix(16))
  }

  var data: Data { Data(bytes) }
}
