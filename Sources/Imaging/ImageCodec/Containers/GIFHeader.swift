import MediaMetadata
import PhotoModel

/// Reads GIF pictures and animations (GIF89a §18 and later) up to their second picture, if it is near.
enum GIFHeader {
  static let signatures = [Array("GIF87a".utf8), Array("GIF89a".utf8)]
  /// XMP specification part 3 §1.1.2: the application's identifier and code.
  private static let xmp = Array("XMP DataXMP".utf8)
  /// The application extensions that repeat an animation: Netscape's and the one that some programs write instead.
  private static let repetitions = [Array("NETSCAPE2.0".utf8), Array("ANIMEXTS1.0".utf8)]
  /// Length of the trailer after the packet, which lets readers of sub-blocks find the end from any position.
  private static let trailerBytes = 257

  static func read(_ reader: inout HeaderReader) throws(CodecError) -> MediaHeader {
    // §18: the size of the logical screen.
    let screen = try reader.wholeBytes(at: 6, count: 7)
    var header = MediaHeader(
      format: .gif,
      storedSize: PixelSize(
        width: screen.littleEndian(at: 0, bytes: 2), height: screen.littleEndian(at: 2, bytes: 2)))
    let flags = screen.bigEndian(at: 4, bytes: 1)
    let start = 13 + Int64(colorTable(flags: flags, at: 13)?.length ?? 0)
    var position = start
    while position - start < ContainerLimits.extensionBytes {
      let block = try reader.bytes(at: position, count: 16)
      // An extension; no metadata after the first picture are searched.
      guard block.first == 0x21, block.count >= 3 else { break }
      switch block.bigEndian(at: 1, bytes: 1) {
      // §23: whether the first picture has a transparent colour.
      case 0xF9 where block.count >= 4:
        header.hasAlpha = block.bigEndian(at: 3, bytes: 1) & 1 != 0
        // A delay before the next picture suggests an animation; whether there is a next picture is seen later.
        if block.count >= 6, block.littleEndian(at: 4, bytes: 2) > 0 { header.facts.isAnimated = true }
      // §26.
      case 0xFF where block.count >= 14 && block.dropFirst(3).prefix(11).elementsEqual(xmp):
        let packet = position + 14
        position = try skipSubBlocks(&reader, packet, limit: start)
        // The packet ended at the trailer's last byte, which ends the sub-blocks just like the byte after it.
        if try reader.bytes(at: position, count: 1).first == 0 { position += 1 }
        let end = position - 1 - Int64(trailerBytes)
        if end > packet { try header.parse(xmp: packet..<end, &reader) }
        continue
      case 0xFF where isRepetition(block):
        header.facts.isAnimated = true
      default: break
      }
      position = try skipSubBlocks(&reader, position + 2, limit: start)
    }
    if let hasTwo = try hasTwoPictures(&reader, from: position) { header.facts.isAnimated = hasTwo }
    return header
  }

  /// Whether a block is the application extension that says how often an animation repeats.
  static func isRepetition(_ block: ArraySlice<UInt8>) -> Bool {
    block.count >= 14 && block.bigEndian(at: 1, bytes: 1) == 0xFF
      && repetitions.contains(Array(block.dropFirst(3).prefix(11)))
  }

  /// Whether there are at least two pictures; `nil` if the first one is too long to be skipped.
  private static func hasTwoPictures(
    _ reader: inout HeaderReader, from start: Int64
  ) throws(CodecError) -> Bool? {
    let limit = ContainerLimits.skippedPictureBytes
    reader.windowBytes = ContainerLimits.pictureWindowBytes
    var pictures = 0
    var position = start
    while position - start < limit {
      let block = try reader.bytes(at: position, count: 10)
      switch block.first {
      case 0x21: position = try skipSubBlocks(&reader, position + 2, limit: start, bytes: limit)
      // See `GIFPicture`: a second terminator.
      case 0: position += 1
      // §20: a colour table may follow, then the size of the codes and the sub-blocks.
      case 0x2C where block.count == 10:
        pictures += 1
        if pictures == 2 { return true }
        let table = colorTable(flags: block.bigEndian(at: 9, bytes: 1), at: position + 10)
        let codes = position + 10 + Int64(table?.length ?? 0)
        position = try skipSubBlocks(&reader, codes + 1, limit: start, bytes: limit)
      default: return false
      }
    }
    return nil
  }

  /// §15: skips sub-blocks, each a length and as many bytes, until a length of 0, at most so many bytes after `start`.
  /// Returns the position of the next block.
  static func skipSubBlocks(
    _ reader: inout HeaderReader, _ position: Int64, limit start: Int64, bytes: Int = ContainerLimits.extensionBytes
  ) throws(CodecError) -> Int64 {
    var position = position
    while position - start < bytes {
      guard let length = try reader.bytes(at: position, count: 1).first else { break }
      position += 1 + Int64(length)
      if length == 0 { break }
    }
    return position
  }

  /// §18, §20: a colour table, with the size in the flags before it; `nil` if there is none.
  static func colorTable(flags: Int, at position: Int64) -> ByteRange? {
    flags & 0x80 == 0 ? nil : ByteRange(offset: position, length: 3 << (flags & 7 + 1))
  }
}
