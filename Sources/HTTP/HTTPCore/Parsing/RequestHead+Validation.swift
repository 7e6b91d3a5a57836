/// Checks of a complete head that need more than one line.
extension RequestHead {
  /// Checks the Host field and the request target (RFC 9112 §3.2). The Host field may be missing only in HTTP/1.0.
  func checkHostAndTarget() throws(ParseError) {
    var host: Range<Int>?
    for field in fields where field.headerName == .host {
      if host != nil { throw .repeatedHost }
      host = field.value
    }
    if host == nil && version == .http11 { throw .missingHost }
    if let host, !RequestTarget.isHost(bytes.span, host) { throw .malformedHost }
    if RequestTarget.isTriviallyValid(bytes.span, targetRange) { return }
    guard RequestTarget(target, method: method, host: value(of: .host)) != nil else { throw .malformedTarget }
  }

  /// Whether the client waits for 100 (Continue) before it sends the body (RFC 9110 §10.1.1). HTTP/1.0
  /// has no 100, so the field is ignored there.
  func expectsContinue() throws(ParseError) -> Bool {
    guard has(.expect) else { return false }
    guard single(.expect, is: "100-continue") else { throw .unknownExpectation }
    return version == .http11
  }
}
