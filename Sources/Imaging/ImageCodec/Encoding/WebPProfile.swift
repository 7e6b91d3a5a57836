import PhotoModel

/// Puts an ICC profile into a WebP (RFC 9649 §2.7).
package enum WebPProfile {
  /// - Parameters:
  ///   - file: as an encoder sent it: one picture, with or without the extended header.
  ///   - size: of the picture.
  /// - Throws: `encodingFailed` if the file is not such a WebP.
  package static func insert(
    _ profile: [UInt8], into file: [UInt8], size: PixelSize, hasAlpha: Bool
  ) throws(CodecError) -> [UInt8] {
    guard file.count >= 20, file.starts(with: "RIFF".utf8), file[8..<12].elementsEqual("WEBP".utf8) else {
      throw .encodingFailed("the WebP encoder sent no WebP")
    }
    var rest = file[12...]
    // The extended header is written again.
    if rest.starts(with: "VP8X".utf8) { rest = rest.dropFirst(18) }
    let flags: UInt8 = 0x20 | (hasAlpha ? 0x10 : 0)
    let header = chunk("VP8X", [flags, 0, 0, 0] + number(size.width - 1, 3) + number(size.height - 1, 3))
    let content = "WEBP".utf8 + header + chunk("ICCP", profile)
    return "RIFF".utf8 + number(content.count + rest.count, 4) + content + rest
  }

  private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    type.utf8 + number(content.count, 4) + content + (content.count % 2 == 1 ? [0] : [])
  }

  /// Least significant byte first.
  private static func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}
