import CPhotodKernels

/// The vertical pass of the integer kernels over 8-bit samples: a ring of as many input rows as the kernel is high
/// produces rows of Q6 samples, still of the input's width.
///
/// The horizontal pass first would be the same work. The vertical pass first reads neighbouring bytes, which suits
/// vector instructions, and the horizontal pass then runs only for output rows.
final class VerticalPass {
  private let axis: ResampleAxis
  private let sampleCount: Int
  private let weights: [Int16]
  private let ring: RowRing
  private var nextOutput = 0

  /// - Parameters:
  ///   - sampleCount: samples of a row that belong to the picture.
  ///   - rowBytes: bytes of a row buffer, including padding.
  ///   - rowsAtOnce: how many rows may arrive before any of them is used.
  init(axis: ResampleAxis, sampleCount: Int, rowBytes: Int, rowsAtOnce: Int) {
    self.axis = axis
    self.sampleCount = sampleCount
    (weights, _) = axis.fixedPointWeights()
    ring = RowRing(
      rowBytes: rowBytes, capacity: Self.rowCount(axis, rowsAtOnce), slackBytes: Int(PHOTOD_KERNEL_SLACK))
  }

  /// Number of rows in the ring.
  static func rowCount(_ axis: ResampleAxis, _ rowsAtOnce: Int) -> Int { axis.taps + rowsAtOnce }

  /// The buffer for input row `y`.
  func space(forRow y: Int) -> UnsafeMutableRawPointer { ring.row(y) }

  var isFinished: Bool { nextOutput == axis.outputLength }

  /// Whether the next output row can be made from the input rows up to `y`.
  func canMakeRow(ofRowsUpTo y: Int) -> Bool { !isFinished && axis.lastInput(of: nextOutput) <= y }

  /// Makes the next output row, `sampleCount` samples.
  func makeRow(into output: UnsafeMutablePointer<Int16>) {
    let start = Int(axis.starts[nextOutput])
    withUnsafeTemporaryAllocation(of: UnsafePointer<UInt8>?.self, capacity: axis.taps) { rows in
      for k in 0..<axis.taps {
        // After the last row the weights are zero, but the pointer must be valid.
        let row = ring.row(min(start + k, axis.inputLength - 1))
        rows.initializeElement(at: k, to: UnsafePointer(row.assumingMemoryBound(to: UInt8.self)))
      }
      weights.withUnsafeBufferPointer { weights in
        photod_vertical_u8(
          rows.baseAddress, weights.baseAddress! + nextOutput * axis.taps, Int32(axis.taps), output, sampleCount)
      }
    }
    nextOutput += 1
  }
}
