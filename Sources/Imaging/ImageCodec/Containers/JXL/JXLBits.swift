/// The bits of a JPEG XL codestream, the first one in the lowest bit of a byte (ISO/IEC 18181-1 §A.3, annex B). After
/// the end, all bits are 0.
struct JXLBits {
  /// One of the four ways to code a number: a constant, and the bits that are added to it.
  struct Choice {
    let base: Int
    let bits: Int

    init(_ base: Int, plus bits: Int = 0) {
      self.base = base
      self.bits = bits
    }
  }

  private let bytes: ArraySlice<UInt8>
  private var position = 0

  init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  /// False after a read beyond the end.
  var isValid: Bool { position <= bytes.count * 8 }

  mutating func flag() -> Bool { number(1) == 1 }

  mutating func skip(_ count: Int) { position = min(position + count, bytes.count * 8 + 1) }

  /// Skips the rest of a byte.
  mutating func align() { position = min((position + 7) / 8 * 8, bytes.count * 8 + 1) }

  /// `u(n)`: at most 32 bits.
  mutating func number(_ count: Int) -> Int {
    var value = 0
    for bit in 0..<count {
      let byte = position >> 3
      if byte < bytes.count { value |= (Int(bytes[bytes.startIndex + byte]) >> (position & 7) & 1) << bit }
      skip(1)
    }
    return value
  }

  /// `U32(d0, d1, d2, d3)`, §B.2.2: two bits choose how the number is coded.
  mutating func number(_ first: Choice, _ second: Choice, _ third: Choice, _ fourth: Choice) -> Int {
    let choice = [first, second, third, fourth][number(2)]
    return choice.base + number(choice.bits)
  }

  /// `Enum`, §B.2.3.
  mutating func enumerated() -> Int { number(Choice(0), Choice(1), Choice(2, plus: 4), Choice(18, plus: 6)) }

  /// A chromaticity coordinate: `U32` with the sign in the lowest bit (§B.3), in millionths.
  mutating func coordinate() -> Double {
    let coded = number(
      Choice(0, plus: 19), Choice(524_288, plus: 19), Choice(1_048_576, plus: 20), Choice(2_097_152, plus: 21))
    return Double(coded & 1 == 0 ? coded / 2 : -(coded / 2) - 1) / 1_000_000
  }
}
