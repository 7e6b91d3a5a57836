import CPhotodKernels
import ImageCodec

/// Resamples opaque 8-bit pictures that arrive as interleaved rows: gray, RGB or CMYK.
final class IntegerResampler: RowResampler {
  private let rows: VerticalPass
  private let columns: ResampleAxis
  private let channels: Int
  private let starts: [Int32]
  private let weights: [Int16]
  private let taps: Int
  /// One row between the passes: Q6 samples, plus the samples that the horizontal kernel may read after them.
  private let middle: RowBuffer<Int16>
  private let writer: RowWriter
  private(set) var resizeTime = Duration.zero

  init(layout: RowLayout, horizontal: ResampleAxis, vertical: ResampleAxis, writer: RowWriter) {
    self.writer = writer
    columns = horizontal
    channels = layout.channels
    starts = horizontal.starts.map { $0 - Int32(layout.firstColumn) }
    (weights, taps) = horizontal.fixedPointWeights(
      tapsInMultiplesOf: layout.channels == 1 ? Int(PHOTOD_KERNEL_GRAY_TAPS) : 2)
    let sampleCount = layout.width * layout.channels
    rows = VerticalPass(axis: vertical, sampleCount: sampleCount, rowBytes: layout.rowBytes, rowsAtOnce: 1)
    middle = RowBuffer(count: sampleCount + taps * layout.channels + Int(PHOTOD_KERNEL_SLACK), zero: 0)
  }

  /// Memory of a resampler of rows with 8 bits a channel, without its axes.
  static func byteCount(_ horizontal: ResampleAxis, _ vertical: ResampleAxis, width: Int, channels: Int) -> Int {
    RowRing.byteCount(rowBytes: width * channels, capacity: VerticalPass.rowCount(vertical, 1))
      + (width + horizontal.taps + Int(PHOTOD_KERNEL_GRAY_TAPS)) * channels * 2
  }

  func space(forRow y: Int) -> UnsafeMutableRawPointer { rows.space(forRow: y) }

  func rowArrived(_ y: Int) -> Bool {
    while rows.canMakeRow(ofRowsUpTo: y) {
      let started = ContinuousClock.now
      rows.makeRow(into: middle.pointer)
      photod_horizontal_u8(
        middle.pointer, starts, weights, Int32(taps), Int32(channels),
        writer.rowSpace.assumingMemoryBound(to: UInt8.self), columns.outputLength)
      resizeTime += ContinuousClock.now - started
      if !writer.rowArrived() { return false }
    }
    return !rows.isFinished
  }
}
