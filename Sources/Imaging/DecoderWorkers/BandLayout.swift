// The places of a band's planes in a slot. The daemon chooses them and sends them with the request, and never uses a
// place that a worker names.

import PhotoModel

/// The layout of the bands of one request.
package struct BandLayout: Sendable, Hashable {
  /// Row r of the plane, counted from the band's first, is at `offset + r * strideBytes`.
  package struct Plane: Sendable, Hashable {
    package let offset: Int
    package let strideBytes: Int
    /// Samples in a row; pixels for interleaved samples.
    package let width: Int
    /// Rows of the picture for one of this plane: 1 or 2.
    let verticalStep: Int

    /// Rows of the plane for the first `rows` rows of the picture.
    package func rowCount(_ rows: Int) -> Int { (rows + verticalStep - 1) / verticalStep }
  }

  package let planes: [Plane]
  /// Even, at least 2. The last band of a tile may have fewer rows.
  let bandRows: Int

  /// - Throws: ``DecoderError/requestTooLarge(_:limit:found:)`` if two rows do not fit into a slot.
  init(_ samples: DecodeRequest.Samples, _ size: PixelSize, slotBytes: Int) throws(DecoderError) {
    let shapes = Self.shapes(samples, size)
    // Two rows of everything: one or two of each plane.
    let pairBytes = shapes.reduce(0) { $0 + $1.strideBytes * (2 / $1.verticalStep) }
    guard pairBytes <= slotBytes else {
      throw .requestTooLarge(.rowBytes, limit: slotBytes / 2, found: (pairBytes + 1) / 2)
    }
    // No more rows than the tile has, rounded up to a pair.
    let bandRows = min(slotBytes / pairBytes, (size.height + 1) / 2) * 2
    var offset = 0
    planes = shapes.map { shape in
      defer { offset += shape.strideBytes * (bandRows / shape.verticalStep) }
      return Plane(
        offset: offset, strideBytes: shape.strideBytes, width: shape.width, verticalStep: shape.verticalStep)
    }
    self.bandRows = bandRows
  }

  private static func shapes(
    _ samples: DecodeRequest.Samples, _ size: PixelSize
  ) -> [(width: Int, strideBytes: Int, verticalStep: Int)] {
    switch samples {
    case .rgb: return [(size.width, size.width * 3, 1)]
    case .rgba: return [(size.width, size.width * 4, 1)]
    case .deepRGB: return [(size.width, size.width * 6, 1)]
    case .deepRGBA: return [(size.width, size.width * 8, 1)]
    case .planar(let chroma, let bitDepth, let hasAlpha):
      let bytes = bitDepth > 8 ? 2 : 1
      let full = (width: size.width, strideBytes: size.width * bytes, verticalStep: 1)
      let chromaWidth = (size.width + chroma.horizontal - 1) / chroma.horizontal
      let part = (width: chromaWidth, strideBytes: chromaWidth * bytes, verticalStep: chroma.vertical)
      return [full] + (chroma == .none ? [] : [part, part]) + (hasAlpha ? [full] : [])
    }
  }
}

extension DecodeRequest.Samples {
  /// Bytes of a row of interleaved samples, or of the first plane.
  func rowBytes(_ size: PixelSize) -> Int {
    switch self {
    case .rgb: size.width * 3
    case .rgba: size.width * 4
    case .deepRGB: size.width * 6
    case .deepRGBA: size.width * 8
    case .planar(_, let bitDepth, _): size.width * (bitDepth > 8 ? 2 : 1)
    }
  }
}

/// Rows of one tile that a worker has decoded.
package struct RowBand: Sendable, Hashable {
  /// The index in ``DecodeRequest/tiles``. Tiles come in their order.
  package let tile: Int
  /// The first row, in rows of the tile; even. The bands of a tile come from top to bottom and leave nothing out.
  package let firstRow: Int
  /// At most ``BandLayout/bandRows``; less only in the last band of a tile.
  package let rowCount: Int
  /// The places of the planes in the bytes that come with the band.
  package let layout: BandLayout
}
