import PhotoModel

/// Writes an animated WebP (RFC 9649 §2.7.1) of frames that are WebPs of their own.
package struct WebPAnimation {
  private let canvas: PixelSize
  private let plays: Int
  private let profile: [UInt8]?
  private var frames: [UInt8] = []
  private var hasAlpha = false

  /// - Parameter plays: how often the animation plays; 0: forever.
  package init(canvas: PixelSize, plays: Int, profile: [UInt8]?) {
    self.canvas = canvas
    self.plays = plays
    self.profile = profile
  }

  /// Bytes of the frames so far.
  package var byteCount: Int { frames.count }

  /// Adds a frame that replaces the pixels of its rectangle.
  ///
  /// - Parameters:
  ///   - file: a WebP of one picture, as an encoder sent it.
  ///   - rect: at even columns and rows.
  ///   - milliseconds: at most 24 bits.
  /// - Throws: `encodingFailed` if the file is not such a WebP.
  package mutating func add(
    _ file: [UInt8], at rect: PixelRect, milliseconds: Int, hasAlpha: Bool
  ) throws(CodecError) {
    guard file.count >= 20, file.starts(with: "RIFF".utf8), file[8..<12].elementsEqual("WEBP".utf8) else {
      throw .encodingFailed("the WebP encoder sent no WebP")
    }
    var chunks = file[12...]
    if chunks.starts(with: "VP8X".utf8) { chunks = chunks.dropFirst(18) }
    self.hasAlpha = self.hasAlpha || hasAlpha
    frames += Array("ANMF".utf8) + Self.number(chunks.count + 16, 4)
    for value in [rect.x / 2, rect.y / 2, rect.width - 1, rect.height - 1, milliseconds] {
      frames += Self.number(value, 3)
    }
    // Flags: do not blend, do not dispose.
    frames.append(2)
    frames += chunks
  }

  package var bytes: [UInt8] {
    let flags: UInt8 = 2 | (hasAlpha ? 0x10 : 0) | (profile == nil ? 0 : 0x20)
    var content: [UInt8] = Array("WEBP".utf8)
    content += chunk("VP8X", [flags, 0, 0, 0] + Self.number(canvas.width - 1, 3) + Self.number(canvas.height - 1, 3))
    if let profile { content += chunk("ICCP", profile) }
    content += chunk("ANIM", [0, 0, 0, 0] + Self.number(plays, 2))
    return "RIFF".utf8 + Self.number(content.count + frames.count, 4) + content + frames
  }

  private func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    type.utf8 + Self.number(content.count, 4) + content + (content.count % 2 == 1 ? [0] : [])
  }

  /// Least significant byte first.
  private static func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}
