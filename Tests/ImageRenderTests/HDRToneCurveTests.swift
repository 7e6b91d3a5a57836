import ImageCodec
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

  @Test("curves of standard range have no table")
  func standard() {
    #expect(HDRToneCurve.curve(.sRGB) == nil && HDRToneCurve.curve(.power(2.2)) == nil)
  }
}
