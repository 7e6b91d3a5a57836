import CPhotodJPEG
import PhotoModel

/// libjpeg-turbo behind ``RowDecoder``: scaled in the DCT, cropped to whole MCUs, a row at a time.
package final class JPEGDecoder: RowDecoder {
  /// How a JPEG is to be decoded.
  package struct Options: Sendable, Hashable {
    /// The DCT scale in eighths: 1, 2, 4 or 8.
    package var eighths: Int
    /// The part that is wanted, in pixels of the scaled picture; `nil` is all of it.
    package var region: PixelRect?
    /// Show the first scan of a progressive file only: its DC coefficients.
    package var firstScanOnly: Bool

    package init(eighths: Int, region: PixelRect? = nil, firstScanOnly: Bool = false) {
      self.eighths = eighths
      self.region = region
      self.firstScanOnly = firstScanOnly
    }
  }

  private let handle: OpaquePointer
  private let cursor: SourceCursor
  private let options: Options
  private let maximumScans: Int
  private var header = photod_jpeg_header()
  private var hasStarted = false
  private var nextRow = 0
  private var rowLimit = 0
  /// A row of CMYK before it is made RGB; empty otherwise.
  private var inks: [UInt8] = []
  package private(set) var layout: RowLayout
  package let profile: [UInt8]?

  /// Reads the header and makes ready for the first row. Blocks for as long as the source does: a source that may wait
  /// is to have its header there.
  ///
  /// - Parameters:
  ///   - range: the part of the source that is the JPEG; all of it by default.
  ///   - size: what the header that the caller planned with said; a file that says otherwise now was changed since.
  ///   - profileParts: where the parts of the ICC profile lie.
  package init(
    source: any ByteSource, range: ByteRange? = nil, size: PixelSize, options: Options, profileParts: [ByteRange] = [],
    limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    let cursor = SourceCursor(source: source, range: range, stop: stop)
    profile = try Self.profile(profileParts, source)
    let callbacks = photod_jpeg_source(
      fill: { context, into, capacity in
        Unmanaged<SourceCursor>.fromOpaque(context!).takeUnretainedValue().fill(into!, capacity)
      },
      should_stop: { context in
        Unmanaged<SourceCursor>.fromOpaque(context!).takeUnretainedValue().isStopped ? 1 : 0
      },
      // Unretained: this object owns both the cursor and the handle that calls it.
      context: Unmanaged.passUnretained(cursor).toOpaque(), may_wait: cursor.mayWait)
    guard let handle = photod_jpeg_decoder_create(callbacks, Int32(limits.jpegScans)) else { throw .outOfMemory }
    self.handle = handle
    self.maximumScans = limits.jpegScans
    self.cursor = cursor
    self.options = options
    layout = RowLayout(
      imageSize: PixelSize(width: 0, height: 0), firstColumn: 0, width: 0, channels: 3, bitsPerChannel: 8)
    try check(photod_jpeg_read_header(handle, &header))
    guard PixelSize(width: Int(header.width), height: Int(header.height)) == size else {
      throw .malformed("a size that its header did not have", offset: nil)
    }
    try prepare()
  }

  deinit { photod_jpeg_decoder_destroy(handle) }

  package var isTruncated: Bool { report.truncated }
  package var readTime: Duration { cursor.readTime }

  package var warning: String? {
    let report = report
    return report.warnings > 0 ? Self.message(report) : nil
  }

  package func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    guard try start() else { return .needsInput }
    while nextRow < rowLimit {
      if cursor.isStopped { throw .stopped }
      let space = consumer.space(forRow: nextRow)
      var decoded: UInt32 = 0
      let status =
        if inks.isEmpty {
          photod_jpeg_read_rows(
            handle, space.assumingMemoryBound(to: UInt8.self), layout.rowBytes, 1, &decoded)
        } else {
          inks.withUnsafeMutableBufferPointer {
            photod_jpeg_read_rows(handle, $0.baseAddress, $0.count, 1, &decoded)
          }
        }
      if status == PHOTOD_JPEG_NEEDS_INPUT { return .needsInput }
      try check(status)
      if !inks.isEmpty { mixInks(into: space.assumingMemoryBound(to: UInt8.self)) }
      let isWanted = consumer.rowArrived(nextRow)
      nextRow += 1
      if !isWanted { break }
    }
    return .finished
  }

  /// Decides what will arrive. What is decoded in part is also started here, for only then is the part known.
  private func prepare() throws(CodecError) {
    var output = photod_jpeg_output()
    let choices = photod_jpeg_decode_options(
      scale: Int32(options.eighths), first_scan_only: options.firstScanOnly)
    try check(photod_jpeg_prepare(handle, choices, &output))
    let size = PixelSize(width: Int(output.width), height: Int(output.height))
    layout = RowLayout(
      imageSize: size, firstColumn: 0, width: size.width, channels: Int(output.components), bitsPerChannel: 8)
    rowLimit = size.height
    if let region = options.region {
      rowLimit = min(size.height, region.y + region.height)
      if !cursor.mayWait && !options.firstScanOnly { try skipWhatIsNotShown(region) }
    }
    if output.components == 4 {
      inks = [UInt8](repeating: 0, count: layout.width * 4)
      layout.channels = 3
    }
  }

  /// False: input lacks.
  private func start() throws(CodecError) -> Bool {
    if hasStarted { return true }
    let status = photod_jpeg_start(handle)
    if status == PHOTOD_JPEG_NEEDS_INPUT { return false }
    try check(status)
    hasStarted = true
    return true
  }

  /// libjpeg-turbo decodes only the MCU columns and rows around the region. It can't while input may lack.
  private func skipWhatIsNotShown(_ region: PixelRect) throws(CodecError) {
    if region.x > 0 || region.x + region.width < layout.imageSize.width {
      _ = try start()
      var x = UInt32(region.x)
      var width = UInt32(min(region.width, layout.imageSize.width - region.x))
      try check(photod_jpeg_crop(handle, &x, &width))
      layout.firstColumn = Int(x)
      layout.width = Int(width)
    }
    if region.y > 0 {
      _ = try start()
      try check(photod_jpeg_skip_rows(handle, UInt32(region.y)))
      nextRow = region.y
    }
  }

  /// CMYK to RGB without a profile: what is left of the light after the ink and the black. Adobe stores the complement.
  private func mixInks(into rgb: UnsafeMutablePointer<UInt8>) {
    let isInverted = header.saw_adobe_marker
    for x in 0..<layout.width {
      let black = isInverted ? Int(inks[x * 4 + 3]) : 255 - Int(inks[x * 4 + 3])
      for channel in 0..<3 {
        let ink = isInverted ? Int(inks[x * 4 + channel]) : 255 - Int(inks[x * 4 + channel])
        rgb[x * 3 + channel] = UInt8((ink * black + 127) / 255)
      }
    }
  }

  private var report: photod_jpeg_report {
    var report = photod_jpeg_report()
    photod_jpeg_decoder_report(handle, &report)
    return report
  }

  private func check(_ status: photod_jpeg_status) throws(CodecError) {
    switch status {
    case PHOTOD_JPEG_OK: return
    case PHOTOD_JPEG_STOPPED: throw .stopped
    case PHOTOD_JPEG_NO_MEMORY: throw .outOfMemory
    case PHOTOD_JPEG_TOO_MANY_SCANS:
      throw .limitExceeded("the number of scans", limit: maximumScans, found: maximumScans + 1)
    case PHOTOD_JPEG_NEEDS_INPUT: throw .malformed("the header is not there yet", offset: cursor.position)
    default:
      let report = report
      if report.read_failed { throw .readFailed(code: cursor.failure ?? 0) }
      throw .malformed(Self.message(report), offset: cursor.position)
    }
  }

  private static func message(_ report: photod_jpeg_report) -> String {
    withUnsafeBytes(of: report.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  private static func profile(_ parts: [ByteRange], _ source: any ByteSource) throws(CodecError) -> [UInt8]? {
    guard !parts.isEmpty else { return nil }
    var profile: [UInt8] = []
    do throws(ByteSourceError) {
      for part in parts { profile += try source.bytes(at: part.offset, count: part.length) }
    } catch {
      switch error {
      case .readFailed(let code): throw .readFailed(code: code)
      }
    }
    return profile
  }
}
