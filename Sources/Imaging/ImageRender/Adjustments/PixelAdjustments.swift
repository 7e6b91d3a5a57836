import PhotoModel

/// The part of adjustments that changes pixels. Crops, quarter turns and flips are not in it: they are part of the
/// region and the orientation. It uses unit coordinates, so it is the same for every output size.
struct PixelAdjustments: Sendable, Hashable {
  /// A tone operation. For a vignette, `map` maps the unit square of the output to that of the picture that it darkens.
  struct Tone: Sendable, Hashable {
    let operation: AdjustmentOperation
    let map: Homography?
  }

  /// A picture that is not a rectangle of the original.
  struct Warp: Sendable, Hashable {
    /// From the unit square of the output to that of the intermediate picture, the upright rectangle that is decoded.
    let map: Homography
    let output: PixelSize
    let intermediate: PixelSize
  }

  let tones: [Tone]
  let warp: Warp?
  /// The longer side of the unadjusted picture, in widths of the output with its margin. The radii of blurs are
  /// proportional to it.
  let side: Double
  /// The margin that is cut off after the tones.
  let margin: EditMargin

  /// The size of the output from an intermediate picture, which is smaller than planned if it comes from a stand-in.
  func outputSize(_ intermediate: PixelSize) -> PixelSize { margin.shownPart(in: tonedSize(intermediate)).size }

  /// The size of the picture whose tones are adjusted: after a warp, with the margin.
  func tonedSize(_ intermediate: PixelSize) -> PixelSize {
    guard let warp else { return intermediate }
    if intermediate == warp.intermediate { return warp.output }
    func scaled(_ side: Int, _ from: Int, _ to: Int) -> Int {
      max(1, Int((Double(side) * Double(to) / Double(from) + 0.5).rounded(.down)))
    }
    return PixelSize(
      width: scaled(warp.output.width, warp.intermediate.width, intermediate.width),
      height: scaled(warp.output.height, warp.intermediate.height, intermediate.height))
  }
}
