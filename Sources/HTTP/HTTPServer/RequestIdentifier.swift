import CPhotodSystem

/// The identifier of one request: 128 random bits, written as 32 hexadecimal digits.
package struct RequestIdentifier: Sendable, Hashable, CustomStringConvertible {
  static let digitCount = 32

  let high: UInt64
  let low: UInt64

  package var description: String {
    String(unsafeUninitializedCapacity: Self.digitCount) { bytes in
      write(to: UnsafeMutableRawBufferPointer(bytes))
      return Self.digitCount
    }
  }

  /// Writes the digits. `bytes` must have room for `digitCount` bytes.
  func write(to bytes: UnsafeMutableRawBufferPointer) {
    for i in 0..<16 {
      bytes[i] = Self.digit(high >> UInt64(60 - 4 * i))
      bytes[16 + i] = Self.digit(low >> UInt64(60 - 4 * i))
    }
  }

  private static func digit(_ value: UInt64) -> UInt8 {
    let nibble = UInt8(truncatingIfNeeded: value) & 15
    return nibble < 10 ? nibble + UInt8(ascii: "0") : nibble + (UInt8(ascii: "a") - 10)
  }

  /// Makes identifiers from the kernel's random bytes, one page at a time: one system call per identifier would cost
  /// more than all other work on the identifier.
  struct Generator {
    private static let wordCount = 512
    private var words = [UInt64](repeating: 0, count: wordCount)
    private var used = wordCount

    mutating func next() -> RequestIdentifier {
      if used == Self.wordCount { refill() }
      defer {
        // Erase used words, so that a later memory disclosure does not reveal past identifiers.
        words[used] = 0
        words[used + 1] = 0
        used += 2
      }
      return RequestIdentifier(high: words[used], low: words[used + 1])
    }

    private mutating func refill() {
      let result = words.withUnsafeMutableBytes { photod_random($0.baseAddress, $0.count) }
      precondition(result == 0, "the kernel has no random bytes")
      used = 0
    }
  }
}
