import MediaMetadata

/// A PNG's text chunks, as far as metadata hides in them (PNG third edition §11.3.3).
enum PNGText {
  /// What stands before an iTXt's text can be so long at most: whatever is longer is no packet.
  static let maximumHeadBytes = 256

  /// Where the XMP packet begins in an iTXt (§11.3.3.4), counted from its content's first byte; `nil`: it holds something else, or
  /// a compressed packet, which XMP forbids (part 3 §1.1.5).
  static func xmpPacket(_ head: ArraySlice<UInt8>) -> Int? {
    let keyword = Array(XMPPacket.keyword.utf8)
    guard head.starts(with: keyword + [0, 0]) else { return nil }
    // Behind the two flags the language and the translated keyword, each up to a NUL.
    var position = head.startIndex + keyword.count + 3
    for _ in 0..<2 {
      guard position <= head.endIndex, let end = head[position...].firstIndex(of: 0) else { return nil }
      position = end + 1
    }
    return position - head.startIndex
  }
}
