import ImageCodec
import MediaMetadata
import PhotoModel

/// Warps the upright rows of a picture, and passes them on to its encoder.
final class WarpEncoder: RowEncoder {
  private let encoder: any RowEncoder
  private let resampler: WarpResampler
  private let row: RowBuffer<UInt8>
  private let rowBytes: Int

  /// - Parameters:
  ///   - intermediate: the size of the picture whose rows arrive.
  ///   - channels: of arriving rows, of 8 bits.
  ///   - encoder: takes rows of the size `output`.
  init(
    _ map: Homography, from intermediate: PixelSize, to output: PixelSize, channels: Int, encoder: any RowEncoder
  ) {
    self.encoder = encoder
    resampler = WarpResampler(map, from: intermediate, to: output, channels: channels)
    rowBytes = output.width * channels
    row = RowBuffer(count: rowBytes, zero: 0)
  }

  /// Memory of the encoder, without the encoder that it feeds.
  static func byteCount(_ map: Homography, from intermediate: PixelSize, to output: PixelSize, channels: Int) -> Int {
    WarpResampler.byteCount(map, from: intermediate, to: output, channels: channels)
  }

  var warnings: CodecWarnings? { encoder.warnings }

  func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) throws(CodecError) {
    for i in 0..<count {
      try resampler.take(rows + i * strideBytes, row.pointer) { () throws(CodecError) in
        try encoder.write(UnsafeRawPointer(row.pointer), strideBytes: rowBytes, count: 1)
      }
    }
  }

  func finish() throws(CodecError) -> [UInt8] { try encoder.finish() }
}
