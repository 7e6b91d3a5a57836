import CPhotodJPEG
import MediaMetadata
import PhotoModel

/// One libjpeg-turbo decompressor and its input: the common part of decoding by rows and by planes.
final class JPEGSession {
  let handle: OpaquePointer
  let cursor: SourceCursor
  private(set) var header = photod_jpeg_header()
  private let maximumScans: Int
  private var hasStarted = false

  /// Reads the header, and counts the scans of a file that has several. The parameters are those of ``JPEGDecoder``.
  init(
    source: any ByteSource, range: ByteRange?, size: PixelSize, firstScanOnly: Bool, limits: CodecLimits,
    stop: StopFlag
  ) throws(CodecError) {
    let cursor = SourceCursor(source: source, range: range, stop: stop)
    let callbacks = photod_jpeg_source(
      fill: { context, into, capacity in
        Unmanaged<SourceCursor>.fromOpaque(context!).takeUnretainedValue().fill(into!, capacity)
      },
      should_stop: { context in
        Unmanaged<SourceCursor>.fromOpaque(context!).takeUnretainedValue().isStopped ? 1 : 0
      },
      // Unretained: this object owns both the cursor and the handle that calls it.
      context: Unmanaged.passUnretained(cursor).toOpaque(), may_wait: cursor.canReturnNotYet)
    guard let handle = photod_jpeg_decoder_create(callbacks, Int32(limits.jpegScans)) else { throw .outOfMemory }
    self.handle = handle
    self.cursor = cursor
    maximumScans = limits.jpegScans
    try check(photod_jpeg_read_header(handle, &header))
    // A source that may have to wait can't be read ahead; libjpeg's own scan count stops such a file later.
    if header.multiple_scans && !firstScanOnly && !cursor.canReturnNotYet {
      try JPEGMarkers.checkScanCount(source, range: range, maximumScans: limits.jpegScans, stop: stop)
    }
    guard PixelSize(width: Int(header.width), height: Int(header.height)) == size else {
      throw .malformed("a size that differs from the header's", offset: nil)
    }
  }

  deinit { photod_jpeg_decoder_destroy(handle) }

  var isTruncated: Bool { report.truncated }

  var warnings: CodecWarnings? {
    let report = report
    return CodecWarnings(library: "libjpeg", count: report.warnings, first: Self.message(report))
  }

  /// Sets the output options.
  func prepare(_ options: photod_jpeg_decode_options) throws(CodecError) -> photod_jpeg_output {
    var output = photod_jpeg_output()
    try check(photod_jpeg_prepare(handle, options, &output))
    return output
  }

  /// Reads up to the first row. Returns false if input is missing.
  func start() throws(CodecError) -> Bool {
    if hasStarted { return true }
    let status = photod_jpeg_start(handle)
    if status == PHOTOD_JPEG_NEEDS_INPUT { return false }
    try check(status)
    hasStarted = true
    return true
  }

  func check(_ status: photod_jpeg_status) throws(CodecError) {
    switch status {
    case PHOTOD_JPEG_OK: return
    case PHOTOD_JPEG_STOPPED: throw .stopped
    case PHOTOD_JPEG_NO_MEMORY: throw .outOfMemory
    case PHOTOD_JPEG_TOO_MANY_SCANS:
      throw .limitExceeded("the number of scans", limit: maximumScans, found: maximumScans + 1)
    case PHOTOD_JPEG_NEEDS_INPUT: throw .malformed("the header is incomplete", offset: cursor.position)
    default:
      let report = report
      if report.read_failed { throw .readFailed(code: cursor.failure ?? 0) }
      throw .malformed(Self.message(report), offset: cursor.position)
    }
  }

  private var report: photod_jpeg_report {
    var report = photod_jpeg_report()
    photod_jpeg_decoder_report(handle, &report)
    return report
  }

  private static func message(_ report: photod_jpeg_report) -> String {
    withUnsafeBytes(of: report.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
