import Foundation

/// A DNG with an uncompressed mosaic of 16 bits, and usually without a preview (DNG 1.4 §4). Its camera sees linear
/// sRGB, red and blue less than green, so the developed picture is known without any library: it is ``picture``.
package struct MosaicFile: Sendable {
  /// sRGB, three channels. At least a hundredth must be white, because LibRaw takes the brightest hundredth for white.
  package var picture: Pixels
  package var details = TIFFPicture.Details { $0.orientation = 1 }
  /// The filters of the first two rows and columns: 0 is red, 1 green, 2 blue.
  package var pattern = [0, 1, 1, 2]
  /// Whether every pixel has all colours.
  package var isLinear = false
  /// Green rows and columns on each side, which the default crop cuts off.
  package var border = 0
  /// The stated compression, 1 for none. The samples are never compressed.
  package var compression = 1
  /// A JPEG in a sub-directory.
  package var preview: [UInt8]?
  /// Added to the stated width and height.
  package var error = (width: 0, height: 0)

  package init(_ picture: Pixels, _ change: (inout MosaicFile) -> Void = { _ in }) {
    self.picture = picture
    change(&self)
  }

  /// Twelve patches of six colours, two of them white.
  package static func patches(width: Int, height: Int) -> Pixels {
    let colors: [[UInt8]] = [
      [255, 255, 255], [180, 109, 78], [78, 180, 109], [109, 78, 205], [150, 150, 150], [0, 0, 0],
    ]
    var pixels = Pixels(width: width, height: height, channels: 3)
    for y in 0..<height {
      for x in 0..<width {
        let color = colors[(x * 6 / width + y * 2 / height * 3) % 6]
        pixels.bytes.replaceSubrange((y * width + x) * 3..<(y * width + x) * 3 + 3, with: color)
      }
    }
    return pixels
  }

  /// The camera's values for white.
  private static let neutral = [0.5, 1, 0.7]
  /// From CIE XYZ to linear sRGB, in ten-thousandths (IEC 61966-2-1).
  private static let colorMatrix = [32_405, -15_371, -4985, -9693, 18_760, 416, 556, -2040, 10_573]

  /// The size of the mosaic, with its border.
  package var storedSize: (width: Int, height: Int) {
    (picture.width + 2 * border, picture.height + 2 * border)
  }

  package var bytes: [UInt8] {
    let (width, height) = storedSize
    var entries =
      details.entries + TIFFPicture.size(width + error.width, height + error.height) + [
        (254, .long([0])), (258, .short(isLinear ? [16, 16, 16] : [16])), (259, .short([compression])),
        (262, .short([isLinear ? 34_892 : 32_803])), (273, .data(samples)), (277, .short([isLinear ? 3 : 1])),
        (278, .long([height + error.height])), (279, .long([samples.count])), (50_706, .bytes([1, 4, 0, 0])),
        (50_708, .ascii("Maker Model 1")), (50_717, .long([65_535])),
        (50_721, .signedRationals(Self.colorMatrix.map { ($0, 10_000) })),
        (50_728, .rationals(Self.neutral.map { (Int($0 * 10), 10) })), (50_778, .short([21])),
      ]
    if !isLinear { entries += [(33_421, .short([2, 2])), (33_422, .bytes(pattern.map { UInt8($0) }))] }
    if border > 0 {
      entries += [(50_719, .long([border, border])), (50_720, .long([picture.width, picture.height]))]
    }
    if let preview {
      let directory = TIFFPicture.Directory([(254, .long([1])), (513, .data(preview)), (514, .long([preview.count]))])
      entries.append((330, .directories([directory])))
    }
    return TIFFPicture { $0.chain = [TIFFPicture.Directory(entries)] }.bytes
  }

  /// Row after row, 16 bits each, little-endian.
  private var samples: [UInt8] {
    let tables = (0..<3).map { channel in
      (0..<256).map { UInt16((Self.linear(Double($0) / 255) * Self.neutral[channel] * 65_535).rounded()) }
    }
    let (width, height) = storedSize
    var bytes: [UInt8] = []
    bytes.reserveCapacity(width * height * (isLinear ? 6 : 2))
    for y in 0..<height {
      for x in 0..<width {
        let (column, row) = (x - border, y - border)
        let isInside = (0..<picture.width).contains(column) && (0..<picture.height).contains(row)
        let place = (row * picture.width + column) * 3
        for channel in isLinear ? [0, 1, 2] : [pattern[y % 2 * 2 + x % 2]] {
          let value = isInside ? picture.bytes[place + channel] : channel == 1 ? 255 : 0
          let sample = tables[channel][Int(value)]
          bytes += [UInt8(sample & 255), UInt8(sample >> 8)]
        }
      }
    }
    return bytes
  }

  /// The light of a value of sRGB (IEC 61966-2-1).
  private static func linear(_ value: Double) -> Double {
    value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
  }
}
