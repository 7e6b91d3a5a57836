import PhotoModel

/// Fits a tile at the right or lower edge to the part of the picture that it shows.
///
/// Each pixel of a reduced scale is a square of source pixels. Where a side of the picture is not a multiple of that,
/// the last squares reach beyond the edge; but a viewer stretches the tile over what it requested, which ends at the
/// edge.
struct EdgeFit {
  private let size: PixelSize
  private let horizontal: ResampleAxis
  private let vertical: ResampleAxis

  /// `nil` for a tile that needs no fitting.
  ///
  /// - Parameters:
  ///   - shown: the size of what the tile shows, in source pixels.
  ///   - factor: source pixels for each pixel, in each direction.
  ///   - size: of the tile.
  init?(_ shown: PixelSize, at factor: Int, as size: PixelSize) {
    guard shown.width % factor != 0 || shown.height % factor != 0 else { return nil }
    self.size = size
    horizontal = Self.axis(shown.width, factor, size.width)
    vertical = Self.axis(shown.height, factor, size.height)
  }

  private static func axis(_ shown: Int, _ factor: Int, _ length: Int) -> ResampleAxis {
    ResampleAxis(inputLength: length, position: 0, length: Double(shown) / Double(factor), outputLength: length)
  }

  /// Memory of a tile that is fitted: its rows, a copy of them, a row of sums, and the axes.
  static func peakBytes(channels: Int) -> Int {
    TileGrid.side * (2 * TileGrid.side * channels + 4 * channels + 512)
  }

  /// - Parameter rows: the upright tile, without padding.
  func apply(to rows: UnsafeMutablePointer<UInt8>, channels: Int) {
    let rowBytes = size.width * channels
    if !horizontal.isIdentity {
      for y in 0..<size.height { fit(row: rows + y * rowBytes, channels: channels) }
    }
    guard !vertical.isIdentity else { return }
    let before = Array(UnsafeMutableBufferPointer(start: rows, count: rowBytes * size.height))
    var sums = [Float](repeating: 0, count: rowBytes)
    for y in 0..<size.height {
      for i in 0..<rowBytes { sums[i] = 0 }
      let first = Int(vertical.starts[y])
      for input in first...vertical.lastInput(of: y) {
        let weight = vertical.weights[y * vertical.taps + input - first]
        for i in 0..<rowBytes { sums[i] += weight * Float(before[input * rowBytes + i]) }
      }
      for i in 0..<rowBytes { rows[y * rowBytes + i] = Self.sample(sums[i]) }
    }
  }

  private func fit(row: UnsafeMutablePointer<UInt8>, channels: Int) {
    let before = Array(UnsafeMutableBufferPointer(start: row, count: size.width * channels))
    for x in 0..<size.width {
      let first = Int(horizontal.starts[x])
      let last = horizontal.lastInput(of: x)
      for c in 0..<channels {
        var sum: Float = 0
        for input in first...last {
          sum += horizontal.weights[x * horizontal.taps + input - first] * Float(before[input * channels + c])
        }
        row[x * channels + c] = Self.sample(sum)
      }
    }
  }

  private static func sample(_ value: Float) -> UInt8 { UInt8(min(max(value, 0), 255) + 0.5) }
}
