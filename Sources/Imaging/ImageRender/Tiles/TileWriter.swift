import ImageCodec
import PhotoModel

/// Cuts the rows of a stored picture into the tiles of several scales of the upright picture, turns and encodes them.
final class TileWriter: RowConsumer {
  private struct Level {
    let factor: Int
    /// As stored.
    let size: PixelSize
    let columns: TileCuts
    let rows: TileCuts
    /// Row y at `(y - rows.segment(at: y).start) * size.width * channels`.
    let strip: RowBuffer<UInt8>
    /// Rows that have arrived.
    var rowCount = 0
  }

  private let grid: TileGrid
  private let turn: OrientationTransform
  private let profile: [UInt8]?
  private let deliver: (TileGrid.Tile, [UInt8], PixelSize) -> Bool
  private var levels: [Level]
  /// One row of a tile; empty if the picture is stored upright.
  private let line: RowBuffer<UInt8>
  private var isStopped = false
  private(set) var failure: CodecError?

  /// - Parameter factors: of the scales, each half of the one before; the first is 1.
  init(
    _ grid: TileGrid, _ factors: ArraySlice<Int>, _ orientation: Orientation, channels: Int, profile: [UInt8]?,
    deliver: @escaping (TileGrid.Tile, [UInt8], PixelSize) -> Bool
  ) {
    self.grid = grid
    turn = OrientationTransform(orientation: orientation, pixelBytes: channels)
    self.profile = profile
    self.deliver = deliver
    line = RowBuffer(count: orientation == .topLeft ? 0 : TileGrid.side * channels, zero: 0)
    levels = factors.map { factor in
      let size = orientation.apply(to: grid.size(at: factor))
      let (columns, rows) = TileCuts.of(size, orientation)
      return Level(
        factor: factor, size: size, columns: columns, rows: rows,
        strip: RowBuffer(count: size.width * channels * TileGrid.side, zero: 0))
    }
  }

  private var channels: Int { turn.pixelBytes }

  var isComplete: Bool { !isStopped && failure == nil && levels.allSatisfy { $0.rowCount == $0.size.height } }

  func space(forRow y: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(row(y, of: 0)) }

  func rowArrived(_ y: Int) -> Bool {
    do throws(CodecError) { try rowArrived(at: 0) } catch { failure = error }
    return failure == nil && !isStopped
  }

  private func row(_ y: Int, of index: Int) -> UnsafeMutablePointer<UInt8> {
    let level = levels[index]
    return level.strip.pointer + (y - level.rows.segment(at: y).start) * level.size.width * channels
  }

  private func rowArrived(at index: Int) throws(CodecError) {
    let y = levels[index].rowCount
    levels[index].rowCount += 1
    let rows = levels[index].rows
    if index + 1 < levels.count, let pair = rows.pair(endingAt: y) {
      reduce(
        row(pair.other, of: index), row(y, of: index), levels[index].columns,
        into: row(levels[index + 1].rows.stored(pair.number), of: index + 1), levels[index + 1].columns)
      try rowArrived(at: index + 1)
    }
    let segment = rows.segment(at: y)
    if y == segment.start + segment.count - 1 { try encode(segment, index) }
  }

  /// Means of 2x2 pixels.
  private func reduce(
    _ one: UnsafePointer<UInt8>, _ other: UnsafePointer<UInt8>, _ columns: TileCuts,
    into output: UnsafeMutablePointer<UInt8>, _ outputColumns: TileCuts
  ) {
    let channels = channels
    let step = columns.isMirrored ? -channels : channels
    var (left, at) = (columns.stored(0) * channels, outputColumns.stored(0) * channels)
    for number in 0..<outputColumns.count {
      // The last column of an odd number has no pair.
      let right = 2 * number + 1 < columns.count ? left + step : left
      for c in 0..<channels {
        let sum = Int(one[left + c]) + Int(one[right + c]) + Int(other[left + c]) + Int(other[right + c])
        output[at + c] = UInt8((sum + 2) >> 2)
      }
      left += 2 * step
      at += step
    }
  }

