import Foundation
import Logging
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
      lines.add("path", bytes: Array("/a\\\"".utf8)[...] + [0xFF, 0x0A])
      lines.add("status", number: "200")
      lines.add("aborted", true)
    }
    #expect(Self.line(.logfmt, fill).hasSuffix(" path=\"/a\\\\\\\"\\xff\\x0a\" status=200 aborted=true\n"))
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(Self.line(.json, fill).utf8)) as? [String: Any])
    #expect(object["path"] as? String == "/a\\\"\\xff\\x0a")
    #expect(object["status"] as? Int == 200 && object["aborted"] as? Bool == true)
  }
}
