import CPhotodJPEG
import MediaMetadata
import PhotoModel

/// libjpeg-turbo behind ``RowEncoder``: baseline JPEG, gray or 4:2:0 colour.
package final class JPEGEncoder: RowEncoder {
  /// What is taken where a request names no quality.
  package static let defaultQuality = 82

  /// How many pixels a sample of chroma stands for, each way. Above 90 somebody wants every edge of the colours.
  package static func chromaStep(quality: Int) -> Int { quality <= 90 ? 2 : 1 }

  /// What an encoder takes at its height: its rows, and the file. `profileBytes` are those of the profile that it carries.
  package static func peakBytes(_ size: PixelSize, channels: Int, quality: Int, profileBytes: Int) -> Int {
    let (expected, limit) = fileBytes(size, channels: channels, quality: quality, profileBytes: profileBytes)
    return 72 * 1024 + size.width * 16 * channels + EncodedFile.peakBytes(expected: expected, limit: limit)
  }

  /// How long a file is expected to be, and how long it may be.
  ///
  /// Expected is what a photograph takes at quality 82 and seldom more. The limit is half as much again as pixels of noise
  /// that are black or white take, which is the most that was found: so many bits a sample.
  private static func fileBytes(
    _ size: PixelSize, channels: Int, quality: Int, profileBytes: Int
  ) -> (expected: Int, limit: Int) {
    let bits = noiseBits.first { quality <= $0.quality }?.bits ?? 19
    func padded(_ side: Int, _ step: Int) -> Int { (side + step - 1) / step * step }
    let step = channels == 1 ? 8 : 8 * chromaStep(quality: quality)
    let luma = padded(size.width, step) * padded(size.height, step)
    let samples = channels == 1 ? luma : luma + 2 * luma / (step / 8 * step / 8)
    let head = 4096 + profileBytes + profileBytes / 1024
    return (head + 32 * 1024 + size.pixelCount * 3 / 8, head + samples * bits / 8)
  }

  /// Half as much again as noise takes, up to each quality.
  private static let noiseBits: [(quality: Int, bits: Int)] = [
    (25, 4), (50, 5), (70, 6), (82, 8), (90, 10), (95, 12), (98, 15), (99, 17),
  ]

  private let handle: OpaquePointer
  private let file: EncodedFile

  /// - Parameters:
  ///   - channels: 1 gray or 3 RGB, 8 bits each.
  ///   - quality: 1...100.
  ///   - profile: an ICC profile to carry.
  ///   - isPlanar: the picture comes as planes of YCbCr of their final sizes, by ``writeGroup(_:strideBytes:)``; the two of
  ///     chroma with `chromaStep` pixels to a sample, rounded up.
  ///   - maximumBytes: how long the file may be at most, if that is less than what ``peakBytes`` knows.
  package init(
    size: PixelSize, channels: Int, quality: Int, profile: [UInt8]?, isPlanar: Bool = false,
    maximumBytes: Int = .max
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
    let status = (profile ?? []).withUnsafeBufferPointer { profile in
      photod_jpeg_encoder_start(
        handle,
        photod_jpeg_encode_options(
          width: UInt32(size.width), height: UInt32(size.height), components: Int32(channels), quality: Int32(quality),
          subsample_chroma: Self.chromaStep(quality: quality) == 2, planar: isPlanar, icc_profile: profile.baseAddress,
          icc_profile_length: profile.count))
    }
    try check(status)
  }

  deinit { photod_jpeg_encoder_destroy(handle) }

  package func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) throws(CodecError) {
    try check(photod_jpeg_write_rows(handle, rows.assumingMemoryBound(to: UInt8.self), strideBytes, UInt32(count)))
  }

  /// Takes the next row of MCUs of all three planes: 8 rows of chroma and 8 times `chromaStep` of luma, row i of plane c
  /// at `planes[c] + i * strideBytes[c]`, padded as ``photod_jpeg_write_planes`` says.
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
    if file.isFull { throw file.refusal }
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
