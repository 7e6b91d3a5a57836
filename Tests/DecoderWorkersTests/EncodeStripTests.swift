import DecoderWorkers
import PhotoModel
import Testing

/// Pictures in strips through the real encoders, and back through the decoders.
@Suite("Encoder workers: pictures in strips")
struct EncodeStripTests {
  // Three strips of 64 rows and one of 7, at an odd width.
  private static let size = PixelSize(width: 121, height: 199)
  private static let stripRows = 64

  private static func isBuilt(_ codecs: DecoderCodec...) -> Bool { codecs.allSatisfy(TestDecoders.isBuilt) }

  /// Rows of different strips differ more than a codec changes them. The colours of 16 bits are darker than white.
  private static func sample(_ x: Int, _ y: Int, _ channel: Int) -> Int {
    [30 + x / 2, 20 + y / 2, 140 - y / 3 - x / 4, 255 - y][channel]
  }

  private static func coded(
    _ codec: DecoderCodec, _ samples: EncodeRequest.Samples, setting: Double, effort: Int, stripRows: Int? = stripRows,
    hasFullChroma: Bool = true
  ) throws(DecoderError) -> [[UInt8]] {
    let isDeep = samples.bytesPerSample == 2
    let request = EncodeRequest(
      codec: codec, size: size, samples: samples, setting: setting, effort: effort, stripRows: stripRows,
      hasFullChroma: hasFullChroma,
      colors: isDeep
        ? .init(primaries: 9, transfer: 16, matrix: 9) : .init(primaries: 1, transfer: 13, matrix: 6),
      memoryLimitBytes: 64 << 20, maximumBytes: 1 << 20)
    let rows = (0..<size.pixelCount * samples.channels).flatMap { i -> [UInt8] in
      let (pixel, channel) = (i / samples.channels, i % samples.channels)
      let value = UInt8(sample(pixel % size.width, pixel / size.width, channel))
      return Array(repeating: value, count: samples.bytesPerSample)
    }
    let pool = TestDecoders.pool([codec])
    return try rows.withUnsafeBytes { bytes in
      Result { () throws(DecoderError) in try pool.encode(request, rows: bytes) }
    }.get()
  }

  /// The planes of samples in 8 bits.
  private static func planes(_ request: DecodeRequest, _ bytes: [UInt8], bits: Int) throws -> [[Int]] {
    try TestDecoders.pool([request.codec]).rows(request, of: .bytes(bytes)).tiles[0].map { plane in
      guard bits > 8 else { return plane.map(Int.init) }
      return plane.withUnsafeBytes { $0.bindMemory(to: UInt16.self).map { Int($0) * 255 / ((1 << bits) - 1) } }
    }
  }

  @Test(
    "the strips of a JPEG XL are layers of one picture", .enabled(if: isBuilt(.jxlEncoder, .jxl)),
    arguments: [EncodeRequest.Samples.gray, .rgb, .rgba, .deepRGB, .deepRGBA])
  func jxl(_ samples: EncodeRequest.Samples) throws {
    let parts = try Self.coded(.jxlEncoder, samples, setting: 0.3, effort: 3)
    try #require(parts.count == 1)
    let bits = samples.bytesPerSample * 8
    let request = DecodeRequest.jxl(
      codestream: [ByteRange(offset: 0, length: parts[0].count)], codedSize: Self.size, region: PixelRect(Self.size),
      step: 1, colors: nil, isGray: samples == .gray, bitDepth: bits, hasAlpha: samples.channels == 4,
      workingBytes: 32 << 20)
    let planes = try Self.planes(request, parts[0], bits: bits)
    for channel in 0..<samples.channels {
      for y in 0..<Self.size.height {
        let differences = (0..<121).map { abs(planes[channel][y * 121 + $0] - Self.sample($0, y, channel)) }
        #expect(differences.reduce(0, +) < 121 * 4, "channel \(channel), row \(y)")
      }
    }
  }

  @Test(
    "the strips of an AVIF are pictures of one size, whose last rows repeat", .enabled(if: isBuilt(.avifEncoder, .av1)),
    arguments: [
      (EncodeRequest.Samples.gray, true), (.rgb, true), (.rgb, false), (.rgba, true), (.deepRGB, false),
      (.deepRGBA, true),
    ])
  func avif(_ samples: EncodeRequest.Samples, _ hasFullChroma: Bool) throws {
    func coded(stripRows: Int?) throws -> [[UInt8]] {
      try Self.coded(.avifEncoder, samples, setting: 2, effort: 9, stripRows: stripRows, hasFullChroma: hasFullChroma)
    }
    let (whole, parts) = (try coded(stripRows: nil), try coded(stripRows: Self.stripRows))
    let planeSets = samples.channels == 4 ? 2 : 1
    try #require(whole.count == planeSets && parts.count == 4 * planeSets)
    let bits = samples.bytesPerSample == 2 ? 10 : 8
    func planes(_ part: [UInt8], rows: Int, isAlpha: Bool) throws -> [[Int]] {
      let chroma: ChromaSampling = samples == .gray || isAlpha ? .none : hasFullChroma ? .full : .half
      let request = DecodeRequest.av1(
        tileSize: PixelSize(width: 121, height: rows), chroma: chroma, bitDepth: bits,
        tiles: [.init(picture: [ByteRange(offset: 0, length: part.count)])])
      return try Self.planes(request, part, bits: bits)
    }
    for (index, part) in parts.enumerated() {
      let (strip, planeSet) = (index / planeSets, index % planeSets)
      let expected = try planes(whole[planeSet], rows: 199, isAlpha: planeSet == 1)
      let found = try planes(part, rows: Self.stripRows, isAlpha: planeSet == 1)
      for (number, plane) in found.enumerated() {
        let step = number > 0 && !hasFullChroma ? 2 : 1
        let (width, rows, all) = ((121 + step - 1) / step, Self.stripRows / step, (199 + step - 1) / step)
        for y in 0..<rows {
          let row = min(strip * rows + y, all - 1)
          let differences = (0..<width).map { abs(plane[y * width + $0] - expected[number][row * width + $0]) }
          #expect(differences.reduce(0, +) < width * 3, "strip \(strip), plane \(number), row \(y)")
        }
      }
    }
  }
}
