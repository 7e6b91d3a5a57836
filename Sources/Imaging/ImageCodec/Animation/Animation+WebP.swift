import PhotoModel

// The frames of an animated WebP (RFC 9649 §2.7.1).

extension Animation {
  static func webP(_ reader: inout HeaderReader, _ limits: CodecLimits) throws(CodecError) -> Animation? {
    var canvas: PixelSize?
    var frames: [Frame] = []
    var plays = 1
    var position: Int64 = 12
    for _ in 0..<ContainerLimits.chunks + limits.animationFrames {
      guard let chunk = try nextChunk(&reader, &position, before: reader.size) else { break }
      switch chunk.type {
      case "VP8X" where canvas == nil:
        let bytes = try reader.wholeBytes(at: chunk.data.offset, count: 10)
        // The animation flag.
        guard bytes.bigEndian(at: 0, bytes: 1) & 2 != 0 else { return nil }
        canvas = PixelSize(
          width: bytes.littleEndian(at: 4, bytes: 3) + 1, height: bytes.littleEndian(at: 7, bytes: 3) + 1)
      case "ANIM":
        plays = try reader.wholeBytes(at: chunk.data.offset, count: 6).littleEndian(at: 4, bytes: 2)
      case "ANMF":
        try check(frames.count, limits)
        frames.append(try frame(&reader, chunk.data, limits))
      default: break
      }
    }
    guard let canvas, !frames.isEmpty else { return nil }
    try limits.check(canvas)
    return Animation(canvas: canvas, frames: frames, plays: plays)
  }

  private static func frame(
    _ reader: inout HeaderReader, _ data: ByteRange, _ limits: CodecLimits
  ) throws(CodecError) -> Frame {
    let head = try reader.wholeBytes(at: data.offset, count: 16)
    func number(_ at: Int) -> Int { head.littleEndian(at: at, bytes: 3) }
    let rect = PixelRect(x: number(0) * 2, y: number(3) * 2, width: number(6) + 1, height: number(9) + 1)
    try limits.check(rect.size)
    let flags = head.bigEndian(at: 15, bytes: 1)
    var alpha: ByteRange?
    var position = data.offset + 16
    let end = data.offset + Int64(data.length)
    for _ in 0..<ContainerLimits.chunks {
      guard let chunk = try nextChunk(&reader, &position, before: end) else { break }
      if chunk.type == "ALPH" { alpha = alpha ?? chunk.data }
      guard chunk.type == "VP8 " || chunk.type == "VP8L" else { continue }
      // The worker checks that the coded picture has the size of `rect`. Lossless data states whether it has alpha only
      // inside, so alpha is requested in any case.
      let isLossless = chunk.type == "VP8L"
      let picture = WebPPicture(
        picture: chunk.data, alpha: isLossless ? nil : alpha, isLossless: isLossless,
        hasAlpha: isLossless || alpha != nil, canvas: rect.size)
      return Frame(
        rect: rect, coded: .webP(picture), milliseconds: max(1, number(12)),
        disposal: flags & 1 != 0 ? .clear : .keep, isBlended: flags & 2 == 0)
    }
    throw .malformed("a frame of a WebP without a picture", offset: data.offset)
  }

  private static func nextChunk(
    _ reader: inout HeaderReader, _ position: inout Int64, before end: Int64
  ) throws(CodecError) -> (type: String, data: ByteRange)? {
    guard end - position >= 8 else { return nil }
    let head = try reader.wholeBytes(at: position, count: 8)
    let start = position + 8
    let length = Int64(head.littleEndian(at: 4, bytes: 4))
    position = start + length + length % 2
    return (
      String(decoding: head.prefix(4), as: UTF8.self), ByteRange(offset: start, length: Int(min(length, end - start)))
    )
  }
}
