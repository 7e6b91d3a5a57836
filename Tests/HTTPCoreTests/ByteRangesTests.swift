import HTTPCore
import Testing

@Suite("Byte ranges")
struct ByteRangesTests {
  private static let tag = "\"abc\""
  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

  static func head(_ fields: String, method: String = "GET") throws -> RequestHead {
    var parser = RequestParser(limits: ParserLimits())
    let message = "\(method) / HTTP/1.1\r\nHost: a\r\n" + (fields.isEmpty ? "" : fields + "\r\n") + "\r\n"
    Array(message.utf8).withUnsafeBytes { parser.append($0) }
    guard case .request(let request) = try parser.next() else { throw ParseError.malformedField }
    return request.head
  }

  @Test(
    "byte ranges of 100 bytes resolve as RFC 9110 says, and malformed or excessive ones are ignored",
    arguments: [
      ("", .whole), ("bytes=0-0", .parts([0..<1])), ("bytes=0-99", .parts([0..<100])), ("bytes=0-", .parts([0..<100])),
      ("bytes=10-19", .parts([10..<20])), ("bytes=90-1000", .parts([90..<100])), ("bytes=-10", .parts([90..<100])),
      ("bytes=-1000", .parts([0..<100])), ("Bytes = 1-2", .parts([1..<3])),
      ("bytes=5-6, 1-2 ,-1", .parts([5..<7, 1..<3, 99..<100])), ("bytes=,1-2,,", .parts([1..<3])),
      ("bytes=100-", .unsatisfiable), ("bytes=100-200, 300-", .unsatisfiable), ("bytes=-0", .unsatisfiable),
      ("bytes=100-, 1-2", .parts([1..<3])), ("bytes=99999999999999999999-", .unsatisfiable),
      ("bytes=0-99999999999999999999", .parts([0..<100])), ("bytes=-99999999999999999999", .parts([0..<100])),
      // Malformed, so ignored.
      ("bytes", .whole), ("bytes=", .whole), ("bytes=-", .whole), ("bytes=a-b", .whole), ("bytes=2-1", .whole),
      ("bytes=1-2-3", .whole), ("bytes=+1-2", .whole), ("bytes=1-2,x", .whole), ("items=1-2", .whole),
      ("bytes=--1", .whole), ("bytes=1", .whole),
      // More bytes than the representation has, and more ranges than allowed.
      ("bytes=0-,0-", .whole), ("bytes=0-60,40-99", .whole), ("bytes=0-0,1-1,2-2,3-3,4-4", .whole),
      ("bytes=0-0,1-1,2-2,3-3", .parts([0..<1, 1..<2, 2..<3, 3..<4])),
    ] as [(String, ByteRanges)])
  func ranges(_ value: String, _ expected: ByteRanges) throws {
    let head = try Self.head(value.isEmpty ? "" : "Range: \(value)")
    #expect(ByteRanges(head, size: 100, validators: Validators(entityTag: Self.tag), limit: 4) == expected)
  }

  @Test("a plain range is found without the full parser, and is then its only part")
  func plainPart() throws {
    let numbers = [
      "", "0", "7", "007", "99", "100", "101", "999999999999999999", "9999999999999999999", "+1", "a", "-",
    ]
    let specs = numbers.flatMap { first in numbers.map { "\(first)-\($0)" } } + ["", "1", "0-1,2-3", "0-1,", " 0-1"]
    for unit in ["bytes=", "Bytes=", "bytes =", "items=", ""] {
      for spec in specs {
        let head = try Self.head("Range: \(unit)\(spec)")
        for size in [0, 1, 100] {
          let full = ByteRanges(head, size: size, validators: Validators(entityTag: nil), limit: 4)
          if let part = ByteRanges.plainPart(head, size: size) {
            #expect(full == .parts([part]), "\(unit)\(spec) of \(size)")
          } else if unit == "bytes=", ["7-99", "7-", "7-7"].contains(spec) {
            #expect(size <= 7, "\(spec) of \(size)")
          }
        }
      }
    }
    #expect(ByteRanges.plainPart(try Self.head("Range: bytes=7-"), size: 100) == 7..<100)
    #expect(ByteRanges.plainPart(try Self.head("Range: bytes=0-1\r\nRange: bytes=0-1"), size: 100) == nil)
    #expect(ByteRanges.plainPart(try Self.head(""), size: 100) == nil)
  }

