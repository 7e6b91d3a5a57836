// Makes all tiles of a large picture in one decode. To decode a tile near the bottom of a JPEG or PNG, everything above
// it must be decoded too, so a viewer that requests tiles one by one would make photod decode the picture many times.
//
//     decoder -> strip of 512 rows -> its tiles
//                  | means of 2x2 pixels
//                strip of the next scale -> its tiles -> ...
//
// Memory is needed for one strip of each scale, together twice the first one.

import ImageCodec
import PhotoModel

package struct TilePass: Sendable {
  /// Increased whenever the same picture would give different tiles.
  package static let epoch = 1
  /// Smaller pictures are decoded quickly enough for each tile.
  package static let minimumPixels = 16_000_000
  /// The profile is in every tile.
  private static let maximumProfileBytes = 65_536

  /// The largest scale factor of a tile that waits for the pass. A tile with a larger factor shows so much of the
  /// picture that rendering it alone is quicker, and a viewer shows it first.
  package static let maximumFactor = 4

  package let grid: TileGrid
  private let plan: SharedPlan
  /// An upper estimate.
  package let peakBytes: Int

  /// `nil` for a picture whose tiles can be decoded one by one, and for a picture that is small, is not upright, has
  /// more than 8 bits a channel, or has alpha.
  ///
  /// - Parameter minimumPixels: of a picture for which a pass is worth while.
  package init?(_ header: ImageHeader, minimumPixels: Int = Self.minimumPixels) {
    let format = header.format
    let isSequential = format == .jpeg || format == .png || format == .bmp || format == .webp
    guard isSequential, header.orientation == .topLeft, header.raw == nil, header.displaySize == nil,
      header.storedSize.pixelCount >= minimumPixels, !header.hasAlpha, header.bitsPerChannel == 8,
      header.colorChannels == 1 || header.colorChannels == 3, header.profileBytes <= Self.maximumProfileBytes
    else { return nil }
    let grid = TileGrid(header.storedSize)
    self.grid = grid
    let whole = RenderPlanner().plan(header, ImageRequest())
    plan = SharedPlan(whole)
    let tile = PixelSize(width: TileGrid.side, height: TileGrid.side)
    let strips = grid.factors.reduce(0) { $0 + grid.size(at: $1).width * TileGrid.side * header.colorChannels }
    peakBytes =
      whole.price.sourceBytes + header.decoderBytes(eighths: 8, inPlanes: false) + strips
      + JPEGEncoder.peakBytes(
        tile, channels: header.colorChannels, quality: JPEGEncoder.defaultQuality, profileBytes: header.profileBytes,
        coding: JPEGCoding(finalFrameOf: tile))
  }

  /// The last tile that a pass makes.
  package var lastTile: TileGrid.Tile {
    TileGrid.Tile(
      factor: 1, column: (grid.size.width - 1) / TileGrid.side, row: (grid.size.height - 1) / TileGrid.side)
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
    guard layout.bitsPerChannel == 8, !layout.hasAlpha, !layout.isCMYK, layout.imageSize == grid.size,
      layout.firstColumn == 0, layout.width == grid.size.width
    else { return false }
    return try withoutActuallyEscaping(deliver) { deliver throws(CodecError) in
      let writer = TileWriter(grid, channels: layout.channels, profile: output.profile) { tile, bytes, size in
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

/// Cuts rows into tiles of all scales, and encodes them.
private final class TileWriter: RowConsumer {
  private struct Level {
    let factor: Int
    let size: PixelSize
    /// Row y at `y % TileGrid.side * size.width * channels`.
    let strip: RowBuffer<UInt8>
    var rows = 0
  }

  private let channels: Int
  private let profile: [UInt8]?
  private let deliver: (TileGrid.Tile, [UInt8], PixelSize) -> Bool
  private var levels: [Level]
  private var isStopped = false
  private(set) var failure: CodecError?

  init(
    _ grid: TileGrid, channels: Int, profile: [UInt8]?,
    deliver: @escaping (TileGrid.Tile, [UInt8], PixelSize) -> Bool
  ) {
    self.channels = channels
    self.profile = profile
    self.deliver = deliver
    levels = grid.factors.map { factor in
      let size = grid.size(at: factor)
      return Level(
        factor: factor, size: size, strip: RowBuffer(count: size.width * channels * TileGrid.side, zero: 0))
    }
  }

  var isComplete: Bool { !isStopped && failure == nil && levels.allSatisfy { $0.rows == $0.size.height } }

  func space(forRow y: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(row(y, of: 0)) }

  func rowArrived(_ y: Int) -> Bool {
    do throws(CodecError) { try rowArrived(at: 0) } catch { failure = error }
    return failure == nil && !isStopped
  }

  private func row(_ y: Int, of level: Int) -> UnsafeMutablePointer<UInt8> {
    levels[level].strip.pointer + y % TileGrid.side * levels[level].size.width * channels
  }

  private func rowArrived(at level: Int) throws(CodecError) {
    let y = levels[level].rows
    levels[level].rows += 1
    let isLast = y == levels[level].size.height - 1
    if level + 1 < levels.count, y % 2 == 1 || isLast {
      // The last row of an odd number has no pair.
      reduce(
        row(y - y % 2, of: level), row(y, of: level), width: levels[level].size.width, into: row(y / 2, of: level + 1))
      try rowArrived(at: level + 1)
    }
    if y % TileGrid.side == TileGrid.side - 1 || isLast { try encode(stripEndingAt: y, level) }
  }

  /// Means of 2x2 pixels.
  private func reduce(
    _ upper: UnsafePointer<UInt8>, _ lower: UnsafePointer<UInt8>, width: Int, into output: UnsafeMutablePointer<UInt8>
  ) {
    for x in 0..<(width + 1) / 2 {
      let left = 2 * x * channels
      // The last column of an odd number has no pair.
      let right = 2 * x + 1 < width ? left + channels : left
      for c in 0..<channels {
        let sum = Int(upper[left + c]) + Int(upper[right + c]) + Int(lower[left + c]) + Int(lower[right + c])
        output[x * channels + c] = UInt8((sum + 2) >> 2)
      }
    }
  }

  private func encode(stripEndingAt y: Int, _ index: Int) throws(CodecError) {
    let level = levels[index]
    let strideBytes = level.size.width * channels
    let height = y % TileGrid.side + 1
    for column in 0..<(level.size.width + TileGrid.side - 1) / TileGrid.side where !isStopped {
      let x = column * TileGrid.side
      let size = PixelSize(width: min(TileGrid.side, level.size.width - x), height: height)
      let encoder = try JPEGEncoder(
        size: size, channels: channels, quality: JPEGEncoder.defaultQuality, profile: profile,
        coding: JPEGCoding(finalFrameOf: size))
      try encoder.write(level.strip.pointer + x * channels, strideBytes: strideBytes, count: height)
      let tile = TileGrid.Tile(factor: level.factor, column: column, row: y / TileGrid.side)
      if !deliver(tile, try encoder.finish(), size) { isStopped = true }
    }
  }
}
