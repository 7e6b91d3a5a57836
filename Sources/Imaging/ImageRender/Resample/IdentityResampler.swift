import ImageCodec

/// Passes rows on without resampling: an 8-bit picture, or a part of it, at its own size.
final class IdentityResampler: RowResampler {
  private let layout: RowLayout
  private let columns: Range<Int>
  private let rows: Range<Int>
  private let writer: RowWriter
  private let row: RowBuffer<UInt8>
  let resizeTime = Duration.zero

  /// - Parameters:
  ///   - columns: the shown columns of the picture.
  ///   - rows: the shown rows.
  init(layout: RowLayout, columns: Range<Int>, rows: Range<Int>, writer: RowWriter) {
    self.layout = layout
    self.columns = columns
    self.rows = rows
    self.writer = writer
    row = RowBuffer(count: layout.rowBytes, zero: 0)
  }

  func space(forRow y: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(row.pointer) }

  func rowArrived(_ y: Int) -> Bool {
    guard y >= rows.lowerBound else { return true }
    let start = (columns.lowerBound - layout.firstColumn) * layout.channels
    writer.rowSpace.copyMemory(from: row.pointer + start, byteCount: columns.count * layout.channels)
    return writer.rowArrived() && y + 1 < rows.upperBound
  }
}
