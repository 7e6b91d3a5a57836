import CPhotodPNG
import MediaMetadata
import PhotoModel

/// Implements ``RowDecoder`` with CPhotodPNG: libpng, bypassed for the pixels of pictures that are stored in delivery
/// order. Rows above a region must be inflated, but are not delivered.
package final class PNGDecoder: RowDecoder {
  /// The context of libpng's callbacks: the cursor, and the consumer of the rows.
  private final class Context {
    let cursor: SourceCursor
    var consumer: (any RowConsumer)?
    var rowBytes = 0
    /// Number of delivered rows.
    var delivered = 0
    /// Whether the consumer wanted no more rows.
    var isStopped = false
    /// The rows to deliver.
    var rows = 0..<Int.max

    init(cursor: SourceCursor) { self.cursor = cursor }

    /// Returns true to continue.
    func rowArrived(_ y: Int, _ row: UnsafePointer<UInt8>) -> Bool {
      guard let consumer, y >= rows.lowerBound else { return true }
      consumer.space(forRow: y).copyMemory(from: row, byteCount: rowBytes)
      delivered += 1
      isStopped = !consumer.rowArrived(y)
      return !isStopped && y + 1 < rows.upperBound
    }
  }

  private let handle: OpaquePointer
  private let context: Context
  package let layout: RowLayout
  package let isTruncated = false

  /// Reads the header. Blocks while the source is read.
  ///
  /// - Parameters:
  ///   - size: the size in the header that the caller planned with; a different size means that the file has changed
  ///     since.
  ///   - rows: the wanted rows; `nil` for all.
  package init(
    source: any ByteSource, size: PixelSize, rows: Range<Int>? = nil, limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    let context = Context(cursor: SourceCursor(source: source, range: nil, stop: stop))
    let callbacks = photod_png_source(
      fill: { context, into, capacity in
        Unmanaged<Context>.fromOpaque(context!).takeUnretainedValue().cursor.fill(into!, capacity)
      },
      should_stop: { context in
        Unmanaged<Context>.fromOpaque(context!).takeUnretainedValue().cursor.isStopped ? 1 : 0
      },
      row: { context, y, row in
        Unmanaged<Context>.fromOpaque(context!).takeUnretainedValue().rowArrived(Int(y), row!) ? 0 : 1
      },
      // Unretained: this object owns both the context and the handle that calls it.
      context: Unmanaged.passUnretained(context).toOpaque())
    guard let handle = photod_png_decoder_create(callbacks, limits.profileBytes) else { throw .outOfMemory }
    var header = photod_png_header()
    let status = photod_png_read_header(handle, &header)
    guard status == PHOTOD_PNG_OK else {
      let error = Self.error(status, handle, context.cursor)
      photod_png_decoder_destroy(handle)
      throw error
    }
    guard PixelSize(width: Int(header.width), height: Int(header.height)) == size else {
      photod_png_decoder_destroy(handle)
      throw .malformed("a size that differs from the header's", offset: nil)
    }
    self.handle = handle
    self.context = context
    context.rowBytes = header.row_bytes
    context.rows = (rows ?? 0..<size.height).clamped(to: 0..<size.height)
    layout = RowLayout(
      imageSize: PixelSize(width: Int(header.width), height: Int(header.height)), firstColumn: 0,
      width: Int(header.width), channels: Int(header.channels), bitsPerChannel: Int(header.bits_per_channel))
  }

  deinit { photod_png_decoder_destroy(handle) }

  package var readTime: Duration { context.cursor.readTime }

  package var warnings: CodecWarnings? {
    var report = photod_png_report()
    photod_png_decoder_report(handle, &report)
    return CodecWarnings(library: "libpng", count: report.warnings, first: Self.message(report))
  }

  package func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    context.consumer = consumer
    defer { context.consumer = nil }
    let status = photod_png_decode(handle)
    switch status {
    case PHOTOD_PNG_OK:
      // An IEND may come before the pixels are complete. A consumer that stops early has everything that it wanted.
      if context.delivered < context.rows.count && !context.isStopped {
        throw .truncated(offset: context.cursor.position)
      }
      return .finished
    default: throw Self.error(status, handle, context.cursor)
    }
  }

  private static func error(_ status: photod_png_status, _ handle: OpaquePointer, _ cursor: SourceCursor) -> CodecError
  {
    switch status {
    case PHOTOD_PNG_STOPPED: return .stopped
    case PHOTOD_PNG_NO_MEMORY: return .outOfMemory
    case PHOTOD_PNG_TRUNCATED: return .truncated(offset: cursor.position)
    default:
      var report = photod_png_report()
      photod_png_decoder_report(handle, &report)
      if report.read_failed { return .readFailed(code: cursor.failure ?? 0) }
      return .malformed(message(report), offset: cursor.position)
    }
  }

  private static func message(_ report: photod_png_report) -> String {
    withUnsafeBytes(of: report.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
