/// Writes the delimiters and part heads of a multipart body (RFC 2046 §5.1.1).
///
/// A body consists of `opening`, then for each part its head and content, with `delimiter` between two parts and
/// `closing` after the last. The caller decides which of them are sent together, because clients differ in what they
/// need.
package struct MultipartWriter: Sendable {
  package let boundary: String

  /// - Parameter boundary: 1...70 characters that do not occur at the start of a line of any part; preferably random.
  package init(boundary: String) {
    precondition(!boundary.isEmpty && boundary.utf8.count <= 70 && boundary.utf8.allSatisfy(HTTPGrammar.isToken))
    self.boundary = boundary
  }

  /// Before the first part's head.
  package var opening: [UInt8] { [UInt8]("--\(boundary)\r\n".utf8) }

  /// Between a part's content and the next part's head.
  package var delimiter: [UInt8] { [UInt8]("\r\n--\(boundary)\r\n".utf8) }

  /// After the last part's content.
  package var closing: [UInt8] { [UInt8]("\r\n--\(boundary)--\r\n".utf8) }

  /// A part's header fields and the empty line after them.
  package func partHead(_ fields: [(name: String, value: String)]) -> [UInt8] {
    var bytes: [UInt8] = []
    for (name, value) in fields { bytes.append(contentsOf: "\(name): \(value)\r\n".utf8) }
    bytes.append(contentsOf: "\r\n".utf8)
    return bytes
  }
}
