// Puts the EXIF of an original into a rendered JPEG or PNG.

import CZlib
import MediaMetadata
import PhotoModel

extension CarriedEXIF {
  /// The EXIF of an original for a picture that was rendered from it; `nil` if it has none that can be carried over.
  /// Reads the original's header.
  package static func block(
    of original: any ByteSource, size: PixelSize, removing facts: PrivateFacts?, limits: CodecLimits
  ) throws(CodecError) -> [UInt8]? {
    let header = try MediaHeader.read(from: original, limits: limits.headerOnly, .everything)
    guard let found = header.blocks.first(where: { $0.kind == .exif }), found.range.length <= maximumBytes else {
      return nil
    }
    let bytes = try original.codecBytes(at: found.range.offset, count: found.range.length)
    return block(bytes[...], width: size.width, height: size.height, removing: facts)
  }

  /// A rendered JPEG or PNG with the block in it. A file of another format is returned unchanged.
  ///
  /// - Parameter file: without EXIF.
  package static func inserting(_ block: [UInt8], into file: [UInt8], _ format: OutputFormat) -> [UInt8] {
    switch format {
    case .jpeg: insertingSegment(EXIFSummary.signature + block, into: file)
    case .png: insertingChunk(block, into: file)
    case .webp, .avif, .jxl: file
    }
  }

  /// After SOI and APP0. A multi-picture index gives the length of the first picture, which grows.
  private static func insertingSegment(_ content: [UInt8], into file: [UInt8]) -> [UInt8] {
    let length = content.count + 2
    guard length <= 0xFFFF, file.count > 6, file[0] == 0xFF, file[1] == 0xD8 else { return file }
    let start = file[2] == 0xFF && file[3] == 0xE0 ? 4 + Int(file[4]) << 8 + Int(file[5]) : 2
    guard start <= file.count else { return file }
    var longer = file
    growFirstPicture(of: &longer, from: start, by: length + 2)
    longer.insert(
      contentsOf: [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + content, at: start)
    return longer
  }

  /// CIPA DC-007 §5.2.3.3: the second number of the first entry, in the index's byte order.
  private static func growFirstPicture(of file: inout [UInt8], from start: Int, by count: Int) {
    var position = start
    while position + 4 <= file.count, file[position] == 0xFF, (0xE0...0xEF).contains(file[position + 1]) {
      let end = position + 2 + Int(file[position + 2]) << 8 + Int(file[position + 3])
      guard end <= file.count else { return }
      let content = file[(position + 4)..<end]
      if file[position + 1] == 0xE2, content.starts(with: MultiPictureIndex.signature),
        let index = TIFFBlock(content.dropFirst(MultiPictureIndex.signature.count)),
        let entry = index.firstDirectory?.entries.first(where: { $0.tag == 0xB002 }), let value = index.content(entry),
        value.count >= 16
      {
        let place = (0..<4).map { value.startIndex + 4 + (index.isBigEndian ? 3 - $0 : $0) }
        let old = place.reversed().reduce(0) { $0 << 8 | Int(file[$1]) }
        for (i, byte) in place.enumerated() { file[byte] = UInt8(truncatingIfNeeded: (old + count) >> (8 * i)) }
        return
      }
      position = end
    }
  }

  /// eXIf after IHDR (PNG third edition §11.3.3.6).
  private static func insertingChunk(_ block: [UInt8], into file: [UInt8]) -> [UInt8] {
    // The signature, and IHDR with its length, type, 13 bytes and CRC.
    let start = 8 + 25
    guard file.count > start else { return file }
    let content = Array("eXIf".utf8) + block
    func bytes(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }
    let check = UInt32(truncatingIfNeeded: crc32(0, content, uInt(content.count)))
    var longer = file
    longer.insert(contentsOf: bytes(UInt32(block.count)) + content + bytes(check), at: start)
    return longer
  }
}
