import ImageCodec
import PhotoModel

/// The shown region of a picture, the bounds of what may be read around it, its output size and its orientation: the
/// input for the axes of its planes.
struct RenderGeometry {
  var region: PixelRegion
  /// The part of the stored picture that may be read: the region, and what is around it in the same crop.
  var bounds: PixelRegion
  var output: PixelSize
  var orientation: Orientation
  var eighths: Int
  var quality: Int
  /// Whether rows are scaled in linear light. Nothing may be scaled before, neither by the decoder nor in a smaller
  /// picture.
  var isLinear = false
  /// The adjustments that change pixels; `nil` if there are none.
  var edit: PixelAdjustments?

  /// The size of the finished, upright picture.
  var finishedSize: PixelSize {
    let upright = orientation.apply(to: output)
    return edit?.outputSize(upright) ?? upright
  }

  /// Makes each output pixel one decoded pixel. A decoder rounds a scaled side up and the size rules round it to the
  /// nearest, so the last decoded pixel, which covers less than the others, is shown or is left out.
  mutating func alignToDecodedPixels() {
    let covered = 8 / Double(eighths)
    region = PixelRegion(x: 0, y: 0, width: Double(output.width) * covered, height: Double(output.height) * covered)
  }

  /// The part of an output pixel that may be wrong at an edge. With half a pixel, edges of crops of photographs were up
  /// to 13 levels from the picture, and 5 with all pixels of a scaled decode, also those from outside.
  private static let maximumEdgeLoss = 0.25

  /// Raises the scale until no edge of the bounds cuts off more than ``maximumEdgeLoss``: a decoded pixel that lies only
  /// partly within the bounds is left out (``ResampleAxis/samples(in:inputLength:position:length:outputLength:)``). Nor
  /// may a decoded sample of colour, which may cover several pixels, show more than that from outside.
  ///
  /// - Parameter header: of the decoded picture.
  mutating func keepEdges(of header: ImageHeader) {
    let stored = header.storedSize
    let fitting = DecodeScale.all.first { scale in
      guard scale >= eighths else { return false }
      let planes = header.jpegComponents?.planes(of: stored, eighths: scale) ?? []
      let pixels = Double(scale) / 8
      return max(
        Self.lossAtEdges(
          region.x, region.width, within: bounds.x, bounds.width, of: stored.width, to: output.width, pixels,
          colors: planes.map(\.acrossPerPixel).min() ?? pixels),
        Self.lossAtEdges(
          region.y, region.height, within: bounds.y, bounds.height, of: stored.height, to: output.height, pixels,
          colors: planes.map(\.downPerPixel).min() ?? pixels)) <= Self.maximumEdgeLoss
    }
    eighths = fitting ?? 8
  }

  /// The largest part of an output pixel that is wrong at an edge of the bounds, in one direction.
  ///
  /// - Parameters:
  ///   - pixels: decoded pixels for each stored one.
  ///   - colors: decoded samples of colour for each stored pixel.
  private static func lossAtEdges(
    _ regionStart: Double, _ regionLength: Double, within start: Double, _ length: Double, of side: Int,
    to output: Int, _ pixels: Double, colors: Double
  ) -> Double {
    let outputPixel = regionLength / Double(output)
    let (end, rounding) = (start + length, 1e-6)
    // The part of a sample that is before an edge; 0 if the edge is between two samples.
    func cut(_ edge: Double, _ density: Double) -> Double {
      max(0, edge * density - (edge * density + rounding).rounded(.down))
    }
    func loss(_ edge: Double, leftOut: Double) -> Double {
      let ofColors = colors < pixels && cut(edge, colors) > rounding ? 1 / colors : 0
      return max(leftOut / pixels, ofColors) / outputPixel
    }
    // Other edges are too far from the region to show.
    let startsThere = regionStart - start < outputPixel && start > rounding
    let endsThere = end - (regionStart + regionLength) < outputPixel && end < Double(side) - rounding
    let before = cut(start, pixels)
    return max(
      startsThere ? loss(start, leftOut: before > rounding ? 1 - before : 0) : 0,
      endsThere ? loss(end, leftOut: cut(end, pixels)) : 0)
  }

  /// One direction of the bounds, in samples that are decoded.
  ///
  /// - Parameters:
  ///   - side: of the stored picture.
  ///   - density: samples for each pixel.
  ///   - count: samples of the whole side. Decoders round it up: the last sample belongs to the picture, although only
  ///     a part of it shows the picture.
  static func span(
    _ start: Double, _ length: Double, of side: Int, density: Double, count: Int
  ) -> ClosedRange<Double> {
    let reachesEdge = start + length > Double(side) - 1e-6
    let (lower, upper) = (start * density, reachesEdge ? Double(count) : (start + length) * density)
    return lower...upper
  }

  /// Whether no decoded pixel is enlarged in the output.
  var shrinks: Bool {
    let scale = Double(eighths) / 8
    return region.width * scale >= Double(output.width) && region.height * scale >= Double(output.height)
  }
}

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
