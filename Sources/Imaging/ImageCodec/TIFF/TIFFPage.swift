import PhotoModel

/// How the shown page of a TIFF is coded (TIFF 6.0). A strip counts as a tile of the picture's width.
package struct TIFFPage: Sendable, Hashable {
  enum Compression: Sendable, Hashable {
    case none, packBits, lzw, deflate, jpeg
  }

  /// How samples become colours.
  enum Colors: Sendable, Hashable {
    /// Whether 0 is white.
    case gray(isInverted: Bool)
    case rgb
    /// Indexes, and the position of the colours: 16 bits each, all red ones first.
    case palette(ByteRange)
    /// Cyan, magenta, yellow and black; 0 is no ink.
    case inks
    case yCbCr(TIFFYCbCr)
    /// CIE L*a*b* of D50 (§23). Whether 0 of a* and b* is stored as 128: the ICC profile specification's encoding.
    case lab(isOffset: Bool)

    /// The samples that it needs.
    var count: Int {
      switch self {
      case .gray, .palette: 1
      case .rgb, .yCbCr, .lab: 3
      case .inks: 4
      }
    }
  }

  /// An extra sample (§18).
  struct Alpha: Sendable, Hashable {
    let sample: Int
    let isPremultiplied: Bool
  }

  /// Numbers of 2, 4 or 8 bytes, one for each tile.
  struct Table: Sendable, Hashable {
    let range: ByteRange
    let entryBytes: Int
  }

  let size: PixelSize
  let isBigEndian: Bool
  let compression: Compression
  let colors: Colors
  /// The samples of a pixel, and the bits of a sample: 1, 2, 4, 8 or 16.
  let samples: Int
  let bits: Int
  let alpha: Alpha?
  /// Whether each sample has tiles of its own, those of the first sample first.
  let isPlanar: Bool
  /// Whether a sample is stored as its difference from the pixel on its left (§14).
  let hasPredictor: Bool
  /// Whether the bits of each byte are in reverse order.
  let isReversed: Bool
  let tileSize: PixelSize
  /// The positions of the tiles, and their lengths in bytes if the file states them.
  let offsets: Table
  let lengths: Table?
  /// An abbreviated JPEG stream with the tables that the tiles share (TIFF Technical Note 2).
  let jpegTables: ByteRange?
  /// Whether those JPEGs are in YCbCr, which libjpeg turns into RGB.
  let hasJPEGInYCbCr: Bool
  package internal(set) var embeddedProfile: EmbeddedProfile?
  /// Smaller versions in the same file, smallest first.
  package internal(set) var reductions: [TIFFPage] = []

  var hasAlpha: Bool { alpha != nil }

  /// As decoded: without alpha.
  var colorChannels: Int {
    switch colors {
    case .gray: 1
    case .inks: 4
    case .rgb, .palette, .yCbCr, .lab: 3
    }
  }

  /// 8 or 16, as decoded.
  var bitsPerChannel: Int {
    switch colors {
    case .gray, .rgb: bits == 16 ? 16 : 8
    case .palette, .inks, .yCbCr, .lab: 8
    }
  }

  var pixelBytes: Int { (colorChannels + (hasAlpha ? 1 : 0)) * bitsPerChannel / 8 }

  /// Tiles in each direction.
  var columns: Int { (size.width + tileSize.width - 1) / tileSize.width }
  var rows: Int { (size.height + tileSize.height - 1) / tileSize.height }

  /// The samples that are decoded, if each has tiles of its own; only one stream otherwise.
  var planes: [Int] {
    isPlanar ? Array(0..<colors.count) + [alpha?.sample].compactMap(\.self) : [0]
  }

  /// The samples of a pixel in one stream.
  var streamSamples: Int { isPlanar ? 1 : samples }

  /// The bytes of a stored row of a tile; of subsampled chroma, those of all rows that share it.
  var storedRowBytes: Int {
    if case .yCbCr(let chroma) = colors, chroma.isSubsampled {
      return (tileSize.width + chroma.across - 1) / chroma.across * (chroma.across * chroma.down + 2)
    }
    return (tileSize.width * streamSamples * bits + 7) / 8
  }

  /// How many rows of pixels a stored row has.
  var rowsPerStoredRow: Int {
    if case .yCbCr(let chroma) = colors { chroma.down } else { 1 }
  }

  package var isTiled: Bool { columns > 1 }
  /// Whether the rows above a region need not be decoded, but for those in the same tiles.
  package var canSkipRows: Bool { rows > 1 || compression == .none }

  /// Memory of its decoder: input, codes and a row of each stream; colours and parts of the tables; the pixels of a row
  /// of tiles if it has several.
  var decoderBytes: Int {
    var stream = DecoderInput.capacity + 2 * storedRowBytes + tileSize.width * streamSamples * 2 + 112 * 1024
    if compression == .jpeg { stream += TIFFJPEGStream.byteCount(self) }
    let band = columns == 1 ? 0 : size.width * min(size.height, tileSize.height) * pixelBytes
    return 64 * 1024 + planes.count * (stream + TIFFTileTable.byteCount) + band
  }
}

/// Luma and chroma as TIFF 6.0 §21 defines them.
struct TIFFYCbCr: Sendable, Hashable {
  /// Pixels that share a pair of chroma samples, in each direction.
  var across = 1
  var down = 1
  /// The shares of red, green and blue in luma.
  var red = 0.299
  var green = 0.587
  var blue = 0.114
  /// ReferenceBlackWhite: the codes of black and white of luma and of each chroma sample.
  var black: [Double] = [0, 128, 128]
  var white: [Double] = [255, 255, 255]

  var isSubsampled: Bool { across > 1 || down > 1 }
}
