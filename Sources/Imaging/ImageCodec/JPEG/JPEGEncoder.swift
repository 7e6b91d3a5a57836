import CPhotodJPEG
import MediaMetadata
import PhotoModel

/// How a JPEG is coded: the same visible quality in each way.
package enum JPEGCoding: Sendable, Hashable {
  /// One scan, with the tables of T.81, as most programs write them. For degraded frames, derivatives and previews.
  case quick
  /// One scan, with Robidoux's table: fewer bytes at no cost. With full colour resolution the tables of T.81 take
  /// fewer, because Robidoux's codes colours as finely as brightness. For final frames of less than 4 megapixels, of a
  /// fast size or from derivatives, and for gain maps.
  case tuned
  /// The same in five scans, which clients show gradually: 4 to 5% fewer bytes, for about three times the time of
  /// encoding, and two bytes of memory a sample. For all other final frames.
  case progressive

  /// Several scans save about a kilobyte for each millisecond of CPU, so a client waits longer for them unless its link
  /// is slower than about 8 Mbit/s. On such a link, a large picture should appear gradually.
  package static let minimumProgressivePixels = 4_000_000

  /// How a final frame of this size is coded.
  package init(finalFrameOf size: PixelSize) {
    self = size.pixelCount >= Self.minimumProgressivePixels ? .progressive : .tuned
  }
}

