import ImageCodec
import PhotoModel

/// Makes plans. A pure function of header and request, so that equal requests get equal pictures.
package struct RenderPlanner: Sendable {
  /// Goes up whenever the same request would give other bytes than before: it is part of every key and entity tag.
  package static let epoch = 7

  package init() {}

  /// The plan of a final frame.
  package func plan(_ header: ImageHeader, _ request: ImageRequest) -> RenderPlan {
    plan(header, request, eighths: Self.eighths(SizeRules(request, upright: header.uprightSize), of: header.format))
  }

  /// The same at a larger DCT scale than the picture needs, for it is decoded for another one too.
  func plan(_ header: ImageHeader, _ request: ImageRequest, eighths: Int) -> RenderPlan {
    plan(header, shape(header, request, eighths: eighths), request: request)
  }

  /// What the size rules give, turned to the way the picture is stored.
  ///
  /// - Parameter eighths: `nil` is what the picture needs.
  func shape(_ header: ImageHeader, _ request: ImageRequest, eighths: Int?) -> Shape {
    let rules = SizeRules(request, upright: header.uprightSize)
    return Shape(
      region: header.orientation.stored(rules.region, ofUpright: header.uprightSize),
      output: header.orientation.apply(to: rules.output), orientation: header.orientation,
      eighths: eighths ?? Self.eighths(rules, of: header.format),
      quality: request.quality ?? JPEGEncoder.defaultQuality)
  }

  /// The plan of a degraded frame from a JPEG's own coefficients: a decode at 1/8, for a progressive file of its first
  /// scan alone. `nil` where that would not be quicker than the final frame.
  ///
  /// Nor is it where the final frame itself is decoded at 1/8 or 1/4: of a 12 MP photograph at 400 px the degraded frame
  /// would come after 31 ms and put off the final one from 33 ms to 63, and show as many pixels.
  package func degradedPlan(_ header: ImageHeader, _ request: ImageRequest) -> RenderPlan? {
    guard header.format == .jpeg else { return nil }
    var shape = shape(header, request, eighths: nil)
    guard header.isProgressive || shape.eighths >= 4 else { return nil }
    shape.eighths = 1
    shape.output = Self.shrunk(shape.output, into: (shape.region.width / 8, shape.region.height / 8))
    return plan(header, shape, firstScanOnly: header.isProgressive, request: request)
  }

  /// The plan of a degraded frame from the thumbnail that stands for a picture.
  ///
  /// - Parameters:
  ///   - thumbnail: the thumbnail's own header.
  ///   - trimmed: the part of the thumbnail that shows the picture, where it has bars.
  package func thumbnailPlan(
    _ thumbnail: ImageHeader, content trimmed: PixelRect?, of header: ImageHeader, _ request: ImageRequest
  ) -> RenderPlan {
    standInPlan(
      thumbnail, content: trimmed, for: shape(header, request, eighths: 8), of: header.storedSize, request)
  }

  /// The plan of pixels for whoever computes with a picture: all of it, in sRGB, with its alpha.
  ///
  /// For averages a block's mean is as good as a kernel, so a JPEG is decoded at the largest scale that is small enough,
  /// and resampled only where 1/8 is still too large; of a progressive one that needs no more than the DC coefficients.
  ///
  /// - Parameters:
  ///   - side: the longest side that the pixels may have.
  ///   - trimmed: the part of a thumbnail that shows the picture, where it has bars.
  ///   - orientation: of the picture that a thumbnail stands for; by default the file's own.
  package func pixelPlan(
    _ header: ImageHeader, side: Int, content trimmed: PixelRect? = nil, orientation: Orientation? = nil
  ) -> RenderPlan {
    let shown = trimmed ?? PixelRect(header.storedSize)
    let longer = max(shown.width, shown.height)
    let isScaled = header.format == .jpeg && trimmed == nil
    let eighths = isScaled ? [8, 4, 2, 1].first { longer * $0 <= side * 8 } ?? 1 : 8
    let share = min(Double(eighths) / 8, Double(side) / Double(longer))
    let region = PixelRegion(
      x: Double(shown.x), y: Double(shown.y), width: Double(shown.width), height: Double(shown.height))
    let shape = Shape(
      region: region, output: Self.shrunk(shown.size, into: (region.width * share, region.height * share)),
      orientation: orientation ?? header.orientation, eighths: eighths, quality: JPEGEncoder.defaultQuality)
    return plan(
      header, shape, firstScanOnly: eighths == 1 && header.isProgressive, bounds: trimmed,
      request: ImageRequest(format: .png, colorSpace: .srgb))
  }

  /// The plan of a frame from the derivative that stands for a picture: upright, and all of it. Where the derivative has
  /// fewer pixels than the request asks for, the frame has as many as it has.
  ///
  /// - Parameters:
  ///   - derivative: the derivative's own header.
  ///   - uprightSize: the picture's.
  package func derivativePlan(
    _ derivative: ImageHeader, of uprightSize: PixelSize, _ request: ImageRequest
  ) -> RenderPlan {
    let rules = SizeRules(request, upright: uprightSize)
    let shape = Shape(
      region: rules.region, output: rules.output, orientation: .topLeft, eighths: 8,
      quality: request.quality ?? JPEGEncoder.defaultQuality)
    return standInPlan(derivative, content: nil, for: shape, of: uprightSize, request)
  }

  /// Of a smaller picture that stands for another one, stored the same way round.
  private func standInPlan(
    _ standIn: ImageHeader, content trimmed: PixelRect?, for shape: Shape, of size: PixelSize, _ request: ImageRequest
  ) -> RenderPlan {
    let content = trimmed ?? PixelRect(standIn.storedSize)
    let across = Double(content.width) / Double(size.width)
    let down = Double(content.height) / Double(size.height)
    var part = shape
    part.region = PixelRegion(
      x: Double(content.x) + shape.region.x * across, y: Double(content.y) + shape.region.y * down,
      width: shape.region.width * across, height: shape.region.height * down)
    part.output = Self.shrunk(shape.output, into: (part.region.width, part.region.height))
    let reduction = min(
      part.region.width / Double(part.output.width), part.region.height / Double(part.output.height))
    // Bars end anywhere, but a scaled decode knows blocks only.
    part.eighths = trimmed == nil ? Self.eighths(reduction: reduction, of: standIn.format) : 8
    return plan(standIn, part, bounds: trimmed, request: request)
  }

  private func plan(
    _ header: ImageHeader, _ shape: Shape, firstScanOnly: Bool = false, bounds: PixelRect? = nil,
    request: ImageRequest
  ) -> RenderPlan {
    let (region, storedOutput, eighths) = (shape.region, shape.output, shape.eighths)
    let scale = Double(eighths) / 8
    // libjpeg rounds a scaled side up (jdmaster.c), and its pixel i still covers exactly [8i/s, 8(i+1)/s).
    func decoded(_ side: Int) -> Int { (side * eighths + 7) / 8 }
    let horizontal = ResampleAxis(
      inputLength: decoded(header.storedSize.width), bounds: bounds.map { $0.x..<$0.x + $0.width },
      position: region.x * scale, length: region.width * scale,
      outputLength: storedOutput.width)
    let vertical = ResampleAxis(
      inputLength: decoded(header.storedSize.height), bounds: bounds.map { $0.y..<$0.y + $0.height },
      position: region.y * scale, length: region.height * scale,
      outputLength: storedOutput.height)
    let planes = bounds == nil && request.format == .jpeg ? PlanePlanner.planes(header, shape) : []
    return RenderPlan(
      header: header, region: region, storedOutput: storedOutput, orientation: shape.orientation, eighths: eighths,
      firstScanOnly: firstScanOnly, horizontal: horizontal, vertical: vertical, planes: planes, format: request.format,
      quality: shape.quality, colorSpace: request.colorSpace,
      price: RenderPrice(
        header, shape, horizontal, vertical, planes, format: request.format,
        isConverted: header.mayConvert(to: request.colorSpace)))
  }

  /// How many decoded pixels a side an output pixel is to have. A scaled decode cuts off what lies above its own limit
  /// block by block, and what that folds down can't be taken out again by any linear filter: at 1.25 a least-squares
  /// reconstruction gains 0.1 dB over Lanczos where 1 dB is missing. From about 1.5 on nothing is missing; less what
  /// a size of whole pixels may differ.
  private static let oversampling = 1.49

  /// The DCT scale, in eighths, that a picture is decoded at when it is made alone; 8 for what is no JPEG. A frame from a
  /// shared decode may be made at a larger one: whoever names frames must name the scale with them.
  package static func eighths(_ rules: SizeRules, of format: SourceFormat) -> Int {
    eighths(reduction: rules.reduction, of: format)
  }

  /// The smallest of the scales with SIMD (1, 2, 4, 8 of 8) that leaves the kernel enough to work with.
  private static func eighths(reduction: Double, of format: SourceFormat) -> Int {
    guard format == .jpeg else { return 8 }
    for eighths in [1, 2, 4] where reduction * Double(eighths) / 8 >= oversampling { return eighths }
    return 8
  }

  /// The largest size of the same aspect ratio as `size` that needs no enlarging; at least one pixel each way.
  private static func shrunk(_ size: PixelSize, into available: (width: Double, height: Double)) -> PixelSize {
    let share = min(1, available.width / Double(size.width), available.height / Double(size.height))
    return PixelSize(
      width: max(1, Int((Double(size.width) * share + 0.5).rounded(.down))),
      height: max(1, Int((Double(size.height) * share + 0.5).rounded(.down))))
  }
}
