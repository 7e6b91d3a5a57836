// Reads an HEVC sequence parameter set (ISO/IEC 23008-2 §7.3.2.2) up to the description of its colours. Phones describe
// the range and the matrix of their samples only there.

enum HEVCSequenceParameters {
  /// The colours of a NAL unit's usability information (§E.2.1); `nil` if it has none, or can't be read.
  static func colors(_ unit: [UInt8]) -> CodePoints? {
    var bits = HeaderBits(nalUnit: unit)
    bits.skip(16 + 4)
    let subLayers = bits.number(3)
    bits.skip(1)
    skipProfile(&bits, subLayers)
    _ = bits.golomb()
    let chroma = bits.golomb()
    if chroma == 3 { bits.skip(1) }
    for _ in 0..<2 { _ = bits.golomb() }
    if bits.flag() { for _ in 0..<4 { _ = bits.golomb() } }
    for _ in 0..<2 { _ = bits.golomb() }
    let countBits = bits.golomb() + 4
    let hasAllLayers = bits.flag()
    for _ in (hasAllLayers ? 0 : subLayers)...subLayers { for _ in 0..<3 { _ = bits.golomb() } }
    for _ in 0..<6 { _ = bits.golomb() }
    if bits.flag(), bits.flag() { skipScalingLists(&bits) }
    bits.skip(2)
    if bits.flag() {
      bits.skip(8)
      for _ in 0..<2 { _ = bits.golomb() }
      bits.skip(1)
    }
    guard skipReferences(&bits, countBits) else { return nil }
    bits.skip(2)
    // vui_parameters_present_flag, then the shape of pixels and overscan.
    guard bits.flag() else { return nil }
    if bits.flag(), bits.number(8) == 255 { bits.skip(32) }
    if bits.flag() { bits.skip(1) }
    guard bits.flag() else { return nil }
    bits.skip(3)
    var colors = CodePoints(isFullRange: bits.flag())
    if bits.flag() {
      colors.primaries = bits.number(8)
      colors.transfer = bits.number(8)
      colors.matrix = bits.number(8)
    }
    return bits.isValid ? colors : nil
  }

  /// §7.3.3.
  private static func skipProfile(_ bits: inout HeaderBits, _ subLayers: Int) {
    bits.skip(96)
    let layers = (0..<subLayers).map { _ in (bits.flag(), bits.flag()) }
    if subLayers > 0 { bits.skip(2 * (8 - subLayers)) }
    for (hasProfile, hasLevel) in layers {
      if hasProfile { bits.skip(88) }
      if hasLevel { bits.skip(8) }
    }
  }

  /// §7.3.4.
  private static func skipScalingLists(_ bits: inout HeaderBits) {
    for size in 0..<4 {
      for _ in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
        guard bits.flag() else {
          _ = bits.golomb()
          continue
        }
        for _ in 0..<min(64, 1 << (4 + 2 * size)) + (size > 1 ? 1 : 0) { _ = bits.golomb() }
      }
    }
  }

  /// §7.3.7 and long-term references. Returns false for sets that are predicted from others: a still picture has none.
  private static func skipReferences(_ bits: inout HeaderBits, _ countBits: Int) -> Bool {
    for i in 0..<min(64, bits.golomb()) {
      if i > 0, bits.flag() { return false }
      for _ in 0..<min(32, bits.golomb() + bits.golomb()) {
        _ = bits.golomb()
        bits.skip(1)
      }
    }
    guard bits.flag() else { return bits.isValid }
    for _ in 0..<min(32, bits.golomb()) { bits.skip(min(16, countBits) + 1) }
    return bits.isValid
  }
}

extension HeaderBits {
  /// The bits of a NAL unit, without the bytes that prevent start codes (§7.3.1.1).
  fileprivate init(nalUnit unit: [UInt8]) {
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

  /// ue(v) and, for skipping, se(v) (§9.2). At most 2^16: no valid value here is greater.
  fileprivate mutating func golomb() -> Int {
    var zeros = 0
    while zeros < 16, !flag() { zeros += 1 }
    return (1 << zeros) - 1 + number(zeros)
  }
}
