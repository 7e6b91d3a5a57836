/// A request line and its header fields, as they came.
///
/// The bytes are kept in one array and the fields as ranges of it: reading a request costs two allocations, however
/// many fields it has, and a field becomes a String only when somebody asks for it.
package struct RequestHead: Sendable {
  package struct Field: Sendable {
    package let name: Range<Int>
    package let value: Range<Int>
  }

  package let method: HTTPMethod
  package let version: HTTPVersion
  /// The whole head without line ends; `targetRange` and the fields are ranges of it.
  let bytes: [UInt8]
  let targetRange: Range<Int>
  /// In the order of the message, duplicates kept.
  let fields: [Field]

  /// The request target as it stands in the request line.
  package var target: String { string(targetRange) }

  /// Every value of a field, in the order of the message. Names compare without regard to case (RFC 9110 §5.1).
  package func values(of name: StaticString) -> [String] {
    fields.filter { matches($0.name, name) }.map { string($0.value) }
  }

  /// The one value of a field; values of a repeated list field are joined by commas (RFC 9110 §5.3).
  package func value(of name: StaticString) -> String? {
    var found: String?
    for field in fields where matches(field.name, name) {
      let value = string(field.value)
      found = found.map { "\($0), \(value)" } ?? value
    }
    return found
  }

  package func has(_ name: StaticString) -> Bool {
    fields.contains { matches($0.name, name) }
  }

  /// Whether a comma-separated list field holds a token, without regard to case.
  package func list(_ name: StaticString, contains token: String) -> Bool {
    guard let value = value(of: name) else { return false }
    return value.split(separator: ",").contains { Text.trimmed($0).lowercased() == token }
  }

  /// Whether the sender expects the connection to stay open (RFC 9112 §9.3).
  package var keepsAlive: Bool {
    if list("connection", contains: "close") { return false }
    return version == .http11 || list("connection", contains: "keep-alive")
  }

  private func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  private func matches(_ range: Range<Int>, _ name: StaticString) -> Bool {
    guard range.count == name.utf8CodeUnitCount else { return false }
    return bytes.withUnsafeBufferPointer { bytes in
      var i = range.lowerBound
      var other = name.utf8Start
      while i < range.upperBound {
        if Text.lowercased(bytes[i]) != Text.lowercased(other.pointee) { return false }
        i += 1
        other += 1
      }
      return true
    }
  }
}
