import Cryptography

extension DiskStore {
  /// The key of an entry: 128 bits of a digest, or 64 bits for its subject and 64 bits of a digest. The caller must
  /// include everything in the digest that distinguishes two blobs.
  package struct Key: Sendable, Hashable {
    let high: UInt64
    let low: UInt64

    package init(high: UInt64, low: UInt64) {
      self.high = high
      self.low = low
    }

    /// The 32 hexadecimal digits of the key.
    package var hexadecimal: String {
      var text: [UInt8] = []
      Hexadecimal.append(high, digits: 16, to: &text)
      Hexadecimal.append(low, digits: 16, to: &text)
      return String(decoding: text, as: UTF8.self)
    }

    /// The first 16 bytes of SHA-256 of `bytes`.
    package init(digestOf bytes: [UInt8]) {
      self = Digest.sha256(bytes).withUnsafeBytes { digest in
        Key(
          high: UInt64(bigEndian: digest.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
          low: UInt64(bigEndian: digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
      }
    }

    /// The key of an entry of a subject.
    ///
    /// - Parameter bytes: include the subject.
    package init(_ subject: Subject, digestOf bytes: [UInt8]) {
      self.init(high: subject.number, low: Key(digestOf: bytes).low)
    }
  }

  /// The subject of an entry. All entries of a subject can be removed at once: their keys begin with the same 64 bits.
  package struct Subject: Sendable, Hashable {
    let number: UInt64

    init(number: UInt64) { self.number = number }

    /// - Parameter name: identifies the subject.
    package init(_ name: String) { number = Key(digestOf: Array(name.utf8)).high }
  }

  /// The kind of an entry; each kind has its own keys. The numbers are stored on disk.
  package enum Kind: UInt8, Sendable, Hashable, CaseIterable {
    /// A frame as sent to clients. It can be made quickly from a derivative.
    case frame = 1
    /// A smaller picture from which frames are made. It can be made only from the original.
    case derivative = 2
  }

  /// The current epoch of each kind. It changes when stored entries become unusable, for example with a new version of
  /// the renderer.
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
