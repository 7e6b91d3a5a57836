import CPhotodKernels
import PhotoModel

/// One plane of a picture that arrives in tiles: sums of boxes, for the rows that are not yet complete.
///
/// Columns and rows of sums count from the region's first.
struct SamplePlane {
  /// Samples of the plane for one sum in each direction: 1, 2, 4 or 8.
  let across: Int
  let down: Int
  /// The first sample and the one after the last, of the whole picture's plane.
  let columns: Range<Int>
  let rows: Range<Int>
  /// Sums in a row.
  let width: Int
  private let ring: RowRing
  private let capacity: Int
  /// Rows before this one have been cleared.
  private var firstRow = 0

  /// - Parameters:
  ///   - columns: the region's columns in luma samples.
  ///   - step: luma samples for one output pixel.
  ///   - subsampling: luma columns and rows for one sample of this plane: 1 or 2.
  ///   - margin: samples on each side of the region that are wanted too.
  ///   - decoded: the columns and rows that are decoded, in luma samples.
  ///   - tileRows: rows of luma that can be pending.
  init(
    columns: Range<Int>, rows: Range<Int>, step: Int, subsampling: (across: Int, down: Int), margin: Int,
    decoded: (columns: Range<Int>, rows: Range<Int>), tileRows: Int
  ) {
    across = max(1, step / subsampling.across)
    down = max(1, step / subsampling.down)
    self.columns = Self.samples(columns, subsampling.across, margin, decoded.columns)
    self.rows = Self.samples(rows, subsampling.down, margin, decoded.rows)
    width = (self.columns.count + across - 1) / across
    capacity = Self.capacity(tileRows: tileRows, step: step)
    ring = RowRing(rowBytes: width * 2, capacity: capacity, slackBytes: 0)
  }

  /// Rows of sums that must be kept, upper estimate.
  static func capacity(tileRows: Int, step: Int) -> Int { (tileRows + step - 1) / step + 3 }

  private static func samples(
    _ range: Range<Int>, _ subsampling: Int, _ margin: Int, _ decoded: Range<Int>
  ) -> Range<Int> {
    func end(_ range: Range<Int>) -> Int { (range.upperBound + subsampling - 1) / subsampling }
    return (range.lowerBound / subsampling - margin..<end(range) + margin)
      .clamped(to: decoded.lowerBound / subsampling..<end(decoded))
  }

  /// The sums of a row.
  func sums(_ row: Int) -> UnsafeMutablePointer<UInt16> {
    ring.row(row).assumingMemoryBound(to: UInt16.self)
  }

  /// Samples that a row of sums contains, in the full columns.
  func weight(ofRow row: Int) -> Int { across * min(down, rows.count - row * down) }

  /// Makes the last column comparable with the others if it has fewer samples. Once for each complete row.
  func completeLastColumn(ofRow row: Int) {
    let rest = columns.count % across
    guard rest > 0 else { return }
    let last = sums(row) + (width - 1)
    last.pointee = UInt16(clamping: (Int(last.pointee) * across + rest / 2) / rest)
  }

  /// Adds a row of samples.
  ///
  /// - Parameters:
  ///   - y: the row in the picture's plane.
  ///   - x: the column of the first sample in the picture's plane.
  ///   - shift: bits to drop; only with 2 bytes a sample.
  func add(
    _ samples: UnsafeRawPointer, count: Int, x: Int, y: Int, bytesPerSample: Int, shift: Int
  ) {
    let shown = columns.clamped(to: x..<x + count)
    guard rows.contains(y), !shown.isEmpty else { return }
    let from = samples + (shown.lowerBound - x) * bytesPerSample
    let place = shown.lowerBound - columns.lowerBound
    let to = sums((y - rows.lowerBound) / down) + place / across
    let phase = Int32(place % across)
    if bytesPerSample == 1 {
      photod_box_add_u8(from.assumingMemoryBound(to: UInt8.self), shown.count, phase, Int32(across), to)
    } else {
      photod_box_add_u16(
        from.assumingMemoryBound(to: UInt16.self), shown.count, phase, Int32(across), Int32(shift), to)
    }
  }

  /// Clears the rows before this one: their places are used again.
  mutating func clear(before row: Int) {
    while firstRow < row {
      sums(firstRow).update(repeating: 0, count: width)
      firstRow += 1
    }
  }
}
