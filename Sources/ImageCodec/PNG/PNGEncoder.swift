import CPhotodPNG
import PhotoModel

/// libpng behind ``RowEncoder``: 8 bits a channel, gray to RGBA.
package final class PNGEncoder: RowEncoder {
  /// zlib's own default costs twice the time of 3 for some 4% of the size, measured on photographs of 400 px.
  private static let compressionLevel: Int32 = 3

  private let handle: OpaquePointer

  /// - Parameter channels: 1 gray, 2 gray + alpha, 3 RGB, 4 RGBA; 8 bits each, alpha not premultiplied.
  package init(size: PixelSize, channels: Int, profile: [UInt8]?) throws(CodecError) {
    guard let handle = photod_png_encoder_create() else { throw .outOfMemory }
    self.handle = handle
    let status = (profile ?? []).withUnsafeBufferPointer { profile in
      photod_png_encoder_start(
        handle,
        photod_png_encode_options(
          width: UInt32(size.width), height: UInt32(size.height), channels: Int32(channels),
          compression_level: Self.compressionLevel, icc_profile: profile.baseAddress,
          icc_profile_length: profile.count))
    }
    try check(status)
  }

  deinit { photod_png_encoder_destroy(handle) }

  package func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) throws(CodecError) {
    try check(photod_png_write_rows(handle, rows.assumingMemoryBound(to: UInt8.self), strideBytes, UInt32(count)))
  }

  package func finish() throws(CodecError) -> [UInt8] {
    var bytes: UnsafePointer<UInt8>?
    var length = 0
    try check(photod_png_encoder_finish(handle, &bytes, &length))
    return Array(UnsafeBufferPointer(start: bytes, count: length))
  }

  package var warnings: CodecWarnings? {
    let report = report
    return CodecWarnings(library: "libpng", count: report.count, first: report.message)
  }

  private func check(_ status: photod_png_status) throws(CodecError) {
    if status == PHOTOD_PNG_OK { return }
    if status == PHOTOD_PNG_NO_MEMORY { throw .outOfMemory }
    throw .encodingFailed(report.message)
  }

  private var report: (count: Int, message: String) {
    var report = photod_png_report()
    photod_png_encoder_report(handle, &report)
    let message = withUnsafeBytes(of: report.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return (report.warnings, message)
  }
}
