// Puts the tiles of a picture together, row by row, and reduces them by a box on the way. Only the tiles that the
// region shows are decoded; only one row of tiles is kept, at the reduced size.

import ImageCodec
import PhotoModel

/// The planes of a region, from tiles.
final class TileReduction {
  /// In a picture of one column of tiles, rows are complete at once, so only this many are kept.
  private static let pieceRows = 64

  private let tiles: CodedTiles
  /// Columns and rows of tiles that are decoded.
  private let tileColumns: Range<Int>
  private let tileRows: Range<Int>
  /// The picture's row after the last one that is decoded.
  private let decodedEnd: Int
  /// Luma samples of the region, in the picture.
  let columns: Range<Int>
  let rows: Range<Int>
  private let step: Int
  /// Rows that are taken at once.
  private let rowsAtOnce: Int
  private let chroma: ChromaSampling
  private(set) var planes: [SamplePlane]
  private let interpolation: ChromaInterpolation?
  /// Complete rows of the region that were passed on.
  private(set) var rowsDone = 0
  /// Rows of the reduced region.
  let rowCount: Int

  /// - Parameters:
  ///   - crop: the part of the picture that is shown.
  ///   - region: the part of it that is wanted, in reduced pixels.
  ///   - step: pixels for one reduced pixel, in each direction: 1, 2, 4 or 8.
  ///   - hasChroma: whether the chroma planes are wanted, if there are any.
  init(_ tiles: CodedTiles, crop: PixelRect, region: PixelRect, step: Int, hasChroma: Bool) {
    self.tiles = tiles
    self.step = step
    let (columns, rows) = (
      Self.samples(region.x, region.width, step, crop.x, crop.width),
      Self.samples(region.y, region.height, step, crop.y, crop.height)
    )
    self.columns = columns
    self.rows = rows
    rowCount = region.height
    tileColumns = columns.lowerBound / tiles.tileSize.width..<(columns.upperBound - 1) / tiles.tileSize.width + 1
    tileRows = rows.lowerBound / tiles.tileSize.height..<(rows.upperBound - 1) / tiles.tileSize.height + 1
    let rowsAtOnce = tileColumns.count == 1 ? min(Self.pieceRows, tiles.tileSize.height) : tiles.tileSize.height
    self.rowsAtOnce = rowsAtOnce
    let chroma = hasChroma ? tiles.configuration.chroma : .none
    self.chroma = chroma
    let decoded = (
      columns: Self.pixels(of: tileColumns, tiles.tileSize.width, tiles.size.width),
      rows: Self.pixels(of: tileRows, tiles.tileSize.height, tiles.size.height)
    )
    decodedEnd = decoded.rows.upperBound
    // Only at full size does a sample of chroma belong to several pixels.
    let isInterpolated = step == 1 && chroma.horizontal == 2
    func plane(_ across: Int, _ down: Int, margin: Int) -> SamplePlane {
      SamplePlane(
        columns: columns, rows: rows, step: step, subsampling: (across, down), margin: margin, decoded: decoded,
        tileRows: rowsAtOnce)
    }
    planes = [plane(1, 1, margin: 0)]
    if chroma != .none {
      for _ in 0..<2 { planes.append(plane(chroma.horizontal, chroma.vertical, margin: isInterpolated ? 1 : 0)) }
    }
    interpolation = isInterpolated ? ChromaInterpolation(width: planes[1].width) : nil
  }

  /// The columns or rows of the picture that tiles contain.
  private static func pixels(of tiles: Range<Int>, _ tileSize: Int, _ size: Int) -> Range<Int> {
    tiles.lowerBound * tileSize..<min(size, tiles.upperBound * tileSize)
  }

  private static func samples(_ start: Int, _ count: Int, _ step: Int, _ crop: Int, _ cropCount: Int) -> Range<Int> {
    crop + start * step..<crop + min(cropCount, (start + count) * step)
  }

  /// The tiles to decode, row by row.
  var request: CodedPictureRequest {
    if !tiles.alternatives.isEmpty {
      return .firstLit(tiles.configuration, size: tiles.tileSize, pictures: tiles.tiles + tiles.alternatives)
    }
    return .tiles(
      tiles.configuration, tileSize: tiles.tileSize,
      tiles: tileRows.flatMap { row in tileColumns.map { tiles.tiles[row * tiles.columns + $0] } })
  }

