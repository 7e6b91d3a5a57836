import ImageCodec
import PhotoModel

/// What of a picture is shown, how large and which way up: what the axes of its planes follow from.
struct Shape {
  var region: PixelRegion
  var output: PixelSize
  var orientation: Orientation
  var eighths: Int
  var quality: Int

  /// Whether the output shows no pixel larger than it is decoded.
  var shrinks: Bool {
    let scale = Double(eighths) / 8
    return region.width * scale >= Double(output.width) && region.height * scale >= Double(output.height)
  }
}

/// Decides whether a picture can stay YCbCr from its decoder to its encoder, and how its planes are resampled then.
enum PlanePlanner {
  /// libjpeg leaves out what a crop does not show only where it makes RGB; with less than this share of the picture
  /// shown, that saves more than staying in planes.
  private static let leastShare = 0.5

  /// Whether RGB need not be made, and is no quicker: if so at one DCT scale, then at every larger one.
  static func staysInPlanes(_ header: ImageHeader, _ shape: Shape) -> Bool {
    let shown = shape.region.width * shape.region.height
    return shape.shrinks && shown >= leastShare * Double(header.storedSize.pixelCount)
      && header.jpegComponents?.planes(of: header.storedSize, eighths: shape.eighths) != nil
  }

  /// Empty where they are not to be stayed in.
  static func planes(_ header: ImageHeader, _ shape: Shape) -> [PlaneAxes] {
    guard staysInPlanes(header, shape),
      let planes = header.jpegComponents?.planes(of: header.storedSize, eighths: shape.eighths)
    else { return [] }
    let chromaStep = JPEGEncoder.chromaStep(quality: shape.quality)
    let luma = axes(planes[0], shape, step: 1)
    let blue = planes[1] == planes[0] && chromaStep == 1 ? luma : axes(planes[1], shape, step: chromaStep)
    // The two of chroma are nearly always alike, and an axis is a hundred kilobytes and half a millisecond.
    return [luma, blue, planes[2] == planes[1] ? blue : axes(planes[2], shape, step: chromaStep)]
  }

  /// - Parameter step: pixels of the output to a sample of the plane, each way. T.81 §A.1.1 counts samples from the top
  ///   left of the upright picture, so in one that is stored from its right the odd pixel left over is the first.
  private static func axes(_ plane: PlaneGeometry, _ shape: Shape, step: Int) -> PlaneAxes {
    let (output, orientation) = (shape.output, shape.orientation)
    let isReversedAcross = orientation.swapsSides ? orientation.mirrorsY : orientation.mirrorsX
    let isReversedDown = orientation.swapsSides ? orientation.mirrorsX : orientation.mirrorsY
    return PlaneAxes(
      horizontal: axis(
        plane.size.width, plane.acrossPerPixel, from: shape.region.x, length: shape.region.width, to: output.width,
        step: step, isReversed: isReversedAcross),
      vertical: axis(
        plane.size.height, plane.downPerPixel, from: shape.region.y, length: shape.region.height, to: output.height,
        step: step, isReversed: isReversedDown))
  }

  private static func axis(
    _ inputLength: Int, _ density: Double, from start: Double, length: Double, to pixels: Int, step: Int,
    isReversed: Bool
  ) -> ResampleAxis {
    let samples = (pixels + step - 1) / step
    // As long as the samples are, which is a pixel more than the picture where that is odd.
    let covered = length * Double(samples * step) / Double(pixels)
    return ResampleAxis(
      inputLength: inputLength, position: (isReversed ? start + length - covered : start) * density,
      length: covered * density, outputLength: samples)
  }
}
