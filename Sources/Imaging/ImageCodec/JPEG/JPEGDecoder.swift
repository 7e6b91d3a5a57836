import CPhotodJPEG
import MediaMetadata
import PhotoModel

/// Implements ``RowDecoder`` with libjpeg-turbo: scaled in the DCT, cropped to whole MCUs, one row at a time.
package final class JPEGDecoder: RowDecoder {
  /// Options of a JPEG decode.
  package struct Options: Sendable, Hashable {
    /// The DCT scale in eighths: 1, 2, 4 or 8.
    var eighths: Int
    /// The wanted region, in pixels of the scaled picture; `nil` for all of it.
    var region: PixelRect?
    /// Decode only a progressive file's DC coefficients, and read no further.
    var firstScanOnly: Bool

    package init(eighths: Int, region: PixelRect? = nil, firstScanOnly: Bool = false) {
      self.eighths = eighths
      self.region = region
      self.firstScanOnly = firstScanOnly
    }
  }

  private let session: JPEGSession
  private let options: Options
  private var nextRow = 0
  private var rowLimit = 0
  package private(set) var layout: RowLayout

  /// Reads the header and prepares for the first row. Blocks while the source is read; a source that may have to wait
  /// for data must already have its header.
  ///
  /// - Parameters:
  ///   - range: the part of the source that is the JPEG; all of it by default.
  ///   - size: the size in the header that the caller planned with; a different size means that the file has changed
  ///     since.
  package init(
    source: any ByteSource, range: ByteRange? = nil, size: PixelSize, options: Options, limits: CodecLimits,
    stop: StopFlag
  ) throws(CodecError) {
    session = try JPEGSession(
      source: source, range: range, size: size, firstScanOnly: options.firstScanOnly, limits: limits, stop: stop)
    self.options = options
    layout = RowLayout(
      imageSize: PixelSize(width: 0, height: 0), firstColumn: 0, width: 0, channels: 3, bitsPerChannel: 8)
    try prepare()
  }

  package var isTruncated: Bool { session.isTruncated }
  package var readTime: Duration { session.cursor.readTime }
  package var warnings: CodecWarnings? { session.warnings }

  package func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    guard try session.start() else { return .needsInput }
    while nextRow < rowLimit {
      if session.cursor.isStopped { throw .stopped }
      let space = consumer.space(forRow: nextRow)
      var decoded: UInt32 = 0
      let row = space.assumingMemoryBound(to: UInt8.self)
      let status = photod_jpeg_read_rows(session.handle, row, layout.rowBytes, 1, &decoded)
      if status == PHOTOD_JPEG_NEEDS_INPUT { return .needsInput }
      try session.check(status)
      let isWanted = consumer.rowArrived(nextRow)
      nextRow += 1
      if !isWanted { break }
    }
    return .finished
  }

  /// Sets the output options. A partial decode is also started here, because its region is known only then.
  private func prepare() throws(CodecError) {
    let output = try session.prepare(
      photod_jpeg_decode_options(
        scale: Int32(options.eighths), first_scan_only: options.firstScanOnly, planar: false))
    let size = PixelSize(width: Int(output.width), height: Int(output.height))
    layout = RowLayout(
      imageSize: size, firstColumn: 0, width: size.width, channels: Int(output.components), bitsPerChannel: 8)
    layout.isCMYK = output.components == 4
    rowLimit = size.height
    if let region = options.region {
      rowLimit = min(size.height, region.y + region.height)
      if !session.cursor.canReturnNotYet && !options.firstScanOnly { try skipWhatIsNotShown(region) }
    }
  }

  /// Margin of pixels that are decoded around a region, so that the pixels inside equal those of a full decode: libjpeg
  /// makes each pixel of enlarged chroma from the two nearest samples in each direction, and treats skipped samples as
  /// the edge of the picture.
  private static let margin = 2

  /// Makes libjpeg-turbo decode only the MCU columns and rows around the region. That is impossible while input may be
  /// missing.
  private func skipWhatIsNotShown(_ region: PixelRect) throws(CodecError) {
    let left = max(0, region.x - Self.margin)
    let right = min(layout.imageSize.width, region.x + region.width + Self.margin)
    let top = max(0, region.y - Self.margin)
    if left > 0 || right < layout.imageSize.width {
      _ = try session.start()
      var x = UInt32(left)
      var width = UInt32(right - left)
      try session.check(photod_jpeg_crop(session.handle, &x, &width))
      layout.firstColumn = Int(x)
      layout.width = Int(width)
    }
    if top > 0 {
      _ = try session.start()
      try session.check(photod_jpeg_skip_rows(session.handle, UInt32(top)))
      nextRow = top
    }
  }
}