  @Test("an empty representation satisfies no range")
  func empty() throws {
    for value in ["bytes=0-", "bytes=-1", "bytes=0-0"] {
      let ranges = ByteRanges(
        try Self.head("Range: \(value)"), size: 0, validators: Validators(entityTag: nil), limit: 4)
      #expect(ranges == .unsatisfiable)
    }
  }

  @Test(
    "ranges apply only if If-Range matches the representation",
    arguments: [
      ("\"abc\"", true), ("\"abd\"", false), ("W/\"abc\"", false), ("*", false), (date, false), ("nonsense", false),
    ])
  func ifRange(_ value: String, _ applies: Bool) throws {
    let head = try Self.head("Range: bytes=1-2\r\nIf-Range: \(value)")
    let ranges = ByteRanges(
      head, size: 100, validators: Validators(entityTag: Self.tag, lastModified: 784_111_777), limit: 4)
    #expect(ranges == (applies ? .parts([1..<3]) : .whole))
  }

  @Test("If-Range with a date applies without an entity tag", arguments: [(784_111_777, true), (784_111_778, false)])
  func ifRangeDate(_ modified: Int, _ applies: Bool) throws {
    let head = try Self.head("Range: bytes=1-2\r\nIf-Range: \(Self.date)")
    let ranges = ByteRanges(
      head, size: 100, validators: Validators(entityTag: nil, lastModified: Int64(modified)), limit: 4)
    #expect(ranges == (applies ? .parts([1..<3]) : .whole))
  }

  @Test("ranges apply only to GET", arguments: ["HEAD", "PUT"])
  func methods(_ method: String) throws {
    let head = try Self.head("Range: bytes=1-2", method: method)
    #expect(ByteRanges(head, size: 100, validators: Validators(entityTag: nil), limit: 4) == .whole)
  }

  private static let whole = HTTPResponse(
    .ok, [("Content-Type", "text/plain"), ("ETag", tag)], body: Array("0123456789".utf8))

  private static func answer(_ range: String) throws -> HTTPResponse {
    whole.applyingByteRanges(
      for: try head("Range: bytes=\(range)"), validators: Validators(entityTag: tag), limit: 4, boundary: { "B" },
      unsatisfiable: { HTTPResponse(416) })
  }

  @Test("one range gives a part of the body with the validators of the representation")
  func single() throws {
    let answer = try Self.answer("2-4")
    #expect(answer.head.status == 206 && answer.body == Array("234".utf8))
    #expect(answer.head["Content-Range"] == "bytes 2-4/10" && answer.head["ETag"] == Self.tag)
    #expect(answer.head["Content-Type"] == "text/plain")
  }

  @Test("several ranges give a multipart body in the requested order")
  func multiple() throws {
    let answer = try Self.answer("8-,0-0")
    #expect(answer.head.status == 206 && answer.head["Content-Range"] == nil)
    #expect(answer.head["Content-Type"] == "multipart/byteranges; boundary=B")
    let expected =
      "--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 8-9/10\r\n\r\n89"
      + "\r\n--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-0/10\r\n\r\n0\r\n--B--\r\n"
    #expect(String(decoding: answer.body, as: UTF8.self) == expected)
  }

  @Test("an unsatisfiable range gives 416 with the size")
  func unsatisfiable() throws {
    let answer = try Self.answer("10-")
    #expect(answer.head.status == 416 && answer.head["Content-Range"] == "bytes */10" && answer.body.isEmpty)
  }

  @Test("responses other than 200 are unchanged")
  func others() throws {
    let answer = HTTPResponse(.notModified).applyingByteRanges(
      for: try Self.head("Range: bytes=0-0"), validators: Validators(entityTag: nil), limit: 4, boundary: { "B" },
      unsatisfiable: { HTTPResponse(416) })
    #expect(answer.head.status == .notModified)
  }
}
