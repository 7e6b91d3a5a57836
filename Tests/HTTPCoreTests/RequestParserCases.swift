import HTTPCore
import Testing

/// Messages by name, and what becomes of each.
extension RequestParserTests {
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
      name: "absolute form with nothing behind the host", message: "GET http://b HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET / [] true"]),
    Good(
      name: "absolute form with a query behind the host", message: "GET HTTPS://b?x HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET / [] true"]),
    Good(
      name: "an IP literal as host", message: "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", requests: ["GET / [] true"]),
    Good(name: "an empty host", message: "GET / HTTP/1.1\r\nHost:\r\n\r\n", requests: ["GET / [] true"]),
    Good(
      name: "escapes that stay inside a segment", message: "GET /a%20b/%C3%A4 HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET /a%20b/%C3%A4 [] true"]),
    Good(
      name: "dots that lead nowhere", message: "GET /a..b/.c/... HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET /a..b/.c/... [] true"]),
    Good(
      name: "a query that only looks like climbing", message: "GET /a?b=/../%2e HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["GET /a [] true"]),
    Good(
      name: "a minor version above ours", message: "GET / HTTP/1.2\r\nHost: a\r\n\r\n", requests: ["GET / [] true"]),
    Good(
      name: "close beats keep-alive", message: "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
      requests: ["GET / [] false"]),
    Good(
      name: "connection options over two fields",
      message: "GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nCONNECTION: Close\r\n\r\n", requests: ["GET / [] false"]),
    Good(
      name: "leading zeros in a length", message: "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 0003\r\n\r\nabc",
      requests: ["POST /b [abc] true"]),
    Good(
      name: "an expectation",
      message: "POST /b HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\na",
      requests: ["POST /b [a] true"]),
    Good(
      name: "a body of GET", message: "GET /b HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na",
      requests: ["GET /b [a] true"]),
    Good(
      name: "a body that looks like a request, then a request",
      message:
        "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 18\r\n\r\nGET /x HTTP/1.1\r\n\r\nGET /y HTTP/1.1\r\nHost: a\r\n\r\n"
        .replacing("Content-Length: 18", with: "Content-Length: 19"),
      requests: ["POST /b [GET /x HTTP/1.1\r\n\r\n] true", "GET /y [] true"]),
    Good(
      name: "chunks, then a request",
      message:
        "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\nGET /y HTTP/1.1\r\nHost: a\r\n\r\n",
      requests: ["POST /b [ab] true", "GET /y [] true"]),
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
    Bad(
      name: "a trailer that is folded", message: head + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: a\r\n b\r\n\r\n",
      error: .foldedField, status: 400),
    Bad(
      name: "trailers without end",
      message: head + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + String(repeating: "X: aaaaaaaaaaaa\r\n", count: 30),
      error: .headerTooLarge(limit: 400), status: 431),
    Bad(
      name: "an endless chunk extension",
      message: head + "Transfer-Encoding: chunked\r\n\r\n1;" + String(repeating: "a", count: 300),
      error: .malformedChunk,
      status: 400),
    Bad(
      name: "a bare carriage return in a chunk extension",
      message: head + "Transfer-Encoding: chunked\r\n\r\n1;a\rb\r\nx\r\n0\r\n\r\n", error: .bareCarriageReturn,
      status: 400),
    Bad(
      name: "a chunk that ends in a bare line feed",
      message: head + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\n0\r\n\r\n",
      error: .bareLineFeed, status: 400),
    Bad(
      name: "a chunk size in a bare line", message: head + "Transfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n",
      error: .bareLineFeed, status: 400),
    Bad(
      name: "a chunk size behind 0x", message: head + "Transfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n",
      error: .malformedChunk, status: 400),
    Bad(
      name: "white space before a chunk size", message: head + "Transfer-Encoding: chunked\r\n\r\n 1\r\nx\r\n0\r\n\r\n",
      error: .malformedChunk, status: 400),
    Bad(
      name: "chunked in two fields",
      message: head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      error: .unknownTransferEncoding,
      status: 501),
    Bad(
      name: "identity hiding chunked", message: head + "Transfer-Encoding: identity, chunked\r\n\r\n",
      error: .unknownTransferEncoding, status: 501),
    Bad(
      name: "an empty transfer coding", message: head + "Transfer-Encoding:\r\n\r\n", error: .unknownTransferEncoding,
      status: 501),
    Bad(
      name: "chunked with a vertical tab", message: head + "Transfer-Encoding: \u{B}chunked\r\n\r\n",
      error: .malformedField,
      status: 400),
    Bad(
      name: "a length in hexadecimal", message: head + "Content-Length: 0x4\r\n\r\n", error: .malformedContentLength,
      status: 400),
    Bad(
      name: "a length with a space inside", message: head + "Content-Length: 1 1\r\n\r\n",
      error: .malformedContentLength,
      status: 400),
    Bad(
      name: "a length whose name is spelt in two ways",
      message: head + "Content-Length: 1\r\ncontent-length: 1\r\n\r\n", error: .repeatedContentLength, status: 400),
    Bad(
      name: "a tab before the colon", message: head + "Transfer-Encoding\t: chunked\r\n\r\n", error: .spaceBeforeColon,
      status: 400),
    Bad(
      name: "a first field that is folded", message: "GET / HTTP/1.1\r\n Host: a\r\n\r\n", error: .foldedField,
      status: 400),
    Bad(
      name: "a name with a slash", message: head + "X/Y: a\r\n\r\n", error: .malformedField, status: 400),
    Bad(
      name: "a name with a byte above ASCII", message: head + "X\u{E4}: a\r\n\r\n", error: .malformedField, status: 400),
    Bad(
      name: "a delete character in a value", message: head + "X: a\u{7F}\r\n\r\n", error: .malformedField, status: 400),
    Bad(
      name: "a carriage return at the end of a value", message: head + "X: a\r\r\n\r\n", error: .bareCarriageReturn,
      status: 400),
    Bad(
      name: "a NUL in the method", message: "GE\0T / HTTP/1.1\r\nHost: a\r\n\r\n", error: .nulByte, status: 400),
    Bad(
      name: "a method that is no token", message: "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedRequestLine,
      status: 400),
    Bad(
      name: "a space before the method", message: " GET / HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedRequestLine,
      status: 400),
    Bad(
      name: "a space after the version", message: "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", error: .malformedRequestLine,
      status: 400),
    Bad(
      name: "a tab in place of the space", message: "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedRequestLine,
      status: 400),
    Bad(
      name: "a version with two digits", message: "GET / HTTP/1.10\r\nHost: a\r\n\r\n", error: .malformedRequestLine,
      status: 400),
    Bad(name: "version 0.9", message: "GET / HTTP/0.9\r\nHost: a\r\n\r\n", error: .unsupportedVersion, status: 505),
    Bad(
      name: "the preface of HTTP/2", message: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", error: .unsupportedVersion,
      status: 505),
    Bad(
      name: "a target with a space", message: "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    Bad(
      name: "a target above ASCII", message: "GET /\u{E4} HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    Bad(
      name: "a target without a slash", message: "GET a HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    Bad(
      name: "another scheme", message: "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    Bad(
      name: "a user in the absolute form", message: "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
      error: .malformedTarget,
      status: 400),
    Bad(
      name: "the authority form", message: "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    Bad(
      name: "a path that climbs in plain sight", message: "GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n",
      error: .malformedTarget,
      status: 400),
    Bad(
      name: "a path that climbs at its end", message: "GET /.. HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    Bad(
      name: "half an escape", message: "GET /a%2 HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    Bad(
      name: "an escape that is none", message: "GET /a%zz HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    Bad(
      name: "an escape that is no UTF-8", message: "GET /a%ff HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget,
      status: 400),
    Bad(
      name: "an encoded NUL", message: "GET /a%00 HTTP/1.1\r\nHost: a\r\n\r\n", error: .malformedTarget, status: 400),
    Bad(
      name: "a host and a host list", message: "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", error: .malformedHost,
      status: 400),
    Bad(
      name: "a host with two ports", message: "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n", error: .malformedHost,
      status: 400),
    Bad(
      name: "a host with a user", message: "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", error: .malformedHost, status: 400),
    Bad(
      name: "two hosts in HTTP/1.0", message: "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", error: .repeatedHost,
      status: 400
    ),
    Bad(name: "nothing but empty lines", message: "\r\n\r\n\r\n\r\n\r\n", error: .malformedRequestLine, status: 400),
  ]
}
