import HTTPCore
import Testing

@Suite("Request parser")
struct RequestParserTests {
  struct Good: CustomTestStringConvertible {
    let name: String
    let message: String
    /// What becomes of it: one line a request.
    let requests: [String]
    var testDescription: String { name }
  }

  static let good = [
    Good(name: "the smallest request", message: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", requests: ["GET / [] true"]),
    Good(name: "HTTP/1.0 without a host", message: "GET /x HTTP/1.0\r\n\r\n", requests: ["GET /x [] false"]),
    Good(
      name: "HTTP/1.0 with keep-alive", message: "GET /x HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
      requests: ["GET /x [] true"]),
    Good(
      name: "close", message: "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\n\r\n", requests: ["GET / [] false"]),
    Good(
      name: "a body by length", message: "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
      requests: ["POST /b [hello] true"]),
    Good(
      name: "an empty body", message: "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
      requests: ["POST /b [] true"]),
    Good(
      name: "chunks",
      message:
        "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\n",
      requests: ["PUT /c [abc0123456789] true"]),
    Good(
      name: "chunk extensions and trailers",
      message:
        "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n1 ; a=\"b\"\r\nx\r\n0;q\r\nTrailer: t\r\n\r\n",
      requests: ["PUT /c [x] true"]),
    Good(
      name: "pipelined",
      message:
        "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nzGET /3 HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET /1 [] true", "POST /2 [z] true", "GET /3 [] true"]),
    Good(
      name: "empty lines before the request line", message: "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET / [] true"]),
    Good(
      name: "absolute form", message: "GET http://b:80/p?q HTTP/1.1\r\nHost: a\r\n\r\n", requests: ["GET /p [] true"]),
    Good(name: "asterisk form", message: "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", requests: ["OPTIONS * [] true"]),
    Good(
      name: "white space around a value", message: "GET / HTTP/1.1\r\nHost: \t a \t\r\n\r\n",
      requests: ["GET / [] true"]),
    Good(name: "an empty value", message: "GET / HTTP/1.1\r\nHost: a\r\nX:\r\n\r\n", requests: ["GET / [] true"]),
    Good(
      name: "bytes above ASCII in a value", message: "GET / HTTP/1.1\r\nHost: a\r\nX: \u{FC}\r\n\r\n",
      requests: ["GET / [] true"]),
    Good(
      name: "a method nobody knows", message: "BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n", requests: ["BREW /pot [] true"]),
  ]

  struct Bad: CustomTestStringConvertible {
    let name: String
    let message: String
    let error: ParseError
    let status: Int
    var testDescription: String { name }
  }

  static let limits = ParserLimits(requestLineBytes: 60, headerBytes: 400, headerFields: 6, bodyBytes: 20)
  static let head = "POST / HTTP/1.1\r\nHost: a\r\n"

  static let bad = [
    Bad(
      name: "length and chunks (TE.CL smuggling)",
      message: head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
      error: .contentLengthWithTransferEncoding, status: 400),
    Bad(
      name: "two lengths that differ", message: head + "Content-Length: 4\r\nContent-Length: 5\r\n\r\n",
      error: .repeatedContentLength, status: 400),
    Bad(
      name: "two lengths that agree", message: head + "Content-Length: 4\r\nContent-Length: 4\r\n\r\n",
      error: .repeatedContentLength, status: 400),
    Bad(
      name: "a list of lengths", message: head + "Content-Length: 4, 4\r\n\r\n", error: .malformedContentLength,
      status: 400),
    Bad(
      name: "a signed length", message: head + "Content-Length: +4\r\n\r\n", error: .malformedContentLength, status: 400
    ),
    Bad(
      name: "an empty length", message: head + "Content-Length:\r\n\r\n", error: .malformedContentLength, status: 400),
    Bad(
      name: "a length beyond all integers", message: head + "Content-Length: 99999999999999999999\r\n\r\n",
      error: .bodyTooLarge(limit: 20), status: 413),
    Bad(
      name: "a length over the limit", message: head + "Content-Length: 21\r\n\r\n", error: .bodyTooLarge(limit: 20),
      status: 413),
    Bad(
      name: "chunked twice", message: head + "Transfer-Encoding: chunked, chunked\r\n\r\n",
      error: .unknownTransferEncoding, status: 501),
    Bad(
      name: "chunked hidden behind a tab", message: head + "Transfer-Encoding: x\tchunked\r\n\r\n",
      error: .unknownTransferEncoding, status: 501),
    Bad(
      name: "gzip as a transfer coding", message: head + "Transfer-Encoding: gzip\r\n\r\n",
      error: .unknownTransferEncoding, status: 501),
    Bad(
      name: "chunks in HTTP/1.0", message: "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
      error: .transferEncodingInHTTP10, status: 400),
    Bad(
      name: "a bare carriage return in a value", message: head + "X: a\rb\r\n\r\n", error: .bareCarriageReturn,
      status: 400),
    Bad(name: "a bare line feed", message: "GET / HTTP/1.1\nHost: a\n\n", error: .bareLineFeed, status: 400),
    Bad(name: "a folded field", message: head + "X: a\r\n b\r\n\r\n", error: .foldedField, status: 400),
    Bad(
      name: "space before the colon", message: head + "Content-Length : 4\r\n\r\n", error: .spaceBeforeColon,
      status: 400),
    Bad(name: "a field without a name", message: head + ": x\r\n\r\n", error: .malformedField, status: 400),
    Bad(name: "a field without a colon", message: head + "nonsense\r\n\r\n", error: .malformedField, status: 400),
    Bad(name: "a NUL in a value", message: head + "X: a\0b\r\n\r\n", error: .nulByte, status: 400),
    Bad(name: "a NUL in the target", message: "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", error: .nulByte, status: 400),
    Bad(name: "no host", message: "GET / HTTP/1.1\r\n\r\n", error: .missingHost, status: 400),
    Bad(name: "two hosts", message: "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", error: .repeatedHost, status: 400),
    Bad(
      name: "a host with a slash", message: "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", error: .malformedHost, status: 400),
    Bad(name: "no version", message: "GET /\r\n\r\n", error: .malformedRequestLine, status: 400),
    Bad(name: "two spaces", message: "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    Bad(
      name: "a lower-case version", message: "GET / http/1.1\r\nHost: a\r\n\r\n", error: .malformedRequestLine,
      status: 400),
    Bad(name: "version 2", message: "GET / HTTP/2.0\r\nHost: a\r\n\r\n", error: .unsupportedVersion, status: 505),
    Bad(
      name: "a path that climbs", message: "GET /a/%2e%2e/b HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    Bad(
      name: "an encoded slash", message: "GET /a%2Fb HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    Bad(name: "a fragment", message: "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    Bad(
      name: "an asterisk for GET", message: "GET * HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    Bad(
      name: "a long target", message: "GET /" + String(repeating: "a", count: 60) + " HTTP/1.1\r\nHost: a\r\n\r\n",
      error: .requestLineTooLong(limit: 60), status: 414),
    Bad(
      name: "a large header", message: head + "X: " + String(repeating: "a", count: 400) + "\r\n\r\n",
      error: .headerTooLarge(limit: 400), status: 431),
    Bad(
      name: "many fields", message: head + String(repeating: "X: a\r\n", count: 6) + "\r\n",
      error: .tooManyFields(limit: 6), status: 431),
    Bad(
      name: "an unknown expectation", message: head + "Expect: a miracle\r\nContent-Length: 1\r\n\r\n",
      error: .unknownExpectation, status: 417),
    Bad(
      name: "a chunk size that is none", message: head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
      error: .malformedChunk, status: 400),
    Bad(
      name: "a chunk size with a sign", message: head + "Transfer-Encoding: chunked\r\n\r\n+1\r\n",
      error: .malformedChunk, status: 400),
    Bad(
      name: "a chunk size that overflows", message: head + "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
      error: .malformedChunk, status: 400),
    Bad(
      name: "a chunk longer than its size", message: head + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
      error: .malformedChunk, status: 400),
    Bad(
      name: "chunks over the limit", message: head + "Transfer-Encoding: chunked\r\n\r\n15\r\n",
      error: .bodyTooLarge(limit: 20), status: 413),
    Bad(
      name: "a smuggling trailer", message: head + "Transfer-Encoding: chunked\r\n\r\n0\r\nX : a\r\n\r\n",
      error: .spaceBeforeColon, status: 400),
    Bad(name: "nothing but empty lines", message: "\r\n\r\n\r\n\r\n\r\n", error: .malformedRequestLine, status: 400),
  ]

  @Test("good messages, split at every byte", arguments: good)
  func goodMessages(_ row: Good) throws {
    let bytes = Array(row.message.unicodeScalars.map { UInt8($0.value) })
    for split in 0...bytes.count {
      #expect(try Self.requests(in: [bytes[..<split], bytes[split...]]) == row.requests, "split at \(split)")
    }
    #expect(try Self.requests(in: bytes.map { [$0] }) == row.requests, "byte by byte")
  }

  @Test("bad messages, split at every byte", arguments: bad)
  func badMessages(_ row: Bad) {
    let bytes = Array(row.message.utf8)
    #expect(row.error.status == HTTPStatus(row.status))
    for split in 0...bytes.count {
      #expect(throws: row.error, "split at \(split)") { try Self.requests(in: [bytes[..<split], bytes[split...]]) }
    }
  }

  @Test("an unfinished message is no message and no error")
  func prefixes() throws {
    for row in Self.good where row.requests.count == 1 {
      let bytes = Array(row.message.unicodeScalars.map { UInt8($0.value) })
      for length in 0..<bytes.count { #expect(try Self.requests(in: [bytes[..<length]]).isEmpty) }
    }
  }

  @Test("a body that is waited for is announced")
  func expectation() throws {
    var parser = RequestParser(limits: Self.limits)
    Self.append("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", to: &parser)
    guard case .head(let expectsContinue) = try parser.next() else {
      Issue.record("no head")
      return
    }
    #expect(expectsContinue)
  }

  @Test("the absolute form's host overrules the field")
  func authority() throws {
    var parser = RequestParser(limits: Self.limits)
    Self.append("GET http://B.example/p?x=1 HTTP/1.1\r\nHost: a\r\n\r\n", to: &parser)
    guard case .request(let request) = try parser.next() else {
      Issue.record("no request")
      return
    }
    #expect(request.target.authority == "b.example")
    #expect(request.target.parameters?.map(\.value) == ["1"])
  }

  @Test("random bytes never do worse than an error")
  func noise() {
    var state: UInt64 = 7
    for _ in 0..<3000 {
      var bytes: [UInt8] = []
      for _ in 0..<80 {
        state = state &* 6_364_136_223_846_793_005 &+ 1
        let alphabet = Array("GET / HTTP/1.1\r\nHost: a:0\r\n\r\n\0\u{7F}%".utf8)
        bytes.append(alphabet[Int(state >> 33) % alphabet.count])
      }
      _ = try? Self.requests(in: [bytes[...]])
    }
  }

  private static func append(_ text: String, to parser: inout RequestParser) {
    Array(text.utf8).withUnsafeBytes { parser.append($0) }
  }

  private static func requests(in pieces: [some Sequence<UInt8>]) throws -> [String] {
    var parser = RequestParser(limits: limits)
    var requests: [String] = []
    for piece in pieces {
      Array(piece).withUnsafeBytes { parser.append($0) }
      events: while true {
        switch try parser.next() {
        case .needsInput: break events
        case .head: continue
        case .request(let request):
          let body = String(decoding: request.body, as: UTF8.self)
          requests.append("\(request.method.name) \(request.target.path) [\(body)] \(request.head.keepsAlive)")
        }
      }
    }
    return requests
  }
}
