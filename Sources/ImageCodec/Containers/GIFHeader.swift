import MediaMetadata
import PhotoModel

/// GIF pictures and animations (GIF89a §18 and on), as far as their first picture.
enum GIFHeader {
  static let signatures = [Array("GIF87a".utf8), Array("GIF89a".utf8)]
  /// XMP specification part 3 §1.1.2: the application's identifier and code.
  private static let xmp = Array("XMP DataXMP".utf8)
  /// What stands behind the packet, so that readers of sub-blocks find its end wherever they are.
  private static let trailerBytes = 257

  static func read(_ reader: inout HeaderReader) throws(CodecError) -> MediaHeader {
    // §18: the size of what all pictures are shown on.
    let screen = try reader.wholeBytes(at: 6, count: 7)
    var header = MediaHeader(
      format: .gif,
      storedSize: PixelSize(
        width: screen.littleEndian(at: 0, bytes: 2), height: screen.littleEndian(at: 2, bytes: 2)))
    let flags = screen.bigEndian(at: 4, bytes: 1)
    let colorTableBytes = flags & 0x80 == 0 ? 0 : 3 << (flags & 7 + 1)
    let start = Int64(13 + colorTableBytes)
    var position = start
    while position - start < ContainerLimits.extensionBytes {
      let block = try reader.bytes(at: position, count: 16)
      // An extension; behind the first picture nothing is looked for.
      guard block.first == 0x21, block.count >= 3 else { break }
      switch block.bigEndian(at: 1, bytes: 1) {
      // §23: of the first picture, whether a colour is transparent.
      case 0xF9 where block.count >= 4: header.hasAlpha = block.bigEndian(at: 3, bytes: 1) & 1 != 0
      // §26.
      case 0xFF where block.count >= 14 && block.dropFirst(3).prefix(11).elementsEqual(xmp):
        let packet = position + 14
        position = try skipSubBlocks(&reader, packet, limit: start)
        // The packet led to the ramp's own last byte, which ends sub-blocks as well as the one behind it does.
        if try reader.bytes(at: position, count: 1).first == 0 { position += 1 }
        let end = position - 1 - Int64(trailerBytes)
        if end > packet { try header.take(xmp: packet..<end, &reader) }
        continue
      default: break
      }
      position = try skipSubBlocks(&reader, position + 2, limit: start)
    }
    return header
  }

  /// §15: a length and as many bytes, until the length is 0. Gives where the next block begins.
  private static func skipSubBlocks(
    _ reader: inout HeaderReader, _ position: Int64, limit start: Int64
  ) throws(CodecError) -> Int64 {
    var position = position
    while position - start < ContainerLimits.extensionBytes {
      guard let length = try reader.bytes(at: position, count: 1).first else { break }
      position += 1 + Int64(length)
      if length == 0 { break }
    }
    return position
  }
}
