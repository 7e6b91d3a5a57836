import MediaMetadata
import PhotoModel

/// Finds a PNG's chunks that hold metadata (PNG third edition §11.3).
enum PNGText {
  /// How many bytes of a chunk are examined; everything before the text of an iTXt is shorter.
  static let maximumHeadBytes = 256

  /// The metadata block in a chunk; `nil` if it holds none.
  ///
  /// - Parameters:
  ///   - head: the content's first bytes, ``maximumHeadBytes`` or all.
  ///   - content: the position of the content in the file.
  static func block(_ type: String, _ head: ArraySlice<UInt8>, at content: Int64, length: Int) -> MetadataBlock? {
    let found: (kind: MetadataBlock.Kind, start: Int)?
    switch type {
    case "eXIf": found = (.exif, 0)
    case "iTXt": found = packet(head)
    case "tEXt": found = profile(head, .rawProfile, fixed: 0)
    case "zTXt": found = profile(head, .deflatedRawProfile, fixed: 1)
    default: found = nil
    }
    guard let (kind, start) = found, start <= length else { return nil }
    return MetadataBlock(kind, ByteRange(offset: content + Int64(start), length: length - start))
  }

  /// The position of the XMP packet in an iTXt (§11.3.3.4). XMP requires it to be uncompressed (part 3 §1.1.5), which
  /// not every program respects.
  private static func packet(_ head: ArraySlice<UInt8>) -> (MetadataBlock.Kind, Int)? {
    let keyword = Array(XMPPacket.keyword.utf8) + [0]
    guard head.starts(with: keyword), head.count >= keyword.count + 2 else { return nil }
    let isDeflated = head[head.startIndex + keyword.count] == 1
    // After the flag and the method come the language and the translated keyword, each up to a NUL.
    var position = head.startIndex + keyword.count + 2
    for _ in 0..<2 {
      guard position <= head.endIndex, let end = head[position...].firstIndex(of: 0) else { return nil }
      position = end + 1
    }
    return (isDeflated ? .deflatedXMP : .xmp, position - head.startIndex)
  }

  /// The position of another format's block as ImageMagick stores it: hexadecimal digits in a text chunk (§11.3.3.2 and
  /// §11.3.3.3).
  private static func profile(
    _ head: ArraySlice<UInt8>, _ kind: MetadataBlock.Kind, fixed: Int
  ) -> (MetadataBlock.Kind, Int)? {
    guard head.starts(with: RawProfile.keyword), let end = head.firstIndex(of: 0) else { return nil }
    // The text repeats the kind of block.
    return (kind, end + 1 + fixed - head.startIndex)
  }
}

extension PNGHeader {
  /// The positions of metadata in a PNG, before or after its pixels. Only the header of each chunk is read.
  static func metadataBlocks(of source: any ByteSource, limits: CodecLimits) throws(CodecError) -> [MetadataBlock] {
    var blocks: [MetadataBlock] = []
    var position: Int64 = 8
    for _ in 0..<limits.headerSegments where position < source.size {
      let head = try source.codecBytes(at: position, count: 8)[...]
      guard head.count == 8 else { break }
      let length = head.bigEndian(at: 0, bytes: 4)
      let type = String(decoding: head.dropFirst(4), as: UTF8.self)
      if ["eXIf", "iTXt", "tEXt", "zTXt"].contains(type) {
        let start = try source.codecBytes(at: position + 8, count: min(length, PNGText.maximumHeadBytes))
        if let block = PNGText.block(type, start[...], at: position + 8, length: length) { blocks.append(block) }
      }
      position += Int64(length) + 12
    }
    return blocks
  }
}
