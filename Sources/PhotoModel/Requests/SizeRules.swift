/// What the size rules of the contract make of a picture and a request: which part of it is shown, and how large.
///
/// All arithmetic is in whole pixels of the upright picture, so that every caller and every platform gets the same
/// numbers. Rounding is half up.
package struct SizeRules: Sendable, Hashable {
  /// The part of the upright picture that is shown.
  package let crop: PixelRect
  /// The size it is shown at; never larger than `crop`.
  package let output: PixelSize

  /// - Parameter upright: the size of the upright picture, before any crop.
  package init(_ request: ImageRequest, upright: PixelSize) {
    let frame = request.normalizedCropRect?.pixels(of: upright) ?? PixelRect(upright)
    guard case .size(let target) = request.targetSize, request.resizeMode != .none else {
      self.init(crop: frame, output: frame.size)
      return
    }
    switch (request.resizeMode, request.contentMode) {
    case (.exact, .aspectFill):
      let crop = Self.centreCrop(of: frame, toAspectOf: target)
      let covers = frame.width >= target.width && frame.height >= target.height
      self.init(crop: crop, output: covers ? target : crop.size)
    case (.fast, let contentMode):
      let wanted = Self.scaled(frame.size, to: target, covering: contentMode == .aspectFill)
      self.init(crop: frame, output: Self.eighths(of: frame.size, notBelow: wanted))
    case (_, _):
      self.init(crop: frame, output: Self.scaled(frame.size, to: target, covering: false))
    }
  }

  private init(crop: PixelRect, output: PixelSize) {
    self.crop = crop
    self.output = output
  }

  /// The size of the same aspect ratio that lies inside the target, or covers it; never larger than `size`.
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

  /// The largest centred part with the target's aspect ratio.
  private static func centreCrop(of frame: PixelRect, toAspectOf target: PixelSize) -> PixelRect {
    var crop = frame
    if frame.width * target.height > frame.height * target.width {
      crop.width = max(1, divided(frame.height * target.width, by: target.height))
    } else {
      crop.height = max(1, divided(frame.width * target.height, by: target.width))
    }
    crop.x += (frame.width - crop.width) / 2
    crop.y += (frame.height - crop.height) / 2
    return crop
  }

  /// The smallest of the scales 1/8, 1/4, 1/2 and 1 that is not smaller than `wanted`.
  private static func eighths(of size: PixelSize, notBelow wanted: PixelSize) -> PixelSize {
    for eighths in [1, 2, 4] {
      let candidate = PixelSize(
        width: max(1, divided(size.width * eighths, by: 8)),
        height: max(1, divided(size.height * eighths, by: 8)))
      if candidate.width >= wanted.width && candidate.height >= wanted.height { return candidate }
    }
    return size
  }

  /// Half up.
  private static func divided(_ numerator: Int, by denominator: Int) -> Int {
    (2 * numerator + denominator) / (2 * denominator)
  }
}
