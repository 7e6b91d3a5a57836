/// A coded still picture of an AVIF, and the fields of `av1C` that are in its sequence header.
struct AV1Item {
  let data: ArraySlice<UInt8>
  let profile: Int
  private let level: Int
  let isMonochrome: Bool
  private let isDeep: Bool

  /// - Throws: `encodingFailed` unless the data begins with a reduced sequence header (AV1 §5.5.1).
  init(_ coded: [UInt8], isMonochrome: Bool, isDeep: Bool) throws(CodecError) {
    var data = coded[...]
    // Temporal delimiters should be left out (AV1 Image File Format §2.1).
    while data.starts(with: [0x12, 0x00]) { data = data.dropFirst(2) }
    // Type 1 with a size, of one byte for a still picture.
    let head = Array(data.prefix(4))
    guard head.count == 4, head[0] == 0x0A, head[1] < 0x80 else {
      throw .encodingFailed("the AVIF encoder sent no sequence header")
    }
    // seq_profile (3 bits), still_picture, reduced_still_picture_header, seq_level_idx (5 bits).
    let bits = Int(head[2]) << 8 | Int(head[3])
    guard bits >> 11 & 3 == 3 else { throw .encodingFailed("the AVIF encoder sent no still picture") }
    self.data = data
    profile = bits >> 13
    level = bits >> 6 & 31
    self.isMonochrome = isMonochrome
    self.isDeep = isDeep
  }

  /// AV1 in ISO-BMFF §2.3.3.
  var configuration: [UInt8] {
    let isSubsampled = isMonochrome || profile == 0
    // high_bitdepth without twelve_bit: 10 bits.
    return [
      0x81, UInt8(profile << 5 | level),
      (isDeep ? 0x40 : 0) | (isMonochrome ? 0x10 : 0) | (isSubsampled ? 0x0C : 0), 0,
    ]
  }
}
