import MediaMetadata
import PhotoModel

/// Decodes a page of a TIFF. Strips are decoded row by row, whatever their height, and so are tiles if the region has
/// one column of them. Otherwise the region's pixels of one row of tiles are held. Used once, by one thread.
package final class TIFFDecoder: RowDecoder {
  package let layout: RowLayout

  private let page: TIFFPage
  private let region: PixelRect
  private let source: any ByteSource
  private let limits: CodecLimits
  private let stop: StopFlag
  /// For the parts of the file that are needed before the first row.
  private let cursor: SourceCursor
  private var colors: TIFFColors?
  private var planes: [TIFFPlane] = []
  /// The pixels of a row of tiles in the region, and their rows in the picture.
  private var band: [UInt8] = []
  private var bandRows = 0..<0
  /// The next row to deliver.
  private var nextRow: Int

  /// - Parameter region: the wanted pixels.
  package init(
    _ page: TIFFPage, region: PixelRect, source: any ByteSource, limits: CodecLimits, stop: StopFlag
  ) {
    (self.page, self.region, self.source, self.limits, self.stop) = (page, region, source, limits, stop)
    var layout = RowLayout(
      imageSize: page.size, firstColumn: region.x, width: region.width,
      channels: page.colorChannels + (page.hasAlpha ? 1 : 0), bitsPerChannel: page.bitsPerChannel)
    layout.isCMYK = page.colors == .inks
    self.layout = layout
    cursor = SourceCursor(source: source, range: nil, stop: stop)
    nextRow = region.y
  }

  package var isTruncated: Bool { planes.contains(where: \.isTruncated) }
  package var warnings: CodecWarnings? { .joined(planes.compactMap(\.warnings)) }

  package var readTime: Duration { planes.reduce(cursor.readTime) { $0 + $1.readTime } }

  package func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    try prepare()
    let columns = region.x / page.tileSize.width...(region.x + region.width - 1) / page.tileSize.width
    while nextRow < region.y + region.height {
      if stop.isRaised { throw .stopped }
      if columns.count == 1 {
        try decode(nextRow, column: columns.lowerBound, into: consumer.space(forRow: nextRow))
      } else {
        if !bandRows.contains(nextRow) { try decodeBand(columns) }
        copyRow(to: consumer.space(forRow: nextRow))
      }
      nextRow += 1
      if !consumer.rowArrived(nextRow - 1) { break }
    }
    return .finished
  }

  /// Reads the data that all tiles need.
  private func prepare() throws(CodecError) {
    var (colorMap, jpegTables): ([UInt8], [UInt8]) = ([], [])
    if case .palette(let range) = page.colors {
      colorMap = try cursor.bytes(at: range.offset, count: range.length)
    }
    if let range = page.jpegTables { jpegTables = try cursor.bytes(at: range.offset, count: range.length) }
    for sample in page.planes {
      let stream = try makeStream(jpegTables: jpegTables)
      planes.append(TIFFPlane(page, sample: sample, stream, TIFFTileTable(page, source, stop)))
    }
    colors = TIFFColors(page, colorMap: colorMap)
  }

  private func makeStream(jpegTables: [UInt8]) throws(CodecError) -> any TIFFStream {
    switch page.compression {
    case .none: TIFFStoredStream(source, stop, isReversed: page.isReversed)
    case .packBits: TIFFPackBitsStream(source, stop)
    case .lzw: TIFFLZWStream(source, stop)
    case .deflate: try TIFFDeflateStream(source, stop)
    case .jpeg: TIFFJPEGStream(page, tables: jpegTables, source, limits: limits, stop)
    }
  }

  /// Decodes the region's part of a row in one column of tiles.
  ///
  /// - Parameter y: the row in the picture.
  private func decode(_ y: Int, column: Int, into space: UnsafeMutableRawPointer) throws(CodecError) {
    let (tileRow, row) = y.quotientAndRemainder(dividingBy: page.tileSize.height)
    let (storedRow, part) = row.quotientAndRemainder(dividingBy: page.rowsPerStoredRow)
    for plane in planes { try plane.seek(tile: tileRow * page.columns + column, row: storedRow) }
    let left = column * page.tileSize.width
    let columns = max(0, region.x - left)..<min(page.tileSize.width, region.x + region.width - left)
    colors?.convert(planes, y: part, columns: columns, into: space)
  }

  /// Decodes the row of tiles with the next row.
  private func decodeBand(_ columns: ClosedRange<Int>) throws(CodecError) {
    let end = min((nextRow / page.tileSize.height + 1) * page.tileSize.height, region.y + region.height)
    let (rows, rowBytes) = (nextRow..<end, layout.rowBytes)
    if band.count != rows.count * rowBytes {
      // Free the old band before the new one is allocated.
      band = []
      band = [UInt8](repeating: 0, count: rows.count * rowBytes)
    }
    for column in columns {
      let x = max(region.x, column * page.tileSize.width) - region.x
      for row in rows {
        if stop.isRaised { throw .stopped }
        let start = (row - rows.lowerBound) * rowBytes + x * page.pixelBytes
        try band.withUnsafeMutableBufferPointer { (pixels) throws(CodecError) -> Void in
          guard let first = pixels.baseAddress else { return }
          try decode(row, column: column, into: first + start)
        }
      }
    }
    bandRows = rows
  }

  private func copyRow(to space: UnsafeMutableRawPointer) {
    let start = (nextRow - bandRows.lowerBound) * layout.rowBytes
    let row = UnsafeMutableRawBufferPointer(start: space, count: layout.rowBytes)
    band.withUnsafeBytes {
      row.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + row.count]))
    }
  }
}
