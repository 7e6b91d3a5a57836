import ImageCodec
import PhotoModel

/// Decodes the region of a RAW file's developed picture at a reduced size. The worker develops the whole picture,
/// averages pixels and sends only the region.
final class SensorRowDecoder: WorkerRowDecoder {
  private let sensor: SensorPicture

  /// - Parameters:
  ///   - eighths: the scale: 1, 2, 4 or 8.
  ///   - region: in reduced pixels.
  init(
    _ sensor: SensorPicture, eighths: Int, region: PixelRect, workers: any CodedPictureDecoder,
    source: any ByteSource, stop: StopFlag
  ) {
    self.sensor = sensor
    let step = 8 / eighths
    let layout = RowLayout(
      imageSize: PixelSize(
        width: (sensor.size.width + step - 1) / step, height: (sensor.size.height + step - 1) / step),
      firstColumn: region.x, width: region.width, channels: 3, bitsPerChannel: 8)
    super.init(
      .raw(sensor, step: step, region: region), layout: layout, region: region, workers: workers, source: source,
      stop: stop)
  }

  override func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    try sensor.checkSamples(in: source)
    return try super.decode(into: consumer)
  }

  override func place(
    _ row: Int, of band: DecodedBand, _ bytes: UnsafeRawBufferPointer, in space: UnsafeMutableRawPointer
  ) {
    let from = start(ofRow: row, band.planes[0], bytes, byteCount: layout.rowBytes)
    space.copyMemory(from: from, byteCount: layout.rowBytes)
  }
}
