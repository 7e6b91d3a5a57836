import PhotoModel

/// Finds the most salient point of a small picture: edges, skin and strong colours, with a preference for the middle. A
/// fallback for pictures without regions: it knows no objects.
package enum Saliency {
  /// The side of the window whose content is compared, as a share of the shorter side.
  private static let windowShare = 0.35
  /// The weight of the corners; the middle has 1.
  private static let cornerWeight = 0.6

  /// The centre of the most salient window; `nil` for a picture without any contrast.
  ///
  /// - Parameters:
  ///   - rgba: pixel (x, y) at `(y * size.width + x) * 4`.
  ///   - size: at least one pixel.
  package static func point(rgba: [UInt8], size: PixelSize) -> UnitPoint? {
    let (width, height) = (size.width, size.height)
    guard width > 2, height > 2, rgba.count >= width * height * 4 else { return nil }
    var luma = [Float](repeating: 0, count: width * height)
    for i in 0..<width * height {
      luma[i] = 0.299 * Float(rgba[i * 4]) + 0.587 * Float(rgba[i * 4 + 1]) + 0.114 * Float(rgba[i * 4 + 2])
    }
    // The sum of the scores above and to the left of (x, y) is at y * (width + 1) + x.
    var sums = [Float](repeating: 0, count: (width + 1) * (height + 1))
    for y in 0..<height {
      var row: Float = 0
      for x in 0..<width {
        let i = y * width + x
        // Transparent pixels show nothing.
        if rgba[i * 4 + 3] > 127 {
          row += score(rgba, i) + edge(luma, x, y, width, height)
        }
        sums[(y + 1) * (width + 1) + x + 1] = sums[y * (width + 1) + x + 1] + row
      }
    }
    let side = max(1, Int(Double(min(width, height)) * windowShare))
    var best: (score: Float, x: Int, y: Int) = (0, 0, 0)
    for y in 0...height - side {
      for x in 0...width - side {
        let (top, bottom) = (y * (width + 1), (y + side) * (width + 1))
        let sum = sums[bottom + x + side] - sums[bottom + x] - sums[top + x + side] + sums[top + x]
        let across = Float(2 * x + side - width) / Float(width)
        let down = Float(2 * y + side - height) / Float(height)
        let weight = 1 - Float(1 - cornerWeight) * min(1, (across * across + down * down) / 2)
        if sum * weight > best.score { best = (sum * weight, x, y) }
      }
    }
    guard best.score > Float(side * side) * 0.01 else { return nil }
    return UnitPoint(
      x: (Double(best.x) + Double(side) / 2) / Double(width), y: (Double(best.y) + Double(side) / 2) / Double(height))
  }

  /// The difference to the neighbours, 0...1.
  private static func edge(_ luma: [Float], _ x: Int, _ y: Int, _ width: Int, _ height: Int) -> Float {
    guard x > 0, y > 0, x < width - 1, y < height - 1 else { return 0 }
    let i = y * width + x
    let difference = abs(4 * luma[i] - luma[i - 1] - luma[i + 1] - luma[i - width] - luma[i + width])
    return min(1, difference / 255)
  }

  /// Skin and saturation, 0...1.5.
  private static func score(_ rgba: [UInt8], _ i: Int) -> Float {
    let (red, green, blue) = (Float(rgba[i * 4]), Float(rgba[i * 4 + 1]), Float(rgba[i * 4 + 2]))
    let (high, low) = (max(red, green, blue), min(red, green, blue))
    // Too dark to see, or nearly white.
    guard high > 40, low < 240 else { return 0 }
    let saturation = (high - low) / high
    // Skin of all tones has nearly the same hue: its direction in RGB is close to this one.
    let length = (red * red + green * green + blue * blue).squareRoot()
    let (r, g, b) = (red / length - 0.78, green / length - 0.57, blue / length - 0.44)
    let distance = (r * r + g * g + b * b).squareRoot()
    let skin = saturation > 0.15 ? max(0, 1 - distance / 0.2) : 0
    return skin + 0.3 * max(0, saturation - 0.4)
  }
}
