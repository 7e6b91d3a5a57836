// Reads an AV1 sequence header (AV1 Bitstream & Decoding Process Specification §5.5) up to the description of its
// colours, for files whose container has none.

enum AV1SequenceHeader {
  /// How much of a picture's data is examined.
  static let examinedBytes = 256

  /// The colours that the sequence header at the start of a picture's data describes; `nil` if there is none, or if it
  /// can't be read.
  static func colors(_ data: ArraySlice<UInt8>) -> CodePoints? {
    var data = data
    // §5.3: open bitstream units. The sequence header has the type 1, and comes before the frame.
    while let head = data.first {
      let (type, hasExtension, hasSize) = (head >> 3 & 15, head & 4 != 0, head & 2 != 0)
      data = data.dropFirst(hasExtension ? 2 : 1)
      var length = data.count
      if hasSize {
        guard let size = leb128(&data) else { return nil }
        length = size
      }
      if type == 1 { return colors(ofHeader: data.prefix(length)) }
      data = data.dropFirst(length)
    }
    return nil
  }

  /// §4.10.5.
  private static func leb128(_ data: inout ArraySlice<UInt8>) -> Int? {
    var value = 0
    for index in 0..<8 {
      guard let byte = data.popFirst() else { return nil }
      value |= Int(byte & 0x7F) << (7 * index)
      if byte & 0x80 == 0 { return value }
    }
    return nil
  }

  private static func colors(ofHeader bytes: ArraySlice<UInt8>) -> CodePoints? {
    var bits = HeaderBits(Array(bytes))
    let profile = bits.number(3)
    bits.skip(1)
    let isReduced = bits.flag()
    if isReduced { bits.skip(5) } else { skipOperatingPoints(&bits) }
    let (widthBits, heightBits) = (bits.number(4) + 1, bits.number(4) + 1)
    bits.skip(widthBits + heightBits)
    if !isReduced, bits.flag() { bits.skip(7) }
    bits.skip(3)
    if !isReduced { skipTools(&bits) }
    bits.skip(3)
    // §5.5.2.
    if bits.flag(), profile == 2 { bits.skip(1) }
    let isMonochrome = profile != 1 && bits.flag()
    var colors = CodePoints(isFullRange: true)
    if bits.flag() {
      colors.primaries = bits.number(8)
      colors.transfer = bits.number(8)
      colors.matrix = bits.number(8)
    }
    // sRGB in three planes of the same size has no flag.
    let isRGB = (colors.primaries, colors.transfer, colors.matrix) == (1, 13, 0)
    if isMonochrome || !isRGB { colors.isFullRange = bits.flag() }
    return bits.isValid ? colors : nil
  }

  private static func skipOperatingPoints(_ bits: inout HeaderBits) {
    var (hasDecoderModel, delayBits) = (false, 0)
    if bits.flag() {
      bits.skip(64)
      if bits.flag() { bits.skipVariableLength() }
      hasDecoderModel = bits.flag()
      if hasDecoderModel {
        delayBits = bits.number(5) + 1
        bits.skip(32 + 10)
      }
    }
    let hasDisplayDelay = bits.flag()
    for _ in 0...bits.number(5) {
      bits.skip(12)
      if bits.number(5) > 7 { bits.skip(1) }
      if hasDecoderModel, bits.flag() { bits.skip(2 * delayBits + 1) }
      if hasDisplayDelay, bits.flag() { bits.skip(4) }
    }
  }

  /// The tools of sequences of frames.
  private static func skipTools(_ bits: inout HeaderBits) {
    bits.skip(4)
    let hasOrder = bits.flag()
    if hasOrder { bits.skip(2) }
    let screenContent = bits.flag() ? 2 : bits.number(1)
    if screenContent > 0, !bits.flag() { bits.skip(1) }
    if hasOrder { bits.skip(3) }
  }
}
