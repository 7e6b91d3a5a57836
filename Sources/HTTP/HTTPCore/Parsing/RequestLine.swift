/// A request line: method SP request-target SP HTTP-version (RFC 9112 §3). The method and the target are ranges of the
/// received bytes.
struct RequestLine: Sendable {
  let method: Range<Int>
  /// Visible ASCII. Its form is checked when the head is complete, because it depends on the Host field.
  let target: Range<Int>
  let version: HTTPVersion
  /// The method is GET: the most frequent method needs no string.
  let isGet: Bool

  /// - Parameter line: a range of `bytes` without the line end.
  init(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(ParseError) {
    let start = line.lowerBound
    var first = start
    while first < line.upperBound, HTTPGrammar.isToken(bytes[first]) { first += 1 }
    guard first > start, first < line.upperBound, bytes[first] == 0x20 else { throw .malformedRequestLine }
    var last = line.upperBound - 1
    while last > first, bytes[last] != 0x20 { last -= 1 }
    guard last > first + 1 else { throw .malformedRequestLine }
    version = try Self.version(bytes, last + 1..<line.upperBound)
    // RFC 3986: visible ASCII only.
    for i in first + 1..<last where bytes[i] <= 0x20 || bytes[i] >= 0x7F { throw .malformedTarget }
    method = start..<first
    target = first + 1..<last
    isGet =
      first - start == 3 && bytes[start] == UInt8(ascii: "G") && bytes[start + 1] == UInt8(ascii: "E")
      && bytes[start + 2] == UInt8(ascii: "T")
  }

  /// HTTP-version (RFC 9112 §2.3), case-sensitive. A higher minor version is treated as 1.1 (RFC 9110 §2.5).
  private static func version(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(ParseError) -> HTTPVersion {
    let name: StaticString = "HTTP/"
    guard range.count == 8 else { throw .malformedRequestLine }
    let start = range.lowerBound
    for i in 0..<5 where bytes[start + i] != name.utf8Start[i] { throw .malformedRequestLine }
    guard HTTPGrammar.isDigit(bytes[start + 5]), bytes[start + 6] == UInt8(ascii: "."),
      HTTPGrammar.isDigit(bytes[start + 7])
    else {
      throw .malformedRequestLine
    }
    guard bytes[start + 5] == UInt8(ascii: "1") else { throw .unsupportedVersion }
    return bytes[start + 7] == UInt8(ascii: "0") ? .http10 : .http11
  }
}
