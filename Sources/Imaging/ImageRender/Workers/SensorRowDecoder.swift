import ImageCodec
import MediaMetadata
import PhotoModel

/// Decodes the region of a RAW file's developed picture at a reduced size. The worker develops the whole picture, averages
/// pixels and sends only the region. Used once, by one thread.
final class SensorRowDecoder: RowDecoder {
  let layout: RowLayout
  let isTruncated = false
  let warnings: CodecWarnings? = nil
  let readTime = Duration.zero
  private(set) var workerTime = Duration.zero

  private let sensor: SensorPicture
  private let request: CodedPictureRequest
  private let region: PixelRect
  private let workers: any CodedPictureDecoder
  private let source: any ByteSource
  private let stop: StopFlag

  /// - Parameters:
  ///   - eighths: the scale: 1, 2, 4 or 8.
  ///   - region: in reduced pixels.
  init(
    _ sensor: SensorPicture, eighths: Int, region: PixelRect, workers: any CodedPictureDecoder,
    source: any ByteSource, stop: StopFlag
  ) {
    let step = 8 / eighths
    request = .raw(sensor, step: step, region: region)
    layout = RowLayout(
      imageSize: PixelSize(
        width: (sensor.size.width + step - 1) / step, height: (sensor.size.height + step - 1) / step),
      firstColumn: region.x, width: region.width, channels: 3, bitsPerChannel: 8)
    self.sensor = sensor
    self.region = region
    self.workers = workers
    self.source = source
    self.stop = stop
  }

  func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    try sensor.checkSamples(in: source)
    var next = 0
    var wantsMore = true
    var waitBegan = ContinuousClock.now
    defer { workerTime += ContinuousClock.now - waitBegan }
    try workers.decode(request, from: source, isOptional: false, stop: stop) { band, bytes in
      workerTime += ContinuousClock.now - waitBegan
      defer { waitBegan = ContinuousClock.now }
      guard let plane = band.planes.first, let start = bytes.baseAddress else { return true }
      for row in 0..<band.rowCount where wantsMore && band.firstRow + row == next {
        let offset = plane.offset + row * plane.strideBytes
        precondition(offset >= 0 && offset + layout.rowBytes <= bytes.count, "a band that is not in its bytes")
        consumer.space(forRow: region.y + next).copyMemory(from: start + offset, byteCount: layout.rowBytes)
        wantsMore = consumer.rowArrived(region.y + next)
        next += 1
      }
      return wantsMore
    }
    if wantsMore, next < region.height { throw .malformed("a decoder that left out rows", offset: nil) }
    return .finished
  }
}
