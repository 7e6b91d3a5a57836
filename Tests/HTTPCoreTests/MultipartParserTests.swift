import HTTPCore
import Testing

@Suite("multipart/form-data")
struct MultipartParserTests {
  struct Part: Equatable, CustomStringConvertible {
    var filename: String?
    var body: String
    var description: String { "\(filename ?? "-"): \(body.debugDescription)" }
  }

  static func parts(_ pieces: [[UInt8]], boundary: String = "b") throws -> [Part] {
    var parser = try MultipartParser(boundary: boundary)
    var parts: [Part] = []
    var isOpen = false
    for piece in pieces {
      parser.append(piece)
      parsing: while true {
        switch try parser.next() {
        case .needsInput: break parsing
        case .part(let part):
          #expect(!isOpen)
          isOpen = true
          parts.append(Part(filename: part.filename ?? part.name.map { "name " + $0 }, body: ""))
        case .piece(let piece):
          #expect(isOpen && !piece.isEmpty)
          parts[parts.count - 1].body += String(decoding: piece, as: UTF8.self)
        case .partEnded: isOpen = false
        case .ended: #expect(!isOpen)
        }
      }
    }
    try parser.finish()
    return parts
  }

  struct ValidCase: CustomTestStringConvertible, Sendable {
    let name: String
    let body: String
    let parts: [Part]
    var boundary = "b"
    var testDescription: String { name }

    init(_ name: String, _ body: String, _ parts: [(String?, String)], boundary: String = "b") {
      self.name = name
      self.body = body
      self.parts = parts.map { Part(filename: $0.0, body: $0.1) }
      self.boundary = boundary
    }
  }

  static let disposition = "Content-Disposition: form-data; name=\"f\"; filename="

  static let good = [
    ValidCase("one file", "--b\r\n\(disposition)\"a.jpg\"\r\n\r\nxyz\r\n--b--\r\n", [("a.jpg", "xyz")]),
    ValidCase("no line end after the last delimiter", "--b\r\n\(disposition)a\r\n\r\nx\r\n--b--", [("a", "x")]),
    ValidCase("an empty file", "--b\r\n\(disposition)\"\"\r\n\r\n\r\n--b--", [("", "")]),
    ValidCase(
      "two parts with a preamble and an epilogue",
      "hello\r\n--b\r\n\(disposition)a\r\n\r\n1\r\n--b\r\n\(disposition)b\r\n\r\n2\r\n--b--\r\n--b\r\nno part",
      [("a", "1"), ("b", "2")]),
    ValidCase("white space after a boundary", "--b \t\r\n\(disposition)a\r\n\r\n1\r\n--b--", [("a", "1")]),
    ValidCase(
      "content that begins like a delimiter", "--b\r\n\(disposition)a\r\n\r\n\r\n--\r\r\n-\r\n--a\r\n\r\n--b--",
      [("a", "\r\n--\r\r\n-\r\n--a\r\n")]),
    ValidCase(
      "a boundary with spaces and a long one", "--it's a: b\r\n\(disposition)a\r\n\r\n1\r\n--it's a: b--", [("a", "1")],
      boundary: "it's a: b"),
    ValidCase("a part without fields", "--b\r\n\r\nx\r\n--b--", [(nil, "x")]),
    ValidCase("no part", "--b--", []),
    ValidCase(
      "other header fields, names in any case, and a form field that is not a file",
      "--b\r\nX-Y: z\r\nCONTENT-disposition:form-data;name=f\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--",
      [("name f", "x")]),
    ValidCase(
      "names: quotes, backslashes, semicolons, other scripts",
      "--b\r\n\(disposition)\"C:\\dir\\a \\\"b\\\"; c.jpg\"\r\n\r\n1\r\n--b\r\n\(disposition)\"\u{E9}.jpg\"\r\n\r\n2\r\n--b\r\n"
        + "\(disposition)plain; filename*=UTF-8''%E2%82%AC.jpg\r\n\r\n3\r\n--b--",
      [("C:\\dir\\a \"b\"; c.jpg", "1"), ("\u{E9}.jpg", "2"), ("\u{20AC}.jpg", "3")]),
  ]

