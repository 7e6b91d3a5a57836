import ImageCodec
import PhotoModel

/// Decodes a WebP picture, or the first frame of an animation, on its canvas, which is transparent around the frame.
final class WebPRowDecoder: WorkerRowDecoder {
  /// The frame's place, in scaled pixels.
  private let frame: PixelRect

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
    let layout = RowLayout(
      imageSize: canvas, firstColumn: region.x, width: region.width, channels: picture.hasAlpha ? 4 : 3,
      bitsPerChannel: 8)
    super.init(
      .webP(picture, size: frame.size), layout: layout, region: region, workers: workers, source: source, stop: stop)
  }

  override func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    let (frameEnd, regionEnd) = (frame.y + frame.height, region.y + region.height)
    guard skip(region.y..<max(region.y, min(frame.y, regionEnd)), consumer), frame.y < regionEnd,
      try deliver(rowsAt: frame.y, count: frame.height, into: consumer)
    else { return .finished }
    _ = skip(max(region.y, min(frameEnd, regionEnd))..<regionEnd, consumer)
    return .finished
  }

  /// Copies the region's part of a row of the frame.
  override func place(
    _ row: Int, of band: DecodedBand, _ bytes: UnsafeRawBufferPointer, in space: UnsafeMutableRawPointer
  ) {
    let from = start(ofRow: row, band.planes[0], bytes, byteCount: frame.width * layout.channels)
    let shown = (region.x..<region.x + region.width).clamped(to: frame.x..<frame.x + frame.width)
    if shown.count < region.width { space.initializeMemory(as: UInt8.self, repeating: 0, count: layout.rowBytes) }
    guard !shown.isEmpty else { return }
    (space + (shown.lowerBound - region.x) * layout.channels).copyMemory(
      from: from + (shown.lowerBound - frame.x) * layout.channels, byteCount: shown.count * layout.channels)
  }

  /// Delivers transparent rows. Returns whether the consumer wants more.
  private func skip(_ rows: Range<Int>, _ consumer: any RowConsumer) -> Bool {
    for y in rows {
      consumer.space(forRow: y).initializeMemory(as: UInt8.self, repeating: 0, count: layout.rowBytes)
      if !consumer.rowArrived(y) { return false }
    }
    return true
  }
}
