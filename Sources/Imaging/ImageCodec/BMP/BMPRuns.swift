import PhotoModel

/// Decodes indexes that are coded in runs (Windows GDI, "Bitmap Compression"), from the bottom of the picture to its
/// top.
struct BMPRuns {
  private var input: DecoderInput
  private let bits: Int
  private let size: PixelSize
  private let region: PixelRect
  /// The place of the next index; y from the top.
  private var x = 0
  private var y: Int
  /// The region's indexes: (x, y) at `(y - region.y) * region.width + x - region.x`. Those that no run reaches are 0.
  private(set) var indexes: [UInt8]

  /// - Parameter cursor: its position is that of the first command.
  init(_ picture: BMPPicture, bits: Int, region: PixelRect, cursor: SourceCursor) {
    input = DecoderInput(cursor: cursor)
    self.bits = bits
    size = picture.size
    self.region = region
    y = picture.size.height - 1
    indexes = [UInt8](repeating: 0, count: region.width * region.height)
  }

  /// Decodes down to the region's top.
  ///
  /// - Throws: `truncated` if the file ends first.
  mutating func decode() throws(CodecError) {
    let bits = bits
    while y >= region.y {
      try input.require(2)
      let (count, value) = (Int(input[0]), input[1])
      if count > 0 {
        // With four bits an index, a run alternates between two indexes.
        put(count) { i in
          if bits == 8 { return value }
          return i % 2 == 0 ? value >> 4 : value & 0x0F
        }
        input.skip(2)
        continue
      }
      switch value {
      // The end of a row, and of the picture.
      case 0:
        input.skip(2)
        x = 0
        y -= 1
      case 1: return
      // A move to the right and up.
      case 2:
        try input.require(4)
        x += Int(input[2])
        y -= Int(input[3])
        input.skip(4)
      // Single indexes, up to a whole number of pairs of bytes.
      default:
        let length = 2 + (Int(value) * bits + 15) / 16 * 2
        try input.require(length)
        let input = self.input
        put(Int(value)) { i in
          if bits == 8 { return input[2 + i] }
          return i % 2 == 0 ? input[2 + i / 2] >> 4 : input[2 + i / 2] & 0x0F
        }
        self.input.skip(length)
      }
    }
  }

  /// Writes indexes from the current place on; those after the end of the row are dropped.
  private mutating func put(_ count: Int, _ index: (Int) -> UInt8) {
    let columns = (x..<x + count).clamped(to: region.x..<region.x + region.width)
    if y < region.y + region.height {
      let start = (y - region.y) * region.width - region.x
      for column in columns { indexes[start + column] = index(column - x) }
    }
    x = min(x + count, size.width)
  }
}
