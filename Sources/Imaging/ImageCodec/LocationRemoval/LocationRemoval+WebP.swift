import MediaMetadata

extension LocationRemoval {
  /// Chunks that hold pictures (RFC 9649 §2.7).
  private static let pictureChunks: Set<FourCC> = ["VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF", "ICCP"]

  /// RFC 9649: chunks of a RIFF file. Metadata may come before or after the pictures, once or several times.
  static func webp(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let head = try context.head(of: range, count: 12)
    guard head.count == 12 else { throw .malformed("a file that ends too early", offset: range.lowerBound) }
    // §2.3: the size does not include itself and the four bytes before it.
    let stated = range.lowerBound + 8 + Int64(head.littleEndian(at: 4, bytes: 4))
    let end = min(range.upperBound, max(range.lowerBound + 12, stated))
    var position = range.lowerBound + 12
    // RFC 9649 §2.3: the first chunk determines which of three kinds the file is.
    let first = try context.head(of: position..<end, count: 8)
    guard first.count == 8, ["VP8 ", "VP8L", "VP8X"].contains(FourCC(first)), first.littleEndian(at: 4, bytes: 4) >= 10
    else {
      throw .malformed("a WebP without a picture", offset: position)
    }
    while end - position >= 8 {
      try context.countStructure()
      let head = try context.head(of: position..<end, count: 8)
      guard head.count == 8 else { throw .malformed("a file that ends too early", offset: position) }
      let start = position + 8
      let length = Int64(head.littleEndian(at: 4, bytes: 4))
      let content = start..<min(end, start + length)
      switch FourCC(head) {
      case "EXIF": try exifOfAnyStart(content, &context)
      case "XMP ": if !content.isEmpty { try context.removeXMP(in: content) }
      case let type where pictureChunks.contains(type): break
      default: try context.zero(content)
      }
      position = start + length + length % 2
    }
    let rest = min(end, range.upperBound)..<range.upperBound
    if !rest.isEmpty { try trailing(rest, &context) }
  }

  /// An EXIF block with or without the signature that JPEG puts before it. A block that is neither becomes zeros.
  static func exifOfAnyStart(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let head = try context.head(of: range, count: 16)
    let skipped = head.starts(with: EXIFSummary.signature) ? EXIFSummary.signature.count : 0
    guard TIFFBlock(head.dropFirst(skipped)) != nil else { return try context.zero(range) }
    try context.removeEXIF(in: range.lowerBound + Int64(skipped)..<range.upperBound)
  }
}
