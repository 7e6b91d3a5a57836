import CPhotoFixtures

#if canImport(Glibc)
  import Glibc
#endif

/// A segment of a JPEG: its marker's code, such as 0xE1 for APP1, and at most 65,533 bytes.
package struct JPEGSegment: Sendable {
  package var marker: UInt8
  package var content: [UInt8]

  package init(marker: UInt8, content: [UInt8]) {
    self.marker = marker
    self.content = content
  }

  /// An APP1 segment with a packet of XMP.
  package static func xmp(_ packet: String) -> JPEGSegment {
    JPEGSegment(marker: 0xE1, content: Array("http://ns.adobe.com/xap/1.0/\0\(packet)".utf8))
  }

  /// One of `count` parts of an ICC profile (ICC.1 annex B.4).
  package static func profilePart(_ bytes: some Collection<UInt8>, _ number: Int, of count: Int) -> JPEGSegment {
    JPEGSegment(marker: 0xE2, content: Array("ICC_PROFILE\0".utf8) + [UInt8(number), UInt8(count)] + bytes)
  }
}

/// A JPEG file of any kind that libjpeg can write.
package struct JPEGFile: Sendable {
  package enum Color: Sendable {
    case gray, ycbcr, rgb, cmyk, ycck
  }

  package var color = Color.ycbcr
  package var quality = 90
  /// Luma samples for one of chroma, across and down: (2, 2) is 4:2:0, (1, 1) is 4:4:4, (4, 1) is 4:1:1.
  package var sampling = (horizontal: 2, vertical: 2)
  package var isProgressive = false
  /// In a progressive file: whether each component's DC coefficients have their own scan.
  package var hasSeparateDCScans = false
  package var isArithmetic = false
  /// Whether to write SOF1, with more Huffman tables than baseline has.
  package var isExtended = false
  /// Whether each component has its own scan.
  package var hasMultipleScans = false
  /// Whether a file of inks has Adobe's marker. Inks are stored as their complement with it and, as readers expect,
  /// without it.
  package var hasAdobeMarker = true
  package var restartRows = 0
  /// Segments before and after the EXIF block.
  package var leadingSegments: [JPEGSegment] = []
  package var segments: [JPEGSegment] = []
  package var exif: EXIFBlock?
  package var profile: [UInt8]?

  package init() {}

  package init(_ change: (inout JPEGFile) -> Void) { change(&self) }

  /// - Parameter pixels: one channel for gray, else RGB, which is converted to inks if needed; or four channels of ink,
  ///   255 for none.
  package func encoded(_ pixels: Pixels) -> [UInt8] {
    let source = stored(pixels)
    var length = 0
    let memory = withOptions {
      fixture_encode_jpeg(source, UInt32(pixels.width), UInt32(pixels.height), $0, &length)
    }
    guard let memory else { fatalError("libjpeg refused to write a fixture") }
    defer { free(memory) }
    return Array(UnsafeBufferPointer(start: memory, count: length))
  }

  /// Writes a large file row by row from a tile and its mirror images. The file is as hard to decode as its tile, and
  /// its pixels are never all in memory.
  package func write(mirroring tile: Pixels, width: Int, height: Int, to path: String) {
    let source = stored(tile)
    let isWritten = withOptions {
      fixture_write_mirrored_jpeg(
        path, source, UInt32(tile.width), UInt32(tile.height), UInt32(width), UInt32(height), $0)
    }
    guard isWritten else { fatalError("libjpeg refused to write \(path)") }
  }

  /// The samples as the file stores them.
  private func stored(_ pixels: Pixels) -> [UInt8] {
    guard color == .cmyk || color == .ycck else { return pixels.bytes }
    return pixels.channels == 3 ? Self.inks(pixels) : pixels.bytes
  }

  private func withOptions<Result>(_ work: (fixture_jpeg_options) -> Result) -> Result {
    let colors: fixture_jpeg_color =
      switch color {
      case .gray: FIXTURE_JPEG_GRAY
      case .ycbcr: FIXTURE_JPEG_YCBCR
      case .rgb: FIXTURE_JPEG_RGB
      case .cmyk: FIXTURE_JPEG_CMYK
      case .ycck: FIXTURE_JPEG_YCCK
      }
    let subsamples = color == .ycbcr || color == .ycck
    let block = exif.map { [JPEGSegment(marker: 0xE1, content: $0.bytes)] } ?? []
    let markers = (leadingSegments + block + segments).flatMap {
      [$0.marker, UInt8($0.content.count >> 8), UInt8($0.content.count & 255)] + $0.content
    }
    return markers.withUnsafeBufferPointer { markers in
      (profile ?? []).withUnsafeBufferPointer { profile in
        work(
          fixture_jpeg_options(
            color: colors, quality: Int32(quality), horizontal_sampling: subsamples ? Int32(sampling.horizontal) : 1,
            vertical_sampling: subsamples ? Int32(sampling.vertical) : 1, progressive: isProgressive,
            arithmetic: isArithmetic, extended: isExtended, multiple_scans: hasMultipleScans,
            without_adobe_marker: !hasAdobeMarker, separate_dc_scans: hasSeparateDCScans,
            restart_rows: Int32(restartRows),
            segments: markers.isEmpty ? nil : markers.baseAddress, segments_length: markers.count,
            icc_profile: profile.isEmpty ? nil : profile.baseAddress,
            icc_profile_length: profile.count))
      }
    }
  }

  /// RGB as inks in Adobe's form: the complement of cyan, magenta and yellow, and no black.
  private static func inks(_ pixels: Pixels) -> [UInt8] {
    var inks = [UInt8](repeating: 255, count: pixels.width * pixels.height * 4)
    for pixel in 0..<pixels.width * pixels.height {
      for channel in 0..<3 { inks[pixel * 4 + channel] = pixels.bytes[pixel * 3 + channel] }
    }
    return inks
  }
}

