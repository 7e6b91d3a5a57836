/// The bits of a header, the first one in the highest bit of a byte. After the end, all bits are 0.
struct HeaderBits {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isValid: Bool { position <= bytes.count * 8 }

  mutating func flag() -> Bool { number(1) == 1 }

  mutating func skip(_ count: Int) { position = min(position + count, bytes.count * 8 + 1) }

  mutating func number(_ count: Int) -> Int {
    var value = 0
    for _ in 0..<count {
      let byte = position >> 3
      value = value << 1 | (byte < bytes.count ? Int(bytes[byte] >> (7 - position & 7)) & 1 : 0)
      skip(1)
    }
    return value
  }

  /// The number of zeros before the next 1, at most 32; the 1 is read.
  mutating func leadingZeros() -> Int {
    var zeros = 0
    while zeros < 32, !flag() { zeros += 1 }
    return zeros
  }

  /// uvlc() (AV1 §4.10.3).
  mutating func skipVariableLength() { skip(leadingZeros()) }
}
