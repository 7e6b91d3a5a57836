// The fingerprint of a file, by which the file is recognised although it has another inode, because it was moved to
// another disk, or because the library was copied or restored from a backup.

import Cryptography
import PhotoModel

extension FileFingerprint {
  /// Bytes read at each end. The last bytes are compressed pixels, which differ between files. Hashing more would add
  /// nothing, and without SHA-256 instructions a scan would spend as much time on it as on everything else.
  private static let sampleBytes = 2048

  /// SHA-256 over the size and the first and last bytes of a file, cut to 128 bits. Reads both ends.
  package init(of source: any ByteSource) throws(ByteSourceError) {
    var hash = Digest(.sha256)
    withUnsafeBytes(of: source.size.littleEndian) { hash.update($0) }
    let head = try source.bytes(at: 0, count: Self.sampleBytes)
    hash.update(head)
    let start = max(Int64(head.count), source.size - Int64(Self.sampleBytes))
    if start < source.size {
      hash.update(try source.bytes(at: start, count: Self.sampleBytes))
    }
    let fingerprint = hash.finalize().withUnsafeBytes {
      FileFingerprint(UnsafeRawBufferPointer(rebasing: $0.prefix(Self.byteCount)))
    }
    guard let fingerprint else { preconditionFailure("a SHA-256 has 32 bytes") }
    self = fingerprint
  }
}
