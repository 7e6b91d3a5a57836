/// Character classes and trimming of HTTP's grammar (RFC 9110 §5.6).
package enum Text {
  /// tchar (RFC 9110 §5.6.2), by byte.
  private static let tokenBytes: [Bool] = {
    var table = [Bool](repeating: false, count: 256)
    for byte in UInt8(ascii: "0")...UInt8(ascii: "9") { table[Int(byte)] = true }
    for byte in UInt8(ascii: "A")...UInt8(ascii: "Z") { table[Int(byte)] = true }
    for byte in UInt8(ascii: "a")...UInt8(ascii: "z") { table[Int(byte)] = true }
    for byte in "!#$%&'*+-.^_`|~".utf8 { table[Int(byte)] = true }
    return table
  }()

  package static func isToken(_ byte: UInt8) -> Bool { tokenBytes[Int(byte)] }

  /// VCHAR, obs-text, SP or HTAB: what a field value may hold (RFC 9110 §5.5).
  package static func isFieldContent(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

  package static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  package static func lowercased(_ byte: UInt8) -> UInt8 {
    byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
  }

  package static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// Without the spaces and tabs around it (OWS, RFC 9110 §5.6.3).
  package static func trimmed(_ text: some StringProtocol) -> String {
    var view = Substring(text)
    while let first = view.utf8.first, first == 0x20 || first == 0x09 { view.removeFirst() }
    while let last = view.utf8.last, last == 0x20 || last == 0x09 { view.removeLast() }
    return String(view)
  }

  /// Splits at a separator that is not inside a quoted string (RFC 9110 §5.6.4). Elements are trimmed; empty ones go.
  package static func elements(of value: some StringProtocol, separatedBy separator: Character = ",") -> [String] {
    var elements: [String] = []
    var current = ""
    var isQuoted = false
    var isEscaped = false
    for character in value {
      if isEscaped {
        isEscaped = false
      } else if isQuoted && character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        isQuoted.toggle()
      } else if character == separator && !isQuoted {
        elements.append(trimmed(current))
        current = ""
        continue
      }
      current.append(character)
    }
    elements.append(trimmed(current))
    return elements.filter { !$0.isEmpty }
  }
}
