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

extension HeaderBits {
  /// The bits of an HEVC or AVC NAL unit, without the bytes that prevent start codes (ISO/IEC 23008-2 §7.3.1.1).
  init(nalUnit unit: some Sequence<UInt8>) {
    var bytes: [UInt8] = []
    var zeros = 0
    for byte in unit {
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      bytes.append(byte)
    }
    self.init(bytes)
  }

  /// ue(v) and, for skipping, se(v) (ISO/IEC 23008-2 §9.2). At most 2^17: no valid value here is greater.
  mutating func golomb() -> Int {
    var zeros = 0
    while zeros < 16, !flag() { zeros += 1 }
    return (1 << zeros) - 1 + number(zeros)
  }

  /// se(v) (§9.2.2).
  mutating func signedGolomb() -> Int {
    let value = golomb()
    return value & 1 == 1 ? (value + 1) / 2 : -(value / 2)
  }

  /// The colours at the start of the usability information, which AVC (ISO/IEC 14496-10 §E.1.1) and HEVC (ISO/IEC
  /// 23008-2 §E.2.1) share; `nil` if there are none.
  mutating func usabilityColors() -> CodePoints? {
    // The shape of pixels, and overscan.
    if flag(), number(8) == 255 { skip(32) }
    if flag() { skip(1) }
    guard flag() else { return nil }
    skip(3)
    var colors = CodePoints(isFullRange: flag())
    if flag() {
      colors.primaries = number(8)
      colors.transfer = number(8)
      colors.matrix = number(8)
    }
    return isValid ? colors : nil
  }
}
