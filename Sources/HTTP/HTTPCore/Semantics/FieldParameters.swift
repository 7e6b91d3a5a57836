/// A field's value and its parameters: `value; name=token; name="quoted"` (RFC 9110 §5.6.6).
package struct FieldParameters: Sendable {
  /// The value before the parameters.
  package private(set) var value: String?
  private var parameters: [String: String] = [:]

  /// Malformed parameters are ignored. Of several parameters with the same name the first counts.
  package init(_ text: String) {
    var rest = Array(text.utf8)[...]
    let end = rest.firstIndex(of: UInt8(ascii: ";")) ?? rest.endIndex
    let first = HTTPGrammar.trimmed(String(decoding: rest[..<end], as: UTF8.self)[...])
    value = first.isEmpty ? nil : String(first)
    rest = rest[end...]
    while rest.first == UInt8(ascii: ";") {
      rest = rest.dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
      let name = rest.prefix(while: HTTPGrammar.isToken)
      rest = rest.dropFirst(name.count)
      var parameterValue: [UInt8] = []
      if rest.first == UInt8(ascii: "=") {
        rest = rest.dropFirst()
        if rest.first == UInt8(ascii: "\"") {
          rest = rest.dropFirst()
          // A backslash escapes only a quote or a backslash: browsers send the backslashes of Windows paths unescaped.
          while let byte = rest.first, byte != UInt8(ascii: "\"") {
            let following = rest.dropFirst().first
            let escapes = following == UInt8(ascii: "\"") || following == UInt8(ascii: "\\")
            if byte == UInt8(ascii: "\\"), escapes, let following {
              parameterValue.append(following)
              rest = rest.dropFirst(2)
            } else {
              parameterValue.append(byte)
              rest = rest.dropFirst()
            }
          }
          rest = rest.dropFirst()
        } else {
          let token = rest.prefix { $0 != UInt8(ascii: ";") }
          parameterValue = Array(token)
          while parameterValue.last == 0x20 || parameterValue.last == 0x09 { parameterValue.removeLast() }
          rest = rest.dropFirst(token.count)
        }
      }
      rest = rest.drop { $0 != UInt8(ascii: ";") }
      let key = String(decoding: name, as: UTF8.self).lowercased()
      if !key.isEmpty, parameters[key] == nil { parameters[key] = String(decoding: parameterValue, as: UTF8.self) }
    }
  }

  package mutating func take(_ name: String) -> String? { parameters.removeValue(forKey: name) }

  /// Removes and decodes `name*` (RFC 8187 §3.2), percent-encoded UTF-8. Returns `nil` if it is missing or malformed.
  package mutating func takeExtendedValue(_ name: String) -> String? {
    guard let text = parameters.removeValue(forKey: name + "*") else { return nil }
    let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
    return RequestTarget.percentDecoded(parts[2], plusIsSpace: false)
  }
}