  @Test("a name that is not UTF-8 is ISO 8859-1")
  func latinName() throws {
    let body = Array("--b\r\n\(Self.disposition)\"neu ".utf8) + [0xE9] + Array(".jpg\"\r\n\r\nx\r\n--b--".utf8)
    #expect(try Self.parts([body]) == [Part(filename: "neu \u{E9}.jpg", body: "x")])
  }

  @Test("valid bodies give the same parts however they are split", arguments: good)
  func goodBodies(_ row: ValidCase) throws {
    let bytes = Array(row.body.utf8)
    for split in 0...bytes.count {
      #expect(
        try Self.parts([Array(bytes[..<split]), Array(bytes[split...])], boundary: row.boundary) == row.parts,
        "\(split)")
    }
    // The helper decodes each piece separately, so a piece must not end inside a character: single bytes are tested for
    // ASCII bodies only.
    if bytes.allSatisfy({ $0 < 0x80 }) {
      #expect(try Self.parts(bytes.map { [$0] }, boundary: row.boundary) == row.parts)
    }
  }

  static let bad: [(String, MultipartError)] = [
    ("", .incomplete), ("--b", .incomplete), ("--b\r\n\(disposition)a\r\n\r\nxyz", .incomplete),
    ("--b\r\n\(disposition)a\r\n\r\nxyz\r\n--b", .incomplete), ("--b-", .incomplete), ("--b-x", .malformed),
    ("--bx\r\n", .malformed), ("--b\r\nno field\r\n\r\nx\r\n--b--", .malformed), ("--b\nX: y\r\n", .malformed),
    ("--b\r\nX: y\n\r\n", .malformed), ("--b\r\n: y\r\n\r\n", .malformed), ("--b\r\nX: a\0b\r\n\r\n", .malformed),
    ("--b\r\nContent-Disposition: attachment; filename=a\r\n\r\n", .malformed),
    ("--b\r\n\(disposition)a\r\n\r\nxyz\r\n--bc\r\n", .malformed),
    ("--b" + String(repeating: " ", count: 300) + "\r\n\r\n", .malformed),
    ("--b\r\nX: " + String(repeating: "y", count: 20_000), .headTooLarge(limit: 16_384)),
    (String(repeating: "y", count: 20_000) + "\r\n--b--", .headTooLarge(limit: 16_384)),
  ]

  @Test("malformed bodies are rejected", arguments: bad)
  func badBodies(_ body: String, _ error: MultipartError) {
    let bytes = Array(body.utf8)
    for split in stride(from: 0, through: bytes.count, by: 1 + bytes.count / 200) {
      #expect(throws: error, "\(split)") { try Self.parts([Array(bytes[..<split]), Array(bytes[split...])]) }
    }
  }

  @Test("a part does not end at a delimiter whose line is malformed")
  func unended() throws {
    var parser = try MultipartParser(boundary: "b")
    parser.append(Array("--b\r\n\r\nx\r\n--b?".utf8))
    var ended = false
    #expect(throws: MultipartError.malformed) {
      while true { if try parser.next() == .partEnded { ended = true } }
    }
    #expect(!ended)
  }

  @Test("the boundary is read from the Content-Type")
  func boundaries() throws {
    #expect(try MultipartParser.boundary(of: "multipart/form-data; boundary=abc") == "abc")
    #expect(try MultipartParser.boundary(of: "Multipart/Form-Data; charset=x; Boundary=\"a b\"") == "a b")
    #expect(try MultipartParser.boundary(of: "image/jpeg") == nil)
    #expect(throws: MultipartError.malformedBoundary) { try MultipartParser.boundary(of: "multipart/form-data") }
    for boundary in ["", "a ", "a\u{E9}", "a<b", String(repeating: "a", count: 71)] {
      #expect(throws: MultipartError.malformedBoundary, "\(boundary)") { try MultipartParser(boundary: boundary) }
    }
  }
}
