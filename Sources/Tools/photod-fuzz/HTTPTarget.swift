import HTTPCore

/// The HTTP request parser. Requests and errors must not depend on how the bytes are split.
enum HTTPTarget {
  private static let limits = ParserLimits(requestLineBytes: 200, headerBytes: 800, headerFields: 20, bodyBytes: 300)

  static func check(_ bytes: [UInt8]) {
    check(bytes, inPieces: false)
    check(bytes, inPieces: true)
  }

  private static func check(_ bytes: [UInt8], inPieces isInPieces: Bool) {
    func outcome(of pieces: [ArraySlice<UInt8>]) -> [String] { self.outcome(of: pieces, inPieces: isInPieces) }
    let whole = outcome(of: [bytes[...]])
    let single = outcome(of: bytes.indices.map { bytes[$0...$0] })
    precondition(whole == single, "byte by byte: \(single), at once: \(whole)")
    // Every position to split at, or a sample of them for long inputs.
    for middle in stride(from: 1, to: bytes.count, by: 1 + bytes.count / 256) {
      let split = outcome(of: [bytes[..<middle], bytes[middle...]])
      precondition(whole == split, "split at \(middle): \(split), at once: \(whole)")
    }
  }

  /// The result: one line per event, and the error that ended it. All pieces of a body are one line.
  private static func outcome(of pieces: [ArraySlice<UInt8>], inPieces isInPieces: Bool) -> [String] {
    var parser = RequestParser(limits: limits)
    var body: [UInt8] = []
    var lines: [String] = []
    do throws(ParseError) {
      for piece in pieces {
        piece.withUnsafeBytes { parser.append($0) }
        while let line = try event(of: &parser, &body, inPieces: isInPieces) {
          if !line.isEmpty { lines.append(line) }
        }
        precondition(parser.bufferedBytes <= limits.headerBytes + limits.bodyBytes + piece.count)
      }
      lines.append("\(body)")
      lines.append(parser.isInsideRequest ? "inside a request" : "between requests")
    } catch {
      lines.append("\(error), \(error.status.code)")
    }
    return lines
  }

  private static func event(
    of parser: inout RequestParser, _ body: inout [UInt8], inPieces isInPieces: Bool
  ) throws(ParseError) -> String? {
    switch try parser.next() {
    case .needsInput: return nil
    case .head(let head, let length, let expectsContinue):
      if isInPieces { parser.streamBody() }
      return "head \(head.target) \(length ?? -1) \(expectsContinue)"
    case .piece(let piece):
      precondition(isInPieces && !piece.isEmpty)
      body += piece
      return ""
    case .bodyEnded:
      defer { body = [] }
      return "body \(body)"
    case .request(let request):
      precondition(request.body.count <= limits.bodyBytes)
      let host = request.head.values(of: .host)
      let target = request.head.parsedTarget
      return "\(request.method.name) \(request.head.target) \(target.segments) \(host) \(request.body) "
        + "\(target.parameters?.map { "\($0)" } ?? []) \(request.head.keepsAlive)"
    }
  }
}
