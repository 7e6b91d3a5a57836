import ImageCodec
import PhotoModel

/// Decodes the region of a JPEG XL picture at a reduced size. The worker averages pixels and sends only the region,
/// each channel in a plane of its own.
final class JXLRowDecoder: WorkerRowDecoder {
  /// - Parameters:
  ///   - eighths: the scale: 1, 2, 4 or 8.
  ///   - region: in reduced pixels.
  init(
    _ picture: JXLPicture, eighths: Int, region: PixelRect, workers: any CodedPictureDecoder,
    source: any ByteSource, stop: StopFlag
  ) {
    let step = 8 / eighths
    let size = picture.header.size
    let layout = RowLayout(
      imageSize: PixelSize(width: (size.width + step - 1) / step, height: (size.height + step - 1) / step),
      firstColumn: region.x, width: region.width, channels: picture.channels,
      bitsPerChannel: picture.header.isDeep ? 16 : 8)
    super.init(
      .jxl(picture, step: step, region: region), layout: layout, region: region, workers: workers, source: source,
      stop: stop)
  }

  /// Puts the samples of a row's planes beside each other.
  override func place(
    _ row: Int, of band: DecodedBand, _ bytes: UnsafeRawBufferPointer, in space: UnsafeMutableRawPointer
  ) {
    precondition(band.planes.count == layout.channels, "a band with other planes")
    let byteCount = region.width * layout.bitsPerChannel / 8
    for (channel, plane) in band.planes.enumerated() {
      let from = start(ofRow: row, plane, bytes, byteCount: byteCount)
      if layout.bitsPerChannel == 16 {
        interleave(channel, from, in: space, as: UInt16.self)
      } else {
        interleave(channel, from, in: space, as: UInt8.self)
      }
    }
  }

  /// Copies one plane's samples to their places: pixel x at `x * channels + channel`.
  @inline(__always)
  private func interleave<Sample>(
    _ channel: Int, _ row: UnsafeRawPointer, in space: UnsafeMutableRawPointer, as _: Sample.Type
  ) {
    let from = row.assumingMemoryBound(to: Sample.self)
    let to = space.assumingMemoryBound(to: Sample.self) + channel
    let channels = layout.channels
    for x in 0..<region.width { to[x * channels] = from[x] }
  }
}
