/// The tiles of a picture at all scales, as viewers of large pictures request them: squares of 512 pixels at scales 1,
/// 1/2, 1/4 and so on, until one tile shows the whole picture. Tiles at the right and lower edges are smaller.
package struct TileGrid: Sendable, Hashable {
  package static let side = 512

  /// One tile.
  package struct Tile: Sendable, Hashable {
    /// Source pixels for each pixel, in each direction: a power of two.
    package let factor: Int
    package let column: Int
    package let row: Int

    package init(factor: Int, column: Int, row: Int) {
      self.factor = factor
      self.column = column
      self.row = row
    }
  }

  /// The upright picture.
  package let size: PixelSize
  /// Ascending.
  package let factors: [Int]

  package init(_ size: PixelSize) {
    self.size = size
    var factors = [1]
    while let last = factors.last, max(size.width, size.height) > Self.side * last { factors.append(last * 2) }
    self.factors = factors
  }

  /// The size of the whole picture at a scale; sides are rounded up.
  package func size(at factor: Int) -> PixelSize {
    PixelSize(width: (size.width + factor - 1) / factor, height: (size.height + factor - 1) / factor)
  }

  /// The part of the picture that a tile shows.
  package func rect(of tile: Tile) -> PixelRect {
    let span = Self.side * tile.factor
    let (x, y) = (tile.column * span, tile.row * span)
    return PixelRect(x: x, y: y, width: min(span, size.width - x), height: min(span, size.height - y))
  }

  /// The request whose frame is a tile.
  package func request(for tile: Tile) -> ImageRequest {
    let rect = rect(of: tile)
    var request = ImageRequest(
      targetSize: .size(
        PixelSize(
          width: (rect.width + tile.factor - 1) / tile.factor, height: (rect.height + tile.factor - 1) / tile.factor)),
      normalizedCropRect: UnitRect(rect, of: size))
    request.fillsTarget = true
    return request
  }

  /// The tile that a request shows; `nil` if it shows anything else, or in another way than ``request(for:)``.
  package func tile(of wanted: SizedRequest) -> Tile? {
    let (request, sizes) = (wanted.request, wanted.sizes)
    guard request.format == .jpeg, request.quality == nil, request.colorSpace == .preserve,
      request.rotation == .topLeft, request.tone == .color, request.dynamicRange == .standard,
      request.resampling == .encoded, request.version == .current, wanted.upright == size,
      wanted.adjustments == nil
    else { return nil }
    for factor in factors where sizes.crop.x % (Self.side * factor) == 0 && sizes.crop.y % (Self.side * factor) == 0 {
      let tile = Tile(
        factor: factor, column: sizes.crop.x / (Self.side * factor), row: sizes.crop.y / (Self.side * factor))
      if SizeRules(self.request(for: tile), upright: size) == sizes { return tile }
    }
    return nil
  }
}

extension UnitRect {
  /// Whole pixels of a picture. ``pixels(of:)`` gives the same pixels.
  package init(_ rect: PixelRect, of size: PixelSize) {
    let (width, height) = (Double(size.width), Double(size.height))
    self.init(
      x: Double(rect.x) / width, y: Double(rect.y) / height, width: Double(rect.width) / width,
      height: Double(rect.height) / height)
  }
}
