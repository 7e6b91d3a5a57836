import MediaMetadata
import PhotoModel

/// Decodes a page of a TIFF. Strips are decoded row by row, whatever their height, and so are tiles if the region has one
/// column of them. Otherwise the region's pixels of one row of tiles are held. Used once, by one thread.
package final class TIFFDecoder: RowDecoder {
  package let layout: RowLayout

  private let page: TIFFPage
  private let region: PixelRect
  private let source: any ByteSource
  private let limits: CodecLimits
  private let stop: StopFlag
  /// Parts of the file that are needed before the first row.
  private var colorMap: SourcePart?
  private var jpegTables: SourcePart?
  private var colors: TIFFColors?
  private var planes: [TIFFPlane] = []
  private var band: Band?
  /// The next row to deliver.
  private var nextRow: Int

  /// The pixels of a row of tiles in the region.
  private struct Band {
    let tileRow: Int
    /// Rows of the picture.
    let rows: Range<Int>
    var pixels: [UInt8]
    /// The next column of tiles to decode, and the next row of it.
    var column: Int
    var row: Int
  }

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
    if case .palette(let range) = page.colors { colorMap = SourcePart(range, of: source, stop) }
    jpegTables = page.jpegTables.map { SourcePart($0, of: source, stop) }
    nextRow = region.y
  }

  package var isTruncated: Bool { planes.contains(where: \.isTruncated) }
  package var warnings: CodecWarnings? { .joined(planes.compactMap(\.warnings)) }

  package var readTime: Duration {
    planes.reduce((colorMap?.readTime ?? .zero) + (jpegTables?.readTime ?? .zero)) { $0 + $1.readTime }
  }

  package func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    guard try prepare() else { return .needsInput }
    let columns = region.x / page.tileSize.width...(region.x + region.width - 1) / page.tileSize.width
    while nextRow < region.y + region.height {
      if stop.isRaised { throw .stopped }
      if columns.count == 1 {
        guard try decode(nextRow, column: columns.lowerBound, into: consumer.space(forRow: nextRow)) else {
          return .needsInput
        }
      } else {
        guard try fillBand(columns) else { return .needsInput }
        copyRow(to: consumer.space(forRow: nextRow))
      }
      nextRow += 1
      if !consumer.rowArrived(nextRow - 1) { break }
    }
    return .finished
  }

  /// Reads the data that all tiles need. Returns false if there is no input for now.
  private func prepare() throws(CodecError) -> Bool {
    if colors != nil { return true }
    if colorMap != nil, try colorMap?.read() != true { return false }
    if jpegTables != nil, try jpegTables?.read() != true { return false }
    for sample in page.planes {
      planes.append(TIFFPlane(page, sample: sample, try makeStream(), TIFFTileTable(page, source, stop)))
    }
    colors = TIFFColors(page, colorMap: colorMap?.bytes ?? [])
    return true
  }

  private func makeStream() throws(CodecError) -> any TIFFStream {
    switch page.compression {
    case .none: TIFFStoredStream(source, stop, isReversed: page.isReversed)
    case .packBits: TIFFPackBitsStream(source, stop)
    case .lzw: TIFFLZWStream(source, stop)
    case .deflate: try TIFFDeflateStream(source, stop)
    case .jpeg: TIFFJPEGStream(page, tables: jpegTables?.bytes ?? [], source, limits: limits, stop)
    }
  }

  /// Decodes the region's part of a row in one column of tiles. Returns false if there is no input for now.
  ///
  /// - Parameter y: the row in the picture.
  private func decode(_ y: Int, column: Int, into space: UnsafeMutableRawPointer) throws(CodecError) -> Bool {
    let (tileRow, row) = y.quotientAndRemainder(dividingBy: page.tileSize.height)
    let (storedRow, part) = row.quotientAndRemainder(dividingBy: page.rowsPerStoredRow)
    for plane in planes {
      guard try plane.seek(tile: tileRow * page.columns + column, row: storedRow) else { return false }
    }
    let left = column * page.tileSize.width
    let columns = max(0, region.x - left)..<min(page.tileSize.width, region.x + region.width - left)
    colors?.convert(planes, y: part, columns: columns, into: space)
    return true
  }

  /// Decodes the row of tiles with the next row, if it is not there. Returns false if there is no input for now.
  private func fillBand(_ columns: ClosedRange<Int>) throws(CodecError) -> Bool {
    let tileRow = nextRow / page.tileSize.height
    // Not held twice while it is filled.
    var current = band ?? Band(tileRow: -1, rows: 0..<0, pixels: [], column: 0, row: 0)
    band = nil
    defer { band = current }
    if current.tileRow != tileRow {
      let end = min((tileRow + 1) * page.tileSize.height, region.y + region.height)
      current.pixels.removeAll(keepingCapacity: true)
      current = Band(
        tileRow: tileRow, rows: nextRow..<end,
        pixels: [UInt8](repeating: 0, count: (end - nextRow) * layout.rowBytes), column: columns.lowerBound,
        row: nextRow)
    }
    while current.column <= columns.upperBound {
      if stop.isRaised { throw .stopped }
      let x = max(region.x, current.column * page.tileSize.width) - region.x
      let start = (current.row - current.rows.lowerBound) * layout.rowBytes + x * page.pixelBytes
      let (row, column) = (current.row, current.column)
      let isDecoded = try current.pixels.withUnsafeMutableBufferPointer { (pixels) throws(CodecError) in
        guard let first = pixels.baseAddress else { return false }
        return try decode(row, column: column, into: first + start)
      }
      guard isDecoded else { return false }
      current.row += 1
      if current.row == current.rows.upperBound {
        (current.column, current.row) = (column + 1, current.rows.lowerBound)
      }
    }
    return true
  }

  private func copyRow(to space: UnsafeMutableRawPointer) {
    guard let band else { return }
    let start = (nextRow - band.rows.lowerBound) * layout.rowBytes
    let row = UnsafeMutableRawBufferPointer(start: space, count: layout.rowBytes)
    band.pixels.withUnsafeBytes {
      row.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + row.count]))
    }
  }
}
