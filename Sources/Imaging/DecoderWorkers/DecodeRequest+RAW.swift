import CPhotodDecoder
import PhotoModel

extension DecodeRequest {
  /// A region of the picture that LibRaw develops from a RAW file, in sRGB, as the sensor has it: not turned.
  ///
  /// - Parameters:
  ///   - file: the whole RAW file.
  ///   - codedSize: of the developed picture. A picture that differs by more than the sensor's borders is a mismatch.
  ///   - region: the rows that are wanted, in pixels of which each is the average of `step` times `step`.
  ///   - step: 1, 2, 4 or 8.
  ///   - workingBytes: what LibRaw may allocate besides the file.
  package static func raw(
    file: ByteRange, codedSize: PixelSize, region: PixelRect, step: Int, workingBytes: Int
  ) -> DecodeRequest {
    let parameters = decoder_raw_parameters(
      step: UInt32(clamping: step), x: UInt32(clamping: region.x), y: UInt32(clamping: region.y))
    return DecodeRequest(
      codec: .raw, samples: .rgb, codedSize: codedSize, size: region.size, tiles: [Tile(picture: [file])],
      parameters: withUnsafeBytes(of: parameters) { Array($0) },
      memoryLimitBytes: DecodeLimits.raw(workingBytes: workingBytes, payload: file.length),
      cpuSeconds: DecodeLimits.rawSeconds(codedSize))
  }
}