  /// Encodes the tiles of a complete strip.
  private func encode(_ rows: TileCuts.Segment, _ index: Int) throws(CodecError) {
    let level = levels[index]
    var x = 0
    while x < level.size.width && !isStopped {
      let columns = level.columns.segment(at: x)
      let stored = PixelSize(width: columns.count, height: rows.count)
      let size = turn.orientation.apply(to: stored)
      let tile = turn.orientation.tile(factor: level.factor, column: columns.number, row: rows.number)
      let fit = EdgeFit(grid.rect(of: tile).size, at: tile.factor, as: size)
      let bytes = try encoded(
        level.strip.pointer + x * channels, stored, strideBytes: level.size.width * channels, as: size, fit)
      if !deliver(tile, bytes, size) { isStopped = true }
      x += columns.count
    }
  }

  /// Turns the pixels of a tile upright, and encodes them.
  private func encoded(
    _ pixels: UnsafePointer<UInt8>, _ stored: PixelSize, strideBytes: Int, as size: PixelSize, _ fit: EdgeFit?
  ) throws(CodecError) -> [UInt8] {
    let encoder = try JPEGEncoder(
      size: size, channels: channels, quality: JPEGEncoder.defaultQuality, profile: profile,
      coding: JPEGCoding(finalFrameOf: size))
    if let fit {
      let rowBytes = size.width * channels
      let rows = RowBuffer<UInt8>(count: rowBytes * size.height, zero: 0)
      for y in 0..<size.height {
        turn.copyUprightRow(y, of: pixels, size: stored, strideBytes: strideBytes, into: rows.pointer + y * rowBytes)
      }
      fit.apply(to: rows.pointer, channels: channels)
      try encoder.write(rows.pointer, strideBytes: rowBytes, count: size.height)
    } else if turn.orientation == .topLeft {
      try encoder.write(pixels, strideBytes: strideBytes, count: size.height)
    } else {
      for y in 0..<size.height {
        turn.copyUprightRow(y, of: pixels, size: stored, strideBytes: strideBytes, into: line.pointer)
        try encoder.write(line.pointer, strideBytes: size.width * channels, count: 1)
      }
    }
    return try encoder.finish()
  }
}

/// The rows or the columns of a stored picture, cut where the tiles of the upright picture begin.
struct TileCuts {
  /// A part of a tile's size, or smaller at the end of the upright picture.
  struct Segment {
    /// In the upright picture, from its left or its top.
    let number: Int
    /// The first stored row or column.
    let start: Int
    let count: Int
  }

  /// The number of rows or columns.
  let count: Int
  /// The upright picture counts them from the other end.
  let isMirrored: Bool

  /// The cuts of a stored picture's columns and rows.
  static func of(_ stored: PixelSize, _ orientation: Orientation) -> (columns: TileCuts, rows: TileCuts) {
    let (swaps, mirrorsX, mirrorsY) = (orientation.swapsSides, orientation.mirrorsX, orientation.mirrorsY)
    return (
      TileCuts(count: stored.width, isMirrored: swaps ? mirrorsY : mirrorsX),
      TileCuts(count: stored.height, isMirrored: swaps ? mirrorsX : mirrorsY)
    )
  }

  /// Where a row or column of the upright picture is stored, and the other way round.
  func stored(_ number: Int) -> Int { isMirrored ? count - 1 - number : number }

  func segment(at stored: Int) -> Segment {
    let number = self.stored(stored) / TileGrid.side
    let length = min(TileGrid.side, count - number * TileGrid.side)
    return Segment(
      number: number, start: isMirrored ? count - number * TileGrid.side - length : number * TileGrid.side,
      count: length)
  }

  /// The pair of stored rows that is complete when row `stored` has arrived, and the `number` of the row that it
  /// becomes at the next scale. With an odd number of rows, the last one is paired with itself. `nil` if the other row
  /// has not arrived yet.
  func pair(endingAt stored: Int) -> (number: Int, other: Int)? {
    let number = self.stored(stored)
    let other = min(number ^ 1, count - 1)
    let isLater = isMirrored ? other < number : other > number
    return isLater ? nil : (number / 2, self.stored(other))
  }
}

extension Orientation {
  /// The tile of the upright picture that is stored at this column and row of tiles, each counted as in the upright
  /// picture.
  func tile(factor: Int, column: Int, row: Int) -> TileGrid.Tile {
    swapsSides
      ? TileGrid.Tile(factor: factor, column: row, row: column)
      : TileGrid.Tile(factor: factor, column: column, row: row)
  }
}
