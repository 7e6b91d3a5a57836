extension RequestHead.Field {
  /// Parses a field line: field-name ":" OWS field-value OWS (RFC 9112 §5).
  ///
  /// Folded lines (obs-fold, §5.2) and white space before the colon (§5.1) are rejected, because intermediaries
  /// disagree about them.
  ///
  /// - Parameter line: a range of `bytes` without the line end; not empty.
  init(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(ParseError) {
    let first = bytes[line.lowerBound]
    if first == 0x20 || first == 0x09 { throw .foldedField }
    var colon = line.lowerBound
    while colon < line.upperBound, HTTPGrammar.isToken(bytes[colon]) { colon += 1 }
    guard colon < line.upperBound, colon > line.lowerBound else { throw .malformedField }
    if bytes[colon] != UInt8(ascii: ":") {
      // Report white space only if a colon follows it; otherwise the line is not a field.
      var next = colon
      while next < line.upperBound, bytes[next] == 0x20 || bytes[next] == 0x09 { next += 1 }
      throw next > colon && next < line.upperBound && bytes[next] == UInt8(ascii: ":")
        ? .spaceBeforeColon : .malformedField
    }
    let value = HTTPGrammar.trimmed(bytes, colon + 1..<line.upperBound)
    for i in value where !HTTPGrammar.isFieldContent(bytes[i]) { throw .malformedField }
    self.init(
      headerName: HeaderName(bytes, line.lowerBound..<colon), nameStart: UInt32(line.lowerBound),
      nameEnd: UInt32(colon), valueStart: UInt32(value.lowerBound), valueEnd: UInt32(value.upperBound))
  }
}
