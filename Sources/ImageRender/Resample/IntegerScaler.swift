import CPhotodKernels
import PhotoModel

/// Both passes of the integer kernels over one picture of 8-bit samples, or over one plane of it: rows in, rows out, with
/// a ring of as many rows as the kernel is high.
///
/// Columns first would be the same work; rows first touches neighbouring bytes, which is what vectors like, and leaves
/// the columns to be done for output rows only.
final class IntegerScaler {
  private let horizontal: ResampleAxis
  private let vertical: ResampleAxis
  private let channels: Int
  /// Samples a row that belong to the picture.
  private let sampleCount: Int
  private let starts: [Int32]
  private let horizontalWeights: [Int16]
  private let horizontalTaps: Int
  private let verticalWeights: [Int16]
  private let ring: RowRing
  /// One row between the passes: Q6 samples, and what the columns' kernel may read beyond them.
  private let middle: RowBuffer<Int16>
  private var nextOutput = 0

  /// - Parameters:
  ///   - width: pixels of an input row.
  ///   - firstColumn: the column of the picture that a row's first pixel belongs to.
  ///   - rowBytes: what a row takes where it is put, padding and all.
  ///   - rowsAtOnce: how many rows may arrive before any of them is used.
  init(
    width: Int, channels: Int, firstColumn: Int = 0, rowBytes: Int, rowsAtOnce: Int, horizontal: ResampleAxis,
    vertical: ResampleAxis
  ) {
    self.horizontal = horizontal
    self.vertical = vertical
    self.channels = channels
    sampleCount = width * channels
    starts = horizontal.starts.map { $0 - Int32(firstColumn) }
    (horizontalWeights, horizontalTaps) = horizontal.fixedPointWeights(
      tapsInMultiplesOf: channels == 1 ? Int(PHOTOD_KERNEL_GRAY_TAPS) : 2)
    (verticalWeights, _) = vertical.fixedPointWeights()
    ring = RowRing(
      rowBytes: rowBytes, capacity: Self.rowCount(vertical, rowsAtOnce), slackBytes: Int(PHOTOD_KERNEL_SLACK))
    middle = RowBuffer(count: sampleCount + horizontalTaps * channels + Int(PHOTOD_KERNEL_SLACK), zero: 0)
  }

  /// Rows that a scaler holds.
  static func rowCount(_ vertical: ResampleAxis, _ rowsAtOnce: Int) -> Int { vertical.taps + rowsAtOnce }

  /// Where input row `y` is to be put.
  func space(forRow y: Int) -> UnsafeMutableRawPointer { ring.row(y) }

  var isFinished: Bool { nextOutput == vertical.outputLength }

  /// Whether the next output row can be made of the input rows up to `y`.
  func canMakeRow(ofRowsUpTo y: Int) -> Bool { !isFinished && vertical.lastInput(of: nextOutput) <= y }

  /// Makes the next output row, `horizontal.outputLength * channels` bytes.
  func makeRow(into output: UnsafeMutablePointer<UInt8>) {
    let start = Int(vertical.starts[nextOutput])
    if horizontal.isIdentity && vertical.isIdentity {
      output.update(
        from: ring.row(start).assumingMemoryBound(to: UInt8.self) + Int(starts[0]) * channels,
        count: horizontal.outputLength * channels)
    } else {
      resample(from: start, into: output)
    }
    nextOutput += 1
  }

  private func resample(from start: Int, into output: UnsafeMutablePointer<UInt8>) {
    withUnsafeTemporaryAllocation(of: UnsafePointer<UInt8>?.self, capacity: vertical.taps) { rows in
      for k in 0..<vertical.taps {
        // Beyond the last row weights are zero, but the pointer must be good.
        let row = ring.row(min(start + k, vertical.inputLength - 1))
        rows.initializeElement(at: k, to: UnsafePointer(row.assumingMemoryBound(to: UInt8.self)))
      }
      verticalWeights.withUnsafeBufferPointer { weights in
        photod_vertical_u8(
          rows.baseAddress, weights.baseAddress! + nextOutput * vertical.taps, Int32(vertical.taps), middle.pointer,
          sampleCount)
      }
    }
    photod_horizontal_u8(
      middle.pointer, starts, horizontalWeights, Int32(horizontalTaps), Int32(channels), output,
      horizontal.outputLength)
  }
}
