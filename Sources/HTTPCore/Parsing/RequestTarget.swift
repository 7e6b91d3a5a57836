/// What a request is about: a path of decoded segments, its query, and the authority it was sent to.
package struct RequestTarget: Sendable, Hashable {
  /// `*`, as in `OPTIONS *` (RFC 9112 §3.2.4).
  package let isAsterisk: Bool
  /// The path as it came, still encoded.
  package let path: String
  /// The path's segments, decoded: `/v1/assets/a%20b` is `["v1", "assets", "a b"]`. Never `.`, `..`, or empty, and
  /// never with a slash or a NUL in one.
  package let segments: [String]
  /// The query as it came, without its question mark.
  package let query: String?
  /// Host and port, from the absolute form or the Host field; lowercase.
  package let authority: String?

  /// Reads origin-form, absolute-form or asterisk-form (RFC 9112 §3.2). `nil` for anything else, for CONNECT's
  /// authority-form, and for a path that would leave its root.
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
      // RFC 9112 §3.2.2: the Host field is overruled.
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

  /// The query's parameters in their order, decoded by the rules of HTML forms: `+` is a space. `nil` if an escape is
  /// malformed or does not decode to UTF-8.
  package var parameters: [(name: String, value: String)]? {
    guard let query else { return [] }
    var parameters: [(name: String, value: String)] = []
    for pair in query.split(separator: "&") {
      let equals = pair.firstIndex(of: "=")
      guard let name = Self.decoded(pair[..<(equals ?? pair.endIndex)], plusIsSpace: true),
        let value = equals.map({ Self.decoded(pair[pair.index(after: $0)...], plusIsSpace: true) }) ?? ""
      else { return nil }
      parameters.append((name, value))
    }
    return parameters
  }

  /// A text as a part of a query: everything but unreserved characters is escaped (RFC 3986 §2.3).
  package static func encoded(_ text: String) -> String {
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

  /// uri-host [":" port] (RFC 9110 §7.2): an IP literal in brackets, or a name or an IPv4 address; then perhaps a port.
  package static func isHost(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { isHost($0.span, 0..<$0.count) }
  }

  static func isHost(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    var i = range.lowerBound
    if i < range.upperBound, bytes[i] == UInt8(ascii: "[") {
      i += 1
      while i < range.upperBound, Text.addressCharacters.contains(bytes[i]) { i += 1 }
      guard i < range.upperBound, bytes[i] == UInt8(ascii: "]"), i > range.lowerBound + 1 else { return false }
      i += 1
    } else {
      while i < range.upperBound, Text.hostCharacters.contains(bytes[i]) { i += 1 }
    }
    guard i < range.upperBound else { return true }
    guard bytes[i] == UInt8(ascii: ":") else { return false }
    i += 1
    while i < range.upperBound, Text.isDigit(bytes[i]) { i += 1 }
    return i == range.upperBound
  }

  /// Whether a target needs no closer look to be seen to be good: a path in origin form without an escape, and without a
  /// segment that begins with a dot. Nearly all are such; what is not is put to `init`.
  static func isPlain(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard bytes[range.lowerBound] == UInt8(ascii: "/") else { return false }
    var previous: UInt8 = 0
    for i in range {
      let byte = bytes[i]
      if byte == UInt8(ascii: "?") {
        // In the query only a fragment's mark is wrong; escapes there are the handler's to decode.
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
      guard let segment = decoded(raw, plusIsSpace: false) else { return nil }
      if segment == "." || segment == ".." || segment.utf8.contains(where: { $0 == 0x2F || $0 == 0 }) { return nil }
      segments.append(segment)
    }
    return segments
  }

  /// Percent-decoded (RFC 3986 §2.1); `nil` where that is no UTF-8.
  static func decoded(_ text: Substring, plusIsSpace: Bool) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.next().flatMap(Text.hexValue), let low = rest.next().flatMap(Text.hexValue) else {
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
