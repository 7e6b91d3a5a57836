/// A parsed request target: decoded path segments, the query and the authority.
package struct RequestTarget: Sendable, Hashable {
  /// `*`, as in `OPTIONS *` (RFC 9112 §3.2.4).
  package let isAsterisk: Bool
  /// The path as received, still percent-encoded.
  package let path: String
  /// The decoded path segments: `/v1/assets/a%20b` is `["v1", "assets", "a b"]`. A segment is never `.`, `..` or empty
  /// and never contains a slash or NUL.
  package let segments: [String]
  /// The query as received, without its question mark.
  package let query: String?
  /// Host and port in lower case, from the absolute form or the Host field.
  package let authority: String?

  /// Parses origin-form, absolute-form or asterisk-form (RFC 9112 §3.2). Returns `nil` for anything else, for the
  /// authority-form of CONNECT, and for a path that would leave its root.
  package init?(_ target: String, method: HTTPMethod, host: String?) {
    var rest = Substring(target)
    var authority = host
    if target == "*" {
      guard method == .options else { return nil }
      self.init(isAsterisk: true, path: "*", segments: [], query: nil, authority: authority?.lowercased())
      return
    }
    if !rest.hasPrefix("/") {
      let lowered = rest.lowercased()
      guard lowered.hasPrefix("http://") || lowered.hasPrefix("https://"), let slashes = rest.firstRange(of: "//")
      else {
        return nil
      }
      rest = rest[slashes.upperBound...]
      let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
      // RFC 9112 §3.2.2: the absolute form overrides the Host field.
      authority = String(rest[..<end])
      guard let authority, Self.isHost(authority) else { return nil }
      rest = rest[end...]
      if !rest.hasPrefix("/") { rest = "/" + rest }
    }
    if rest.utf8.contains(UInt8(ascii: "#")) { return nil }
    let mark = rest.firstIndex(of: "?")
    let path = rest[..<(mark ?? rest.endIndex)]
    let query = mark.map { String(rest[rest.index(after: $0)...]) }
    guard let segments = Self.segments(of: path) else { return nil }
    self.init(
      isAsterisk: false, path: String(path), segments: segments, query: query, authority: authority?.lowercased())
  }

  private init(isAsterisk: Bool, path: String, segments: [String], query: String?, authority: String?) {
    self.isAsterisk = isAsterisk
    self.path = path
    self.segments = segments
    self.query = query
    self.authority = authority
  }

  /// The query's parameters in order, decoded by the rules of HTML forms, where `+` is a space. `nil` if an escape is
  /// malformed or does not decode to UTF-8.
  package var parameters: [(name: String, value: String)]? {
    guard let query else { return [] }
    var parameters: [(name: String, value: String)] = []
    for pair in query.split(separator: "&") {
      let equals = pair.firstIndex(of: "=")
      guard let name = Self.percentDecoded(pair[..<(equals ?? pair.endIndex)], plusIsSpace: true),
        let value = equals.map({ Self.percentDecoded(pair[pair.index(after: $0)...], plusIsSpace: true) }) ?? ""
      else { return nil }
      parameters.append((name, value))
    }
    return parameters
  }

  /// The query as received, with `name=value` at its end in place of all former values of this parameter. Only `>` is
  /// escaped, because it would end the URL in a Link field (RFC 8288 §3).
  ///
  /// - Parameters:
  ///   - name: unreserved characters (RFC 3986 §2.3), as in `value`.
  package func queryReplacing(_ name: String, with value: String) -> String {
    var pairs: [String] = []
    for pair in (query ?? "").split(separator: "&") {
      let received = pair.prefix { $0 != "=" }
      if Self.percentDecoded(received, plusIsSpace: true) != name { pairs.append(String(pair)) }
    }
    pairs.append("\(name)=\(value)")
    return pairs.joined(separator: "&").replacing(">", with: "%3E")
  }

  /// Escapes all characters except the unreserved ones (RFC 3986 §2.3), for use in a query.
  package static func percentEncoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    let digits = Array("0123456789ABCDEF".utf8)
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        bytes.append(byte)
      default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether the text is uri-host [":" port] (RFC 9110 §7.2): an IP literal in brackets, a name or an IPv4 address,
  /// then optionally a port.
  package static func isHost(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { isHost($0.span, 0..<$0.count) }
  }

  static func isHost(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    var i = range.lowerBound
    if i < range.upperBound, bytes[i] == UInt8(ascii: "[") {
      i += 1
      while i < range.upperBound, HTTPGrammar.addressCharacters.contains(bytes[i]) { i += 1 }
      guard i < range.upperBound, bytes[i] == UInt8(ascii: "]"), i > range.lowerBound + 1 else { return false }
      i += 1
    } else {
      while i < range.upperBound, HTTPGrammar.hostCharacters.contains(bytes[i]) { i += 1 }
    }
    guard i < range.upperBound else { return true }
    guard bytes[i] == UInt8(ascii: ":") else { return false }
    i += 1
    while i < range.upperBound, HTTPGrammar.isDigit(bytes[i]) { i += 1 }
    return i == range.upperBound
  }

  /// A fast check for the most common valid targets: a path in origin form without escapes, in which no segment begins
  /// with a dot. Other targets go through `init`.
  static func isTriviallyValid(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard bytes[range.lowerBound] == UInt8(ascii: "/") else { return false }
    var previous: UInt8 = 0
    for i in range {
      let byte = bytes[i]
      if byte == UInt8(ascii: "?") {
        // In the query only `#` is invalid. Handlers decode the escapes.
        for j in i..<range.upperBound where bytes[j] == UInt8(ascii: "#") { return false }
        return true
      }
      if byte == UInt8(ascii: "%") || byte == UInt8(ascii: "#") { return false }
      if byte == UInt8(ascii: "."), previous == UInt8(ascii: "/") { return false }
      previous = byte
    }
    return true
  }

  private static func segments(of path: Substring) -> [String]? {
    var segments: [String] = []
    for raw in path.split(separator: "/", omittingEmptySubsequences: true) {
      guard let segment = percentDecoded(raw, plusIsSpace: false) else { return nil }
      if segment == "." || segment == ".." || segment.utf8.contains(where: { $0 == 0x2F || $0 == 0 }) { return nil }
      segments.append(segment)
    }
    return segments
  }

  /// Decodes percent escapes (RFC 3986 §2.1). Returns `nil` if the result is not UTF-8.
  static func percentDecoded(_ text: Substring, plusIsSpace: Bool) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.next().flatMap(HTTPGrammar.hexValue), let low = rest.next().flatMap(HTTPGrammar.hexValue)
        else {
          return nil
        }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(0x20)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
