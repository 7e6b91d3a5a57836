import ImageCodec
import PhotoModel

/// Decides whether a picture can stay YCbCr from its decoder to its encoder, and how its planes are then resampled.
enum PlanePlanner {
  /// libjpeg can skip the area outside a crop only if it makes RGB. If less than this share of the picture is shown,
  /// skipping saves more than staying in planes.
  private static let minimumShare = 0.5

  /// Whether RGB is not needed and would be no quicker. If true at one DCT scale, it is true at every larger one.
  static func staysInPlanes(_ header: ImageHeader, _ geometry: RenderGeometry) -> Bool {
    let shown = geometry.region.width * geometry.region.height
    // Adjustments need colours.
    return geometry.edit == nil && !geometry.isLinear && geometry.shrinks
      && shown >= minimumShare * Double(header.storedSize.pixelCount)
      && header.jpegComponents?.planes(of: header.storedSize, eighths: geometry.eighths) != nil
  }

  /// The axes of the planes; empty if the picture is converted to RGB.
  ///
  /// - Parameter shared: where the axes come from.
  static func planes(_ header: ImageHeader, _ geometry: RenderGeometry, _ shared: ResampleAxes) -> [PlaneAxes] {
    guard staysInPlanes(header, geometry),
      let planes = header.jpegComponents?.planes(of: header.storedSize, eighths: geometry.eighths)
    else { return [] }
    let chromaStep = JPEGEncoder.chromaStep(quality: geometry.quality)
    func axes(_ plane: PlaneGeometry, step: Int) -> PlaneAxes {
      Self.axes(plane, of: header.storedSize, geometry, shared, step: step)
    }
    let luma = axes(planes[0], step: 1)
    let blue = planes[1] == planes[0] && chromaStep == 1 ? luma : axes(planes[1], step: chromaStep)
    // The two chroma planes are nearly always alike, and one axis takes a hundred kilobytes and half a millisecond.
    return [luma, blue, planes[2] == planes[1] ? blue : axes(planes[2], step: chromaStep)]
  }

  /// - Parameter step: output pixels for each sample of the plane, in each direction. T.81 §A.1.1 counts samples from
  ///   the top left of the upright picture. In a picture that is stored from its right side, the odd remaining pixel is
  ///   therefore the first.
  private static func axes(
    _ plane: PlaneGeometry, of picture: PixelSize, _ geometry: RenderGeometry, _ shared: ResampleAxes, step: Int
  ) -> PlaneAxes {
    let (output, orientation, bounds) = (geometry.output, geometry.orientation, geometry.bounds)
    let isReversedAcross = orientation.swapsSides ? orientation.mirrorsY : orientation.mirrorsX
    let isReversedDown = orientation.swapsSides ? orientation.mirrorsX : orientation.mirrorsY
    return PlaneAxes(
      horizontal: axis(
        plane.size.width, plane.acrossPerPixel,
        within: RenderGeometry.span(
          bounds.x, bounds.width, of: picture.width, density: plane.acrossPerPixel, count: plane.size.width),
        from: geometry.region.x, length: geometry.region.width,
        to: output.width, step: step, isReversed: isReversedAcross, shared),
      vertical: axis(
        plane.size.height, plane.downPerPixel,
        within: RenderGeometry.span(
          bounds.y, bounds.height, of: picture.height, density: plane.downPerPixel, count: plane.size.height),
        from: geometry.region.y, length: geometry.region.height,
        to: output.height, step: step, isReversed: isReversedDown, shared))
  }

  private static func axis(
    _ inputLength: Int, _ density: Double, within bounds: ClosedRange<Double>, from start: Double, length: Double,
    to pixels: Int, step: Int, isReversed: Bool, _ shared: ResampleAxes
  ) -> ResampleAxis {
    let samples = (pixels + step - 1) / step
    // The length that the samples cover: one pixel more than the picture if its length is odd.
    let covered = length * Double(samples * step) / Double(pixels)
    return shared.axis(
      inputLength: inputLength, within: bounds,
      position: (isReversed ? start + length - covered : start) * density, length: covered * density,
      outputLength: samples)
  }
}
