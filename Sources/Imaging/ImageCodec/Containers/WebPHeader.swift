import MediaMetadata
import PhotoModel

/// Reads WebP pictures and animations (RFC 9649): chunks of a RIFF file.
enum WebPHeader {
  static let signature = Array("RIFF".utf8)
  static let form = Array("WEBP".utf8)

  static func read(_ reader: inout HeaderReader) throws(CodecError) -> MediaHeader {
    // RFC 9649 §2.3: the first chunk determines which of the three kinds the file is.
    let first = try reader.wholeBytes(at: 12, count: 18)
    let content = first.dropFirst(8)
    switch Array(first.prefix(4)) {
    case Array("VP8 ".utf8):
      // §2.5; RFC 6386 §9.1: a key frame's tag, its start code, and 14 bits each.
      guard content.dropFirst(3).prefix(3).elementsEqual([0x9D, 0x01, 0x2A]) else {
        throw .malformed("a WebP whose frame does not begin with a key frame", offset: 20)
      }
      return MediaHeader(
        format: .webp,
        storedSize: PixelSize(
          width: content.littleEndian(at: 6, bytes: 2) & 0x3FFF, height: content.littleEndian(at: 8, bytes: 2) & 0x3FFF)
      )
    case Array("VP8L".utf8):
      // §3.4: width and height minus one in 14 bits each, then whether alpha is used.
      guard content.first == 0x2F else { throw .malformed("a lossless WebP without its signature", offset: 20) }
      let bits = content.littleEndian(at: 1, bytes: 4)
      var header = MediaHeader(
        format: .webp, storedSize: PixelSize(width: bits & 0x3FFF + 1, height: bits >> 14 & 0x3FFF + 1))
      header.hasAlpha = bits >> 28 & 1 != 0
      return header
    case Array("VP8X".utf8):
      return try extended(&reader, content)
    default: throw .malformed("a WebP without a picture", offset: 12)
    }
  }

  /// §2.7: flags, then width and height minus one in 24 bits each.
  private static func extended(
    _ reader: inout HeaderReader, _ content: ArraySlice<UInt8>
  ) throws(CodecError) -> MediaHeader {
    var header = MediaHeader(
      format: .webp,
      storedSize: PixelSize(
        width: content.littleEndian(at: 4, bytes: 3) + 1, height: content.littleEndian(at: 7, bytes: 3) + 1))
    let flags = content.bigEndian(at: 0, bytes: 1)
    header.hasAlpha = flags & 0x10 != 0
    header.facts.isAnimated = flags & 0x02 != 0
    var wanted = (exif: flags & 0x08 != 0, xmp: flags & 0x04 != 0)
    var position: Int64 = 12
    // Metadata comes last, after all pictures of an animation; in a very long animation it is not searched.
    for _ in 0..<ContainerLimits.chunks where wanted.exif || wanted.xmp {
      let head = try reader.bytes(at: position, count: 8)
      guard head.count == 8 else { break }
      let start = position + 8
      let length = min(Int64(head.littleEndian(at: 4, bytes: 4)), reader.size - start)
      switch Array(head.prefix(4)) {
      case Array("EXIF".utf8):
        wanted.exif = false
        let block = try reader.bytes(at: start, count: min(Int(length), EXIFSummary.maximumBytes))
        header.parse(exif: block, at: start, length: Int(length))
        header.orientation = header.exif.orientation
      case Array("XMP ".utf8):
        wanted.xmp = false
        try header.parse(xmp: start..<start + length, &reader)
      default: break
      }
      // Chunks are padded to an even length; the padding is not part of the stated length.
      position = start + length + length % 2
    }
    return header
  }
}