  private var bytesPerSample: Int { tiles.configuration.bitDepth > 8 ? 2 : 1 }
  /// Sums hold samples of at most 10 bits.
  private var shift: Int { max(0, tiles.configuration.bitDepth - 10) }

  /// Adds a band, and calls `rowIsComplete` with the number of each row of the region that it completes.
  ///
  /// - Returns: false if no further row is wanted.
  func take(
    _ band: DecodedBand, _ bytes: UnsafeRawBufferPointer, rowIsComplete: (Int) -> Bool
  ) -> Bool {
    let column = tileColumns.lowerBound + band.tile % tileColumns.count
    let top = (tileRows.lowerBound + band.tile / tileColumns.count) * tiles.tileSize.height + band.firstRow
    for start in stride(from: 0, to: band.rowCount, by: rowsAtOnce) {
      let end = min(band.rowCount, start + rowsAtOnce)
      for plane in planes.indices { add(plane, band, bytes, start..<end, column, top) }
      guard column == tileColumns.upperBound - 1 else { continue }
      if !pass(until: top + end, rowIsComplete) { return false }
    }
    return true
  }

  private func add(
    _ index: Int, _ band: DecodedBand, _ bytes: UnsafeRawBufferPointer, _ part: Range<Int>, _ column: Int, _ top: Int
  ) {
    guard index < band.planes.count, let start = bytes.baseAddress else { return }
    let (across, down) = index == 0 ? (1, 1) : (chroma.horizontal, chroma.vertical)
    let place = band.planes[index]
    let count = (tiles.tileSize.width + across - 1) / across
    for row in part.lowerBound / down..<(part.upperBound + down - 1) / down {
      let offset = place.offset + row * place.strideBytes
      precondition(offset >= 0 && offset + count * bytesPerSample <= bytes.count, "a band that is not in its bytes")
      planes[index].add(
        start + offset, count: count, x: column * tiles.tileSize.width / across, y: top / down + row,
        bytesPerSample: bytesPerSample, shift: shift)
    }
  }

  /// Passes on the rows that the picture's rows before `y` complete.
  private func pass(until y: Int, _ rowIsComplete: (Int) -> Bool) -> Bool {
    while rowsDone < rowCount, y >= lastRow(for: rowsDone) {
      // Sums of one sample are complete; all others are used by one row only.
      if step > 1 { for plane in planes { plane.completeLastColumn(ofRow: rowsDone) } }
      let wantsMore = rowIsComplete(rowsDone)
      rowsDone += 1
      planes[0].clear(before: rowsDone)
      for plane in planes.indices.dropFirst() {
        let (near, far) = chromaRows(of: rowsDone)
        planes[plane].clear(before: min(near, far))
      }
      if !wantsMore { return false }
    }
    return rowsDone < rowCount
  }

  /// The picture's row after the last one that is needed for a row of the region.
  private func lastRow(for row: Int) -> Int {
    let end = min(rows.upperBound, rows.lowerBound + (row + 1) * step)
    guard interpolation != nil else { return end }
    let (near, far) = chromaRows(of: row)
    return min(decodedEnd, max(end, (planes[1].rows.lowerBound + max(near, far) + 1) * chroma.vertical))
  }

  /// The rows of sums of chroma for a row of the region. The first one counts three times as much as the other.
  private func chromaRows(of row: Int) -> (near: Int, far: Int) {
    guard interpolation != nil else { return (row, row) }
    let rowInPicture = rows.lowerBound + row
    let near = rowInPicture / chroma.vertical - planes[1].rows.lowerBound
    guard chroma.vertical == 2 else { return (near, near) }
    let far = rowInPicture % 2 == 0 ? near - 1 : near + 1
    return (near, min(max(far, 0), planes[1].rows.count - 1))
  }

  /// A row of the region in a plane of chroma: a value for each pixel, and the weight of these values.
  func chroma(_ plane: Int, ofRow row: Int) -> (values: UnsafePointer<UInt16>, weight: Int) {
    let sums = planes[plane]
    let (near, far) = chromaRows(of: row)
    guard let interpolation else { return (UnsafePointer(sums.sums(near)), sums.weight(ofRow: near)) }
    let values = interpolation.row(plane - 1, sums.sums(near), sums.sums(far))
    return (values + (columns.lowerBound - 2 * sums.columns.lowerBound), ChromaInterpolation.weight)
  }
}
