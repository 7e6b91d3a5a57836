/// A WebP without pixels (RFC 9649).
package struct WebPFile: Sendable {
  package enum Kind: Sendable {
    case lossy, lossless, extended
  }

  package var kind: Kind
  package var width = 300
  package var height = 200
  package var hasAlpha = false
  /// The EXIF block from its TIFF header, or with the signature that JPEG puts before it.
  package var exif: [UInt8]?
  package var xmp: String?
  /// Frames of an animation; 1 for a still picture.
  package var frames = 1

  package init(_ kind: Kind, _ change: (inout WebPFile) -> Void = { _ in }) {
    self.kind = kind
    change(&self)
  }

  package var bytes: [UInt8] {
    let little = { (value: Int, bytes: Int) -> [UInt8] in Boxes.number(value, bytes).reversed() }
    func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
      Boxes.fourCC(type) + little(content.count, 4) + content + (content.count % 2 == 1 ? [0] : [])
    }
    let lossy = chunk("VP8 ", [0x10, 0, 0, 0x9D, 0x01, 0x2A] + little(width, 2) + little(height, 2) + [0, 0, 0])
    let bits = (width - 1) | (height - 1) << 14 | (hasAlpha ? 1 << 28 : 0)
    var content: [UInt8]
    switch kind {
    case .lossy: content = lossy
    case .lossless: content = chunk("VP8L", [0x2F] + little(bits, 4) + [0, 0, 0, 0, 0])
    case .extended:
      let flags = (frames > 1 ? 0x02 : 0) | (hasAlpha ? 0x10 : 0) | (exif == nil ? 0 : 0x08) | (xmp == nil ? 0 : 0x04)
      content = chunk("VP8X", [UInt8(flags), 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3))
      for _ in 0..<frames { content += lossy }
      if let exif { content += chunk("EXIF", exif) }
      if let xmp { content += chunk("XMP ", Array(xmp.utf8)) }
    }
    return Boxes.fourCC("RIFF") + little(content.count + 4, 4) + Boxes.fourCC("WEBP") + content
  }
}

/// A GIF with meaningless pictures (GIF89a).
package struct GIFFile: Sendable {
  package var version = "89a"
  package var width = 300
  package var height = 200
  package var hasColorTable = true
  package var isTransparent = false
  /// Hundredths of a second before the next picture.
  package var delay = 0
  /// The application extension that repeats an animation.
  package var repeats: String?
  package var comment: String?
  package var xmp: String?
  package var pictures = 1
  /// The sub-blocks of each picture.
  package var data: [UInt8] = [2, 0x4C, 0x01]

  package init(_ change: (inout GIFFile) -> Void = { _ in }) { change(&self) }

  package var bytes: [UInt8] {
    let size = [UInt8(width & 255), UInt8(width >> 8), UInt8(height & 255), UInt8(height >> 8)]
    var file = Array("GIF\(version)".utf8) + size + [hasColorTable ? 0x81 : 0x00, 0, 0]
    // Four colours.
    if hasColorTable { file += [UInt8](repeating: 0x33, count: 12) }
    if let comment { file += [0x21, 0xFE, UInt8(comment.utf8.count)] + Array(comment.utf8) + [0] }
    if let xmp {
      // XMP specification part 3 §1.1.2: the packet itself, then a ramp that leads a reader of sub-blocks to its end.
      file += [0x21, 0xFF, 11] + Array("XMP DataXMP".utf8) + Array(xmp.utf8)
      file += [1] + (0...255).reversed().map { UInt8($0) } + [0]
    }
    if let repeats { file += [0x21, 0xFF, 11] + Array(repeats.utf8) + [3, 1, 0, 0, 0] }
    for _ in 0..<pictures {
      file += [0x21, 0xF9, 4, isTransparent ? 1 : 0, UInt8(delay & 255), UInt8(delay >> 8), 0, 0]
      file += [0x2C, 0, 0, 0, 0] + size + [0, 2]
      file += data + [0]
    }
    return file + [0x3B]
  }
}
