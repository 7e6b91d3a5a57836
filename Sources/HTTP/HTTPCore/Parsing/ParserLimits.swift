/// Size limits of a request. The parser rejects a request that exceeds one.
package struct ParserLimits: Sendable, Hashable {
  /// Bytes of the request line without its line end; a longer one gets 414.
  package var requestLineBytes: Int
  /// Bytes of the whole head, from the request line to the empty line; a larger one gets 431.
  package var headerBytes: Int
  /// Number of header fields; more get 431.
  package var headerFields: Int
  /// Bytes of the body without its framing; a larger one gets 413.
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
