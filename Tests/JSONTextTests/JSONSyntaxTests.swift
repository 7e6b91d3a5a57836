import Foundation
import JSONText
import Testing

@Suite("JSON syntax")
struct JSONSyntaxTests {
  private func error(_ text: [UInt8]) -> JSONSyntaxError? {
    do throws(JSONSyntaxError) {
      try JSONSyntax.check(text)
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "JSON is accepted",
    arguments: [
      "{}", "[]", " {\r\n\t} ", "null", "true", "false", "0", "-0", "-1.5e+10", "1E5", "0.25", "\"\"", "\"a\"",
      #"{"a": [1, {"a": [], "b": {}}], "b": null}"#, #"["\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00"]"#,
      "[\"é漢😀\u{7F}\"]",
      #"[{"a": 1}, {"a": 1}]"#, #"{"a": 1, "A": 2, "\u0061b": 3}"#, "\u{FEFF}{}", "[1e400]",
    ])
  func accepted(_ text: String) throws {
    #expect(error(Array(text.utf8)) == nil)
  }

  @Test("comments may be repeated, and the error of another member names the objects around it")
  func comments() {
    func path(_ text: String) -> String? {
      do throws(JSONSyntaxError) {
        try JSONSyntax.check(Array(text.utf8), commentPrefix: "//")
        return nil
      } catch {
        return error.path
      }
    }
    #expect(path(#"{"//": 1, "//": 2, "a": {"//": 3}}"#) == nil)
    #expect(path(#"{"//": 1, "a": [{"b": 1, "b": 2}]}"#) == "a.b")
    #expect(path("{") == "")
  }

  @Test(
    "what is not JSON is refused, with the place",
    arguments: [
      ("", 1, 1, .endOfText), (" ", 1, 2, .endOfText), ("{", 1, 2, .endOfText), ("[1", 1, 3, .endOfText),
      (#"{"a"#, 1, 4, .endOfText), (#"{"a" 1}"#, 1, 6, .unexpected), (#"{"a":1,}"#, 1, 8, .unexpected),
      ("[1,]", 1, 4, .unexpected), ("[,1]", 1, 2, .unexpected), ("[1 2]", 1, 4, .unexpected),
      ("[1}", 1, 3, .unexpected), (#"{"a":1]"#, 1, 7, .unexpected), ("{} {}", 1, 4, .unexpected),
      ("{'a':1}", 1, 2, .unexpected), ("{a:1}", 1, 2, .unexpected), ("/**/{}", 1, 1, .unexpected),
      ("nul", 1, 4, .endOfText), ("nulL", 1, 4, .unexpected), ("NaN", 1, 1, .unexpected), ("+1", 1, 1, .unexpected),
      ("01", 1, 2, .unexpected), ("1.", 1, 3, .endOfText), (".5", 1, 1, .unexpected), ("-", 1, 2, .endOfText),
      ("1e", 1, 3, .endOfText), ("1e+x", 1, 4, .unexpected), ("0x1", 1, 2, .unexpected),
      ("{\n \"é\": x}", 2, 7, .unexpected), ("[\"a\tb\"]", 1, 4, .controlCharacter),
      ("[\"a\nb\"]", 1, 4, .controlCharacter), (#"["\x"]"#, 1, 3, .invalidEscape),
      (#"["\u12g4"]"#, 1, 3, .invalidEscape),
      (#"["\ud800"]"#, 1, 3, .invalidEscape), (#"["\ud800\u0041"]"#, 1, 3, .invalidEscape),
      (#"["\udc00"]"#, 1, 3, .invalidEscape), (#"["\u1"#, 1, 3, .invalidEscape), (#"["\"#, 1, 4, .endOfText),
      (#"{"a":1,"a":2}"#, 1, 8, .repeatedMember("a")), (#"{"a":1,"\u0061":2}"#, 1, 8, .repeatedMember("a")),
      (#"[{"x":{"a":[{}],"b":1,"a":2}}]"#, 1, 23, .repeatedMember("a")),
      (#"{"\n\ud83d\ude00":1,"\n😀":2}"#, 1, 21, .repeatedMember("\n😀")),
    ] as [(String, Int, Int, JSONSyntaxError.Reason)])
  func refused(_ text: String, _ line: Int, _ column: Int, _ reason: JSONSyntaxError.Reason) {
    let found = error(Array(text.utf8))
    #expect(found?.reason == reason)
    #expect(found?.line == line && found?.column == column, "\(found?.description ?? "")")
  }

  @Test("text that is not UTF-8 is refused")
  func encodings() {
    #expect(error(Array("[\"".utf8) + [0xFF] + Array("\"]".utf8))?.reason == .invalidUTF8)
    // A surrogate, and a form that is too long.
    #expect(error(Array("[\"".utf8) + [0xED, 0xA0, 0x80] + Array("\"]".utf8))?.reason == .invalidUTF8)
    #expect(error(Array("{\"".utf8) + [0xC0, 0x80] + Array("\":1}".utf8))?.reason == .invalidUTF8)
    #expect(error([0xC3, 0xA9])?.reason == .unexpected)
    for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf32] {
      #expect(error(Array("{}".data(using: encoding) ?? Data())) != nil, "\(encoding)")
    }
  }

  @Test("nesting is limited, and deep text does not overflow the stack")
  func depth() {
    func nested(_ depth: Int) -> [UInt8] { Array((String(repeating: "[", count: depth) + "1").utf8) }
    let closed = nested(512) + Array(String(repeating: "]", count: 512).utf8)
    #expect(error(closed) == nil)
    #expect(error(nested(513))?.reason == .tooDeep)
    #expect(error(nested(1_000_000))?.column == 513)
    let objects = String(repeating: #"{"a":"#, count: 513)
    #expect(error(Array(objects.utf8))?.reason == .tooDeep)
  }

  @Test("an object with many members is checked")
  func members() {
    let members = (0..<20_000).map { "\"name \($0)\":\($0)" }
    #expect(error(Array("{\(members.joined(separator: ","))}".utf8)) == nil)
    let twice = members + ["\"name 7\":0"]
    #expect(error(Array("{\(twice.joined(separator: ","))}".utf8))?.reason == .repeatedMember("name 7"))
  }
}
