import HTTPCore
import PhotoFixtures
import Testing

@Suite("Request parser")
struct RequestParserTests {
  @Test("many small chunks with long extensions are rejected")
  func chunkOverhead() {
    var message = Self.head + "Transfer-Encoding: chunked\r\n\r\n"
    for _ in 0..<100 { message += "1;" + String(repeating: "a", count: 200) + "\r\nx\r\n" }
    var parser = RequestParser(limits: ParserLimits())
    Self.append(message, to: &parser)
    #expect(throws: ParseError.malformedChunk) {
      while true {
        if case .needsInput = try parser.next() { break }
      }
    }
  }

  @Test("a request head stays valid while the parser continues")
  func kept() throws {
    var parser = RequestParser(limits: ParserLimits())
    Self.append("GET /first HTTP/1.1\r\nHost: one\r\n\r\nPOST /second HTTP/1.1\r\nHost: two\r\nContent-Le", to: &parser)
    guard case .request(let first) = try parser.next() else {
      Issue.record("no request")
      return
    }
    #expect(try Self.isWaiting(&parser))
    Self.append("ngth: 3\r\n\r\na", to: &parser)
    guard case .head = try parser.next() else {
      Issue.record("no head")
      return
    }
    #expect(try Self.isWaiting(&parser))
    Self.append("bcGET /third HTTP/1.1\r\nHost: three\r\n\r\n", to: &parser)
    guard case .request(let second) = try parser.next(), case .request(let third) = try parser.next() else {
      Issue.record("no requests")
      return
    }
    #expect([first, second, third].map { $0.head.target } == ["/first", "/second", "/third"])
    #expect([first, second, third].map { $0.head.value(of: .host) } == ["one", "two", "three"])
    #expect(second.body == Array("abc".utf8))
  }

  private static func isWaiting(_ parser: inout RequestParser) throws -> Bool {
    if case .needsInput = try parser.next() { true } else { false }
  }

  @Test("valid messages give the same requests however they are split", arguments: good)
  func goodMessages(_ row: ValidCase) throws {
    let bytes = Array(row.message.unicodeScalars.map { UInt8($0.value) })
    for split in 0...bytes.count {
      #expect(try Self.requests(in: [bytes[..<split], bytes[split...]]) == row.requests, "split at \(split)")
    }
    #expect(try Self.requests(in: bytes.map { [$0] }) == row.requests, "byte by byte")
  }

  @Test("malformed messages give the same error however they are split", arguments: bad)
  func badMessages(_ row: InvalidCase) {
    let bytes = Array(row.message.utf8)
    #expect(row.error.status == HTTPStatus(row.status))
    for split in 0...bytes.count {
      #expect(throws: row.error, "split at \(split)") { try Self.requests(in: [bytes[..<split], bytes[split...]]) }
    }
  }

  @Test("an incomplete message gives neither a request nor an error")
  func prefixes() throws {
    for row in Self.good where row.requests.count == 1 {
      let bytes = Array(row.message.unicodeScalars.map { UInt8($0.value) })
      for length in 0..<bytes.count { #expect(try Self.requests(in: [bytes[..<length]]).isEmpty) }
    }
  }

  @Test("Expect: 100-continue is reported with the head")
  func expectation() throws {
    var parser = RequestParser(limits: Self.limits)
    Self.append("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", to: &parser)
    guard case .head(_, _, let expectsContinue) = try parser.next() else {
      Issue.record("no head")
      return
    }
    #expect(expectsContinue)
  }

  @Test("the host of an absolute form overrides the Host field")
  func authority() throws {
    var parser = RequestParser(limits: Self.limits)
    Self.append("GET http://B.example/p?x=1 HTTP/1.1\r\nHost: a\r\n\r\n", to: &parser)
    guard case .request(let request) = try parser.next() else {
      Issue.record("no request")
      return
    }
    #expect(request.head.parsedTarget.authority == "b.example")
    #expect(request.head.parsedTarget.parameters?.map(\.value) == ["1"])
  }

  /// The bytes that separate the parts of a message, and others that no name or target may have.
  private static let separators = Array("\0\r\n \t:,;\u{7F}".utf8) + [0xFF]

  @Test("a message with one wrong byte gives the same requests or the same error however it is split", arguments: good)
  func wrongByte(_ row: ValidCase) {
    let bytes = Array(row.message.unicodeScalars.map { UInt8($0.value) })
    var random = Sampling.generator("wrong bytes of \(row.name)")
    var differing: [String] = []
    for position in bytes.indices {
      for separator in Self.separators where separator != bytes[position] {
        var wrong = bytes
        wrong[position] = separator
        let whole = Self.outcome(of: [wrong[...]])
        for _ in 0..<2 {
          let split = 1 + random.below(wrong.count - 1)
          if Self.outcome(of: [wrong[..<split], wrong[split...]]) != whole {
            differing.append("\(separator) at \(position), split at \(split): at once \(whole)")
          }
        }
      }
    }
    #expect(differing.isEmpty, "\(Sampling.note)")
  }

  /// Parses two requests, the first with a streamed body. Returns the events as text and the number of pieces.
  private static func streamed(_ pieces: [[UInt8]]) throws -> (text: String, pieces: Int) {
    var parser = RequestParser(limits: limits)
    var text = ""
    var count = 0
    for piece in pieces {
      piece.withUnsafeBytes { parser.append($0) }
      events: while true {
        switch try parser.next() {
        case .needsInput: break events
        case .head(let head, let length, _):
          text += "\(head.target) \(length ?? -1) "
          parser.streamBody()
        case .piece(let piece):
          text += String(decoding: piece, as: UTF8.self)
          count += 1
        case .bodyEnded: text += " ended "
        case .request(let request): text += request.head.target
        }
      }
    }
    return (text, count)
  }

  @Test(
    "a streamed body is independent of splits, may exceed the body limit, and is followed by the next request",
    arguments: [
      ("Content-Length: 600\r\n\r\n" + String(repeating: "ab", count: 300), 600),
      (
        "Transfer-Encoding: chunked\r\n\r\n12c\r\n" + String(repeating: "ab", count: 150) + "\r\n12c;x\r\n"
          + String(repeating: "ab", count: 150) + "\r\n0\r\nX: y\r\n\r\n", -1
      ),
    ])
  func inPieces(_ rest: String, _ length: Int) throws {
    let bytes = Array((Self.head + rest + "GET /next HTTP/1.1\r\nHost: a\r\n\r\n").utf8)
    let body = String(repeating: "ab", count: 300)
    let expected = "/ \(length) \(body) ended /next"
    #expect(try Self.streamed([bytes]).text == expected)
    for split in 1..<bytes.count {
      #expect(try Self.streamed([Array(bytes[..<split]), Array(bytes[split...])]).text == expected, "\(split)")
    }
    let single = try Self.streamed(bytes.map { [$0] })
    #expect(single.text == expected && single.pieces == 600)
  }

  private static func append(_ text: String, to parser: inout RequestParser) {
    Array(text.utf8).withUnsafeBytes { parser.append($0) }
  }

  private static func requests(in pieces: [some Sequence<UInt8>]) throws -> [String] {
    var requests: [String] = []
    try parse(pieces, &requests)
    return requests
  }

  /// The requests, and the error after them.
  private static func outcome(of pieces: [some Sequence<UInt8>]) -> [String] {
    var outcome: [String] = []
    do { try parse(pieces, &outcome) } catch { outcome.append("\(error)") }
    return outcome
  }

  private static func parse(_ pieces: [some Sequence<UInt8>], _ requests: inout [String]) throws {
    var parser = RequestParser(limits: limits)
    for piece in pieces {
      Array(piece).withUnsafeBytes { parser.append($0) }
      events: while true {
        switch try parser.next() {
        case .needsInput: break events
        case .head: continue
        case .piece, .bodyEnded: Issue.record("unexpected piece of a streamed body")
        case .request(let request):
          let body = String(decoding: request.body, as: UTF8.self)
          let path = request.head.parsedTarget.path
          requests.append("\(request.method.name) \(path) [\(body)] \(request.head.keepsAlive)")
        }
      }
    }
  }
}
