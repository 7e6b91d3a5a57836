import Foundation
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

@Suite("ThumbHash")
struct ThumbHashTests {
  enum Alpha {
    case opaque, soft, clear
  }

  /// A picture computed with integers only, so that any program in any language makes the same one.
  private static func picture(_ width: Int, _ height: Int, _ alpha: Alpha) -> [UInt8] {
    var state = UInt32(width * 1000 + height)
    return (0..<height).flatMap { y in
      (0..<width).flatMap { x -> [UInt8] in
        state = state &* 1_664_525 &+ 1_013_904_223
        let noise = Int(state >> 26)
        let values = [x * 2 + noise, y * 2 + ((x * y) >> 6) + noise, 200 - x + (noise >> 1)]
        let opacity =
          switch alpha {
          case .opaque: 255
          case .soft: x * 3 + y + noise
          case .clear: 0
          }
        return (values + [opacity]).map { UInt8($0 & 255) }
      }
    }
  }

  /// The results of two other implementations, which agree: the author's in JavaScript (github.com/evanw/thumbhash,
  /// js/thumbhash.js, in Node.js 20) and thumbhash-python 1.0.1 from PyPI.
  @Test(
    "the hash equals that of the author's implementation",
    arguments: [
      (100, 75, .opaque, "4wYGXZJyd3dweIiWh4eHhnB1B/iY"), (75, 100, .opaque, "ItYFPRJ0d0CICIqnZ3Z5eHBlBMjK"),
      (100, 100, .opaque, "4gYGTxaDd3dCh3igeZdoeJaXB2hWcJoM"), (100, 25, .opaque, "3oUGUpJwd3eDh4d4cIYIp4c="),
      (7, 100, .opaque, "H0QJKRSHgId4d3d3hoB394g="), (32, 24, .opaque, "mgMCHYZSd5iAd3eHh4iIeHCFB+d3"),
      (80, 53, .soft, "4BWGG4goZYmQeYdwhSj4hgVbWIl3eIc="), (40, 60, .soft, "4MSFEwYXhaCXZ4igoUj4dnB3dIh4eIg="),
      (64, 64, .soft, "4eWFHQoodXmQeYd3eJCTN/l2QGlWaYd3dw=="),
      (10, 10, .clear, "AAiCBQAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="), (3, 2, .opaque, "VgIuBYCIeAd4h4iHiHiIcM8YCMeI"),
      (1, 1, .opaque, "WAIyZwEI9wiIh4hwj3CI+AiIcH/4AAAA"),
    ] as [(Int, Int, Alpha, String)])
  func reference(_ width: Int, _ height: Int, _ alpha: Alpha, _ expected: String) {
    let hash = ThumbHash.encode(
      rgba: Self.picture(width, height, alpha), size: PixelSize(width: width, height: height))
    #expect(Data(hash).base64EncodedString() == expected)
  }

  private static func opaque(_ pixels: Pixels, alpha: (Int, Int) -> UInt8 = { _, _ in 255 }) -> Pixels {
    var out = Pixels(width: pixels.width, height: pixels.height, channels: 4)
    for y in 0..<pixels.height {
      for x in 0..<pixels.width {
        let start = (y * pixels.width + x) * 4
        out.bytes.replaceSubrange(start..<start + 4, with: Array(pixels[x, y].prefix(3)) + [alpha(x, y)])
      }
    }
    return out
  }

  private static func hash(_ pixels: Pixels) -> [UInt8] {
    ThumbHash.encode(rgba: pixels.bytes, size: PixelSize(width: pixels.width, height: pixels.height))
  }

  @Test(
    "the decoded hash has the picture's shape, average colour and low frequencies", arguments: 1...6,
    [(100, 67), (75, 100), (100, 100), (100, 42)])
  func landscape(_ seed: Int, _ size: (Int, Int)) throws {
    let scene = Self.opaque(Scene(seed: seed).pixels(width: size.0, height: size.1))
    let hash = Self.hash(scene)
    #expect(hash.count <= 25)
    let picture = try #require(DecodedThumbHash(hash))
    #expect(!picture.hasAlpha && abs(picture.aspectRatio / (Double(size.0) / Double(size.1)) - 1) < 0.17)
    // 64 steps for luminance and for each colour difference.
    #expect(zip(picture.average, scene.average).allSatisfy { abs(Double($0) - $1) < 9 })
    let (w, h) = (size.0 / 4, size.1 / 4)
    let psnr = try #require(picture.pixels(width: w, height: h).psnr(against: scene.averaged(width: w, height: h)))
    #expect(psnr > 17)
  }

  @Test(
    "a flat colour is decoded as that colour",
    arguments: [[0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255], [200, 100, 50]] as [[UInt8]])
  func flat(_ color: [UInt8]) throws {
    let flat = Pixels(width: 40, height: 30, channels: 4, bytes: (0..<1200).flatMap { _ in color + [255] })
    let pixels = try #require(DecodedThumbHash(Self.hash(flat))).pixels(width: 8, height: 6)
    #expect(zip(pixels.bytes, flat.averaged(width: 8, height: 6).bytes).allSatisfy { abs(Int($0) - Int($1)) <= 6 })
  }

  @Test("transparent parts stay transparent and do not colour the rest")
  func alpha() throws {
    let scene = Self.opaque(Scene(seed: 2).pixels(width: 80, height: 60)) { x, _ in x < 40 ? 255 : 0 }
    let picture = try #require(DecodedThumbHash(Self.hash(scene)))
    #expect(picture.hasAlpha)
    #expect(zip(picture.average, scene.average).allSatisfy { abs(Double($0) - $1) < 12 })
    let pixels = picture.pixels(width: 8, height: 6)
    #expect(pixels[0, 3].last ?? 0 > 220 && pixels[7, 3].last ?? 255 < 35)
  }
}
