/// Decodes text in metadata. Programs use different encodings, and most don't declare theirs.
enum MetadataText {
  /// The text up to the first NUL, without white space at the end: UTF-8 if it is valid, else Windows-1252, which
  /// includes ISO 8859-1.
  static func decoded(_ bytes: some Collection<UInt8>) -> String {
    let raw = bytes.prefix { $0 != 0 }
    return trimmed(String(validating: raw, as: UTF8.self) ?? latin(raw))
  }

  static func utf16(_ bytes: some Collection<UInt8>, isBigEndian: Bool) -> String {
    var units: [UInt16] = []
    var first: UInt8?
    for byte in bytes {
      if let high = first {
        units.append(isBigEndian ? UInt16(high) << 8 | UInt16(byte) : UInt16(byte) << 8 | UInt16(high))
        first = nil
      } else {
        first = byte
      }
    }
    return trimmed(String(decoding: units.prefix { $0 != 0 }, as: UTF16.self))
  }

  static func latin(_ bytes: some Collection<UInt8>) -> String {
    var text = String.UnicodeScalarView()
    for byte in bytes {
      let isSpecial = (0x80..<0xA0).contains(byte)
      text.append(isSpecial ? windows1252[Int(byte) - 0x80] : Unicode.Scalar(byte))
    }
    return String(text)
  }

  static func trimmed(_ text: String) -> String {
    var rest = Substring(text)
    while let last = rest.unicodeScalars.last, last.properties.isWhitespace { rest.unicodeScalars.removeLast() }
    return String(rest)
  }

  /// 0x80 to 0x9F; the five unassigned ones stay control characters.
  private static let windows1252: [Unicode.Scalar] = Array(
    ("\u{20AC}\u{81}\u{201A}\u{192}\u{201E}\u{2026}\u{2020}\u{2021}\u{2C6}\u{2030}\u{160}\u{2039}\u{152}\u{8D}\u{17D}\u{8F}"
      + "\u{90}\u{2018}\u{2019}\u{201C}\u{201D}\u{2022}\u{2013}\u{2014}\u{2DC}\u{2122}\u{161}\u{203A}\u{153}\u{9D}\u{17E}\u{178}")
      .unicodeScalars)
}
