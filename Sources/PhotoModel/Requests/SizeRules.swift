/// What the size rules of the contract make of a picture and a request: which part of it is shown, and how large.
///
/// The picture's `frame` is brought to the size `scaled`, and of that the `window` is shown. All three are whole pixels,
/// so that every caller and every platform gets the same numbers. Rounding is half up.
package struct SizeRules: Sendable, Hashable {
  /// The part of the upright picture that takes part at all: all of it, or `normalizedCropRect`.
  package let frame: PixelRect
  /// The size that the frame is brought to; never larger than the frame.
  package let scaled: PixelSize
  /// The part of the scaled frame that is shown: the output.
  package let window: PixelRect

  /// The size of the output.
  package var output: PixelSize { window.size }

  /// The window in pixels of the upright picture: fractional, for its edges lie between them.
  package var region: PixelRegion {
    let across = Double(frame.width) / Double(scaled.width)
    let down = Double(frame.height) / Double(scaled.height)
    return PixelRegion(
      x: Double(frame.x) + Double(window.x) * across, y: Double(frame.y) + Double(window.y) * down,
      width: Double(window.width) * across, height: Double(window.height) * down)
  }

  /// How many pixels of the picture come to one of the output, the way in which they are fewer; at least 1.
  package var reduction: Double {
    min(Double(frame.width) / Double(scaled.width), Double(frame.height) / Double(scaled.height))
  }

  /// - Parameter upright: the size of the upright picture, before any crop.
  package init(_ request: ImageRequest, upright: PixelSize) {
    frame = request.normalizedCropRect?.pixels(of: upright) ?? PixelRect(upright)
    guard case .size(let target) = request.targetSize, request.resizeMode != .none else {
      scaled = frame.size
      window = PixelRect(scaled)
      return
    }
    switch (request.resizeMode, request.contentMode) {
    case (.exact, .aspectFill):
      let covers = frame.width >= target.width && frame.height >= target.height
      scaled = covers ? Self.scaled(frame.size, to: target, covering: true) : frame.size
      window = Self.centred(covers ? target : Self.largest(in: frame.size, withAspectOf: target), in: scaled)
    case (.fast, let contentMode):
      let wanted = Self.scaled(frame.size, to: target, covering: contentMode == .aspectFill)
      scaled = Self.eighths(of: frame.size, notBelow: wanted)
      window = PixelRect(scaled)
    case (_, _):
      scaled = Self.scaled(frame.size, to: target, covering: false)
      window = PixelRect(scaled)
    }
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

  /// The largest size inside another that has the target's aspect ratio.
  private static func largest(in size: PixelSize, withAspectOf target: PixelSize) -> PixelSize {
    if size.width * target.height > size.height * target.width {
      return PixelSize(width: max(1, divided(size.height * target.width, by: target.height)), height: size.height)
    }
    return PixelSize(width: size.width, height: max(1, divided(size.width * target.height, by: target.width)))
  }

  private static func centred(_ size: PixelSize, in whole: PixelSize) -> PixelRect {
    PixelRect(
      x: (whole.width - size.width) / 2, y: (whole.height - size.height) / 2, width: size.width, height: size.height)
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
