/// A field's value and its parameters: `value; name=token; name="quoted"` (RFC 9110 §5.6.6).
package struct FieldParameters: Sendable {
  /// What stands before the parameters.
  package private(set) var value: String?
  private var parameters: [String: String] = [:]

  /// What is no parameter is passed over; of two with one name the first counts.
  package init(_ text: String) {
    var rest = Array(text.utf8)[...]
    let end = rest.firstIndex(of: UInt8(ascii: ";")) ?? rest.endIndex
    let first = Text.trimmed(String(decoding: rest[..<end], as: UTF8.self)[...])
    value = first.isEmpty ? nil : String(first)
    rest = rest[end...]
    while rest.first == UInt8(ascii: ";") {
      rest = rest.dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
      let name = rest.prefix(while: Text.isToken)
      rest = rest.dropFirst(name.count)
      var itsValue: [UInt8] = []
      if rest.first == UInt8(ascii: "=") {
        rest = rest.dropFirst()
        if rest.first == UInt8(ascii: "\"") {
          rest = rest.dropFirst()
          // A backslash only before a quote or another one: browsers send those of Windows' paths as they are.
          while let byte = rest.first, byte != UInt8(ascii: "\"") {
            let following = rest.dropFirst().first
            let escapes = following == UInt8(ascii: "\"") || following == UInt8(ascii: "\\")
            if byte == UInt8(ascii: "\\"), escapes, let following {
              itsValue.append(following)
              rest = rest.dropFirst(2)
            } else {
              itsValue.append(byte)
              rest = rest.dropFirst()
            }
          }
          rest = rest.dropFirst()
        } else {
          let token = rest.prefix { $0 != UInt8(ascii: ";") }
          itsValue = Array(token)
          while itsValue.last == 0x20 || itsValue.last == 0x09 { itsValue.removeLast() }
          rest = rest.dropFirst(token.count)
        }
      }
      rest = rest.drop { $0 != UInt8(ascii: ";") }
      let key = String(decoding: name, as: UTF8.self).lowercased()
      if !key.isEmpty, parameters[key] == nil { parameters[key] = String(decoding: itsValue, as: UTF8.self) }
    }
  }

  package mutating func take(_ name: String) -> String? { parameters.removeValue(forKey: name) }

  /// `name*` (RFC 8187 §3.2): of UTF-8, percent-encoded; `nil` where it is not there or none.
  package mutating func takeExtended(_ name: String) -> String? {
    guard let text = parameters.removeValue(forKey: name + "*") else { return nil }
    let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
    return RequestTarget.decoded(parts[2], plusIsSpace: false)
  }
}
