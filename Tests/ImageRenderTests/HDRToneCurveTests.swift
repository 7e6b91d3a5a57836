import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageRender

@Suite("High dynamic range on a screen of standard range")
struct HDRToneCurveTests {
  private func light(_ transfer: ColorCalibration.Transfer, _ sample: Double) throws -> Double {
    let curve = try #require(HDRToneCurve.curve(transfer))
    let place = sample * Double(curve.count - 1)
    let (low, share) = (Int(place), place - place.rounded(.down))
    let high = min(low + 1, curve.count - 1)
    return (Double(curve[low]) * (1 - share) + Double(curve[high]) * share) / 65535
  }

  /// Samples of luminances in cd/m², from the tables of SMPTE ST 2084 and ITU-R BT.2408.
  static let darkSamples: [(ColorCalibration.Transfer, sample: Double, luminance: Double)] = [
    (.perceptualQuantizer, 0, 0), (.perceptualQuantizer, 0.1506, 1), (.perceptualQuantizer, 0.3018, 10),
    (.perceptualQuantizer, 0.4399, 50), (.hybridLogGamma, 0, 0), (.hybridLogGamma, 0.38, 26.2),
  ]

  @Test("dark and middle tones stay as they are", arguments: darkSamples)
  func dark(_ transfer: ColorCalibration.Transfer, _ sample: Double, _ luminance: Double) throws {
    #expect(abs(try light(transfer, sample) * 203 - luminance) < 0.03 * luminance + 0.01)
  }

  @Test(
    "white is bright, and brighter light is still brighter",
    arguments: [(ColorCalibration.Transfer.perceptualQuantizer, 0.5806), (.hybridLogGamma, 0.75)])
  func bright(_ transfer: ColorCalibration.Transfer, _ white: Double) throws {
    #expect((0.7...0.85).contains(try light(transfer, white)))
    let curve = try #require(HDRToneCurve.curve(transfer))
    let ascends = zip(curve, curve.dropFirst()).allSatisfy { $0 <= $1 }
    #expect(ascends && curve.first == 0 && curve.last == 65535)
    #expect(try light(transfer, white + 0.1) > light(transfer, white) + 0.05)
  }

  @Test(
    "a JPEG of a picture with alpha is its PNG over the white of a screen, scaled or not",
    arguments: [PNGFile.Kind.rgba(depth: 8), .rgba(depth: 16), .grayAlpha(depth: 8), .grayAlpha(depth: 16)], [48, 20])
  func overWhite(_ kind: PNGFile.Kind, _ side: Int) throws {
    let dark = Pixels.translucent(from: 40)
    // PQ, HLG, and linear light of standard range.
    let descriptions = [
      PNGChunk("cICP", [9, 16, 0, 1]), PNGChunk("cICP", [9, 18, 0, 1]), PNGChunk("gAMA", [0, 1, 0x86, 0xA0]),
    ]
    for (i, description) in descriptions.enumerated() {
      let file = PNGFile(kind) { $0.chunks = [description] }.encoded(dark)
      var wanted = request(side, side, .aspectFit, .png)
      wanted.colorSpace = .srgb
      let expected = try render(file, wanted).pixels.overWhite
      wanted.format = .jpeg
      wanted.quality = 100
      let found = try render(file, wanted).pixels.channels(3)
      let difference = try #require(found.meanDifference(from: expected))
      #expect(difference < 1.5, "\(i): \(difference)")
    }
  }

  @Test("curves of standard range have no table")
  func standard() {
    #expect(HDRToneCurve.curve(.sRGB) == nil && HDRToneCurve.curve(.power(2.2)) == nil)
  }
}
