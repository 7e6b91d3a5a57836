// Reads where a WebP's picture is in its file (RFC 9649 §2): the first frame of an animation. Used by renders only;
// scans use WebPHeader.

import PhotoModel

/// How a WebP's first frame is coded.
package struct WebPPicture: Sendable, Hashable {
  /// The data of the chunk `VP8 ` or `VP8L`.
  package let picture: ByteRange
  /// The data of the chunk `ALPH`.
  package let alpha: ByteRange?
  package let isLossless: Bool
  package let hasAlpha: Bool
  package let canvas: PixelSize
  /// The frame's place in the canvas; the rest of the canvas is transparent.
  package let frame: PixelRect
  package let embeddedProfile: EmbeddedProfile?

  package init(
    picture: ByteRange, alpha: ByteRange? = nil, isLossless: Bool, hasAlpha: Bool, canvas: PixelSize,
    frame: PixelRect? = nil, embeddedProfile: EmbeddedProfile? = nil
  ) {
    self.picture = picture
    self.alpha = alpha
    self.isLossless = isLossless
    self.hasAlpha = hasAlpha
    self.canvas = canvas
    self.frame = frame ?? PixelRect(canvas)
    self.embeddedProfile = embeddedProfile
  }

  /// Whether the frame is the whole canvas; only then it can be scaled while it is decoded.
  package var fillsCanvas: Bool { frame == PixelRect(canvas) }
}

/// A walk over chunks.
struct WebPPictureReader {
  private var reader: HeaderReader
  private var alpha: ByteRange?
  private var profile: EmbeddedProfile?

  static func read(_ reader: HeaderReader, limits: CodecLimits) throws(CodecError) -> WebPPicture {
    var walk = WebPPictureReader(reader: reader)
    return try walk.picture(limits)
  }

  private init(reader: HeaderReader) { self.reader = reader }

  private struct Chunk {
    let type: String
    let data: ByteRange
  }

  private mutating func picture(_ limits: CodecLimits) throws(CodecError) -> WebPPicture {
    var canvas: PixelSize?
    var frame: PixelRect?
    var end = reader.size
    var position: Int64 = 12
    for _ in 0..<ContainerLimits.chunks {
      guard let chunk = try next(&position, before: end) else { break }
      switch chunk.type {
      case "VP8X" where canvas == nil:
        // §2.7: flags, then width and height minus one in 24 bits each.
        let bytes = try reader.wholeBytes(at: chunk.data.offset, count: 10)
        canvas = PixelSize(
          width: bytes.littleEndian(at: 4, bytes: 3) + 1, height: bytes.littleEndian(at: 7, bytes: 3) + 1)
      case "ICCP": profile = profile ?? .parts([chunk.data])
      case "ANMF" where frame == nil:
        // §2.7.1.1: place in units of two pixels, size minus one, duration and flags, then the frame's chunks.
        let bytes = try reader.wholeBytes(at: chunk.data.offset, count: 16)
        frame = PixelRect(
          x: bytes.littleEndian(at: 0, bytes: 3) * 2, y: bytes.littleEndian(at: 3, bytes: 3) * 2,
          width: bytes.littleEndian(at: 6, bytes: 3) + 1, height: bytes.littleEndian(at: 9, bytes: 3) + 1)
        position = chunk.data.offset + 16
        end = chunk.data.offset + Int64(chunk.data.length)
      case "ALPH": alpha = alpha ?? chunk.data
      case "VP8 ", "VP8L": return try picture(chunk, canvas, frame, limits)
      default: break
      }
    }
    throw .malformed("a WebP without a picture", offset: position)
  }

  private mutating func next(_ position: inout Int64, before end: Int64) throws(CodecError) -> Chunk? {
    guard end - position >= 8 else { return nil }
    let head = try reader.wholeBytes(at: position, count: 8)
    let start = position + 8
    let length = Int64(head.littleEndian(at: 4, bytes: 4))
    // Of a truncated file, the existing data is used; the decoder decides whether it is enough.
    let data = ByteRange(offset: start, length: Int(min(length, end - start)))
    position = start + length + length % 2
    return Chunk(type: String(decoding: head.prefix(4), as: UTF8.self), data: data)
  }

  private mutating func picture(
    _ chunk: Chunk, _ canvas: PixelSize?, _ frame: PixelRect?, _ limits: CodecLimits
  ) throws(CodecError) -> WebPPicture {
    let (size, hasAlpha) = try coded(chunk)
    let canvas = canvas ?? size
    let place = frame ?? PixelRect(canvas)
    try limits.check(canvas)
    guard place.size == size, place.x + place.width <= canvas.width, place.y + place.height <= canvas.height else {
      throw .malformed("a WebP whose frame has another size than its canvas", offset: chunk.data.offset)
    }
    let isLossless = chunk.type == "VP8L"
    return WebPPicture(
      picture: chunk.data, alpha: isLossless ? nil : alpha, isLossless: isLossless,
      hasAlpha: hasAlpha || (!isLossless && alpha != nil) || place != PixelRect(canvas), canvas: canvas, frame: place,
      embeddedProfile: profile)
  }

  /// The size in the codec's own header, and whether it has alpha: RFC 6386 §9.1, RFC 9649 §3.4.
  private mutating func coded(_ chunk: Chunk) throws(CodecError) -> (PixelSize, hasAlpha: Bool) {
    let bytes = try reader.bytes(at: chunk.data.offset, count: min(10, chunk.data.length))
    if chunk.type == "VP8L" {
      guard bytes.count >= 5, bytes.first == 0x2F else {
        throw .malformed("a lossless WebP without its signature", offset: chunk.data.offset)
      }
      let bits = bytes.littleEndian(at: 1, bytes: 4)
      return (PixelSize(width: bits & 0x3FFF + 1, height: bits >> 14 & 0x3FFF + 1), bits >> 28 & 1 != 0)
    }
    guard bytes.count == 10, bytes.dropFirst(3).prefix(3).elementsEqual([0x9D, 0x01, 0x2A]) else {
      throw .malformed("a WebP whose frame does not begin with a key frame", offset: chunk.data.offset)
    }
    return (
      PixelSize(
        width: bytes.littleEndian(at: 6, bytes: 2) & 0x3FFF, height: bytes.littleEndian(at: 8, bytes: 2) & 0x3FFF),
      false
    )
  }
}
