import CPhotodPNG
import MediaMetadata
import PhotoModel

/// Implements ``RowEncoder`` with libpng: 8 or 16 bits a channel, gray to RGBA.
package final class PNGEncoder: RowEncoder {
  /// zlib's default level takes twice the time of level 3 and saves about 4% of the size, measured on photographs of
  /// 400 px.
  private static let compressionLevel: Int32 = 3

  /// Peak memory of an encoder: zlib's window and tables, rows for choosing a filter, and the file.
  package static func peakBytes(_ size: PixelSize, channels: Int, bitsPerChannel: Int = 8, profileBytes: Int) -> Int {
    let pixelBytes = channels * bitsPerChannel / 8
    let (expected, limit) = fileBytes(size, pixelBytes: pixelBytes, profileBytes: profileBytes)
    return 320 * 1024 + size.width * pixelBytes * 8 + EncodedFile.peakBytes(expected: expected, limit: limit)
      // A profile is compressed in one piece.
      + (profileBytes > 0 ? 320 * 1024 + profileBytes : 0)
  }

  /// The expected length of a file, and its limit: incompressible data is stored, plus at most 1/256 for the headers of
  /// blocks and chunks.
  private static func fileBytes(_ size: PixelSize, pixelBytes: Int, profileBytes: Int) -> (expected: Int, limit: Int) {
    let raw = (size.width * pixelBytes + 1) * size.height + profileBytes
    return (32 * 1024 + profileBytes + raw / 2, 4096 + raw + raw / 256)
  }

  private let handle: OpaquePointer
  private let file: EncodedFile

  /// - Parameters:
  ///   - channels: 1 gray, 2 gray + alpha, 3 RGB, 4 RGBA; alpha not premultiplied.
  ///   - bitsPerChannel: 8, or 16 in native byte order.
  ///   - maximumBytes: maximum length of the file, if that is less than the limit in ``peakBytes``.
  package init(
    size: PixelSize, channels: Int, bitsPerChannel: Int = 8, profile: [UInt8]?, maximumBytes: Int = .max
  ) throws(CodecError) {
    let (expected, limit) = Self.fileBytes(
      size, pixelBytes: channels * bitsPerChannel / 8, profileBytes: profile?.count ?? 0)
    let file = EncodedFile(expected: expected, limit: min(limit, maximumBytes))
    let sink = photod_png_sink(
      write: { context, bytes, count in
        Unmanaged<EncodedFile>.fromOpaque(context!).takeUnretainedValue()
          .append(UnsafeBufferPointer(start: bytes, count: count))
      },
      // Unretained: this object owns both the file and the handle that calls it.
      context: Unmanaged.passUnretained(file).toOpaque())
    guard let handle = photod_png_encoder_create(sink) else { throw .outOfMemory }
    self.handle = handle
    self.file = file
    let status = (profile ?? []).withUnsafeBufferPointer { profile in
      photod_png_encoder_start(
        handle,
        photod_png_encode_options(
          width: UInt32(size.width), height: UInt32(size.height), channels: Int32(channels),
          bit_depth: Int32(bitsPerChannel), compression_level: Self.compressionLevel, icc_profile: profile.baseAddress,
          icc_profile_length: profile.count))
    }
    try check(status)
  }

  deinit { photod_png_encoder_destroy(handle) }

  package func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) throws(CodecError) {
    try check(photod_png_write_rows(handle, rows.assumingMemoryBound(to: UInt8.self), strideBytes, UInt32(count)))
  }

  package func finish() throws(CodecError) -> [UInt8] {
    try check(photod_png_encoder_finish(handle))
    return file.bytes
  }

  package var warnings: CodecWarnings? {
    let report = report
    return CodecWarnings(library: "libpng", count: report.count, first: report.message)
  }

  private func check(_ status: photod_png_status) throws(CodecError) {
    if status == PHOTOD_PNG_OK { return }
    if file.isFull { throw file.limitError }
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
