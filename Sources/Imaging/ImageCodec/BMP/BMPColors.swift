import PhotoModel

/// Turns a BMP's pixels into RGB or RGBA.
struct BMPColors {
  private let coding: BMPPicture.Coding
  /// RGB of each index. An index that the file's palette does not have is black.
  private var palette = [SIMD4<UInt8>](repeating: SIMD4(0, 0, 0, 255), count: 256)
  private var channels: [MaskedChannel] = []

  init(_ picture: BMPPicture, _ source: any ByteSource) throws(CodecError) {
    coding = picture.coding
    if case .masks(_, let masks) = coding {
      channels = (0..<(picture.hasAlpha ? 4 : 3)).map { MaskedChannel(masks[$0]) }
    }
    guard picture.palette.length > 0 else { return }
    var reader = HeaderReader(source: source)
    let bytes = Array(try reader.wholeBytes(at: picture.palette.offset, count: picture.palette.length))
    for i in 0..<min(256, bytes.count / picture.paletteEntryBytes) {
      let start = i * picture.paletteEntryBytes
      palette[i] = SIMD4(bytes[start + 2], bytes[start + 1], bytes[start], 255)
    }
  }

  /// Converts a part of a row.
  ///
  /// - Parameters:
  ///   - row: a row as stored, or indexes of one byte if it was coded in runs.
  ///   - columns: the wanted pixels.
  ///   - space: for as many pixels of 3 or 4 bytes.
  func convert(_ row: ArraySlice<UInt8>, columns: Range<Int>, into space: UnsafeMutableRawBufferPointer) {
    var position = 0
    func put(_ color: SIMD4<UInt8>) {
      space[position] = color.x
      space[position + 1] = color.y
      space[position + 2] = color.z
      position += 3
    }
    switch coding {
    case .indexes(bits: 8), .runs:
      for x in columns { put(palette[Int(row[row.startIndex + x])]) }
    case .indexes(let bits):
      for x in columns {
        let byte = Int(row[row.startIndex + x * bits / 8])
        put(palette[byte >> (8 - bits - x * bits % 8) & (1 << bits - 1)])
      }
    case .bytes: reorder(row, columns, channels: 3, into: space)
    case .masks(bytes: 4, Self.wholeBytes): reorder(row, columns, channels: 4, into: space)
    case .masks(let bytes, _):
      for x in columns {
        let start = row.startIndex + x * bytes
        var pixel: UInt32 = 0
        for i in 0..<bytes { pixel |= UInt32(row[start + i]) << UInt32(i * 8) }
        for channel in channels {
          space[position] = channel.value(of: pixel)
          position += 1
        }
      }
    }
  }
}

extension BMPColors {
  /// The masks of pixels that are blue, green, red and alpha.
  fileprivate static let wholeBytes = SIMD4<UInt32>(0xFF_0000, 0xFF00, 0xFF, 0xFF00_0000)

  /// Blue comes first in the file, alpha last.
  fileprivate func reorder(
    _ row: ArraySlice<UInt8>, _ columns: Range<Int>, channels: Int, into space: UnsafeMutableRawBufferPointer
  ) {
    precondition(row.count >= columns.upperBound * channels && space.count >= columns.count * channels)
    row.withUnsafeBytes { row in
      let from = row.baseAddress! + columns.lowerBound * channels
      let to = space.baseAddress!
      for i in stride(from: 0, to: columns.count * channels, by: channels) {
        to.storeBytes(of: from.load(fromByteOffset: i + 2, as: UInt8.self), toByteOffset: i, as: UInt8.self)
        to.storeBytes(of: from.load(fromByteOffset: i + 1, as: UInt8.self), toByteOffset: i + 1, as: UInt8.self)
        to.storeBytes(of: from.load(fromByteOffset: i, as: UInt8.self), toByteOffset: i + 2, as: UInt8.self)
        if channels == 4 {
          to.storeBytes(of: from.load(fromByteOffset: i + 3, as: UInt8.self), toByteOffset: i + 3, as: UInt8.self)
        }
      }
    }
  }
}

/// A channel that takes some adjacent bits of a pixel.
private struct MaskedChannel {
  private let mask: UInt32
  private let shift: UInt32
  /// The value of each number of up to 8 bits, scaled to 0...255.
  private var values: [UInt8]

  init(_ mask: UInt32) {
    self.mask = mask
    // Of more than 8 bits only the highest count.
    let bits = mask.nonzeroBitCount
    shift = UInt32(mask == 0 ? 0 : mask.trailingZeroBitCount + max(0, bits - 8))
    let last = 1 << min(8, bits) - 1
    values = (0...last).map { last == 0 ? 0 : UInt8(($0 * 255 + last / 2) / last) }
  }

  func value(of pixel: UInt32) -> UInt8 { values[Int((pixel & mask) >> shift)] }
}
