/// A width and a height in pixels.
package struct PixelSize: Sendable, Hashable {
  package var width: Int
  package var height: Int

  package init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// The same picture lying on its side.
  package var transposed: PixelSize { PixelSize(width: height, height: width) }

  /// Width times height.
  package var pixelCount: Int { width * height }

  /// Whether this is another size of the same picture: the ratio of the sides differs only because they were rounded.
  /// Also false if a side of less than half a pixel became one pixel.
  package func hasAspect(of other: PixelSize) -> Bool {
    2 * abs(width * other.height - height * other.width) <= width + height + other.width + other.height
  }
}

/// A rectangle of whole pixels; the origin is the top left corner.
package struct PixelRect: Sendable, Hashable {
  package var x: Int
  package var y: Int
  package var width: Int
  package var height: Int

  package init(x: Int, y: Int, width: Int, height: Int) {
    self.x = x
    self.y = y
    self.width = width
    self.height = height
  }

  package init(_ size: PixelSize) {
    self.init(x: 0, y: 0, width: size.width, height: size.height)
  }

  package var size: PixelSize { PixelSize(width: width, height: height) }
}

/// A rectangle whose edges may lie between pixels.
package struct PixelRegion: Sendable, Hashable {
  package var x: Double
  package var y: Double
  package var width: Double
  package var height: Double

  package init(x: Double, y: Double, width: Double, height: Double) {
    self.x = x
    self.y = y
    self.width = width
    self.height = height
  }

  package init(_ rect: PixelRect) {
    self.init(x: Double(rect.x), y: Double(rect.y), width: Double(rect.width), height: Double(rect.height))
  }
}

/// A rectangle in the unit square, as `normalizedCropRect` gives it: every value 0...1, the far edges at most 1.
package struct UnitRect: Sendable, Hashable {
  package var x: Double
  package var y: Double
  package var width: Double
  package var height: Double

  package init(x: Double, y: Double, width: Double, height: Double) {
    self.x = x
    self.y = y
    self.width = width
    self.height = height
  }

  /// The pixels that this part of a picture covers: edges rounded to nearest, at least one pixel each way.
  package func pixels(of size: PixelSize) -> PixelRect {
    func span(_ start: Double, _ length: Double, _ extent: Int) -> (Int, Int) {
      let low = min(Int((start * Double(extent) + 0.5).rounded(.down)), extent - 1)
      let high = min(Int(((start + length) * Double(extent) + 0.5).rounded(.down)), extent)
      return (low, max(high, low + 1) - low)
    }
    let (left, across) = span(x, width, size.width)
    let (top, down) = span(y, height, size.height)
    return PixelRect(x: left, y: top, width: across, height: down)
  }
}
