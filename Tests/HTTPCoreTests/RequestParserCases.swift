import HTTPCore
import Testing

/// Named messages and the expected result of each.
extension RequestParserTests {
  struct ValidCase: CustomTestStringConvertible {
    let name: String
    let message: String
    /// The expected requests, one line per request.
    let requests: [String]
    var testDescription: String { name }
  }

  static let good = [
    ValidCase(name: "the smallest request", message: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", requests: ["GET / [] true"]),
    ValidCase(name: "HTTP/1.0 without a host", message: "GET /x HTTP/1.0\r\n\r\n", requests: ["GET /x [] false"]),
    ValidCase(
      name: "HTTP/1.0 with keep-alive", message: "GET /x HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
      requests: ["GET /x [] true"]),
    ValidCase(
      name: "close", message: "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\n\r\n", requests: ["GET / [] false"]),
    ValidCase(
      name: "a body by length", message: "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
      requests: ["POST /b [hello] true"]),
    ValidCase(
      name: "an empty body", message: "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
      requests: ["POST /b [] true"]),
    ValidCase(
      name: "chunks",
      message:
        "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\n",
      requests: ["PUT /c [abc0123456789] true"]),
    ValidCase(
      name: "chunk extensions and trailers",
      message:
        "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n1 ; a=\"b\"\r\nx\r\n0;q\r\nTrailer: t\r\n\r\n",
      requests: ["PUT /c [x] true"]),
    ValidCase(
      name: "pipelined",
      message:
        "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nzGET /3 HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET /1 [] true", "POST /2 [z] true", "GET /3 [] true"]),
    ValidCase(
      name: "empty lines before the request line", message: "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET / [] true"]),
    ValidCase(
      name: "absolute form", message: "GET http://b:80/p?q HTTP/1.1\r\nHost: a\r\n\r\n", requests: ["GET /p [] true"]),
    ValidCase(name: "asterisk form", message: "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", requests: ["OPTIONS * [] true"]),
    ValidCase(
      name: "white space around a value", message: "GET / HTTP/1.1\r\nHost: \t a \t\r\n\r\n",
      requests: ["GET / [] true"]),
    ValidCase(name: "an empty value", message: "GET / HTTP/1.1\r\nHost: a\r\nX:\r\n\r\n", requests: ["GET / [] true"]),
    ValidCase(
      name: "bytes above ASCII in a value", message: "GET / HTTP/1.1\r\nHost: a\r\nX: \u{FC}\r\n\r\n",
      requests: ["GET / [] true"]),
    ValidCase(
      name: "absolute form without a path", message: "GET http://b HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET / [] true"]),
    ValidCase(
      name: "absolute form with a query and no path", message: "GET HTTPS://b?x HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET / [] true"]),
    ValidCase(
      name: "an IP literal as host", message: "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", requests: ["GET / [] true"]),
    ValidCase(name: "an empty host", message: "GET / HTTP/1.1\r\nHost:\r\n\r\n", requests: ["GET / [] true"]),
    ValidCase(
      name: "escapes that stay inside a segment", message: "GET /a%20b/%C3%A4 HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET /a%20b/%C3%A4 [] true"]),
    ValidCase(
      name: "dots inside segments", message: "GET /a..b/.c/... HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET /a..b/.c/... [] true"]),
    ValidCase(
      name: "dot segments in a query", message: "GET /a?b=/../%2e HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET /a [] true"]),
    ValidCase(
      name: "a higher minor version", message: "GET / HTTP/1.2\r\nHost: a\r\n\r\n", requests: ["GET / [] true"]),
    ValidCase(
      name: "close and keep-alive: close", message: "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
      requests: ["GET / [] false"]),
    ValidCase(
      name: "connection options over two fields",
      message: "GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nCONNECTION: Close\r\n\r\n", requests: ["GET / [] false"]),
    ValidCase(
      name: "leading zeros in a length", message: "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 0003\r\n\r\nabc",
      requests: ["POST /b [abc] true"]),
    ValidCase(
      name: "an expectation",
      message: "POST /b HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\na",
      requests: ["POST /b [a] true"]),
    ValidCase(
      name: "a body of GET", message: "GET /b HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na",
      requests: ["GET /b [a] true"]),
    ValidCase(
      name: "a body that looks like a request, then a request",
      message:
        "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 18\r\n\r\nGET /x HTTP/1.1\r\n\r\nGET /y HTTP/1.1\r\nHost: a\r\n\r\n"
        .replacing("Content-Length: 18", with: "Content-Length: 19"),
      requests: ["POST /b [GET /x HTTP/1.1\r\n\r\n] true", "GET /y [] true"]),
    ValidCase(
      name: "chunks, then a request",
      message:
        "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\nGET /y HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["POST /b [ab] true", "GET /y [] true"]),
    ValidCase(
      name: "an unknown method", message: "BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n", requests: ["BREW /pot [] true"]),
  ]

  struct InvalidCase: CustomTestStringConvertible {
    let name: String
    let message: String
    let error: ParseError
    let status: Int
    var testDescription: String { name }
  }

  static let limits = ParserLimits(requestLineBytes: 60, headerBytes: 400, headerFields: 6, bodyBytes: 20)
  static let head = "POST / HTTP/1.1\r\nHost: a\r\n"

  static let bad = [
    InvalidCase(
      name: "length and chunks (TE.CL smuggling)",
      message: head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
      error: .contentLengthWithTransferEncoding, status: 400),
    InvalidCase(
      name: "two lengths that differ", message: head + "Content-Length: 4\r\nContent-Length: 5\r\n\r\n",
      error: .repeatedContentLength, status: 400),
    InvalidCase(
      name: "two lengths that agree", message: head + "Content-Length: 4\r\nContent-Length: 4\r\n\r\n",
      error: .repeatedContentLength, status: 400),
    InvalidCase(
      name: "a list of lengths", message: head + "Content-Length: 4, 4\r\n\r\n", error: .malformedContentLength,
      status: 400),
    InvalidCase(
      name: "a signed length", message: head + "Content-Length: +4\r\n\r\n", error: .malformedContentLength, status: 400
    ),
    InvalidCase(
      name: "an empty length", message: head + "Content-Length:\r\n\r\n", error: .malformedContentLength, status: 400),
    InvalidCase(
      name: "a length beyond all integers", message: head + "Content-Length: 99999999999999999999\r\n\r\n",
      error: .bodyTooLarge(limit: 20), status: 413),
    InvalidCase(
      name: "a length over the limit", message: head + "Content-Length: 21\r\n\r\n", error: .bodyTooLarge(limit: 20),
      status: 413),
    InvalidCase(
      name: "chunked twice", message: head + "Transfer-Encoding: chunked, chunked\r\n\r\n",
      error: .unknownTransferEncoding, status: 501),
    InvalidCase(
      name: "chunked after a tab", message: head + "Transfer-Encoding: x\tchunked\r\n\r\n",
      error: .unknownTransferEncoding, status: 501),
    InvalidCase(
      name: "gzip as a transfer coding", message: head + "Transfer-Encoding: gzip\r\n\r\n",
      error: .unknownTransferEncoding, status: 501),
    InvalidCase(
      name: "chunks in HTTP/1.0", message: "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
      error: .transferEncodingInHTTP10, status: 400),
    InvalidCase(
      name: "a bare carriage return in a value", message: head + "X: a\rb\r\n\r\n", error: .bareCarriageReturn,
      status: 400),
    InvalidCase(name: "a bare line feed", message: "GET / HTTP/1.1\nHost: a\n\n", error: .bareLineFeed, status: 400),
    InvalidCase(name: "a folded field", message: head + "X: a\r\n b\r\n\r\n", error: .foldedField, status: 400),
    InvalidCase(
      name: "space before the colon", message: head + "Content-Length : 4\r\n\r\n", error: .spaceBeforeColon,
      status: 400),
    InvalidCase(name: "a field without a name", message: head + ": x\r\n\r\n", error: .malformedField, status: 400),
    InvalidCase(
      name: "a field without a colon", message: head + "nonsense\r\n\r\n", error: .malformedField, status: 400),
    InvalidCase(name: "a NUL in a value", message: head + "X: a\0b\r\n\r\n", error: .nulByte, status: 400),
    InvalidCase(
      name: "a NUL in the target", message: "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", error: .nulByte, status: 400),
    InvalidCase(name: "HTTP/1.1 without a host", message: "GET / HTTP/1.1\r\n\r\n", error: .missingHost, status: 400),
    InvalidCase(
      name: "two hosts", message: "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", error: .repeatedHost, status: 400),
    InvalidCase(
      name: "a host with a slash", message: "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", error: .malformedHost, status: 400),
    InvalidCase(name: "no version", message: "GET /\r\n\r\n", error: .malformedRequestLine, status: 400),
    InvalidCase(
      name: "two spaces", message: "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    InvalidCase(
      name: "a lower-case version", message: "GET / http/1.1\r\nHost: a\r\n\r\n", error: .malformedRequestLine,
      status: 400),
    InvalidCase(
      name: "version 2", message: "GET / HTTP/2.0\r\nHost: a\r\n\r\n", error: .unsupportedVersion, status: 505),
    InvalidCase(
      name: "a path with an escaped dot segment",
      message: "GET /a/%2e%2e/b HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    InvalidCase(
      name: "an encoded slash", message: "GET /a%2Fb HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    InvalidCase(
      name: "a fragment", message: "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    InvalidCase(
      name: "an asterisk for GET", message: "GET * HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    InvalidCase(
      name: "a long target", message: "GET /" + String(repeating: "a", count: 60) + " HTTP/1.1\r\nHost: a\r\n\r\n",
      error: .requestLineTooLong(limit: 60), status: 414),
    InvalidCase(
      name: "a request line and fields that are too large together only",
      message: head + "X: " + String(repeating: "a", count: 379) + "\r\n\r\n",
      error: .headerTooLarge(limit: 400), status: 431),
    InvalidCase(
      name: "a large header", message: head + "X: " + String(repeating: "a", count: 400) + "\r\n\r\n",
      error: .headerTooLarge(limit: 400), status: 431),
    InvalidCase(
      name: "many fields", message: head + String(repeating: "X: a\r\n", count: 6) + "\r\n",
      error: .tooManyFields(limit: 6), status: 431),
    InvalidCase(
      name: "an unknown expectation", message: head + "Expect: a miracle\r\nContent-Length: 1\r\n\r\n",
      error: .unknownExpectation, status: 417),
    InvalidCase(
      name: "a malformed chunk size", message: head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
      error: .malformedChunk, status: 400),
    InvalidCase(
      name: "a chunk size with a sign", message: head + "Transfer-Encoding: chunked\r\n\r\n+1\r\n",
      error: .malformedChunk, status: 400),
    InvalidCase(
      name: "a chunk size that overflows", message: head + "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
      error: .malformedChunk, status: 400),
    InvalidCase(
      name: "a chunk longer than its size", message: head + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
      error: .malformedChunk, status: 400),
    InvalidCase(
      name: "chunks over the limit", message: head + "Transfer-Encoding: chunked\r\n\r\n15\r\n",
      error: .bodyTooLarge(limit: 20), status: 413),
    InvalidCase(
      name: "a trailer with space before its colon (smuggling)",
      message: head + "Transfer-Encoding: chunked\r\n\r\n0\r\nX : a\r\n\r\n",
      error: .spaceBeforeColon, status: 400),
    InvalidCase(
      name: "a folded trailer", message: head + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: a\r\n b\r\n\r\n",
      error: .foldedField, status: 400),
    InvalidCase(
      name: "trailers without end",
      message: head + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + String(repeating: "X: aaaaaaaaaaaa\r\n", count: 30),
      error: .headerTooLarge(limit: 400), status: 431),
    InvalidCase(
      name: "an endless chunk extension",
      message: head + "Transfer-Encoding: chunked\r\n\r\n1;" + String(repeating: "a", count: 300),
      error: .malformedChunk,
      status: 400),
    InvalidCase(
      name: "a bare carriage return in a chunk extension",
      message: head + "Transfer-Encoding: chunked\r\n\r\n1;a\rb\r\nx\r\n0\r\n\r\n", error: .bareCarriageReturn,
      status: 400),
    InvalidCase(
      name: "a chunk that ends in a bare line feed",
      message: head + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\n0\r\n\r\n",
      error: .bareLineFeed, status: 400),
    InvalidCase(
      name: "a chunk size that ends in a bare line feed",
      message: head + "Transfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n",
      error: .bareLineFeed, status: 400),
    InvalidCase(
      name: "a chunk size with 0x", message: head + "Transfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n",
      error: .malformedChunk, status: 400),
    InvalidCase(
      name: "white space before a chunk size", message: head + "Transfer-Encoding: chunked\r\n\r\n 1\r\nx\r\n0\r\n\r\n",
      error: .malformedChunk, status: 400),
    InvalidCase(
      name: "chunked in two fields",
      message: head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      error: .unknownTransferEncoding,
      status: 501),
    InvalidCase(
      name: "identity before chunked", message: head + "Transfer-Encoding: identity, chunked\r\n\r\n",
      error: .unknownTransferEncoding, status: 501),
    InvalidCase(
      name: "an empty transfer coding", message: head + "Transfer-Encoding:\r\n\r\n", error: .unknownTransferEncoding,
      status: 501),
    InvalidCase(
      name: "chunked with a Kelvin sign, whose lower case is a k",
      message: head + "Transfer-Encoding: chun\u{212A}ed\r\n\r\n", error: .unknownTransferEncoding, status: 501),
    InvalidCase(
      name: "two expectations",
      message: head + "Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
      error: .unknownExpectation, status: 417),
    InvalidCase(
      name: "chunked with a vertical tab", message: head + "Transfer-Encoding: \u{B}chunked\r\n\r\n",
      error: .malformedField,
      status: 400),
    InvalidCase(
      name: "a length in hexadecimal", message: head + "Content-Length: 0x4\r\n\r\n", error: .malformedContentLength,
      status: 400),
    InvalidCase(
      name: "a length with a space inside", message: head + "Content-Length: 1 1\r\n\r\n",
      error: .malformedContentLength,
      status: 400),
    InvalidCase(
      name: "two lengths whose names differ in case",
      message: head + "Content-Length: 1\r\ncontent-length: 1\r\n\r\n", error: .repeatedContentLength, status: 400),
    InvalidCase(
      name: "a tab before the colon", message: head + "Transfer-Encoding\t: chunked\r\n\r\n", error: .spaceBeforeColon,
      status: 400),
    InvalidCase(
      name: "a folded first field", message: "GET / HTTP/1.1\r\n Host: a\r\n\r\n", error: .foldedField,
      status: 400),
    InvalidCase(
      name: "a field name with a slash", message: head + "X/Y: a\r\n\r\n", error: .malformedField, status: 400),
    InvalidCase(
      name: "a field name with a byte above ASCII", message: head + "X\u{E4}: a\r\n\r\n", error: .malformedField,
      status: 400),
    InvalidCase(
      name: "a delete character in a value", message: head + "X: a\u{7F}\r\n\r\n", error: .malformedField, status: 400),
    InvalidCase(
      name: "a carriage return at the end of a value", message: head + "X: a\r\r\n\r\n", error: .bareCarriageReturn,
      status: 400),
    InvalidCase(
      name: "a NUL in the method", message: "GE\0T / HTTP/1.1\r\nHost: a\r\n\r\n", error: .nulByte, status: 400),
    InvalidCase(
      name: "a malformed method", message: "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedRequestLine,
      status: 400),
    InvalidCase(
      name: "a space before the method", message: " GET / HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedRequestLine,
      status: 400),
    InvalidCase(
      name: "a space after the version", message: "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", error: .malformedRequestLine,
      status: 400),
    InvalidCase(
      name: "a tab in place of the space", message: "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedRequestLine,
      status: 400),
    InvalidCase(
      name: "a version with two digits", message: "GET / HTTP/1.10\r\nHost: a\r\n\r\n", error: .malformedRequestLine,
      status: 400),
    InvalidCase(
      name: "version 0.9", message: "GET / HTTP/0.9\r\nHost: a\r\n\r\n", error: .unsupportedVersion, status: 505),
    InvalidCase(
      name: "the preface of HTTP/2", message: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", error: .unsupportedVersion,
      status: 505),
    InvalidCase(
      name: "a target with a space", message: "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    InvalidCase(
      name: "a target above ASCII", message: "GET /\u{E4} HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    InvalidCase(
      name: "a target without a slash", message: "GET a HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    InvalidCase(
      name: "another scheme", message: "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    InvalidCase(
      name: "a user in the absolute form", message: "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
      error: .malformedTarget,
      status: 400),
    InvalidCase(
      name: "the authority form", message: "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    InvalidCase(
      name: "a path with a dot segment", message: "GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n",
      error: .malformedTarget,
      status: 400),
    InvalidCase(
      name: "a path that ends in a dot segment", message: "GET /.. HTTP/1.1\r\nHost: a\r\n\r\n",
      error: .malformedTarget,
      status: 400),
    InvalidCase(
      name: "half an escape", message: "GET /a%2 HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    InvalidCase(
      name: "a malformed escape", message: "GET /a%zz HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    InvalidCase(
      name: "an escape that is not UTF-8", message: "GET /a%ff HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    InvalidCase(
      name: "an encoded NUL", message: "GET /a%00 HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    InvalidCase(
      name: "a list of hosts", message: "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", error: .malformedHost,
      status: 400),
    InvalidCase(
      name: "a host with two ports", message: "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n", error: .malformedHost,
      status: 400),
    InvalidCase(
      name: "a host with a user", message: "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", error: .malformedHost, status: 400),
    InvalidCase(
      name: "two hosts in HTTP/1.0", message: "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", error: .repeatedHost,
      status: 400
    ),
    InvalidCase(
      name: "only empty lines", message: "\r\n\r\n\r\n\r\n\r\n", error: .malformedRequestLine, status: 400),
  ]
}
