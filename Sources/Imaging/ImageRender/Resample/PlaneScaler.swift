import CPhotodKernels
import ImageCodec

/// Both passes of the integer kernels over one plane. Output rows are made in bands of sixteen, because the horizontal
/// pass is several times faster when each lane of a vector belongs to a different row.
final class PlaneScaler {
  static let bandRows = Int(PHOTOD_BAND_ROWS)

  private let rows: VerticalPass
  private let columns: ResampleAxis
  private let pairStarts: [Int32]
  /// Two Q14 taps in each entry, the first in the low half.
  private let pairWeights: [Int32]
  private let pairsPerSample: Int
  /// Pairs of samples in an input row, in whole steps of the kernel.
  private let pairCount: Int
  /// Rows of Q6 samples between the passes, row r at `r * pairCount * 2`.
  private let middle: RowBuffer<Int16>
  private let band: RowBuffer<Int32>
  private var bandHeight = 0

  init(layout: PlaneLayout, axes: PlaneAxes) {
    columns = axes.horizontal
    rows = VerticalPass(
      axis: axes.vertical, sampleCount: layout.size.width, rowBytes: layout.rowBytes, rowsAtOnce: layout.rowsPerGroup)
    (pairStarts, pairWeights, pairsPerSample) = columns.pairedWeights
    pairCount = Self.pairCount(layout.size.width)
    middle = RowBuffer(count: Self.bandRows * pairCount * 2, zero: 0)
    // After a row's end the weights are zero, but the samples that they multiply must be readable.
    band = RowBuffer(count: (pairCount + pairsPerSample) * Self.bandRows, zero: 0)
  }

  private static func pairCount(_ width: Int) -> Int {
    let step = Int(PHOTOD_BAND_PAIRS)
    return ((width + 1) / 2 + step - 1) / step * step
  }

  /// Maximum memory of a scaler; `rowsAtOnce` as in ``VerticalPass``.
  static func byteCount(_ axes: PlaneAxes, rowBytes: Int, rowsAtOnce: Int) -> Int {
    let pairs = pairCount(axes.horizontal.inputLength)
    return RowRing.byteCount(rowBytes: rowBytes, capacity: VerticalPass.rowCount(axes.vertical, rowsAtOnce))
      + bandRows * 4 * (2 * pairs + axes.horizontal.taps)
  }

  /// The buffer for input row `y`.
  func space(forRow y: Int) -> UnsafeMutablePointer<UInt8> {
    rows.space(forRow: y).assumingMemoryBound(to: UInt8.self)
  }

  /// Whether every output row has been fetched.
  var isFinished: Bool { rows.isFinished && bandHeight == 0 }

  /// Starts as many output rows as the input rows up to `y` allow. Returns how many rows to fetch: a whole band, or the
  /// remaining rows at the end; 0 if more input is needed first.
  func fillBand(ofRowsUpTo y: Int) -> Int {
    while bandHeight < Self.bandRows, rows.canMakeRow(ofRowsUpTo: y) {
      rows.makeRow(into: middle.pointer + bandHeight * pairCount * 2)
      bandHeight += 1
    }
    return bandHeight == Self.bandRows || rows.isFinished ? bandHeight : 0
  }

  /// Finishes the band and writes row i to `output[i]`.
  func fetchBand(into output: UnsafePointer<UnsafeMutablePointer<UInt8>?>) {
    photod_band_u8(middle.pointer, pairCount * 2, pairCount, band.pointer)
    photod_band_horizontal_u8(
      band.pointer, pairStarts, pairWeights, Int32(pairsPerSample), output, Int32(bandHeight), columns.outputLength)
    bandHeight = 0
  }
}
