/// Character classes and trimming of HTTP's grammar (RFC 9110 §5.6).
package enum HTTPGrammar {
  /// A set of ASCII characters as two machine words: bit n of the pair stands for character n. The constants are
  /// written out, which needs no table and no initialization; a test checks them against their documentation.
  package struct ASCIISet: Sendable {
    let low: UInt64
    let high: UInt64

    package func contains(_ byte: UInt8) -> Bool {
      let word = byte < 64 ? low : high
      return byte < 128 && word >> UInt64(byte & 63) & 1 != 0
    }
  }

  /// tchar (RFC 9110 §5.6.2): letters, digits and !#$%&'*+-.^_`|~
  package static let tokenCharacters = ASCIISet(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE)
  /// The characters of a registered name or an IPv4 address: unreserved, sub-delims and the percent sign (RFC 3986
  /// §3.2.2), that is letters, digits and -._~%!$&'()*+,;=
  package static let hostCharacters = ASCIISet(low: 0x2BFF_7FF2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
  /// The characters between the brackets of an IP literal, including a zone (RFC 3986 §3.2.2, RFC 6874): letters,
  /// digits and :.%-_~
  package static let addressCharacters = ASCIISet(low: 0x07FF_6020_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)

  static func isToken(_ byte: UInt8) -> Bool { tokenCharacters.contains(byte) }

  /// The characters of a field value: VCHAR, obs-text, SP or HTAB (RFC 9110 §5.5).
  static func isFieldContent(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

  /// Decodes a field value as UTF-8, or as ISO 8859-1 if it is not valid UTF-8: the former rule for obs-text (RFC 9110
  /// §5.5), which HTTP libraries still use for file names.
  static func text(_ value: some Collection<UInt8>) -> String {
    String(validating: value, as: UTF8.self) ?? String(String.UnicodeScalarView(value.map { Unicode.Scalar($0) }))
  }

  package static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  static func lowercased(_ byte: UInt8) -> UInt8 {
    byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
  }

  static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// Removes surrounding spaces and tabs (OWS, RFC 9110 §5.6.3).
  package static func trimmed(_ text: some StringProtocol) -> String {
    let bytes = Array(text.utf8)
    return String(decoding: bytes[trimmed(bytes.span, 0..<bytes.count)], as: UTF8.self)
  }

  /// Splits at separators outside quoted strings (RFC 9110 §5.6.4). Elements are trimmed, empty ones omitted.
  ///
  /// If a quoted string has no end, every separator counts: a client must not be able to hide the element that a proxy
  /// appends.
  ///
  /// - Parameter separator: an ASCII character.
  package static func elements(
    of value: some StringProtocol, separatedBy separator: UInt8 = UInt8(ascii: ",")
  ) -> [String] {
    let bytes = Array(value.utf8)
    var ends: [Int] = []
    var isQuoted = false
    var isEscaped = false
    for (i, byte) in bytes.enumerated() {
      if isEscaped {
        isEscaped = false
      } else if isQuoted && byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if byte == separator && !isQuoted {
        ends.append(i)
      }
    }
    if isQuoted { ends = bytes.indices.filter { bytes[$0] == separator } }
    ends.append(bytes.count)
    var elements: [String] = []
    var start = 0
    for end in ends {
      let element = trimmed(bytes.span, start..<end)
      if !element.isEmpty { elements.append(String(decoding: bytes[element], as: UTF8.self)) }
      start = end + 1
    }
    return elements
  }

  /// Whether a comma-separated list in a range of `bytes` contains a token, ignoring case.
  static func list(_ bytes: Span<UInt8>, _ range: Range<Int>, contains token: StaticString) -> Bool {
    var start = range.lowerBound
    while start < range.upperBound {
      var end = start
      while end < range.upperBound, bytes[end] != UInt8(ascii: ",") { end += 1 }
      if equals(bytes, trimmed(bytes, start..<end), token) { return true }
      start = end + 1
    }
    return false
  }

  /// Whether a range of `bytes` is `token`, which is in lower case, ignoring the case of ASCII letters only. By the
  /// rules of Unicode the Kelvin sign would be a k.
  static func equals(_ bytes: Span<UInt8>, _ range: Range<Int>, _ token: StaticString) -> Bool {
    guard range.count == token.utf8CodeUnitCount else { return false }
    for i in 0..<range.count where lowercased(bytes[range.lowerBound + i]) != token.utf8Start[i] { return false }
    return true
  }

  /// Shrinks a range by the spaces and tabs at its ends.
  static func trimmed(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
    var start = range.lowerBound
    var end = range.upperBound
    while start < end, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
    while end > start, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
    return start..<end
  }
}
