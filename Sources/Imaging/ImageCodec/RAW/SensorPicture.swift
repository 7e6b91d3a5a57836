import PhotoModel

/// The sensor data of a RAW file, from which a worker develops the picture. The worker gets the whole file.
package struct SensorPicture: Sendable, Hashable {
  /// The size of the developed picture, as stored.
  package let size: PixelSize
  let fileBytes: Int
  /// Whether every pixel has all colours, as in a linear DNG. Then nothing is saved by developing at half the size.
  package let isLinear: Bool

  package var file: ByteRange { ByteRange(offset: 0, length: fileBytes) }

  /// An upper estimate of the bytes that LibRaw allocates besides the file: the samples of the sensor, four samples of
  /// 16 bits for each developed pixel, the developed picture, and rows for the interpolation. Measured with LibRaw
  /// 0.20.2, and rounded up because sensors have more rows and columns than the picture.
  ///
  /// - Parameter eighths: the scale; all below 8 are developed at half the size.
  package func workingBytes(eighths: Int) -> Int {
    let bytesPerPixel = isLinear ? 21 : eighths < 8 ? 6 : 15
    return size.pixelCount * bytesPerPixel + (32 << 20)
  }
}

extension ImageHeader {
  /// The header of the picture that a worker develops from a RAW file's sensor data.
  ///
  /// - Parameter media: of the RAW file.
  init(_ sensor: SensorPicture, _ media: MediaHeader) {
    self.init(
      format: .raw, storedSize: sensor.size, colorChannels: 3, hasAlpha: false, bitsPerChannel: 8,
      isProgressive: false, isBuffered: false, metadata: media.exif, blocks: media.blocks,
      warnings: media.warnings)
    coded = .raw(sensor)
    containerOrientation = media.orientation
  }

  /// For a RAW file whose header is that of a preview: the header of the picture that a worker would develop. `nil` for
  /// other files, or without ``RAWPicture/sensor``.
  package var developed: ImageHeader? {
    guard let sensor = raw?.sensor else { return nil }
    var header = ImageHeader(
      format: .raw, storedSize: sensor.size, colorChannels: 3, hasAlpha: false, bitsPerChannel: 8,
      isProgressive: false, isBuffered: false, metadata: metadata, blocks: blocks, warnings: warnings)
    header.coded = .raw(sensor)
    header.containerOrientation = containerOrientation
    return header
  }
}
