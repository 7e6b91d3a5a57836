import PhotoModel

/// How a finished JPEG becomes a JPEG XL with the same coefficients: without a decode, and without a loss.
///
/// Measured with libjxl 0.7.0 on photographs: 10 to 19% fewer bytes for 50 ms a megapixel. Encoding the pixels of the
/// same photographs takes 75 ms a megapixel after a decode, and gives still fewer bytes up to a quality of about 95.
package struct JPEGTranscoding: Sendable, Hashable {
  package let size: PixelSize
  /// The part of the source that is the JPEG.
  package let file: ByteRange

  /// From this quality on, a transcoded JPEG is smaller than its pixels encoded as JPEG XL.
  package static let smallerFromQuality = 96

  package init(size: PixelSize, file: ByteRange) {
    self.size = size
    self.file = file
  }

  /// Whether the JPEG XL contains the data to reconstruct the JPEG. They take about 400 bytes, too many for a small
  /// picture.
  package var keepsReconstruction: Bool { file.length >= 32 << 10 }

  /// libjxl's effort; a higher one saves no bytes.
  package var effort: Int { 3 }

  /// Bytes that the worker may allocate. Measured with libjxl 0.7.0 as the lowest `RLIMIT_DATA` that is enough, and
  /// rounded up: 53 bytes a pixel for photographs of 2 to 24 megapixels and for noise of quality 100, in every
  /// subsampling, and 55 for a progressive 4:2:2. Resident memory is about half of it.
  package var workerBytes: Int {
    (24 << 20) + (size.width + 64) * (size.height + 64) * 58 + file.length + maximumBytes
  }

  /// The longest JPEG XL that is accepted: more than libjxl makes of any JPEG.
  package var maximumBytes: Int { (64 << 10) + file.length * 2 }

  /// Memory of a transcoding: the worker, its coded data and the finished file, and two copies of a JPEG in memory.
  package var peakBytes: Int { workerBytes + 2 * maximumBytes + 2 * file.length }
}
