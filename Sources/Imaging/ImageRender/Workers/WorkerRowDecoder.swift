import ImageCodec
import MediaMetadata
import PhotoModel

/// Decodes one region of a picture with a worker, which scales it. Subclasses define the worker's request, and how its
/// rows become rows of the layout. Used once, by one thread.
class WorkerRowDecoder: RowDecoder {
  let layout: RowLayout
  let isTruncated = false
  let warnings: CodecWarnings? = nil
  let readTime = Duration.zero
  private(set) var workerTime = Duration.zero

  /// In scaled pixels.
  let region: PixelRect
  let source: any ByteSource
  private let request: CodedPictureRequest
  private let workers: any CodedPictureDecoder
  private let stop: StopFlag

  /// - Parameters:
  ///   - layout: of the region's rows.
  ///   - region: in scaled pixels.
  init(
    _ request: CodedPictureRequest, layout: RowLayout, region: PixelRect, workers: any CodedPictureDecoder,
    source: any ByteSource, stop: StopFlag
  ) {
    self.request = request
    self.layout = layout
    self.region = region
    self.workers = workers
    self.source = source
    self.stop = stop
  }

  /// Overridden if the worker's rows are not exactly the region's.
  func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    _ = try deliver(rowsAt: region.y, count: region.height, into: consumer)
    return .finished
  }

  /// Copies row `row` of a band, counted from the band's first, into a row of the layout. `bytes` holds the band's
  /// planes. Overridden by every subclass.
  func place(_ row: Int, of band: DecodedBand, _ bytes: UnsafeRawBufferPointer, in space: UnsafeMutableRawPointer) {
    preconditionFailure("a decoder that places no rows")
  }

  /// Decodes, and delivers the worker's rows that lie in the region.
  ///
  /// - Parameters:
  ///   - origin: the picture's row that the worker sends first.
  ///   - count: how many rows the worker sends.
  /// - Returns: whether the consumer wants more rows.
  /// - Throws: `malformed` if the worker leaves out a row.
  final func deliver(rowsAt origin: Int, count: Int, into consumer: any RowConsumer) throws(CodecError) -> Bool {
    let regionEnd = region.y + region.height
    let end = min(origin + count, regionEnd)
    var next = max(origin, region.y)
    var wantsMore = true
    var waitBegan = ContinuousClock.now
    defer { workerTime += ContinuousClock.now - waitBegan }
    try workers.decode(request, from: source, isOptional: false, stop: stop) { band, bytes in
      workerTime += ContinuousClock.now - waitBegan
      defer { waitBegan = ContinuousClock.now }
      for row in 0..<band.rowCount where wantsMore && next < end && origin + band.firstRow + row == next {
        place(row, of: band, bytes, in: consumer.space(forRow: next))
        wantsMore = consumer.rowArrived(next)
        next += 1
      }
      // Rows below the region are not waited for.
      return wantsMore && (next < end || end < regionEnd || origin + count == regionEnd)
    }
    if wantsMore, next < end { throw .malformed("a decoder that left out rows", offset: nil) }
    return wantsMore
  }

  /// The first byte of `byteCount` bytes of a row of a plane.
  final func start(
    ofRow row: Int, _ plane: DecodedBand.Plane, _ bytes: UnsafeRawBufferPointer, byteCount: Int
  ) -> UnsafeRawPointer {
    let offset = plane.offset + row * plane.strideBytes
    guard let start = bytes.baseAddress, offset >= 0, offset + byteCount <= bytes.count else {
      preconditionFailure("a band that is not in its bytes")
    }
    return start + offset
  }
}
