import Foundation
import HTTPCore
import PhotoFixtures
import Testing

@Suite("Character sets, field names, hosts, entity tags and codings")
struct GrammarTests {
  private static let alphanumeric = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

  @Test("the character sets contain exactly the documented characters")
  func characters() {
    for (set, others) in [
      (HTTPGrammar.tokenCharacters, "!#$%&'*+-.^_`|~"), (HTTPGrammar.hostCharacters, "-._~%!$&'()*+,;="),
      (HTTPGrammar.addressCharacters, ":.%-_~"),
    ] {
      let expected = Self.alphanumeric.union(others.utf8)
      for byte in UInt8.min...UInt8.max { #expect(set.contains(byte) == expected.contains(byte), "\(byte)") }
    }
  }

  @Test("every known field name is recognised in any case, and similar names are not")
  func names() throws {
    func head(_ field: String) throws -> RequestHead {
      var parser = RequestParser(limits: ParserLimits())
      Array("GET / HTTP/1.0\r\n\(field): a\r\n\r\n".utf8).withUnsafeBytes { parser.append($0) }
      guard case .request(let request) = try parser.next() else { throw ParseError.malformedField }
      return request.head
    }
    let framing: [HeaderName] = [.contentLength, .transferEncoding, .expect]
    for name in HeaderName.allCases where name != .other && !framing.contains(name) {
      let text = "\(name.text)"
      for spelling in [text, text.uppercased(), text.capitalized] {
        let head = try head(spelling)
        #expect(head.value(of: name) == "a", "\(spelling)")
        #expect(head.names == HeaderNames(name))
        #expect(head.name(of: head.fields[0]) == spelling)
      }
      var other = Array(text.utf8)
      for i in other.indices {
        let kept = other[i]
        other[i] = UInt8(ascii: "~")
        #expect(try head(String(decoding: other, as: UTF8.self)).names == HeaderNames(.other))
        other[i] = kept
      }
      #expect(try head(text + "x").names == HeaderNames(.other))
      #expect(try head(String(text.dropLast())).names == HeaderNames(.other))
    }
  }

  @Test("fields keep their order, and duplicates are kept")
  func order() throws {
    var parser = RequestParser(limits: ParserLimits())
    Array("GET / HTTP/1.0\r\nB: 1\r\nA: 2\r\nb: 3\r\nAccept: x\r\nAccept: y\r\n\r\n".utf8).withUnsafeBytes {
      parser.append($0)
    }
    guard case .request(let request) = try parser.next() else {
      Issue.record("no request")
      return
    }
    #expect(request.head.fields.map(request.head.name) == ["B", "A", "b", "Accept", "Accept"])
    #expect(request.head.values(of: .accept) == ["x", "y"] && request.head.value(of: .accept) == "x, y")
  }

  @Test(
    "a host is accepted exactly if RFC 3986, or RFC 6874 for zones, allows it",
    arguments: [
      ("a", true), ("a.b:80", true), ("", true), ("a:", true), ("[::1]", true), ("[::1]:8080", true),
      ("127.0.0.1:1", true),
      ("x%41", true), ("[fe80::1%25eth0]", true), ("a:b", false), ("a:80:90", false), ("[::1", false), ("[]", false),
      ("::1", false), ("a/b", false), ("a b", false), ("u@h", false), ("a?b", false), ("[::1]x", false), ("a#b", false),
      ("\u{E4}", false),
    ])
  func hosts(_ text: String, _ isHost: Bool) { #expect(RequestTarget.isHost(text) == isHost) }

  @Test(
    "lists are split at the bytes of separators outside quoted strings, or at all of them if a string has no end",
    arguments: [
      ("", []), (" ,\t, ", []), ("a, b ,\tc", ["a", "b", "c"]), ("a b,,c", ["a b", "c"]),
      ("x=\"a, b\", c", ["x=\"a, b\"", "c"]), ("x=\"a\\\", b\", c", ["x=\"a\\\", b\"", "c"]),
      ("a\\, b", ["a\\", "b"]), ("\"a, b", ["\"a", "b"]), ("\"a\\, b", ["\"a\\", "b"]),
      ("\"a, x=\"b\", c", ["\"a", "x=\"b\"", "c"]),
      ("\u{600}, a", ["\u{600}", "a"]), ("a,\u{301}b", ["a", "\u{301}b"]), ("a, \u{301}", ["a", "\u{301}"]),
    ] as [(String, [String])])
  func elements(_ value: String, _ expected: [String]) {
    // Compared as bytes: strings are equal also if only their canonical forms are.
    #expect(HTTPGrammar.elements(of: value).map { Array($0.utf8) } == expected.map { Array($0.utf8) })
    func withSemicolons(_ text: String) -> [UInt8] {
      text.utf8.map { $0 == UInt8(ascii: ",") ? UInt8(ascii: ";") : $0 }
    }
    let elements = HTTPGrammar.elements(
      of: String(decoding: withSemicolons(value), as: UTF8.self), separatedBy: UInt8(ascii: ";"))
    #expect(elements.map { Array($0.utf8) } == expected.map(withSemicolons))
  }

  @Test("only spaces and tabs at the ends are removed, and no mark that follows them")
  func trimmed() {
    for (text, expected) in [
      ("", ""), (" \t ", ""), (" a b\t", "a b"), ("\u{A0}a", "\u{A0}a"), (" \u{301}a", "\u{301}a"),
    ] {
      #expect(Array(HTTPGrammar.trimmed(text).utf8) == Array(expected.utf8), "\(text)")
    }
  }

  @Test(
    "entity tag lists match by the strong and the weak comparison",
    arguments: [
      ("\"a\"", true, true), ("\"b\"", false, false), ("\"b\", \"a\"", true, true), ("W/\"a\"", false, true),
      ("W/\"b\",W/\"a\"", false, true), ("*", true, true), ("", false, false), ("a", false, false),
      ("\"a", false, false),
      ("\"x,\"a\"", false, false), ("\"\\\", \"a\"", true, true), ("nonsense, \"a\"", true, true),
      (",,\"a\" ,", true, true),
      ("w/\"a\"", false, false),
    ])
  func tags(_ list: String, _ strongly: Bool, _ weakly: Bool) {
    #expect(EntityTagList.matches("\"a\"", in: list, weakly: false) == strongly)
    #expect(EntityTagList.matches("\"a\"", in: list, weakly: true) == weakly)
  }

  @Test(
    "gzip is used only if Accept-Encoding allows it",
    arguments: [
      (nil, false), ("", false), ("gzip", true), ("GZIP", true), ("x-gzip", true), ("gzip;q=0", false), ("*", true),
      ("*;q=0", false), ("gzip;q=0, *", false), ("br, gzip;q=0.5", true), ("identity, gzip;q=0.5", false),
      ("identity;q=0.5, gzip;q=0.5", true), ("identity;q=0", false), ("deflate", false), ("gzip;q=x", false),
      ("gzip;q=.5", true), ("identity, gzip;q=.5", false), ("gzip;q=0.0001", false),
    ] as [(String?, Bool)])
  func coding(_ field: String?, _ isGzip: Bool) {
    #expect(ContentCoding(acceptEncoding: field) == (isGzip ? .gzip : .identity))
  }

  @Test("gzip output is valid and deterministic")
  func gzipped() throws {
    let text = Array(String(repeating: "the same again and again. ", count: 500).utf8)
    let compressed = try #require(ContentCoding.gzip(text))
    #expect(compressed == ContentCoding.gzip(text))
    #expect(compressed.count < text.count / 10)
    #expect(compressed.capacity < text.count / 10, "memory of the size of the input is not kept")
    #expect(try runToEnd("/usr/bin/env", ["gzip", "-dc"], input: compressed).output == text)
    #expect(
      ContentCoding.gzip.entityTag("\"a\"") == "\"a-gzip\"" && ContentCoding.identity.entityTag("\"a\"") == "\"a\"")
  }
}
