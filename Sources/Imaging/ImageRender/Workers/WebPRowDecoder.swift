import ImageCodec
import MediaMetadata
import PhotoModel

/// Decodes a WebP picture, or the first frame of an animation, on its canvas. The worker scales it. Used once, by one
/// thread.
final class WebPRowDecoder: RowDecoder {
  let layout: RowLayout
  let isTruncated = false
  let warnings: CodecWarnings? = nil
  let readTime = Duration.zero
  private(set) var workerTime = Duration.zero

  private let request: CodedPictureRequest
  private let region: PixelRect
  /// The frame's place, in scaled pixels.
  private let frame: PixelRect
  private let workers: any CodedPictureDecoder
  private let source: any ByteSource
  private let stop: StopFlag

  /// - Parameters:
  ///   - eighths: the scale; 8 if the frame does not fill the canvas.
  ///   - region: in scaled pixels.
  init(
    _ picture: WebPPicture, eighths: Int, region: PixelRect, workers: any CodedPictureDecoder,
    source: any ByteSource, stop: StopFlag
  ) {
    precondition(eighths == 8 || picture.fillsCanvas, "only a whole canvas is scaled")
    let canvas = PixelSize(
      width: (picture.canvas.width * eighths + 7) / 8, height: (picture.canvas.height * eighths + 7) / 8)
    frame = picture.fillsCanvas ? PixelRect(canvas) : picture.frame
    request = .webP(picture, size: frame.size)
    layout = RowLayout(
      imageSize: canvas, firstColumn: region.x, width: region.width, channels: picture.hasAlpha ? 4 : 3,
      bitsPerChannel: 8)
    self.region = region
    self.workers = workers
    self.source = source
    self.stop = stop
  }

  func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    var next = region.y
    var wantsMore = skip(&next, to: min(frame.y, region.y + region.height), consumer)
    guard wantsMore else { return .finished }
    var waitBegan = ContinuousClock.now
    defer { workerTime += ContinuousClock.now - waitBegan }
    try workers.decode(request, from: source, isOptional: false, stop: stop) { band, bytes in
      workerTime += ContinuousClock.now - waitBegan
      defer { waitBegan = ContinuousClock.now }
      guard let plane = band.planes.first, let start = bytes.baseAddress else { return true }
      for row in 0..<band.rowCount where wantsMore && frame.y + band.firstRow + row == next {
        let offset = plane.offset + row * plane.strideBytes
        precondition(
          offset >= 0 && offset + frame.width * layout.channels <= bytes.count, "a band that is not in its bytes")
        place(start + offset, in: consumer.space(forRow: next))
        wantsMore = consumer.rowArrived(next)
        next += 1
        if next == region.y + region.height { wantsMore = false }
      }
      return wantsMore
    }
    guard wantsMore else { return .finished }
    guard next >= min(frame.y + frame.height, region.y + region.height) else {
      throw .malformed("a decoder that left out rows", offset: nil)
    }
    _ = skip(&next, to: region.y + region.height, consumer)
    return .finished
  }

  /// Copies the region's part of a row of the frame.
  private func place(_ row: UnsafeRawPointer, in space: UnsafeMutableRawPointer) {
    let shown = (region.x..<region.x + region.width).clamped(to: frame.x..<frame.x + frame.width)
    if shown.count < region.width { space.initializeMemory(as: UInt8.self, repeating: 0, count: layout.rowBytes) }
    guard !shown.isEmpty else { return }
    (space + (shown.lowerBound - region.x) * layout.channels).copyMemory(
      from: row + (shown.lowerBound - frame.x) * layout.channels, byteCount: shown.count * layout.channels)
  }

  /// Delivers transparent rows.
  private func skip(_ next: inout Int, to end: Int, _ consumer: any RowConsumer) -> Bool {
    while next < end {
      consumer.space(forRow: next).initializeMemory(as: UInt8.self, repeating: 0, count: layout.rowBytes)
      next += 1
      if !consumer.rowArrived(next - 1) { return false }
    }
    return true
  }
}