/// Implements ``RowEncoder`` with libjpeg-turbo: gray or 4:2:0 colour, full colour resolution at high qualities.
package final class JPEGEncoder: RowEncoder {
  /// The quality for requests that specify none.
  package static let defaultQuality = 82

  /// How many pixels one chroma sample covers, in each direction. A quality above 90 means full colour resolution.
  package static func chromaStep(quality: Int) -> Int { quality <= 90 ? 2 : 1 }

  /// Peak memory of an encoder: its rows and the file. `profileBytes` is the size of the embedded profile.
  package static func peakBytes(
    _ size: PixelSize, channels: Int, quality: Int, profileBytes: Int, coding: JPEGCoding
  ) -> Int {
    let (expected, limit) = fileBytes(size, channels: channels, quality: quality, profileBytes: profileBytes)
    // libjpeg pads coefficients to whole MCUs, and gathers the symbols of each scan's tables.
    let coefficients =
      coding == .progressive ? 128 * 1024 + 2 * sampleCount(size, channels: channels, quality: quality) : 0
    return 72 * 1024 + size.width * 16 * channels + coefficients
      + EncodedFile.peakBytes(expected: expected, limit: limit)
  }

  /// The longest file that an encoder writes.
  package static func maximumBytes(_ size: PixelSize, channels: Int, quality: Int, profileBytes: Int) -> Int {
    fileBytes(size, channels: channels, quality: quality, profileBytes: profileBytes).limit
  }

  /// Samples of all components, padded to whole MCUs.
  private static func sampleCount(_ size: PixelSize, channels: Int, quality: Int) -> Int {
    func padded(_ side: Int, _ step: Int) -> Int { (side + step - 1) / step * step }
    let step = channels == 1 ? 8 : 8 * chromaStep(quality: quality)
    let luma = padded(size.width, step) * padded(size.height, step)
    return channels == 1 ? luma : luma + 2 * luma / (step / 8 * step / 8)
  }

  /// The expected length of a file, and its limit.
  ///
  /// The expected length is that of a photograph at quality 82, which is rarely exceeded. The limit is 1.5 times the
  /// length for noise of black and white pixels, the longest that was found, in bits for each sample.
  private static func fileBytes(
    _ size: PixelSize, channels: Int, quality: Int, profileBytes: Int
  ) -> (expected: Int, limit: Int) {
    let bits = noiseBits.first { quality <= $0.quality }?.bits ?? 19
    let samples = sampleCount(size, channels: channels, quality: quality)
    let head = 4096 + profileBytes + profileBytes / 1024
    return (head + 32 * 1024 + size.pixelCount * 3 / 8, head + samples * bits / 8)
  }

  /// 1.5 times the bits that noise takes, for qualities up to each entry's.
  private static let noiseBits: [(quality: Int, bits: Int)] = [
    (25, 4), (50, 5), (70, 6), (82, 8), (90, 10), (95, 12), (98, 15), (99, 17),
  ]

  private let handle: OpaquePointer
  private let file: EncodedFile

  /// - Parameters:
  ///   - channels: 1 gray or 3 RGB, 8 bits each.
  ///   - quality: 1...100: the visible quality that the tables of T.81 give at that number of libjpeg's scale.
  ///   - profile: an ICC profile to embed.
  ///   - isPlanar: the picture arrives as YCbCr planes in their final sizes, through ``writeGroup(_:strideBytes:)``;
  ///     the two chroma planes have `chromaStep` pixels for each sample, rounded up.
  ///   - maximumBytes: maximum length of the file, if that is less than the limit in ``peakBytes``.
  package init(
    size: PixelSize, channels: Int, quality: Int, profile: [UInt8]?, coding: JPEGCoding = .quick,
    isPlanar: Bool = false, maximumBytes: Int = .max
  ) throws(CodecError) {
    let (expected, limit) = Self.fileBytes(
      size, channels: channels, quality: quality, profileBytes: profile?.count ?? 0)
    let file = EncodedFile(expected: expected, limit: min(limit, maximumBytes))
    let sink = photod_jpeg_sink(
      write: { context, bytes, count in
        Unmanaged<EncodedFile>.fromOpaque(context!).takeUnretainedValue()
          .append(UnsafeBufferPointer(start: bytes, count: count))
      },
      // Unretained: this object owns both the file and the handle that calls it.
      context: Unmanaged.passUnretained(file).toOpaque())
    guard let handle = photod_jpeg_encoder_create(sink) else { throw .outOfMemory }
    self.handle = handle
    self.file = file
    let isSubsampled = Self.chromaStep(quality: quality) == 2
    let hasRobidouxTable = coding != .quick && isSubsampled
    let status = (profile ?? []).withUnsafeBufferPointer { profile in
      photod_jpeg_encoder_start(
        handle,
        photod_jpeg_encode_options(
          width: UInt32(size.width), height: UInt32(size.height), components: Int32(channels),
          quality: Int32(hasRobidouxTable ? EncoderQuality.tunedJPEG(quality) : quality),
          subsample_chroma: isSubsampled, robidoux_table: hasRobidouxTable,
          progressive: coding == .progressive, planar: isPlanar, icc_profile: profile.baseAddress,
          icc_profile_length: profile.count))
    }
    try check(status)
  }

  deinit { photod_jpeg_encoder_destroy(handle) }

  package func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) throws(CodecError) {
    try check(photod_jpeg_write_rows(handle, rows.assumingMemoryBound(to: UInt8.self), strideBytes, UInt32(count)))
  }

  /// Takes the next row of MCUs of all three planes: 8 rows of chroma and 8 times `chromaStep` of luma, row i of plane
  /// c at `planes[c] + i * strideBytes[c]`, padded as ``photod_jpeg_write_planes`` requires.
  package func writeGroup(_ planes: [UnsafePointer<UInt8>?], strideBytes: [Int]) throws(CodecError) {
    try check(photod_jpeg_write_planes(handle, planes, strideBytes))
  }

  package func finish() throws(CodecError) -> [UInt8] {
    try check(photod_jpeg_encoder_finish(handle))
    return file.bytes
  }

  package var warnings: CodecWarnings? {
    let report = report
    return CodecWarnings(library: "libjpeg", count: report.count, first: report.message)
  }

  private func check(_ status: photod_jpeg_status) throws(CodecError) {
    if status == PHOTOD_JPEG_OK { return }
    if file.isFull { throw file.limitError }
    if status == PHOTOD_JPEG_NO_MEMORY { throw .outOfMemory }
    throw .encodingFailed(report.message)
  }

  private var report: (count: Int, message: String) {
    var report = photod_jpeg_report()
    photod_jpeg_encoder_report(handle, &report)
    let message = withUnsafeBytes(of: report.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return (report.warnings, message)
  }
}
