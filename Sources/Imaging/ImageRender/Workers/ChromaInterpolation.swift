import CPhotodKernels

/// Rows of chroma at full size, from planes in which two columns of pixels share a sample. Samples lie between their
/// pixels, as in JPEG files and as libheif and libavif assume; which of the places of ITU-T H.273 §8.7 an encoder meant
/// is rarely stated.
final class ChromaInterpolation {
  /// The factor of the values.
  static let weight = 16

  private let width: Int
  private let between: RowBuffer<UInt16>
  private let rows: [RowBuffer<UInt16>]

  /// - Parameter width: samples in a row of chroma.
  init(width: Int) {
    self.width = width
    between = RowBuffer(count: width + 2, zero: 0)
    rows = (0..<2).map { _ in RowBuffer(count: 2 * width, zero: 0) }
  }

  /// Two values for each sample of a row, valid until the next call for the same plane.
  ///
  /// - Parameters:
  ///   - plane: 0 or 1.
  ///   - near: the samples of the row of chroma that contains the row of pixels.
  ///   - far: the samples of the neighbouring row of chroma on the other side of the row of pixels.
  func row(
    _ plane: Int, _ near: UnsafePointer<UInt16>, _ far: UnsafePointer<UInt16>
  ) -> UnsafePointer<UInt16> {
    photod_interpolate_chroma(near, far, width, between.pointer, rows[plane].pointer)
    return UnsafePointer(rows[plane].pointer)
  }
}
