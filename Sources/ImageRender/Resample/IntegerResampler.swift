import ImageCodec

/// Resamples opaque 8-bit pictures that come as interleaved rows: gray, RGB or CMYK.
final class IntegerResampler: ResizingConsumer {
  private let scaler: IntegerScaler
  private let writer: OutputWriter
  private(set) var resizeTime = Duration.zero

  init(layout: RowLayout, horizontal: ResampleAxis, vertical: ResampleAxis, writer: OutputWriter) {
    self.writer = writer
    scaler = IntegerScaler(
      width: layout.width, channels: layout.channels, firstColumn: layout.firstColumn, rowBytes: layout.rowBytes,
      rowsAtOnce: 1, horizontal: horizontal, vertical: vertical)
  }

  func space(forRow y: Int) -> UnsafeMutableRawPointer { scaler.space(forRow: y) }

  func rowArrived(_ y: Int) -> Bool {
    while scaler.canMakeRow(ofRowsUpTo: y) {
      let started = ContinuousClock.now
      scaler.makeRow(into: writer.rowSpace.assumingMemoryBound(to: UInt8.self))
      resizeTime += ContinuousClock.now - started
      if !writer.rowArrived() { return false }
    }
    return !scaler.isFinished
  }
}
