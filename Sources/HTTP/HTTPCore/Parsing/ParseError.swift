/// Why a message was rejected. After any of these errors the start of the next message is uncertain, so the connection
/// closes.
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
  /// The rest of the message did not arrive in time. The parser has no clock; its owner reports this error.
  case timedOut
  /// The request budget is exhausted by other requests.
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

  /// A sentence for the client. It names the problem and never repeats input.
  package var explanation: String {
    switch self {
    case .bareCarriageReturn: "A carriage return is not followed by a line feed."
    case .bareLineFeed: "A line ends in LF without CR; lines must end in CR LF."
    case .malformedRequestLine: "The request line is not METHOD SP target SP HTTP/1.1."
    case .malformedTarget: "The request target is not a path, an absolute URI or an asterisk."
    case .malformedField: "A header field is not name: value."
    case .malformedHost: "The Host field is not a host with an optional port."
    case .foldedField: "A header field is folded over several lines."
    case .spaceBeforeColon: "A header field has white space before its colon."
    case .nulByte: "The message contains a NUL byte."
    case .missingHost: "HTTP/1.1 requires a Host field."
    case .repeatedHost: "There is more than one Host field."
    case .malformedContentLength: "Content-Length is not a decimal number."
    case .repeatedContentLength: "There is more than one Content-Length."
    case .contentLengthWithTransferEncoding: "Content-Length and Transfer-Encoding are both present."
    case .transferEncodingInHTTP10: "HTTP/1.0 has no Transfer-Encoding."
    case .unknownTransferEncoding: "The only supported transfer coding is chunked."
    case .malformedChunk: "The chunked body is malformed."
    case .unknownExpectation: "The only supported expectation is 100-continue."
    case .unsupportedVersion: "The supported versions are HTTP/1.0 and HTTP/1.1."
    case .timedOut: "The rest of the request did not arrive in time."
    case .overloaded: "Other requests use all buffer memory; try again in a moment."
    case .requestLineTooLong(let limit): "The request line is longer than \(limit) bytes."
    case .headerTooLarge(let limit): "The request line and the header fields are larger than \(limit) bytes."
    case .tooManyFields(let limit): "There are more than \(limit) header fields."
    case .bodyTooLarge(let limit): "The body is larger than \(limit) bytes."
    }
  }
}
