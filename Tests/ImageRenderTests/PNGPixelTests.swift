import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

/// Compares plain PNGs, which are decoded without libpng, with libpng's pixels of the same bytes.
@Suite("PNG pixels")
struct PNGPixelTests {
  static let kinds: [PNGFile.Kind] = [.gray(depth: 8), .grayAlpha(depth: 8), .rgb(depth: 8), .rgba(depth: 8)]

  /// Grain makes libpng's encoder use all filters; smooth parts make matches that reach far back.
  private static func picture(_ width: Int, _ height: Int, _ kind: PNGFile.Kind) -> Pixels {
    var scene = Scene(seed: 17, grain: 9).pixels(width: width, height: height)
    for y in stride(from: 0, to: height, by: 3) {
      let row = y * width * 3
      for i in 0..<width * 3 where y % 2 == 0 { scene.bytes[row + i] = UInt8(truncatingIfNeeded: i * 7 + y) }
    }
    if case .gray = kind { return scene }
    var out = Pixels(width: width, height: height, channels: 4)
    for i in 0..<width * height {
      out.bytes.replaceSubrange(i * 4..<i * 4 + 4, with: Array(scene.bytes[i * 3..<i * 3 + 3]) + [UInt8(i * 13 & 255)])
    }
    if case .rgb = kind { return out.channels(3) }
    return out
  }

  @Test("every byte equals what libpng decodes", arguments: kinds, [(1, 1), (3, 70), (333, 211), (1030, 40)])
  func exact(_ kind: PNGFile.Kind, _ size: (Int, Int)) throws {
    let file = PNGFile(kind).encoded(Self.picture(size.0, size.1, kind))
    let reference = try #require(Pixels.decoded(file)).pixels
    let (_, pixels, _) = try render(file, ImageRequest(format: .png))
    #expect(pixels == reference)
    let (_, trickled, _) = try render(file, ImageRequest(format: .png)) {
      TrickleSource($0, headerBytes: 60, canReturnNotYet: false)
    }
    #expect(trickled == reference)
  }

  @Test("a changed byte anywhere in the pixel data is detected, at the latest by the checksum")
  func checksum() throws {
    let file = PNGFile(.rgb(depth: 8)).encoded(Self.picture(24, 16, .rgb(depth: 8)))
    let start = try #require(file.firstRange(of: Array("IDAT".utf8))).upperBound
    let end = try #require(file.firstRange(of: Array("IEND".utf8))).lowerBound - 4
    for position in start..<end {
      var damaged = file
      damaged[position] ^= 0x10
      #expect(throws: CodecError.self, "byte \(position)") {
        _ = try render(damaged, ImageRequest(format: .png))
      }
    }
  }
}
