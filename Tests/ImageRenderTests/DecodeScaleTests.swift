import ImageRender
import PhotoModel
import Testing

@Suite("The scale of a decode")
struct DecodeScaleTests {
  @Test(
    "a kernel gets one and a half decoded pixels for each of its own, at the smallest scale that has them",
    arguments: [
      (1.0, 8), (1.5, 8), (2.97, 8), (2.99, 4), (5.95, 4), (5.97, 2), (11.91, 2), (11.93, 1), (100.0, 1),
    ])
  func resampling(_ reduction: Double, _ eighths: Int) {
    #expect(DecodeScale.eighths(for: .resampling(reduction: reduction)) == eighths)
  }

  /// 0: no scale.
  @Test(
    "a picture that is not resampled gets the scale of exactly its size, or none",
    arguments: [
      (1200, 800, 8), (600, 400, 4), (300, 200, 2), (150, 100, 1), (150, 101, 0), (75, 50, 0), (500, 333, 0),
    ])
  func exactSize(_ width: Int, _ height: Int, _ eighths: Int) {
    let (size, upright) = (PixelSize(width: width, height: height), PixelSize(width: 1200, height: 800))
    #expect(DecodeScale.eighths(for: .exactSize(size, of: upright)) ?? 0 == eighths)
  }

  /// 0: no scale.
  @Test(
    "averages are made at the largest scale that is small enough, or none is",
    arguments: [(400, 8), (500, 8), (501, 4), (1000, 4), (1001, 2), (2001, 1), (4000, 1), (4001, 0)])
  func averages(_ longerSide: Int, _ eighths: Int) {
    #expect(DecodeScale.eighths(for: .averages(longerSide: longerSide, atMost: 500)) ?? 0 == eighths)
  }
}
