import PhotoModel

/// How a BMP's pixels are coded.
package struct BMPPicture: Sendable, Hashable {
  package enum Coding: Sendable, Hashable {
    /// Indexes of 1, 4 or 8 bits, the leftmost in the highest bits.
    case indexes(bits: Int)
    /// Runs of indexes of 4 or 8 bits.
    case runs(bits: Int)
    /// Blue, green, red.
    case bytes
    /// Little-endian numbers of 2 or 4 bytes, and the bits of red, green, blue and alpha in them.
    case masks(bytes: Int, SIMD4<UInt32>)
  }

  let size: PixelSize
  let isTopDown: Bool
  let coding: Coding
  /// The colours, each blue, green, red and perhaps an unused byte.
  let palette: ByteRange
  let paletteEntryBytes: Int
  /// The position of the pixels, and the bytes of a row that is not coded in runs.
  let pixels: Int64
  let strideBytes: Int
  let embeddedProfile: EmbeddedProfile?

  var hasAlpha: Bool {
    if case .masks(_, let masks) = coding { masks.w != 0 } else { false }
  }

  /// Runs are stored from the bottom, and have no index: the whole picture must be decoded before its first row.
  var isBuffered: Bool {
    if case .runs = coding { true } else { false }
  }

  /// Memory of its decoder: the input or some rows, colours, and indexes that were coded in runs.
  var decoderBytes: Int { 64 * 1024 + max(DecoderInput.capacity, strideBytes) + (isBuffered ? size.pixelCount : 0) }

  static func read(_ reader: inout HeaderReader, limits: CodecLimits) throws(CodecError) -> BMPPicture {
    let header = try BMPHeader.read(&reader)
    try limits.check(header.size)
    return try BMPPicture(header, limits)
  }

  private init(_ header: BMPHeader, _ limits: CodecLimits) throws(CodecError) {
    coding = try Self.coding(header)
    size = header.size
    isTopDown = header.isTopDown
    palette = ByteRange(header.palette)
    paletteEntryBytes = header.paletteEntryBytes
    pixels = header.pixels
    strideBytes = header.strideBytes
    embeddedProfile = header.profile.flatMap { profile in
      if profile.isEmpty { return nil }
      if profile.count > limits.profileBytes { return .damaged("a profile that is too large") }
      return .parts([ByteRange(profile)])
    }
    if isBuffered && isTopDown { throw .malformed("runs from the top", offset: 22) }
  }

  private static func coding(_ header: BMPHeader) throws(CodecError) -> Coding {
    let bits = header.bitsPerPixel
    switch (header.coding, bits) {
    case (.rows, 1), (.rows, 4), (.rows, 8): return .indexes(bits: bits)
    case (.runs4, 4), (.runs8, 8): return .runs(bits: bits)
    case (.rows, 24): return .bytes
    case (.rows, 16): return .masks(bytes: 2, SIMD4(0x7C00, 0x03E0, 0x001F, 0))
    case (.rows, 32): return .masks(bytes: 4, SIMD4(0xFF_0000, 0xFF00, 0xFF, 0))
    case (.masks, 16), (.masks, 32), (.masksAndAlpha, 16), (.masksAndAlpha, 32):
      let masks = header.masks ?? SIMD4()
      for i in 0..<4 where !isContiguous(masks[i]) || (bits == 16 && masks[i] > 0xFFFF) {
        throw .malformed("an impossible mask of colours", offset: 54)
      }
      return .masks(bytes: bits / 8, masks)
    case (.jpeg, _), (.png, _), (nil, _): throw .unsupported("a BMP picture with another codec's data")
    default: throw .malformed("an impossible number of bits", offset: 28)
    }
  }

  private static func isContiguous(_ mask: UInt32) -> Bool {
    let ones = mask >> UInt32(mask == 0 ? 0 : mask.trailingZeroBitCount)
    return ones & (ones &+ 1) == 0
  }
}
