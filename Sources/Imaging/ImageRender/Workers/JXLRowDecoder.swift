import ImageCodec
import MediaMetadata
import PhotoModel

/// Decodes the region of a JPEG XL picture at a reduced size. The worker averages pixels and sends only the region. Used
/// once, by one thread.
final class JXLRowDecoder: RowDecoder {
  let layout: RowLayout
  let isTruncated = false
  let warnings: CodecWarnings? = nil
  let readTime = Duration.zero
  private(set) var workerTime = Duration.zero

  private let request: CodedPictureRequest
  private let region: PixelRect
  private let workers: any CodedPictureDecoder
  private let source: any ByteSource
  private let stop: StopFlag

  /// - Parameters:
  ///   - eighths: the scale: 1, 2, 4 or 8.
  ///   - region: in reduced pixels.
  init(
    _ picture: JXLPicture, eighths: Int, region: PixelRect, workers: any CodedPictureDecoder,
    source: any ByteSource, stop: StopFlag
  ) {
    let step = 8 / eighths
    let size = picture.header.size
    request = .jxl(picture, step: step, region: region)
    layout = RowLayout(
      imageSize: PixelSize(width: (size.width + step - 1) / step, height: (size.height + step - 1) / step),
      firstColumn: region.x, width: region.width, channels: picture.channels,
      bitsPerChannel: picture.header.isDeep ? 16 : 8)
    self.region = region
    self.workers = workers
    self.source = source
    self.stop = stop
  }

  func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    var next = 0
    var wantsMore = true
    var waitBegan = ContinuousClock.now
    defer { workerTime += ContinuousClock.now - waitBegan }
    try workers.decode(request, from: source, isOptional: false, stop: stop) { band, bytes in
      workerTime += ContinuousClock.now - waitBegan
      defer { waitBegan = ContinuousClock.now }
      guard band.planes.count == layout.channels, let start = bytes.baseAddress else { return true }
      for row in 0..<band.rowCount where wantsMore && band.firstRow + row == next {
        interleave(band, row, start, bytes.count, to: consumer.space(forRow: region.y + next))
        wantsMore = consumer.rowArrived(region.y + next)
        next += 1
      }
      return wantsMore
    }
    if wantsMore, next < region.height { throw .malformed("a decoder that left out rows", offset: nil) }
    return .finished
  }

  /// Puts the samples of a row's planes beside each other.
  private func interleave(
    _ band: DecodedBand, _ row: Int, _ start: UnsafeRawPointer, _ byteCount: Int, to space: UnsafeMutableRawPointer
  ) {
    for (channel, plane) in band.planes.enumerated() {
      let offset = plane.offset + row * plane.strideBytes
      precondition(
        offset >= 0 && offset + region.width * layout.bitsPerChannel / 8 <= byteCount, "a band that is not in its bytes"
      )
      if layout.bitsPerChannel == 16 {
        place(channel, start + offset, to: space, as: UInt16.self)
      } else {
        place(channel, start + offset, to: space, as: UInt8.self)
      }
    }
  }

  /// Copies one plane's samples to their places: pixel x at `x * channels + channel`.
  @inline(__always)
  private func place<Sample>(
    _ channel: Int, _ row: UnsafeRawPointer, to space: UnsafeMutableRawPointer, as _: Sample.Type
  ) {
    let from = row.assumingMemoryBound(to: Sample.self)
    let to = space.assumingMemoryBound(to: Sample.self) + channel
    let channels = layout.channels
    for x in 0..<region.width { to[x * channels] = from[x] }
  }
}
