import ImageCodec
import MediaMetadata
import PhotoModel

/// Takes rows of gray or sRGB pixels, with or without alpha, and passes them on as gray or as black and white.
final class ToneEncoder: RowEncoder {
  /// Luma from which a pixel is white.
  private static let middle = 128

  private let tone: Tone
  private let channels: Int
  private let width: Int
  private let encoder: any RowEncoder
  /// One row of gray, with alpha if the arriving rows have it.
  private let row: RowBuffer<UInt8>

  /// - Parameters:
  ///   - channels: of the arriving rows.
  ///   - encoder: takes ``channels(of:)`` channels.
  init(_ tone: Tone, channels: Int, width: Int, encoder: any RowEncoder) {
    self.tone = tone
    self.channels = channels
    self.width = width
    self.encoder = encoder
    row = RowBuffer(count: width * Self.channels(of: channels), zero: 0)
  }

  /// The number of channels without colours.
  static func channels(of channels: Int) -> Int { channels % 2 == 0 ? 2 : 1 }

  var warnings: CodecWarnings? { encoder.warnings }

  func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) throws(CodecError) {
    let tones = Self.channels(of: channels)
    for y in 0..<count {
      let source = UnsafeRawBufferPointer(start: rows + y * strideBytes, count: width * channels)
      for x in 0..<width {
        let first = x * channels
        // Rec. 601 in 16 bits; the weights add up to 65536.
        let luma =
          channels < 3
          ? Int(source[first])
          : (19_595 * Int(source[first]) + 38_470 * Int(source[first + 1]) + 7_471 * Int(source[first + 2]) + 32_768)
            >> 16
        row.pointer[x * tones] = tone == .bitonal ? (luma < Self.middle ? 0 : 255) : UInt8(luma)
        if tones == 2 { row.pointer[x * tones + 1] = source[first + channels - 1] }
      }
      try encoder.write(UnsafeRawPointer(row.pointer), strideBytes: width * tones, count: 1)
    }
  }

  func finish() throws(CodecError) -> [UInt8] { try encoder.finish() }
}
