import MediaMetadata
import PhotoModel

extension LocationRemoval {
  /// XMP specification part 3 §1.1.2: the application's identifier and code.
  private static let gifXMP = Array("XMP DataXMP".utf8)
  /// Applications that store no metadata: repetition of an animation, and a profile.
  private static let gifKept = ["NETSCAPE2.0", "ANIMEXTS1.0", "ICCRGBG1012"].map { Array($0.utf8) }
  /// The bytes after a packet that end the sub-blocks for readers that do not know XMP.
  private static let gifTrailer = [1] + (0...0xFF).reversed().map { UInt8($0) } + [0]

  /// GIF89a §17-27: all blocks, because extensions may come between and after pictures. Comments are free text.
  static func gif(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let screen = try context.head(of: range, count: 13)
    guard screen.count == 13 else { throw .malformed("a file that ends too early", offset: range.lowerBound) }
    var position = range.lowerBound + 13 + colorTableBytes(screen.bigEndian(at: 10, bytes: 1))
    while position < range.upperBound {
      try context.countStructure()
      let head = try context.head(of: position..<range.upperBound, count: 14)
      switch head.first {
      // §23-26: an extension.
      case 0x21:
        guard head.count >= 3 else { return }
        if head.bigEndian(at: 1, bytes: 1) == 0xFF, head.count == 14, head.bigEndian(at: 2, bytes: 1) == 11 {
          position = try application(Array(head.dropFirst(3)), position + 14, range, &context)
        } else {
          let parts = try subBlocks(position + 2, range, &context)
          // §23-25: text, a comment, and how the next picture is shown.
          if ![0x01, 0xFE, 0xF9].contains(head.bigEndian(at: 1, bytes: 1)) {
            for part in parts { try context.zero(part) }
          }
          position = (parts.last?.upperBound ?? position + 2) + 1
        }
      // §20: a picture: position and size, a colour table, the code size, sub-blocks.
      case 0x2C:
        guard head.count >= 10 else { return }
        position += 10 + colorTableBytes(head.bigEndian(at: 9, bytes: 1)) + 1
        position = try skipPicture(position, range, &context)
      // §27: the end.
      case 0x3B:
        position += 1
        if position < range.upperBound { try trailing(position..<range.upperBound, &context) }
        return
      default:
        return try trailing(position..<range.upperBound, &context)
      }
    }
  }

  private static func colorTableBytes(_ flags: Int) -> Int64 { flags & 0x80 == 0 ? 0 : 3 << Int64(flags & 7 + 1) }

  /// Removes the locations in an application extension. Returns the position after it.
  private static func application(
    _ name: [UInt8], _ start: Int64, _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Int64 {
    let parts = try subBlocks(start, range, &context)
    let end = min((parts.last?.upperBound ?? start) + 1, range.upperBound)
    if name == gifXMP {
      // The packet is not a sequence of sub-blocks. The last "sub-block" ends inside or after its trailer, whose last
      // two bytes are zeros. Only an intact trailer is found from every position, also after the packet has changed.
      let next = try context.head(of: end..<range.upperBound, count: 1).first == 0 ? end + 1 : end
      let packet = start..<max(start, next - Int64(gifTrailer.count))
      if try context.head(of: packet.upperBound..<next, count: gifTrailer.count).elementsEqual(gifTrailer) {
        // A NUL could end the sub-blocks when other bytes of the packet have changed.
        guard try !context.block(packet).contains(0) else {
          throw .malformed("an XMP packet with a NUL", offset: start)
        }
        if !packet.isEmpty { try context.removeXMP(in: packet) }
        return next
      }
      // Some writers store the packet in sub-blocks, which begin with a length instead of a space or `<`.
      if let first = try context.head(of: start..<range.upperBound, count: 1).first, first == 0x20 || first == 0x3C {
        throw .malformed("an XMP packet without its trailer", offset: start)
      }
      let joined = try context.joined(parts)
      try joined.replace(LocationBlocks.xmp(joined.bytes[...], removing: context.facts), &context)
    } else if !gifKept.contains(name) {
      for part in parts { try context.zero(part) }
    }
    return end
  }

  /// §15: the contents of sub-blocks, each a length and as many bytes, until a length of 0. A terminator follows the
  /// last one.
  private static func subBlocks(
    _ start: Int64, _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> [Range<Int64>] {
    var parts: [Range<Int64>] = []
    var position = start
    while let length = try context.head(of: position..<max(position, range.upperBound), count: 1).first, length > 0 {
      parts.append(position + 1..<min(range.upperBound, position + 1 + Int64(length)))
      position += 1 + Int64(length)
      if parts.count > context.limits.structures {
        throw .limitExceeded(
          "the number of sub-blocks of an extension", limit: context.limits.structures, found: parts.count)
      }
    }
    return parts
  }

  /// Skips the sub-blocks of a picture, of which a large animation has very many.
  private static func skipPicture(
    _ start: Int64, _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Int64 {
    var position = start
    while position - range.lowerBound <= maximumGIFBytes {
      guard let length = try context.head(of: position..<max(position, range.upperBound), count: 1).first else { break }
      position += 1 + Int64(length)
      if length == 0 { return position }
    }
    if position < range.upperBound {
      throw .limitExceeded("the size of a GIF", limit: Int(maximumGIFBytes), found: Int(clamping: range.count))
    }
    return position
  }

  /// Maximum size of a GIF: its pictures have no size in the file, and are walked.
  private static let maximumGIFBytes: Int64 = 256 << 20
}
