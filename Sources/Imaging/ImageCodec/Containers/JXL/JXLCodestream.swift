// Reads the header of a JPEG XL codestream (ISO/IEC 18181-1 annex D): size, orientation, samples and colours, and a
// part of the first frame's.

import PhotoModel

/// The header of a codestream.
package struct JXLCodestream: Sendable, Hashable {
  /// As stored, before the orientation is applied.
  package let size: PixelSize
  package private(set) var orientation = Orientation.topLeft
  package private(set) var isAnimated = false
  package private(set) var isGray = false
  package private(set) var hasAlpha = false
  /// Alpha and all other channels besides colours.
  package private(set) var extraChannels = 0
  /// Whether samples have more than 8 bits, or are floating-point numbers.
  package private(set) var isDeep = false
  /// Whether the picture is coded in XYB, from which a decoder makes any colours; all lossy files are, except those
  /// made from JPEGs.
  package private(set) var isXYB = true
  package private(set) var colors = JXLColors.sRGB
  /// Whether the picture is one frame of DCT blocks without features that need more memory. False if that can't be
  /// known.
  package private(set) var isPlain = false

  /// The first bytes of a codestream (§A.2).
  static let signature: [UInt8] = [0xFF, 0x0A]
  /// The type of an extra channel that holds a printing ink (§D.3.6).
  private static let black = 4

  package init(
    size: PixelSize, isGray: Bool = false, hasAlpha: Bool = false, isDeep: Bool = false, isXYB: Bool = true,
    colors: JXLColors = .sRGB, isPlain: Bool = false
  ) {
    self.size = size
    self.isGray = isGray
    self.hasAlpha = hasAlpha
    extraChannels = hasAlpha ? 1 : 0
    self.isDeep = isDeep
    self.isXYB = isXYB
    self.colors = colors
    self.isPlain = isPlain
  }

  /// - Parameters:
  ///   - bytes: from the codestream's start.
  ///   - offset: where the codestream begins in the file, for errors.
  /// - Throws: `malformed` without the signature, `truncated` if the header does not end in `bytes`, `unsupported` for
  ///   pictures in printing inks, and `limitExceeded`.
  init(_ bytes: ArraySlice<UInt8>, at offset: Int64) throws(CodecError) {
    guard bytes.starts(with: Self.signature) else {
      throw .malformed("a JPEG XL codestream without its signature", offset: offset)
    }
    var bits = JXLBits(bytes.dropFirst(Self.signature.count))
    size = Self.size(&bits)
    // §D.3.1: by default the picture is RGB with 8 bits, in XYB.
    var isKnown = true
    if !bits.flag() { isKnown = try readMetadata(&bits, offset) }
    if bits.isValid {
      // Default matrices, without a profile: the first frame follows.
      guard isKnown, bits.flag(), !colors.hasProfile, !isAnimated else { return }
      bits.align()
      isPlain = JXLFrameHeader.isPlain(&bits, isXYB: isXYB, extraChannels: extraChannels)
      return
    }
    let limit = ContainerLimits.codestreamHeaderBytes
    guard bytes.count < limit else {
      throw .limitExceeded("the size of the codestream's header", limit: limit, found: bytes.count + 1)
    }
    throw .truncated(offset: offset + Int64(bytes.count))
  }

  /// ImageMetadata (§D.3.1). Returns whether all of it is read.
  private mutating func readMetadata(_ bits: inout JXLBits, _ offset: Int64) throws(CodecError) -> Bool {
    let hasFields = bits.flag()
    var hasPreview = false
    if hasFields {
      orientation = Orientation(rawValue: bits.number(3) + 1) ?? .topLeft
      // The intrinsic size is only for the layout of pages; the pixels have `size`.
      if bits.flag() { _ = Self.size(&bits) }
      hasPreview = bits.flag()
      if hasPreview { Self.skipPreview(&bits) }
      isAnimated = bits.flag()
      if isAnimated { Self.skipAnimation(&bits) }
    }
    isDeep = Self.isDeep(&bits)
    // Whether 16 bits are enough for a decoder's samples.
    bits.skip(1)
    extraChannels = bits.number(.init(0), .init(1), .init(2, plus: 4), .init(1, plus: 12))
    guard extraChannels <= ContainerLimits.extraChannels else {
      throw .limitExceeded(
        "the number of extra channels", limit: ContainerLimits.extraChannels, found: extraChannels)
    }
    for _ in 0..<extraChannels { try readExtraChannel(&bits) }
    isXYB = bits.flag()
    colors = try JXLColors(&bits, at: offset)
    isGray = colors.isGray
    // ToneMapping (§D.3.7).
    if hasFields, !bits.flag() { bits.skip(16 + 16 + 1 + 16) }
    let extensions = JXLFrameHeader.flags(&bits)
    return extensions == 0 && !hasPreview
  }

  /// SizeHeader (§D.2).
  private static func size(_ bits: inout JXLBits) -> PixelSize {
    let isSmall = bits.flag()
    func side(_ bits: inout JXLBits) -> Int {
      isSmall
        ? (bits.number(5) + 1) * 8
        : bits.number(.init(1, plus: 9), .init(1, plus: 13), .init(1, plus: 18), .init(1, plus: 30))
    }
    let height = side(&bits)
    return PixelSize(width: width(bits.number(3), height) ?? side(&bits), height: height)
  }

  /// The width by the aspect ratio's number; `nil` if it is coded itself.
  private static func width(_ ratio: Int, _ height: Int) -> Int? {
    switch ratio {
    case 1: height
    case 2: height * 12 / 10
    case 3: height * 4 / 3
    case 4: height * 3 / 2
    case 5: height * 16 / 9
    case 6: height * 5 / 4
    case 7: height * 2
    default: nil
    }
  }

  /// PreviewHeader (§D.3.2).
  private static func skipPreview(_ bits: inout JXLBits) {
    let isSmall = bits.flag()
    func skipSide(_ bits: inout JXLBits) {
      _ =
        isSmall
        ? bits.number(.init(16), .init(32), .init(1, plus: 5), .init(33, plus: 9))
        : bits.number(.init(1, plus: 6), .init(65, plus: 8), .init(321, plus: 10), .init(1345, plus: 12))
    }
    skipSide(&bits)
    if bits.number(3) == 0 { skipSide(&bits) }
  }

  /// AnimationHeader (§D.3.3).
  private static func skipAnimation(_ bits: inout JXLBits) {
    _ = bits.number(.init(100), .init(1000), .init(1, plus: 10), .init(1, plus: 30))
    _ = bits.number(.init(1), .init(1001), .init(1, plus: 8), .init(1, plus: 10))
    _ = bits.number(.init(0), .init(0, plus: 3), .init(0, plus: 16), .init(0, plus: 32))
    bits.skip(1)
  }

  /// BitDepth (§D.3.5).
  private static func isDeep(_ bits: inout JXLBits) -> Bool {
    if bits.flag() {
      _ = bits.number(.init(32), .init(16), .init(24), .init(1, plus: 6))
      bits.skip(4)
      return true
    }
    return bits.number(.init(8), .init(10), .init(12), .init(1, plus: 6)) > 8
  }

  /// ExtraChannelInfo (§D.3.6).
  private mutating func readExtraChannel(_ bits: inout JXLBits) throws(CodecError) {
    // By default, alpha with 8 bits.
    if bits.flag() {
      hasAlpha = true
      return
    }
    let type = bits.enumerated()
    _ = Self.isDeep(&bits)
    _ = bits.number(.init(0), .init(3), .init(4), .init(1, plus: 3))
    let nameBytes = bits.number(.init(0), .init(0, plus: 4), .init(16, plus: 5), .init(48, plus: 10))
    bits.skip(nameBytes * 8)
    switch type {
    case 0:
      hasAlpha = true
      // Whether colours are multiplied by it, which a decoder undoes.
      bits.skip(1)
    // A spot colour, which a decoder paints.
    case 2: bits.skip(4 * 16)
    case Self.black: throw .unsupported("a JPEG XL picture in printing inks")
    case 5: _ = bits.number(.init(1), .init(0, plus: 2), .init(3, plus: 4), .init(19, plus: 8))
    default: break
    }
  }
}
