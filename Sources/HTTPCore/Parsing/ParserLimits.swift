/// How much a request may ask of the parser before it is refused.
package struct ParserLimits: Sendable, Hashable {
  /// The request line, without its line end; beyond it 414.
  package var requestLineBytes: Int
  /// The whole head; beyond it 431.
  package var headerBytes: Int
  /// The number of header fields; beyond it 431.
  package var headerFields: Int
  /// The body without its framing; beyond it 413.
  package var bodyBytes: Int

  package init(
    requestLineBytes: Int = 8_192, headerBytes: Int = 32_768, headerFields: Int = 100, bodyBytes: Int = 1_048_576
  ) {
    self.requestLineBytes = requestLineBytes
    self.headerBytes = headerBytes
    self.headerFields = headerFields
    self.bodyBytes = bodyBytes
  }
}

/// Why a message was refused. After any of these the framing is in doubt, and the connection closes.
package enum ParseError: Error, Sendable, Hashable {
  case bareCarriageReturn, bareLineFeed
  case malformedRequestLine, malformedTarget, malformedField, malformedHost
  case foldedField, spaceBeforeColon, nulByte
  case missingHost, repeatedHost
  case malformedContentLength, repeatedContentLength, contentLengthWithTransferEncoding
  case transferEncodingInHTTP10, unknownTransferEncoding
  case malformedChunk
  case unknownExpectation
  case unsupportedVersion
  /// The rest of the message did not come in time; the parser has no clock, its owner says so.
  case timedOut
  /// There is no room for it now, beside what others have sent.
  case overloaded
  case requestLineTooLong(limit: Int), headerTooLarge(limit: Int), tooManyFields(limit: Int), bodyTooLarge(limit: Int)

  package var status: HTTPStatus {
    switch self {
    case .requestLineTooLong: 414
    case .headerTooLarge, .tooManyFields: 431
    case .bodyTooLarge: 413
    case .unknownTransferEncoding: 501
    case .unsupportedVersion: 505
    case .timedOut: 408
    case .overloaded: 503
    case .unknownExpectation: 417
    default: 400
    }
  }

  /// A sentence for the client: what is wrong, never what it sent.
  package var explanation: String {
    switch self {
    case .bareCarriageReturn: "A carriage return stands without its line feed."
    case .bareLineFeed: "A line ends in a line feed alone; lines end in CR LF."
    case .malformedRequestLine: "The request line is not METHOD SP target SP HTTP/1.1."
    case .malformedTarget: "The request target is not a path, an absolute URI or an asterisk."
    case .malformedField: "A header field is not name: value."
    case .malformedHost: "The Host field is not a host with an optional port."
    case .foldedField: "A header field is folded over several lines."
    case .spaceBeforeColon: "White space stands before the colon of a header field."
    case .nulByte: "The message holds a NUL byte."
    case .missingHost: "HTTP/1.1 needs a Host field."
    case .repeatedHost: "There is more than one Host field."
    case .malformedContentLength: "Content-Length is not a decimal number."
    case .repeatedContentLength: "There is more than one Content-Length."
    case .contentLengthWithTransferEncoding: "Content-Length and Transfer-Encoding are both present."
    case .transferEncodingInHTTP10: "HTTP/1.0 has no Transfer-Encoding."
    case .unknownTransferEncoding: "The only transfer coding understood is chunked."
    case .malformedChunk: "The chunked body is malformed."
    case .unknownExpectation: "The only expectation understood is 100-continue."
    case .unsupportedVersion: "The versions spoken are HTTP/1.0 and HTTP/1.1."
    case .timedOut: "The rest of the request did not come in time."
    case .overloaded: "Too much of other requests is held already; ask again in a moment."
    case .requestLineTooLong(let limit): "The request line is longer than \(limit) bytes."
    case .headerTooLarge(let limit): "The header is larger than \(limit) bytes."
    case .tooManyFields(let limit): "There are more than \(limit) header fields."
    case .bodyTooLarge(let limit): "The body is larger than \(limit) bytes."
    }
  }
}
