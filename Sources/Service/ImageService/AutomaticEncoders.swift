import ImageCodec
import PhotoModel

/// The encoders that run in processes of their own, for `format=auto`: which are installed, and which pictures are
/// small enough for them.
package struct AutomaticEncoders: Sendable, Hashable {
  private let formats: Set<OutputFormat>
  private let renderBytes: Int

  /// - Parameters:
  ///   - formats: those whose encoders are installed.
  ///   - renderBytes: the memory of all renders together.
  package init(_ formats: Set<OutputFormat>, renderBytes: Int) {
    self.formats = formats
    self.renderBytes = renderBytes
  }

  package func contains(_ format: OutputFormat) -> Bool { formats.contains(format) }

  /// Whether a picture can be rendered in its format, judging by the catalogue. The file may have a decoder that takes
  /// less memory than this assumes: then a render may succeed although this is false.
  package func canRender(_ wanted: ResolvedRequest) -> Bool {
    let format = wanted.request.format
    guard format.needsWorker else { return true }
    let (size, asset) = (wanted.sized.outputSize, wanted.asset)
    guard max(size.width, size.height) <= WorkerEncoding.maximumSide(format) else { return false }
    let encoding = WorkerEncoding(
      format, size: size, channels: asset.hasAlpha ? 4 : 3,
      quality: wanted.request.quality ?? JPEGEncoder.defaultQuality, profileBytes: 0)
    let decoderBytes = asset.unadjustedPixelSize.pixelCount * Self.decoderBytesPerPixel(asset)
    return encoding.peakBytes + decoderBytes + size.pixelCount * Self.rowBytesPerPixel <= renderBytes
  }

  /// The most memory that a decoder needs for each pixel of the original: libjxl with alpha; libde265 and dav1d with a
  /// reference picture; libwebp. A PNG is decoded by rows. An interlaced one is buffered, which the catalogue does not
  /// know: such a render may be refused.
  private static func decoderBytesPerPixel(_ asset: Asset) -> Int {
    switch asset.uniformTypeIdentifier {
    case SourceFormat.jxl.uniformTypeIdentifier: 100
    case SourceFormat.heic.uniformTypeIdentifier, SourceFormat.avif.uniformTypeIdentifier: 20
    case SourceFormat.png.uniformTypeIdentifier: 0
    default: 12
    }
  }

  /// Rows of 16 bits of a turned picture, which are kept until the last one.
  private static let rowBytesPerPixel = 8
}
