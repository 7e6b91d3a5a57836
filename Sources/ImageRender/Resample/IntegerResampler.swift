import CPhotodKernels
import ImageCodec

/// Resamples opaque 8-bit pictures: gray or RGB. Rows in, rows out, with a ring of as many rows as the kernel is high.
///
/// Columns first would be the same work; rows first touches neighbouring bytes, which is what vectors like, and leaves
/// the columns to be done for output rows only.
final class IntegerResampler: ResizingConsumer {
  private let layout: RowLayout
  private let horizontal: ResampleAxis
  private let vertical: ResampleAxis
  private let writer: OutputWriter
  private let horizontalStarts: [Int32]
  private let horizontalWeights: [Int16]
  private let verticalWeights: [Int16]
  private let ring: RowRing
  /// One row between the passes: Q6 samples, `layout.width * layout.channels` of them and slack.
  private let middle: RowBuffer<Int16>
  private var nextOutput = 0
  private(set) var resizeTime = Duration.zero

  init(layout: RowLayout, horizontal: ResampleAxis, vertical: ResampleAxis, writer: OutputWriter) {
    self.layout = layout
    self.horizontal = horizontal
    self.vertical = vertical
    self.writer = writer
    horizontalStarts = horizontal.starts.map { $0 - Int32(layout.firstColumn) }
    horizontalWeights = horizontal.fixedPointWeights
    verticalWeights = vertical.fixedPointWeights
    ring = RowRing(rowBytes: layout.rowBytes, capacity: vertical.taps + 1, slackBytes: Int(PHOTOD_KERNEL_SLACK))
    middle = RowBuffer(
      count: layout.width * layout.channels + horizontal.taps * layout.channels + Int(PHOTOD_KERNEL_SLACK), zero: 0)
  }

  func space(forRow y: Int) -> UnsafeMutableRawPointer { ring.row(y) }

  func rowArrived(_ y: Int) -> Bool {
    while nextOutput < vertical.outputLength {
      guard vertical.lastInput(of: nextOutput) <= y else { return true }
      let started = ContinuousClock.now
      makeRow(start: Int(vertical.starts[nextOutput]))
      resizeTime += ContinuousClock.now - started
      nextOutput += 1
      if !writer.rowArrived() { return false }
    }
    return false
  }

  private func makeRow(start: Int) {
    withUnsafeTemporaryAllocation(of: UnsafePointer<UInt8>?.self, capacity: vertical.taps) { rows in
      for k in 0..<vertical.taps {
        // Beyond the last row weights are zero, but the pointer must be good.
        let row = ring.row(min(start + k, vertical.inputLength - 1))
        rows.initializeElement(at: k, to: UnsafePointer(row.assumingMemoryBound(to: UInt8.self)))
      }
      verticalWeights.withUnsafeBufferPointer { weights in
        photod_vertical_u8(
          rows.baseAddress, weights.baseAddress! + nextOutput * vertical.taps, Int32(vertical.taps), middle.pointer,
          layout.width * layout.channels)
      }
    }
    photod_horizontal_u8(
      middle.pointer, horizontalStarts, horizontalWeights, Int32(horizontal.taps), Int32(layout.channels),
      writer.rowSpace.assumingMemoryBound(to: UInt8.self), horizontal.outputLength)
  }
}
