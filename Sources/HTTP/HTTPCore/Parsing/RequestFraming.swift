/// How the body of a request is delimited (RFC 9112 §6.3).
///
/// Stricter than the RFC where two parties could disagree about the end of the message (§11.2): Content-Length occurs
/// at most once, and never with Transfer-Encoding.
enum RequestFraming: Sendable, Hashable {
  /// The request has no body, or an empty one.
  case noBody
  /// Content-Length; positive (RFC 9110 §8.6).
  case length(Int)
  /// Transfer-Encoding: chunked, without another coding (RFC 9112 §6.1).
  case chunked

  /// - Parameter bodyLimit: reported if the length is too large for Int, because such a length exceeds every limit.
  init(of head: RequestHead, bodyLimit: Int) throws(ParseError) {
    let lengths = head.values(of: .contentLength)
    if head.has(.transferEncoding) {
      if !lengths.isEmpty { throw .contentLengthWithTransferEncoding }
      if head.version == .http10 { throw .transferEncodingInHTTP10 }
      guard head.single(.transferEncoding, is: "chunked") else { throw .unknownTransferEncoding }
      self = .chunked
      return
    }
    if lengths.count > 1 { throw .repeatedContentLength }
    guard let digits = lengths.first else {
      self = .noBody
      return
    }
    guard !digits.isEmpty, digits.utf8.allSatisfy(HTTPGrammar.isDigit) else { throw .malformedContentLength }
    guard let length = Int(digits) else { throw .bodyTooLarge(limit: bodyLimit) }
    self = length == 0 ? .noBody : .length(length)
  }
}
