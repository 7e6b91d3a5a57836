import Crypto

extension DiskStore {
  /// What an entry is found by: 128 bits of a digest. Whoever makes it puts all into the digest that makes two blobs differ.
  package struct Key: Sendable, Hashable {
    let high: UInt64
    let low: UInt64

    package init(high: UInt64, low: UInt64) {
      self.high = high
      self.low = low
    }

    /// The first 16 bytes of SHA-256 of `bytes`.
    package init(digestOf bytes: [UInt8]) {
      self = SHA256.hash(data: bytes).withUnsafeBytes { digest in
        Key(
          high: UInt64(bigEndian: digest.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
          low: UInt64(bigEndian: digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
      }
    }
  }

  /// What sort of picture an entry is; each has its own keys. The numbers are on disk.
  package enum Kind: UInt8, Sendable, Hashable, CaseIterable {
    /// What was sent to a client. Quick to make anew from a derivative.
    case frame = 1
    /// A smaller picture to make frames of; only the original can give it again.
    case derivative = 2
  }

  /// The present epoch of each kind. It changes with whatever makes what was stored of no use, as a renderer's new version.
  package struct Epochs: Sendable, Hashable {
    package var frame: UInt32
    package var derivative: UInt32

    package init(frame: UInt32, derivative: UInt32) {
      self.frame = frame
      self.derivative = derivative
    }

    subscript(kind: Kind) -> UInt32 {
      switch kind {
      case .frame: frame
      case .derivative: derivative
      }
    }
  }
}
