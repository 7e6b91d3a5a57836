/// Applies the size rules of the contract to a picture and a request: which part is shown, and at which size.
///
/// The `crop` is scaled to the size `scaled`, and `outputRect` is the part of the result that is shown. All three are
/// whole pixels, so every caller and every platform gets the same numbers. Rounds half up.
package struct SizeRules: Sendable, Hashable {
  /// The used part of the upright picture: all of it, or `normalizedCropRect`.
  package let crop: PixelRect
  /// The part of the upright picture whose pixels the output is made of. A crop is scaled as if there was nothing
  /// around it, so that no pixel that was cut off shows at its edges. With `fillsTarget` it is the whole picture:
  /// viewers join such parts, so each is scaled like that part of the whole.
  package let bounds: PixelRect
  /// The size that the crop is scaled to; never larger than the crop.
  package let scaled: PixelSize
  /// The part of the scaled crop that is shown: the output.
  package let outputRect: PixelRect

  /// The size of the output.
  package var output: PixelSize { outputRect.size }

  /// `outputRect` in pixels of the upright picture: fractional, because its edges may lie between pixels.
  package var region: PixelRegion {
    let across = Double(crop.width) / Double(scaled.width)
    let down = Double(crop.height) / Double(scaled.height)
    return PixelRegion(
      x: Double(crop.x) + Double(outputRect.x) * across, y: Double(crop.y) + Double(outputRect.y) * down,
      width: Double(outputRect.width) * across, height: Double(outputRect.height) * down)
  }

  /// Source pixels for each output pixel, along the axis where this is smaller; at least 1.
  package var reduction: Double {
    min(Double(crop.width) / Double(scaled.width), Double(crop.height) / Double(scaled.height))
  }

  /// - Parameter upright: the size of the upright picture, before any crop.
  package init(_ request: ImageRequest, upright: PixelSize) {
    crop = request.normalizedCropRect?.pixels(of: upright) ?? PixelRect(upright)
    bounds = request.fillsTarget ? PixelRect(upright) : crop
    guard case .size(let target) = request.targetSize, request.resizeMode != .none else {
      scaled = crop.size
      outputRect = PixelRect(scaled)
      return
    }
    if request.fillsTarget {
      scaled = PixelSize(width: min(target.width, crop.width), height: min(target.height, crop.height))
      outputRect = PixelRect(scaled)
      return
    }
    switch (request.resizeMode, request.contentMode) {
    case (.exact, .aspectFill):
      let covers = crop.width >= target.width && crop.height >= target.height
      scaled = covers ? Self.scaled(crop.size, to: target, covering: true) : crop.size
      let window = covers ? target : Self.largest(in: crop.size, withAspectOf: target)
      outputRect = Self.anchored(window, in: scaled, request.cropAnchor, crop: crop, of: upright)
    case (.fast, let contentMode):
      let wanted = Self.scaled(crop.size, to: target, covering: contentMode == .aspectFill)
      scaled = Self.eighths(of: crop.size, notBelow: wanted)
      outputRect = PixelRect(scaled)
    case (_, _):
      scaled = Self.scaled(crop.size, to: target, covering: false)
      outputRect = PixelRect(scaled)
    }
  }

  /// The size of the same aspect ratio that fits or covers the target; never larger than `size`.
  private static func scaled(_ size: PixelSize, to target: PixelSize, covering: Bool) -> PixelSize {
    let widthIsTighter = size.width * target.height >= size.height * target.width
    let byWidth = widthIsTighter != covering
    if byWidth {
      guard target.width < size.width else { return size }
      return PixelSize(width: target.width, height: max(1, divided(size.height * target.width, by: size.width)))
    } else {
      guard target.height < size.height else { return size }
      return PixelSize(width: max(1, divided(size.width * target.height, by: size.height)), height: target.height)
    }
  }

  /// The largest size within `size` that has the aspect ratio of the target.
  private static func largest(in size: PixelSize, withAspectOf target: PixelSize) -> PixelSize {
    if size.width * target.height > size.height * target.width {
      return PixelSize(width: max(1, divided(size.height * target.width, by: target.height)), height: size.height)
    }
    return PixelSize(width: size.width, height: max(1, divided(size.width * target.height, by: target.width)))
  }

  /// Where the shown part lies in the scaled crop.
  ///
  /// - Parameter crop: the part of the upright picture that is scaled.
  private static func anchored(
    _ size: PixelSize, in scaled: PixelSize, _ anchor: CropAnchor, crop: PixelRect, of upright: PixelSize
  ) -> PixelRect {
    let across = CropWindow(whole: scaled.width, window: size.width)
    let down = CropWindow(whole: scaled.height, window: size.height)
    // From the unit square of the upright picture to pixels of the scaled crop.
    func x(_ value: Double) -> Double {
      (value * Double(upright.width) - Double(crop.x)) * Double(scaled.width) / Double(crop.width)
    }
    func y(_ value: Double) -> Double {
      (value * Double(upright.height) - Double(crop.y)) * Double(scaled.height) / Double(crop.height)
    }
    var (left, top) = (across.centered, down.centered)
    switch anchor {
    case .center, .auto: break
    case .point(let point): (left, top) = (across.around(x(point.x)), down.around(y(point.y)))
    case .regions(let parts):
      left = across.keeping(
        parts.map { part in
          CropWindow.Span(start: x(part.rect.x), end: x(part.rect.x + part.rect.width), weight: part.weight)
        })
      top = down.keeping(
        parts.map { part in
          CropWindow.Span(start: y(part.rect.y), end: y(part.rect.y + part.rect.height), weight: part.weight)
        })
    }
    return PixelRect(x: left, y: top, width: size.width, height: size.height)
  }

  /// The smallest of the scales 1/8, 1/4, 1/2 and 1 that is not smaller than `wanted`.
  private static func eighths(of size: PixelSize, notBelow wanted: PixelSize) -> PixelSize {
    [1, 2, 4].lazy.map { scaled(size, byEighths: $0) }
      .first { $0.width >= wanted.width && $0.height >= wanted.height } ?? size
  }

  /// The size of a picture at 1/8, 1/4, 1/2 or 1 of its sides.
  package static func scaled(_ size: PixelSize, byEighths eighths: Int) -> PixelSize {
    PixelSize(
      width: max(1, divided(size.width * eighths, by: 8)), height: max(1, divided(size.height * eighths, by: 8)))
  }

  /// Division that rounds half up.
  private static func divided(_ numerator: Int, by denominator: Int) -> Int {
    (2 * numerator + denominator) / (2 * denominator)
  }
}