/// A chunk of a PNG.
package struct PNGChunk: Sendable {
  package var type: String
  package var content: [UInt8]
  package var isDamaged = false

  package init(_ type: String, _ content: [UInt8]) {
    self.type = type
    self.content = content
  }

  /// gAMA: `value` is 100,000 times 1/exponent.
  package static func gamma(_ value: Int) -> PNGChunk { PNGChunk("gAMA", number(value)) }

  /// cHRM: x and y of white, red, green, blue.
  package static func chromaticities(_ points: [Double]) -> PNGChunk {
    PNGChunk("cHRM", points.flatMap { number(Int(($0 * 100_000).rounded())) })
  }

  /// The chunk with its length and checksum (PNG third edition §5.3).
  var bytes: [UInt8] {
    var chunk = PNGChunks.chunk(type, content)
    if isDamaged { chunk[chunk.count - 1] ^= 255 }
    return chunk
  }

  private static func number(_ value: Int) -> [UInt8] {
    PNGChunks.bigEndian(UInt32(truncatingIfNeeded: value))
  }
}

/// A PNG file of any colour type and depth.
package struct PNGFile: Sendable {
  package enum Kind: Sendable, Hashable {
    case gray(depth: Int)
    case rgb(depth: Int)
    /// Up to 256 colours of a 6x6x6 cube.
    case palette(depth: Int)
    case grayAlpha(depth: Int)
    case rgba(depth: Int)
  }

  package var kind: Kind
  package var isInterlaced = false
  /// Whether a tRNS chunk makes black (gray, RGB) or the first entry (palette) transparent.
  package var hasTransparentBlack = false
  package var profile: [UInt8]?
  /// Chunks after IHDR.
  package var chunks: [PNGChunk] = []

  package init(_ kind: Kind, _ change: (inout PNGFile) -> Void = { _ in }) {
    self.kind = kind
    change(&self)
  }

  /// - Parameter pixels: RGB or RGBA; gray uses the green channel.
  package func encoded(_ pixels: Pixels) -> [UInt8] {
    let (type, depth, channels): (Int, Int, Int) =
      switch kind {
      case .gray(let depth): (0, depth, 1)
      case .rgb(let depth): (2, depth, 3)
      case .palette(let depth): (3, depth, 1)
      case .grayAlpha(let depth): (4, depth, 2)
      case .rgba(let depth): (6, depth, 4)
      }
    let rowBytes = (pixels.width * channels * depth + 7) / 8
    var rows = [UInt8](repeating: 0, count: rowBytes * pixels.height)
    for y in 0..<pixels.height {
      for x in 0..<pixels.width {
        for c in 0..<channels {
          let value = sample(pixels[x, y], c, type, depth)
          let bit = (x * channels + c) * depth
          if depth == 16 {
            rows[y * rowBytes + bit / 8] = UInt8(value >> 8)
            rows[y * rowBytes + bit / 8 + 1] = UInt8(value & 255)
          } else {
            rows[y * rowBytes + bit / 8] |= UInt8(value << (8 - depth - bit % 8))
          }
        }
      }
    }
    let palette = type == 3 ? Self.palette(depth) : []
    let alpha = hasTransparentBlack && type == 3 ? [0] + [UInt8](repeating: 255, count: palette.count / 3 - 1) : []
    let key: Int32 = hasTransparentBlack && type != 3 ? 0 : -1
    var length = 0
    let memory = palette.withUnsafeBufferPointer { palette in
      alpha.withUnsafeBufferPointer { alpha in
        (profile ?? []).withUnsafeBufferPointer { profile in
          fixture_encode_png(
            rows, rowBytes, UInt32(pixels.width), UInt32(pixels.height),
            fixture_png_options(
              color_type: Int32(type), bit_depth: Int32(depth), interlaced: isInterlaced,
              palette: palette.isEmpty ? nil : palette.baseAddress, palette_count: Int32(palette.count / 3),
              palette_alpha: alpha.isEmpty ? nil : alpha.baseAddress, transparent: (key, key, key),
              icc_profile: profile.isEmpty ? nil : profile.baseAddress, icc_profile_length: profile.count), &length)
        }
      }
    }
    guard let memory else { fatalError("libpng refused to write a fixture") }
    defer { free(memory) }
    // The signature and IHDR are 33 bytes.
    let file = UnsafeBufferPointer(start: memory, count: length)
    return file[..<33] + chunks.flatMap(\.bytes) + file[33...]
  }

  private func sample(_ pixel: ArraySlice<UInt8>, _ channel: Int, _ type: Int, _ depth: Int) -> Int {
    let p = Array(pixel)
    if type == 3 { return Self.paletteIndex(p, depth) }
    let isAlpha = (type == 4 && channel == 1) || channel == 3
    let value = isAlpha ? Int(p.count == 4 ? p[3] : 255) : Int(type == 0 || type == 4 ? p[1] : p[channel])
    return depth == 16 ? value * 257 : (value * ((1 << depth) - 1) + 127) / 255
  }

  /// Gray levels below 8 bits, the colour cube at 8.
  private static func palette(_ depth: Int) -> [UInt8] {
    if depth < 8 {
      let count = 1 << depth
      return (0..<count * 3).map { UInt8($0 / 3 * 255 / (count - 1)) }
    }
    var cube: [UInt8] = []
    for i in 0..<216 {
      for step in [i / 36, i / 6 % 6, i % 6] { cube.append(UInt8(step * 51)) }
    }
    return cube
  }

  private static func paletteIndex(_ p: [UInt8], _ depth: Int) -> Int {
    if depth < 8 { return (Int(p[1]) * ((1 << depth) - 1) + 127) / 255 }
    func step(_ value: UInt8) -> Int { (Int(value) + 25) / 51 }
    return step(p[0]) * 36 + step(p[1]) * 6 + step(p[2])
  }
}
