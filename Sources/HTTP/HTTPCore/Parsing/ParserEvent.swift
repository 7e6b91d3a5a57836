/// The result of one parser step.
package enum ParserEvent: Sendable {
  /// More bytes are needed.
  case needsInput
  /// The head is complete and announces a body, whose length is known unless the body is chunked. `expectsContinue`:
  /// the client waits for 100 (RFC 9110 §10.1.1). The caller now chooses `bufferBody` or `streamBody`, which determines
  /// the next events.
  case head(RequestHead, length: Int?, expectsContinue: Bool)
  /// A piece of a streamed body, without framing.
  case piece([UInt8])
  case bodyEnded
  /// The request is complete, and the parser is ready for the next one.
  case request(HTTPRequest)
}
