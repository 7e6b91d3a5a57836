import Logging
import Primitives

/// The form of log lines.
package enum LogFormat: Sendable, Hashable {
  /// `key=value` pairs, for people and for programs that know the form.
  case logfmt
  /// One JSON object (RFC 8259) on each line, for collectors of logs.
  case json
}

/// Log lines in one of the two forms. The log of events and the access log both write with it, so that all lines of the
/// daemon have the same form.
///
///     time=2026-11-21T10:00:00.123Z level=info label=library msg="scan complete" assets=12
///     {"time":"2026-11-21T10:00:00.123Z","level":"info","label":"library","msg":"scan complete","assets":"12"}
///
/// No text can end a line, a quoted value or a string early: control characters are escaped in both forms.
package struct LogLines: Sendable {
  /// A key that is written often, in the bytes of each form. It has no characters that would need an escape.
  package struct Key: Sendable {
    fileprivate let logfmt: [UInt8]
    fileprivate let json: [UInt8]

    package init(_ name: String) {
      logfmt = Array(" \(name)=".utf8)
      json = Array(",\"\(name)\":".utf8)
    }
  }

  /// The part that all lines of one kind have after their time, in the bytes of each form.
  package struct Event: Sendable {
    fileprivate let logfmt: [UInt8]
    fileprivate let json: [UInt8]

    package init(level: Logger.Level, label: String, message: String) {
      func bytes(_ format: LogFormat) -> [UInt8] {
        var lines = LogLines(format)
        lines.add("level", level.rawValue)
        lines.add("label", label)
        lines.add("msg", message)
        return lines.bytes
      }
      logfmt = bytes(.logfmt)
      json = bytes(.json)
    }
  }

  private let format: LogFormat
  /// A second since 1970, and its text without the zone: lines that follow each other are mostly of one second.
  private var second: (number: Int64, text: [UInt8]) = (.min, [])
  /// Complete lines, in UTF-8.
  package private(set) var bytes: [UInt8] = []

  package init(_ format: LogFormat, capacity: Int = 256) {
    self.format = format
    bytes.reserveCapacity(capacity)
  }

  /// Begins a line with the members that each line has.
  package mutating func begin(
    millisecondsSince1970: Int64, fraction: RFC3339.Fraction = .always, level: Logger.Level, label: String,
    message: String
  ) {
    begin(
      millisecondsSince1970: millisecondsSince1970, fraction: fraction,
      Event(level: level, label: label, message: message))
  }

  /// Begins a line of a kind that is written often.
  package mutating func begin(
    millisecondsSince1970 milliseconds: Int64, fraction: RFC3339.Fraction = .always, _ event: Event
  ) {
    switch format {
    case .logfmt: append("time=")
    case .json: append("{\"time\":\"")
    }
    let (seconds, rest) = milliseconds.floorDivided(by: 1000)
    if seconds != second.number {
      var text: [UInt8] = []
      RFC3339.append(millisecondsSince1970: milliseconds - rest, to: &text)
      second = (seconds, text.dropLast())
    }
    bytes.append(contentsOf: second.text)
    if rest != 0 || fraction == .always { appendThousandths(UInt64(rest)) }
    append(format == .json ? "Z\"" : "Z")
    bytes.append(contentsOf: format == .json ? event.json : event.logfmt)
  }

  /// Adds a member. `key` is a name of the program's own, without characters that would need an escape.
  package mutating func add(_ key: String, _ text: String) {
    addKey(key)
    switch format {
    case .logfmt:
      // A backslash in a plain text is not escaped.
      let isPlain = !text.isEmpty && text.utf8.allSatisfy { Self.isPlain($0) || $0 == UInt8(ascii: "\\") }
      if isPlain { append(text) } else { appendQuoted(text) }
    case .json: appendQuoted(text)
    }
  }

  /// Adds a member whose value is a number in decimal digits, such as `12` or `0.5`.
  package mutating func add(_ key: String, number: String) {
    addKey(key)
    append(number)
  }

  package mutating func add(_ key: Key, _ number: UInt64) {
    addKey(key)
    appendDigits(number)
  }

  /// Adds a member with this number of nanoseconds as milliseconds with three decimal places.
  package mutating func add(_ key: Key, nanosecondsAsMilliseconds nanoseconds: UInt64) {
    addKey(key)
    appendDigits(nanoseconds / 1_000_000)
    appendThousandths(nanoseconds / 1000 % 1000)
  }

  package mutating func add(_ key: String, _ flag: Bool) {
    addKey(key)
    append(flag ? "true" : "false")
  }

  /// Adds a member with bytes from outside. A byte that is not visible ASCII or a space is written as `\xHH`.
  package mutating func add(_ key: Key, bytes text: UnsafeRawBufferPointer) {
    addKey(key)
    if format == .logfmt, text.allSatisfy(Self.isPlain) { return bytes.append(contentsOf: text) }
    bytes.append(UInt8(ascii: "\""))
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0x20..<0x7F: bytes.append(byte)
      default:
        // JSON has no \x, so that the backslash itself is escaped there.
        append(format == .json ? "\\\\x" : "\\x")
        appendHex(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Ends the line.
  package mutating func end() { append(format == .json ? "}\n" : "\n") }

  private mutating func addKey(_ key: String) {
    switch format {
    case .logfmt:
      append(" ")
      append(key)
      append("=")
    case .json:
      append(",\"")
      append(key)
      append("\":")
    }
  }

  private mutating func addKey(_ key: Key) { bytes.append(contentsOf: format == .json ? key.json : key.logfmt) }

  private mutating func appendDigits(_ number: UInt64) {
    var unit: UInt64 = 1
    while number / unit >= 10 { unit *= 10 }
    while unit > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(number / unit % 10))
      unit /= 10
    }
  }

  /// Appends a decimal point and three digits of a number below 1000.
  private mutating func appendThousandths(_ number: UInt64) {
    bytes.append(UInt8(ascii: "."))
    bytes.append(UInt8(ascii: "0") + UInt8(number / 100))
    bytes.append(UInt8(ascii: "0") + UInt8(number / 10 % 10))
    bytes.append(UInt8(ascii: "0") + UInt8(number % 10))
  }

  private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

  private mutating func appendHex(_ byte: UInt8) {
    for digit in [byte >> 4, byte & 15] {
      bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
  }

  /// Quotes a text. Characters that are neither controls nor quotes are kept.
  private mutating func appendQuoted(_ text: String) {
    append("\"")
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": append("\\\"")
      case "\\": append("\\\\")
      case "\n": append("\\n")
      case "\r": append("\\r")
      case "\t": append("\\t")
      case let other where other.value < 0x20 || (0x7F...0x9F).contains(other.value):
        let digits = String(other.value, radix: 16)
        append(format == .json ? "\\u" + String(repeating: "0", count: 4 - digits.count) + digits : "\\u{\(digits)}")
      case let other: append(String(Character(other)))
      }
    }
    append("\"")
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=")
      && byte != UInt8(ascii: "\\")
  }
}
