import Cryptography
import PhotoModel

/// The body of a request.
enum TransferBody: Sendable {
  case bytes([UInt8])
  /// Read piece by piece on the queue of the transfers. It was read shortly before, for its checksum.
  case file(ObjectFile)

  var count: Int64 {
    switch self {
    case .bytes(let bytes): Int64(bytes.count)
    case .file(let file): file.size
    }
  }

  /// SHA-256.
  var payloadHash: String {
    switch self {
    case .bytes(let bytes): S3Signer.payloadHash(bytes)
    case .file(let file): file.sha256.hexadecimal
    }
  }

  /// Copies the bytes at an offset, at most as many as fit. `nil`: they can't be read.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
    let count = Int(min(Int64(buffer.count), self.count - offset))
    guard count > 0 else { return 0 }
    switch self {
    case .bytes(let bytes):
      bytes.withUnsafeBytes {
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)..<Int(offset) + count]))
      }
      return count
    case .file(let file):
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
      guard case .bytes(let read)? = try? file.source.read(into: part, at: offset) else { return nil }
      return read
    }
  }
}
