// Makes the tiles of a large picture in one decode. To decode a tile near the bottom of a JPEG, PNG, BMP or WebP,
// everything above it must be decoded too, so a viewer that requests tiles one by one would make photod decode the
// picture many times.
//
//     decoder -> strip of 512 rows -> its tiles
//                  | means of 2x2 pixels
//                strip of the next scale -> its tiles -> ...
//
// Memory is needed for one strip of each scale, together twice the first one. Strips and scales lie as in the stored
// picture, cut where the tiles of the upright picture begin; each tile is turned before it is encoded.

import ImageCodec
import PhotoModel

package struct TilePass: Sendable {
  /// Increased whenever the same picture would give different tiles.
  package static let epoch = 3
  /// Formats whose tiles can't be decoded one by one.
  package static let formats: [SourceFormat] = [.jpeg, .png, .bmp, .webp]
  /// Smaller pictures are decoded quickly enough for each tile.
  package static let minimumPixels = 16_000_000
  /// The profile is in every tile.
  private static let maximumProfileBytes = 65_536

  /// The largest scale factor of a tile that waits for the pass. A tile with a larger factor shows so much of the
  /// picture that rendering it alone is quicker, and a viewer shows it first.
  private static let maximumFactor = 4

  /// The scales whose tiles are made. The last one has a single tile, the whole picture: it is left out, so that a
  /// picture of that size is rendered like one of any other size.
  private static func factors(of grid: TileGrid) -> ArraySlice<Int> {
    grid.factors.prefix(max(1, grid.factors.count - 1))
  }

  /// Whether a request for a tile waits for the pass.
  package static func serves(_ tile: TileGrid.Tile, of grid: TileGrid) -> Bool {
    tile.factor <= maximumFactor && factors(of: grid).contains(tile.factor)
  }

  /// The tiles of the upright picture.
  package let grid: TileGrid
  private let orientation: Orientation
  private let plan: SharedPlan
  /// An upper estimate.
  package let peakBytes: Int

  /// `nil` for a picture whose tiles can be decoded one by one, and for a picture that is small, has more than 8
  /// bits a channel, or has alpha.
  ///
  /// - Parameter minimumPixels: the fewest pixels of a picture for which a pass is worthwhile.
  package init?(_ header: ImageHeader, minimumPixels: Int = Self.minimumPixels) {
    guard Self.formats.contains(header.format), header.raw == nil, header.displaySize == nil,
      header.storedSize.pixelCount >= minimumPixels, !header.hasAlpha, header.bitsPerChannel == 8,
      header.colorChannels == 1 || header.colorChannels == 3, header.profileBytes <= Self.maximumProfileBytes
    else { return nil }
    let grid = TileGrid(header.uprightSize)
    self.grid = grid
    orientation = header.orientation
    // The rows are read as they are stored.
    var header = header
    header.containerOrientation = .topLeft
    let whole = RenderPlanner().plan(header, ImageRequest())
    plan = SharedPlan(whole)
    let tile = PixelSize(width: TileGrid.side, height: TileGrid.side)
    let columns = Self.factors(of: grid).reduce(0) { [orientation] in
      $0 + orientation.apply(to: grid.size(at: $1)).width
    }
    let line = orientation == .topLeft ? 0 : TileGrid.side * header.colorChannels
    peakBytes =
      whole.price.sourceBytes + header.decoderBytes(eighths: 8, inPlanes: false)
      + columns * TileGrid.side * header.colorChannels + line + EdgeFit.peakBytes(channels: header.colorChannels)
      + JPEGEncoder.peakBytes(
        tile, channels: header.colorChannels, quality: JPEGEncoder.defaultQuality, profileBytes: header.profileBytes,
        coding: JPEGCoding(finalFrameOf: tile))
  }

  /// The last tile that a pass makes.
  package var lastTile: TileGrid.Tile {
    let stored = orientation.apply(to: grid.size)
    let (columns, rows) = TileCuts.of(stored, orientation)
    return orientation.tile(
      factor: 1, column: columns.segment(at: stored.width - 1).number, row: rows.segment(at: stored.height - 1).number)
  }

  /// Decodes the picture and delivers each tile as soon as it is finished. Blocks while the source is read.
  ///
  /// - Parameter deliver: returns false to end the pass.
  /// - Returns: false if the colours of this picture must be converted, which only a render does, or if the pass ended
  ///   early: because `deliver` returned false, or because the file is truncated.
  package func run(
    source: any ByteSource, workers: (any CodedPictureDecoder)?, transforms: ColorTransforms, limits: CodecLimits,
    stop: StopFlag, deliver: (TileGrid.Tile, RenderedImage) -> Bool
  ) throws(CodecError) -> Bool {
    let color = try plan.header.sourceColor(in: source, workers: workers, limits: limits, stop: stop)
    let output = transforms.outputColor(of: color, plan.members[0].plan.sourceRows, as: .preserve)
    guard output.transform == nil else { return false }
    let decoder = try RowPipeline.decoder(plan, source: source, workers: workers, limits: limits, stop: stop)
    let layout = decoder.layout
    guard layout.bitsPerChannel == 8, !layout.hasAlpha, !layout.isCMYK,
      layout.imageSize == orientation.apply(to: grid.size),
      layout.firstColumn == 0, layout.width == layout.imageSize.width
    else { return false }
    return try withoutActuallyEscaping(deliver) { deliver throws(CodecError) in
      let writer = TileWriter(
        grid, Self.factors(of: grid), orientation, channels: layout.channels, profile: output.profile
      ) { tile, bytes, size in
        guard !decoder.isTruncated else { return false }
        return deliver(
          tile,
          RenderedImage(
            bytes: bytes, size: size, format: .jpeg, decodedEighths: 8, isIncomplete: false, warnings: []))
      }
      _ = try decoder.decode(into: writer)
      if let failure = writer.failure { throw failure }
      return writer.isComplete
    }
  }
}
