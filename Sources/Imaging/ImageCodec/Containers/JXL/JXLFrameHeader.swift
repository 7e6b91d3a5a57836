// Reads the header of a JPEG XL codestream's first frame (ISO/IEC 18181-1 annex F) as far as it decides how much memory
// a decoder needs.

/// The header of the first frame.
enum JXLFrameHeader {
  /// Features that need the whole picture at once or other frames: noise, patches, splines, and DC from another frame.
  private static let costlyFlags = 1 | 2 | 16 | 32

  /// Whether the first frame is the only one, covers the picture and is coded in DCT blocks without costly features.
  ///
  /// - Parameter bits: at the frame's first byte.
  static func isPlain(_ bits: inout JXLBits, isXYB: Bool, extraChannels: Int) -> Bool {
    if bits.flag() { return isXYB }
    // §F.2: a regular frame, and VarDCT.
    guard bits.number(2) == 0, bits.number(1) == 0 else { return false }
    guard let flags = flags(&bits), flags & costlyFlags == 0 else { return false }
    // Chroma of a JPEG may be smaller than its luma.
    if !isXYB, bits.flag() { bits.skip(6) }
    // Pixels are enlarged only after a decode at a smaller size.
    bits.skip(2 + 2 * extraChannels)
    if isXYB { bits.skip(6) }
    skipPasses(&bits)
    // No crop; colours and extra channels replace what was there.
    guard !bits.flag() else { return false }
    for _ in 0...extraChannels where bits.number(2) != 0 { return false }
    let isLast = bits.flag()
    return isLast && bits.isValid
  }

  /// `U64` (§B.2.4), up to the numbers of known flags; `nil` beyond them.
  static func flags(_ bits: inout JXLBits) -> Int? {
    switch bits.number(2) {
    case 0: 0
    case 1: bits.number(4) + 1
    case 2: bits.number(8) + 17
    default: nil
    }
  }

  /// Passes (§F.2).
  private static func skipPasses(_ bits: inout JXLBits) {
    let passes = bits.number(.init(1), .init(2), .init(3), .init(4, plus: 3))
    guard passes > 1 else { return }
    let smaller = bits.number(.init(0), .init(1), .init(2), .init(3, plus: 1))
    bits.skip(2 * (passes - 1) + 2 * smaller)
    for _ in 0..<smaller { _ = bits.number(.init(0), .init(1), .init(2), .init(0, plus: 3)) }
  }
}
