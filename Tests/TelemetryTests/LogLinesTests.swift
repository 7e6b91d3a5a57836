import Foundation
import Logging
import Primitives
import Telemetry
import Testing

@Suite("Log lines")
struct LogLinesTests {
  private static func line(_ format: LogFormat, _ fill: (inout LogLines) -> Void) -> String {
    var lines = LogLines(format)
    lines.begin(millisecondsSince1970: 784_111_777_000, level: .info, label: "a", message: "scan complete")
    fill(&lines)
    lines.end()
    return String(decoding: lines.bytes, as: UTF8.self)
  }

  /// Texts, and how logfmt writes them.
  static let texts = [
    ("plain", "plain"), ("", "\"\""), ("two words", "\"two words\""), ("a=b", "\"a=b\""), ("a\"b", "\"a\\\"b\""),
    ("a\\b", "a\\b"), ("a\nlevel=error", "\"a\\nlevel=error\""), ("\r\t", "\"\\r\\t\""),
    ("\u{0}\u{1B}[2J", "\"\\u{0}\\u{1b}[2J\""),
    ("\u{85}", "\"\\u{85}\""), ("Größe 📷", "\"Größe 📷\""),
  ]

  @Test("a text stays one value of one line in both forms", arguments: texts)
  func escaped(_ text: String, _ logfmt: String) throws {
    let plain = Self.line(.logfmt) { $0.add("key", text) }
    #expect(plain == "time=1994-11-06T08:49:37.000Z level=info label=a msg=\"scan complete\" key=\(logfmt)\n")
    let json = Self.line(.json) { $0.add("key", text) }
    #expect(json.hasSuffix("}\n") && json.utf8.count(where: { $0 < 0x20 }) == 1)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: String])
    #expect(
      object == [
        "time": "1994-11-06T08:49:37.000Z", "level": "info", "label": "a", "msg": "scan complete", "key": text,
      ])
  }

  @Test("bytes from outside are written as visible ASCII; numbers and flags are not quoted")
  func bytes() throws {
    let fill: (inout LogLines) -> Void = { lines in
      (Array("/a\\\"".utf8) + [0xFF, 0x0A]).withUnsafeBytes { lines.add(LogLines.Key("path"), bytes: $0) }
      lines.add("status", number: "200")
      lines.add("aborted", true)
    }
    #expect(Self.line(.logfmt, fill).hasSuffix(" path=\"/a\\\\\\\"\\xff\\x0a\" status=200 aborted=true\n"))
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(Self.line(.json, fill).utf8)) as? [String: Any])
    #expect(object["path"] as? String == "/a\\\"\\xff\\x0a")
    #expect(object["status"] as? Int == 200 && object["aborted"] as? Bool == true)
  }

  /// Numbers, and how they are written as numbers and as nanoseconds in milliseconds.
  static let numbers: [(UInt64, String, String)] = [
    (0, "0", "0.000"), (7, "7", "0.000"), (999, "999", "0.000"), (1000, "1000", "0.001"),
    (12_345_678_901, "12345678901", "12345.678"), (.max, "18446744073709551615", "18446744073709.551"),
  ]

  @Test("numbers are written in decimal digits", arguments: numbers)
  func digits(_ number: UInt64, _ digits: String, _ milliseconds: String) {
    let line = Self.line(.json) { lines in
      lines.add(LogLines.Key("n"), number)
      lines.add(LogLines.Key("t"), nanosecondsAsMilliseconds: number)
    }
    #expect(line.hasSuffix(",\"n\":\(digits),\"t\":\(milliseconds)}\n"))
  }

  @Test("each line has its own time", arguments: [SystemTime.milliseconds, -1, 0, 999, 1000, 1500, 86_400_000])
  func times(_ first: Int64) {
    var lines = LogLines(.logfmt)
    let event = LogLines.Event(level: .info, label: "a", message: "b")
    let times = [first, first + 1, first + 999, first + 1000, first - 1]
    for time in times {
      lines.begin(millisecondsSince1970: time, fraction: .ifNotZero, event)
      lines.end()
    }
    let expected = times.map { "time=\(RFC3339.text(millisecondsSince1970: $0)) level=info label=a msg=b\n" }
    #expect(String(decoding: lines.bytes, as: UTF8.self) == expected.joined())
  }
}
