import DecoderWorkers
import Foundation
import PhotoModel
import Testing

/// Pictures of 16 bits through the real encoders, and back through the decoders, which are other libraries or know
/// nothing of what was encoded.
@Suite("Encoder workers: pictures of high dynamic range")
struct DeepEncodeTests {
  private static let size = PixelSize(width: 121, height: 75)

  static func isBuilt(_ codecs: DecoderCodec...) -> Bool { codecs.allSatisfy(TestDecoders.isBuilt) }

  /// Smooth colours in every direction, and alpha.
  private static func sample(_ x: Int, _ y: Int, _ channel: Int) -> Double {
    switch channel {
    case 0: 0.15 + 0.5 * Double(x) / 121
    case 1: 0.2 + 0.45 * Double(y) / 75
    case 2: 0.6 - 0.4 * Double(x + y) / 196
    default: Double(x) / 120
    }
  }

  private static func coded(
    _ codec: DecoderCodec, _ samples: EncodeRequest.Samples, setting: Double, effort: Int, hasFullChroma: Bool = true
  ) throws(DecoderError) -> [[UInt8]] {
    let request = EncodeRequest(
      codec: codec, size: size, samples: samples, setting: setting, effort: effort, hasFullChroma: hasFullChroma,
      colors: .init(primaries: 9, transfer: 16, matrix: 9), deepCoding: .init(bits: 10, peakLuminance: 1600),
      memoryLimitBytes: 64 << 20, maximumBytes: 1 << 20)
    let rows = (0..<size.pixelCount * samples.channels).map { i -> UInt16 in
      let (pixel, channel) = (i / samples.channels, i % samples.channels)
      return UInt16((sample(pixel % size.width, pixel / size.width, channel) * 65_535).rounded())
    }
    let pool = TestDecoders.pool([codec])
    return try rows.withUnsafeBytes { bytes in
      Result { () throws(DecoderError) in try pool.encode(request, rows: bytes) }
    }.get()
  }

  private static func numbers(_ bytes: [UInt8]) -> [Double] {
    bytes.withUnsafeBytes { $0.bindMemory(to: UInt16.self).map { Double($0) } }
  }

  /// The mean difference of one channel, in steps of 10 bits.
  private static func difference(_ found: (Int, Int) -> Double, channel: Int) -> Double {
    var sum = 0.0
    for y in 0..<size.height {
      for x in 0..<size.width { sum += abs(found(x, y) - sample(x, y, channel)) * 1023 }
    }
    return sum / Double(size.pixelCount)
  }

  @Test(
    "AV1 has 10 bits, of the matrix of BT.2020 and full range", .enabled(if: isBuilt(.avifEncoder, .av1)),
    arguments: [(EncodeRequest.Samples.deepRGB, true), (.deepRGB, false), (.deepRGBA, true)])
  func av1(_ samples: EncodeRequest.Samples, _ hasFullChroma: Bool) throws {
    let parts = try Self.coded(.avifEncoder, samples, setting: 2, effort: 9, hasFullChroma: hasFullChroma)
    #expect(parts.count == (samples == .deepRGBA ? 2 : 1))
    func planes(_ part: [UInt8], _ chroma: ChromaSampling) throws -> [[Double]] {
      let tile = DecodeRequest.Tile(picture: [ByteRange(offset: 0, length: part.count)])
      let request = DecodeRequest.av1(tileSize: Self.size, chroma: chroma, bitDepth: 10, tiles: [tile])
      return try TestDecoders.pool([.av1]).rows(request, of: .bytes(part)).tiles[0].map(Self.numbers)
    }
    let coded = try planes(parts[0], hasFullChroma ? .full : .half)
    // H.273 §8.3 with kr 0.2627 and kb 0.0593.
    func rgb(_ x: Int, _ y: Int) -> [Double] {
      let (chromaWidth, step) = hasFullChroma ? (121, 1) : (61, 2)
      let luma = coded[0][y * 121 + x] / 1023
      let blue = (coded[1][y / step * chromaWidth + x / step] - 512) / 1023
      let red = (coded[2][y / step * chromaWidth + x / step] - 512) / 1023
      let (r, b) = (luma + 2 * (1 - 0.2627) * red, luma + 2 * (1 - 0.0593) * blue)
      return [r, (luma - 0.2627 * r - 0.0593 * b) / 0.678, b]
    }
    for channel in 0..<3 {
      let difference = Self.difference({ rgb($0, $1)[channel] }, channel: channel)
      #expect(difference < (hasFullChroma ? 2.5 : 5), "channel \(channel): \(difference)")
    }
    guard samples == .deepRGBA else { return }
    let alpha = try planes(parts[1], .none)[0]
    #expect(Self.difference({ alpha[$1 * 121 + $0] / 1023 }, channel: 3) < 2.5)
  }

  @Test(
    "JPEG XL has 10 bits in BT.2020 with PQ, up to the light that the picture has",
    .enabled(if: isBuilt(.jxlEncoder, .jxl)), arguments: [EncodeRequest.Samples.deepRGB, .deepRGBA])
  func jxl(_ samples: EncodeRequest.Samples) throws {
    let parts = try Self.coded(.jxlEncoder, samples, setting: 0.3, effort: 3)
    let file = try #require(parts.first)
    let request = DecodeRequest.jxl(
      codestream: [ByteRange(offset: 0, length: file.count)], codedSize: Self.size, region: PixelRect(Self.size),
      step: 1, colors: nil, isGray: false, bitDepth: 16, hasAlpha: samples == .deepRGBA, workingBytes: 32 << 20)
    let planes = try TestDecoders.pool([.jxl]).rows(request, of: .bytes(file)).tiles[0].map(Self.numbers)
    for channel in 0..<samples.channels {
      let difference = Self.difference({ planes[channel][$1 * 121 + $0] / 65_535 }, channel: channel)
      #expect(difference < 5, "channel \(channel): \(difference)")
    }
  }

  @Test("encoders refuse deep samples that they have no form for", .enabled(if: isBuilt(.webpEncoder)))
  func unsupported() {
    #expect(throws: DecoderError.failed(.webpEncoder, .unsupported)) {
      _ = try Self.coded(.webpEncoder, .deepRGB, setting: 80, effort: 2)
    }
  }
}
