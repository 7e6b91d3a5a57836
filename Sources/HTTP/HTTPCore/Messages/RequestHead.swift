import Primitives

/// A request line and its header fields, as received.
///
/// The bytes stay in the array into which they were received, and the fields are ranges of it. Parsing costs no
/// allocation per field, and none at all if the parser's arrays can be reused. A field value becomes a String only when
/// a caller asks for it.
package struct RequestHead: Sendable {
  package struct Field: Sendable {
    /// The known name of the field, or `other`.
    let headerName: HeaderName
    /// Offsets into the head's bytes.
    let nameStart: UInt32
    let nameEnd: UInt32
    let valueStart: UInt32
    let valueEnd: UInt32

    var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
  }

  package let method: HTTPMethod
  package let version: HTTPVersion
  /// The received bytes; `targetRange` and the fields are ranges of it.
  let bytes: [UInt8]
  let targetRange: Range<Int>
  /// In the order of the message, duplicates kept.
  package let fields: [Field]
  /// The known names that occur.
  package let names: HeaderNames
  /// The budget reservation of a large head.
  let reservation: ByteBudget.Reservation?

  /// The request target as written in the request line.
  package var target: String { string(targetRange) }

  /// The request target's bytes: visible ASCII.
  package func withTarget<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[targetRange])) }
  }

  /// The parsed target. The parser has already rejected malformed targets. Parsed on each access, in time linear in its
  /// length, so keep the result.
  package var parsedTarget: RequestTarget {
    guard let target = RequestTarget(target, method: method, host: value(of: .host)) else {
      preconditionFailure("a target that the parser should have refused")
    }
    return target
  }

  package func has(_ name: HeaderName) -> Bool { names.contains(name) }

  /// A field's name as received.
  package func name(of field: Field) -> String { string(Int(field.nameStart)..<Int(field.nameEnd)) }

  /// All values of a field, in the order of the message.
  package func values(of name: HeaderName) -> [String] {
    guard has(name) else { return [] }
    return fields.filter { $0.headerName == name }.map { HTTPGrammar.text(bytes[$0.value]) }
  }

  /// The value of a field; the values of a repeated field are joined by commas (RFC 9110 §5.3).
  package func value(of name: HeaderName) -> String? {
    guard has(name) else { return nil }
    var found: String?
    for field in fields where field.headerName == name {
      let value = HTTPGrammar.text(bytes[field.value])
      found = found.map { "\($0), \(value)" } ?? value
    }
    return found
  }

  /// The bytes of a field's value as received, which need not be UTF-8; the values of a repeated field are joined by a
  /// comma and a space.
  package func valueBytes(of name: HeaderName) -> [UInt8] {
    let values = fields.filter { $0.headerName == name }.map { bytes[$0.value] }
    return Array(values.joined(separator: ", ".utf8))
  }

  /// The bytes of a field that occurs exactly once; `nil` otherwise.
  package func withSingleValue<Result>(of name: HeaderName, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    guard has(name) else { return nil }
    var found: Range<Int>?
    for field in fields where field.headerName == name {
      if found != nil { return nil }
      found = field.value
    }
    guard let found else { return nil }
    return bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[found])) }
  }

  /// Whether a comma-separated list field contains a token, ignoring case. `token` is in lower case.
  package func list(_ name: HeaderName, contains token: StaticString) -> Bool {
    guard has(name) else { return false }
    let bytes = bytes.span
    for field in fields where field.headerName == name && HTTPGrammar.list(bytes, field.value, contains: token) {
      return true
    }
    return false
  }

  /// Whether a field occurs exactly once and its value is a token, ignoring case. `token` is in lower case.
  func single(_ name: HeaderName, is token: StaticString) -> Bool {
    let bytes = bytes.span
    let found = fields.filter { $0.headerName == name }
    guard found.count == 1 else { return false }
    return HTTPGrammar.equals(bytes, found[0].value, token)
  }

  /// Whether the sender expects the connection to stay open (RFC 9112 §9.3).
  package var keepsAlive: Bool {
    if list(.connection, contains: "close") { return false }
    return version == .http11 || list(.connection, contains: "keep-alive")
  }

  private func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}
