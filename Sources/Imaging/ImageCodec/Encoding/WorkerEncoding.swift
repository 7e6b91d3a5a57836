import PhotoModel

/// The light of a picture of high dynamic range in cd/m²: of each pixel, that of its brightest colour channel counts
/// (CTA-861.3 annex A).
package struct ContentLight: Sendable, Hashable {
  /// The light of the brightest pixel, 1...10,000.
  package var maximum: Int
  /// The mean of all pixels, 1...10,000.
  package var average: Int

  package init(maximum: Int, average: Int) {
    self.maximum = maximum
    self.average = average
  }
}

/// How a picture is encoded by a process of its own: the settings of its codec, its memory and its limits.
package struct WorkerEncoding: Sendable, Hashable {
  /// One of the formats that ``OutputFormat/needsWorker``.
  package let format: OutputFormat
  package let size: PixelSize
  /// Samples of a pixel in the rows: 1 gray, 3 RGB, 4 RGBA with alpha that is not multiplied.
  package let channels: Int
  /// Whether the rows have samples of 16 bits in native byte order, in BT.2020 with the curve PQ; else of 8 bits.
  package let isHDR: Bool
  /// The light of a picture of high dynamic range; `nil` until its rows are known.
  package var contentLight: ContentLight?
  /// 1...100, the same for every format.
  let quality: Int
  /// Bytes of the profile that the file will have.
  private let profileBytes: Int

  var hasProfile: Bool { profileBytes > 0 }

  /// - Parameter channels: of the picture, 1...4.
  package init(
    _ format: OutputFormat, size: PixelSize, channels: Int, quality: Int, profileBytes: Int,
    isHDR: Bool = false
  ) {
    self.format = format
    self.size = size
    self.isHDR = isHDR
    let isGray = channels == 1 && format != .webp && !isHDR
    self.channels = channels % 2 == 0 ? 4 : isGray ? 1 : 3
    self.quality = quality
    self.profileBytes = profileBytes
  }

  /// The package of Debian with the encoder's library, for messages.
  package static func package(of format: OutputFormat) -> String {
    switch format {
    case .webp: "libwebp7"
    case .avif: "libaom3"
    case .jxl: "libjxl0.7"
    case .jpeg, .png: "photod"
    }
  }

  /// The longest side that a file of the format may have.
  package static func maximumSide(_ format: OutputFormat) -> Int {
    // WEBP_MAX_DIMENSION. An AV1 frame has at most 65,536 (§5.5.1).
    format == .webp ? 16_383 : 65_535
  }

  /// Bytes of a pixel in the rows.
  package var pixelBytes: Int { channels * (isHDR ? 2 : 1) }

  /// Bits of a sample in the file.
  package var codedBits: Int { isHDR ? 10 : 8 }

  /// Code points of the colours (H.273): sRGB, or unspecified beside a profile, with the matrix of BT.601; or BT.2020
  /// with PQ and its own matrix.
  package var codePoints: CodePoints {
    if isHDR { return CodePoints(primaries: 9, transfer: 16, matrix: 9, isFullRange: true) }
    return CodePoints(
      primaries: hasProfile ? 2 : 1, transfer: hasProfile ? 2 : 13, matrix: 6, isFullRange: true)
  }

  // MARK: The codec's own settings

  /// WebP's quality, the quantizer of AV1, the distance of JPEG XL.
  package var setting: Double {
    let setting = EncoderQuality.setting(format, quality)
    // JPEG XL's distance refers to light, AV1's quantizer to the values that code the light.
    guard isHDR, format == .avif else { return setting }
    // AV1 §7.12.2: a level is four indices of Ac_Qlookup, whose steps for small indices are the index plus 8.
    return max(1, ((4 * setting + 8) * Self.shareBelowWhite - 8) / 4)
  }

  /// The share of PQ's values for light up to white, 203 cd/m² (ITU-R BT.2408): what a picture of standard range uses
  /// all of its values for. Steps have to be smaller by as much.
  private static let shareBelowWhite = 0.58

  /// WebP's method, the speed of AV1, the effort of JPEG XL: those with the most saved bytes for their time. AV1 at
  /// speed 8 takes three times as long as at 9, and WebP's method 4 twice as long as 2 for 3% of the bytes.
  package var effort: Int {
    switch format {
    case .webp: 4
    case .avif: 9
    default: 3
    }
  }

  /// As for JPEG, a high quality means full colour resolution. So do strips of an odd width or height, because a grid
  /// with smaller chroma must be even (MIAF, ISO/IEC 23000-22 §7.3.11.4.2).
  package var hasFullChroma: Bool {
    guard format == .avif && channels != 1 else { return false }
    if JPEGEncoder.chromaStep(quality: quality) == 1 { return true }
    return (size.width | size.height) & 1 == 1 && !isWhole(hasFullChroma: false)
  }

  /// The brightest light that the file says it has, in cd/m²: at least white (ITU-R BT.2408).
  package var peakLuminance: Int { max(203, contentLight?.maximum ?? 10_000) }

  // MARK: Strips

  /// Bytes that the worker of a whole picture may allocate, and the worker of a picture in strips.
  private static let (wholeBytes, stripsBytes) = (384 << 20, 256 << 20)

  /// Rows that are coded together: all, or those of a strip, the last of which may have fewer. A codec needs many bytes
  /// for each pixel that it codes at once, so a large picture is coded in strips: a JPEG XL as layers that replace rows
  /// of the picture, an AVIF as tiles of a grid. A strip has whole blocks of AV1, and at least a group of JPEG XL.
  package var stripRows: Int {
    if isWhole(hasFullChroma: hasFullChroma) { return size.height }
    let (fixed, perPixel) = workerMemory(hasFullChroma: hasFullChroma)
    let rows = (Self.stripsBytes - fixed) / perPixel / (size.width + Self.padding) - Self.padding
    return min(max(256, rows / 64 * 64), size.height)
  }

  package var stripCount: Int { (size.height + stripRows - 1) / stripRows }

  /// Whether all rows are coded together.
  private func isWhole(hasFullChroma: Bool) -> Bool {
    let (fixed, perPixel) = workerMemory(hasFullChroma: hasFullChroma)
    return format == .webp || fixed + paddedPixels(rows: size.height) * perPixel <= Self.wholeBytes
  }

  // MARK: Memory

  /// Whether libwebp works without a list of tokens, which takes most of its memory. photod-encoder-webp has the same
  /// limit.
  private var hasLowMemory: Bool { format == .webp && size.pixelCount >= 4_000_000 }

  /// Bytes that the worker may allocate, with the coded data. libaom takes half as much again for 10 bits. Measured
  /// with libwebp 1.2.4, libaom 3.6.0 and libjxl 0.7.0 as the peak of an encode of noise, and rounded up. In bytes a
  /// pixel, of RGB with 6 megapixels at the qualities 82, 90 and 100:
  ///
  /// | | noise | photograph |
  /// | --- | --- | --- |
  /// | WebP | 20, 23, 29 | 7, 9, 13 |
  /// | WebP without tokens | 3, 3, 4 | 2, 3, 3 |
  /// | AVIF | 24, 24, 50 | 22, 22, 37 |
  /// | JPEG XL | 76, 77, 79 | 66, 67, 69 |
  ///
  /// Smaller pictures take more in AVIF, 27 and 54 with one megapixel, and larger ones less.
  package var workerBytes: Int {
    let (fixed, perPixel) = workerMemory(hasFullChroma: hasFullChroma)
    return fixed + paddedPixels(rows: stripRows) * perPixel + profileBytes * 2
  }

  /// Bytes that the worker needs: `fixed`, and `perPixel` for each pixel that it codes at once.
  private func workerMemory(hasFullChroma: Bool) -> (fixed: Int, perPixel: Int) {
    switch format {
    // Alpha is lossless: it needs lists of matches.
    case .webp where channels == 4: (8 << 20, 56)
    case .webp: (8 << 20, hasLowMemory ? 5 : quality <= 82 ? 22 : quality <= 90 ? 26 : 32)
    case .avif where isHDR: (16 << 20, (hasFullChroma ? 77 : 49) + (channels == 4 ? 9 : 0))
    case .avif where channels == 3: (16 << 20, hasFullChroma ? 52 : 23)
    case .avif: (16 << 20, channels == 1 ? 30 : hasFullChroma ? 63 : 37)
    default: (24 << 20, (channels == 1 ? 62 : channels == 3 ? 81 : 106) + (isHDR ? channels * 3 : 0))
    }
  }

  /// The samples that codecs may add to a side: a block.
  private static let padding = 64

  private func paddedPixels(rows: Int) -> Int { (size.width + Self.padding) * (rows + Self.padding) }

  /// The longest coded data that is accepted: a third more than noise takes, at least.
  package var maximumBytes: Int {
    let pixels = size.pixelCount
    let bytes =
      switch format {
      // Noise takes 1.1 bytes a pixel.
      case .webp where channels == 3: pixels * 7 / 4
      // Noise takes 0.9 bytes a pixel at the highest quality without full chroma.
      case .avif where channels == 3 && !hasFullChroma && !isHDR: pixels * 2
      default: pixels * pixelBytes * 3 / 2
      }
    return (64 << 10) + bytes + profileBytes
  }

  /// Memory of an encode: the rows, the worker, the coded data, and the file.
  package var peakBytes: Int { size.pixelCount * pixelBytes + workerBytes + maximumBytes + profileBytes * 2 }
}
