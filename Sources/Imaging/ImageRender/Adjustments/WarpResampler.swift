import CPhotodKernels
import ImageCodec
import PhotoModel

/// Makes the rows of a warped picture from the rows of an upright rectangle. Keeps only the input rows that later
/// output rows need. Samples by Catmull-Rom splines (Keys, "Cubic convolution interpolation for digital image
/// processing", 1981, with a = -1/2); the rectangle already has the output's scale.
final class WarpResampler {
  private let map: Homography
  private let channels: Int
  private let input: PixelSize
  private let output: PixelSize
  /// The last input row that each output row needs, or one before it needs.
  private let lastRows: [Int]
  private let ring: RowRing
  private let capacity: Int
  private var rowsArrived = 0
  private var rowsDone = 0

  init(_ map: Homography, from input: PixelSize, to output: PixelSize, channels: Int) {
    self.map = map
    self.input = input
    self.output = output
    self.channels = channels
    let needed = Self.neededRows(map, from: input, to: output)
    lastRows = needed.lastRows
    capacity = needed.capacity
    ring = RowRing(
      rowBytes: input.width * channels, capacity: capacity, slackBytes: Int(PHOTOD_KERNEL_SLACK))
  }

  static func byteCount(_ map: Homography, from input: PixelSize, to output: PixelSize, channels: Int) -> Int {
    RowRing.byteCount(
      rowBytes: input.width * channels, capacity: neededRows(map, from: input, to: output).capacity)
      + output.height * 32 + output.width * channels
  }

  /// Along a row, a projective map moves in one direction, so the row's ends decide.
  private static func neededRows(
    _ map: Homography, from input: PixelSize, to output: PixelSize
  ) -> (lastRows: [Int], capacity: Int) {
    var (first, last): ([Int], [Int]) = ([], [])
    for y in 0..<output.height {
      let c = map.row(y, of: output, scaledTo: input)
      let end = Double(output.width - 1)
      let (one, other) = (c[3] / c[5], (c[2] * end + c[3]) / (c[4] * end + c[5]))
      func row(_ at: Double, _ reach: Int) -> Int {
        // Clamped before the conversion, which traps for numbers that are not a row. `max(-2, .nan)` is -2.
        let near = min(Double(input.height), max(-2, at - 0.5))
        return min(max(Int(near.rounded(.down)) + reach, 0), input.height - 1)
      }
      first.append(row(min(one, other), -1))
      last.append(max(row(max(one, other), 2), last.last ?? 0))
    }
    // A row must be kept until the last output row that needs it.
    var (needed, capacity) = (input.height - 1, 1)
    for y in (0..<output.height).reversed() {
      needed = min(needed, first[y])
      capacity = max(capacity, last[y] - needed + 1)
    }
    return (last, min(capacity, input.height))
  }

  /// Takes the next input row, and passes on the output rows that it completes.
  func take(
    _ row: UnsafeRawPointer, _ space: UnsafeMutablePointer<UInt8>, _ emit: () throws(CodecError) -> Void
  ) throws(CodecError) {
    ring.row(rowsArrived).copyMemory(from: row, byteCount: input.width * channels)
    rowsArrived += 1
    while rowsDone < output.height, lastRows[rowsDone] < rowsArrived { try makeNext(space, emit) }
  }

  private func makeNext(
    _ space: UnsafeMutablePointer<UInt8>, _ emit: () throws(CodecError) -> Void
  ) throws(CodecError) {
    let first = max(0, rowsArrived - capacity)
    let count = rowsArrived - first
    let coefficients = map.row(rowsDone, of: output, scaledTo: input)
    withUnsafeTemporaryAllocation(of: UnsafePointer<UInt8>?.self, capacity: count) { rows in
      for k in 0..<count {
        rows.initializeElement(at: k, to: UnsafePointer(ring.row(first + k).assumingMemoryBound(to: UInt8.self)))
      }
      photod_warp_u8(
        rows.baseAddress, Int32(first), Int32(count), Int32(input.width), Int32(input.height), Int32(channels),
        coefficients,
        Self.weights, space, output.width)
    }
    rowsDone += 1
    try emit()
  }

  /// Four weights for each phase, which sum to 1.
  private static let weights: [Float] = {
    (0...Int(PHOTOD_WARP_PHASES)).flatMap { phase -> [Float] in
      let t = Double(phase) / Double(PHOTOD_WARP_PHASES)
      let (t2, t3) = (t * t, t * t * t)
      return [
        Float((-t3 + 2 * t2 - t) / 2), Float((3 * t3 - 5 * t2 + 2) / 2), Float((-3 * t3 + 4 * t2 + t) / 2),
        Float((t3 - t2) / 2),
      ]
    }
  }()
}
