import PhotoModel

/// The shown part of an adjusted picture, with a margin for operations that read neighbours.
///
/// The margin is rendered together with the shown part, and cut off after the last operation. So pixels at the edge of
/// a part, such as a tile, have the same neighbours as in the whole picture, and unless the picture is warped, the part
/// equals the same part of the whole. The margin ends at the edges of the adjusted picture: the whole picture has none.
struct EditMargin: Sendable, Hashable {
  /// The shown part and its margin, in pixels of the adjusted picture.
  let region: PixelRegion
  /// The size of both in output pixels, turned like the output.
  let size: PixelSize
  /// Where the shown part lies in that size.
  let shown: PixelRect

  /// - Parameters:
  ///   - reach: how many output pixels the operations read in each direction, one after the other.
  ///   - sizes: the size rules, applied to the adjusted picture.
  ///   - adjusted: the size of the adjusted picture.
  ///   - rotation: how the adjusted picture is turned and mirrored in the end.
  init(_ reach: Int, around sizes: SizeRules, of adjusted: PixelSize, turnedBy rotation: Orientation) {
    let (part, output) = (sizes.region, sizes.output)
    let columns = Span(reach, start: part.x, length: part.width, of: adjusted.width, pixels: output.width)
    let rows = Span(reach, start: part.y, length: part.height, of: adjusted.height, pixels: output.height)
    region = PixelRegion(x: columns.start, y: rows.start, width: columns.length, height: rows.length)
    let (across, down) = rotation.swapsSides ? (rows, columns) : (columns, rows)
    size = PixelSize(width: across.count, height: down.count)
    shown = PixelRect(
      x: rotation.mirrorsX ? across.after : across.before, y: rotation.mirrorsY ? down.after : down.before,
      width: across.pixels, height: down.pixels)
  }

  /// Where the shown part lies in a picture that is smaller than planned, because it is made from a stand-in.
  func shownPart(in actual: PixelSize) -> PixelRect {
    if actual == size { return shown }
    let columns = Self.scaled(shown.x, shown.width, from: size.width, to: actual.width)
    let rows = Self.scaled(shown.y, shown.height, from: size.height, to: actual.height)
    return PixelRect(x: columns.start, y: rows.start, width: columns.length, height: rows.length)
  }

  /// At least one pixel.
  private static func scaled(
    _ start: Int, _ length: Int, from planned: Int, to actual: Int
  ) -> (start: Int, length: Int) {
    func share(_ value: Int) -> Int { (2 * value * actual + planned) / (2 * planned) }
    let scaledLength = max(1, share(length))
    return (min(share(start), actual - scaledLength), scaledLength)
  }

  /// One direction.
  private struct Span {
    /// Output pixels of the margin before and after the shown part.
    let before: Int
    let after: Int
    /// Output pixels of the shown part.
    let pixels: Int
    /// In pixels of the adjusted picture, with the margin.
    let start: Double
    let length: Double

    /// Output pixels with the margin.
    var count: Int { before + pixels + after }

    init(_ reach: Int, start: Double, length: Double, of side: Int, pixels: Int) {
      let step = length / Double(pixels)
      // Whole output pixels only: the part may begin between two of them.
      func margin(_ space: Double) -> Int { min(reach, max(0, Int((space / step + 1e-6).rounded(.down)))) }
      before = margin(start)
      after = margin(Double(side) - start - length)
      self.pixels = pixels
      self.start = start - Double(before) * step
      self.length = length + Double(before + after) * step
    }
  }
}
