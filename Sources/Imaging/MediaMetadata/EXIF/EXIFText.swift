/// Text after a character code: UserComment, and GPS's method and area (DC-008 §4.6.5.D).
enum EXIFText {
  static func coded(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) -> String {
    let text = bytes.dropFirst(8)
    let code = bytes.prefix(8)
    if code.elementsEqual("UNICODE\0".utf8) { return unicode(text, isBigEndian: isBigEndian) }
    // ASCII, JIS (hardly ever written) or undefined; some programs omit the code.
    let hasCode =
      bytes.count >= 8
      && (code.elementsEqual("ASCII\0\0\0".utf8) || code.elementsEqual("JIS\0\0\0\0\0".utf8)
        || code.allSatisfy { $0 == 0 })
    return MetadataText.decoded(hasCode ? text : bytes)
  }

  /// The standard says that the byte order is the block's. Programs differ, so the order that looks like text is taken.
  private static func unicode(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) -> String {
    switch bytes.prefix(2) {
    case [0xFE, 0xFF]: return MetadataText.utf16(bytes.dropFirst(2), isBigEndian: true)
    case [0xFF, 0xFE]: return MetadataText.utf16(bytes.dropFirst(2), isBigEndian: false)
    default: break
    }
    // In most text, at least spaces and digits have a high byte of zero.
    var zeros = [0, 0]
    for (i, byte) in bytes.enumerated() where byte == 0 { zeros[i & 1] += 1 }
    return MetadataText.utf16(bytes, isBigEndian: zeros[0] == zeros[1] ? isBigEndian : zeros[0] > zeros[1])
  }
}
