/// A BMP with any header and any of the ways to store pixels.
package struct BMPFile: Sendable {
  package enum Header: Int, Sendable, CaseIterable {
    case core = 12, info = 40, infoWithMasks = 52, infoWithAlpha = 56, os2 = 64, v4 = 108, v5 = 124
  }

  package var header = Header.info
  package var width: Int
  package var height: Int
  package var bitsPerPixel: Int
  /// BITMAPINFOHEADER's `biCompression`.
  package var compression = 0
  package var isTopDown = false
  /// Blue, green and red of each index.
  package var colors: [[UInt8]] = []
  /// The stated number of colours; 0 for all that fit into the bits.
  package var statedColors = 0
  /// The bits of red, green, blue and alpha.
  package var masks: [UInt32] = []
  /// Bytes between the colours and the pixels, and after the pixels.
  package var gap: [UInt8] = []
  package var trailer: [UInt8] = []
  package var profile: [UInt8] = []
  /// The stored pixels, from the bottom unless `isTopDown`.
  package var pixels: [UInt8]

  package init(
    width: Int, height: Int, bitsPerPixel: Int, pixels: [UInt8] = [], _ change: (inout BMPFile) -> Void = { _ in }
  ) {
    (self.width, self.height, self.bitsPerPixel, self.pixels) = (width, height, bitsPerPixel, pixels)
    change(&self)
  }

  private static func little(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }

  package var bytes: [UInt8] {
    let little = Self.little
    var info: [UInt8]
    if header == .core {
      info = little(12, 4) + little(width, 2) + little(height, 2) + little(1, 2) + little(bitsPerPixel, 2)
    } else {
      info = little(header.rawValue, 4) + little(width, 4) + little(isTopDown ? -height : height, 4) + little(1, 2)
      info += little(bitsPerPixel, 2) + little(compression, 4) + little(pixels.count, 4)
      info += little(2835, 4) + little(2835, 4) + little(statedColors, 4) + little(0, 4)
    }
    let channels = masks.flatMap { little(Int($0), 4) }
    let fits = min(channels.count, max(0, header.rawValue - info.count))
    info += channels.prefix(fits)
    info += [UInt8](repeating: 0, count: max(0, header.rawValue - info.count))
    // The masks of the oldest header come after it.
    if header == .info { info += channels }
    let table = colors.flatMap { $0.prefix(3) + (header == .core ? [] : [0]) }
    let offset = 14 + info.count + table.count + gap.count
    if !profile.isEmpty {
      info.replaceSubrange(56..<60, with: Array("DEBM".utf8))
      info.replaceSubrange(112..<120, with: little(offset - 14 + pixels.count, 4) + little(profile.count, 4))
    }
    let length = offset + pixels.count + profile.count
    return Array("BM".utf8) + little(length, 4) + little(0, 4) + little(offset, 4) + info + table + gap + pixels
      + profile + trailer
  }

  /// The rows of a picture in the order of the file, each a multiple of four bytes.
  ///
  /// - Parameter pixel: the bits of the pixel (x, y).
  package mutating func store(_ pixel: (Int, Int) -> UInt32) {
    pixels = []
    for i in 0..<height {
      let y = isTopDown ? i : height - 1 - i
      var row: [UInt8] = []
      var (bits, bitCount) = (0, 0)
      for x in 0..<width {
        let value = Int(pixel(x, y))
        if bitsPerPixel >= 8 {
          row += Self.little(value, bitsPerPixel / 8)
        } else {
          (bits, bitCount) = (bits << bitsPerPixel | value, bitCount + bitsPerPixel)
          if bitCount == 8 || x == width - 1 {
            row.append(UInt8(bits << (8 - bitCount)))
            (bits, bitCount) = (0, 0)
          }
        }
      }
      pixels += row + [UInt8](repeating: 0, count: (4 - row.count % 4) % 4)
    }
  }

  /// The rows of a picture in runs, and in pieces of single indexes where neighbours differ.
  package mutating func storeRuns(_ index: (Int, Int) -> UInt8) {
    pixels = []
    for y in (0..<height).reversed() {
      let row = (0..<width).map { index($0, y) }
      var x = 0
      while x < width {
        let end = row[x...].firstIndex { $0 != row[x] } ?? width
        let run = min(end - x, 255)
        if run >= 4 || width - x < 3 {
          pixels += [UInt8(run), bitsPerPixel == 8 ? row[x] : row[x] << 4 | row[x]]
          x += run
          continue
        }
        let single = Array(row[x..<min(width, x + 251)].prefix(max(3, 17 + y % 5)))
        pixels += [0, UInt8(single.count)]
        var packed = single
        if bitsPerPixel == 4 {
          packed = stride(from: 0, to: single.count, by: 2).map {
            single[$0] << 4 | ($0 + 1 < single.count ? single[$0 + 1] : 0)
          }
        }
        pixels += packed + [UInt8](repeating: 0, count: packed.count % 2)
        x += single.count
      }
      pixels += [0, 0]
    }
    pixels += [0, 1]
  }
}
