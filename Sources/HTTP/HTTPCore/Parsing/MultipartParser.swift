// Parses multipart/form-data (RFC 7578) with the framing of RFC 2046 §5.1.1: bytes go in, parts come out. The parser
// owns no socket. It buffers only the head of a part and as much of its body as may be the start of a delimiter. Its
// results do not depend on how the input was split.
//
// Why our own: the available Swift library (vapor/multipart-kit) parses Swift async sequences, and request bodies
// arrive here on Dispatch queues.
//
// Line ends are CR LF. White space after a boundary is skipped (§5.1.1, transport-padding). Bytes before the first
// delimiter and after the last are ignored, within a limit.

/// The result of one parser step.
package enum MultipartEvent: Sendable, Hashable {
  /// More bytes are needed. After the last delimiter, no more results follow.
  case needsInput
  case part(MultipartPart)
  /// A piece of the part's body; never empty.
  case piece([UInt8])
  case partEnded
  /// The closing delimiter. Everything after it is ignored.
  case ended
}

/// The head of a part.
package struct MultipartPart: Sendable, Hashable {
  /// `name` and `filename` of Content-Disposition.
  package var name: String?
  package var filename: String?
}

package enum MultipartError: Error, Sendable, Hashable {
  /// The Content-Type has no boundary, or a malformed one (RFC 2046 §5.1.1: 1 to 70 characters of a small set).
  case malformedBoundary
  /// A delimiter, a field or a line end is missing or malformed.
  case malformed
  /// The head of a part, or the preamble before the first part, is too long.
  case headTooLarge(limit: Int)
  /// The body ended before its closing delimiter.
  case incomplete

  package var explanation: String {
    switch self {
    case .malformedBoundary: "The Content-Type has no boundary, or a malformed one."
    case .malformed: "The multipart body is malformed."
    case .headTooLarge(let limit): "The head of a part is larger than \(limit) bytes."
    case .incomplete: "The body ends before its closing boundary."
    }
  }
}

package struct MultipartParser: Sendable {
  private enum State: Sendable, Equatable {
    /// Before the first delimiter.
    case preamble
    /// After a boundary: the rest of its line. The part before it ends only when this line is complete.
    case delimiterEnd(endsPart: Bool)
    case head
    case body
    case closing
    case epilogue
  }

  /// Maximum bytes of a part's head, and of the preamble.
  static let headLimit = 16_384
  /// Maximum bytes of white space after a boundary.
  private static let paddingLimit = 256

  /// CR LF, two hyphens and the boundary.
  private let delimiter: [UInt8]
  private var state = State.preamble
  private var input: [UInt8]
  private var position = 0
  private var preambleBytes = 0

  /// - Parameter boundary: the boundary of the body's Content-Type.
  package init(boundary: String) throws(MultipartError) {
    let bytes = Array(boundary.utf8)
    guard (1...70).contains(bytes.count), bytes.last != 0x20, bytes.allSatisfy(Self.isBoundary) else {
      throw .malformedBoundary
    }
    delimiter = [0x0D, 0x0A, 0x2D, 0x2D] + bytes
    // Start as if a line had just ended, because the body may begin with its first delimiter.
    input = [0x0D, 0x0A]
    position = 0
  }

  /// The boundary of a Content-Type; `nil` if the type is not multipart/form-data.
  package static func boundary(of contentType: String) throws(MultipartError) -> String? {
    var fields = FieldParameters(contentType)
    guard fields.value?.lowercased() == "multipart/form-data" else { return nil }
    guard let boundary = fields.take("boundary") else { throw .malformedBoundary }
    return boundary
  }

  package mutating func append(_ bytes: [UInt8]) {
    if state == .epilogue { return }
    if position > 0 { input.removeFirst(position) }
    position = 0
    input.append(contentsOf: bytes)
  }

  /// Call at the end of the body. Throws if the closing delimiter is missing.
  package func finish() throws(MultipartError) {
    guard state == .epilogue else { throw .incomplete }
  }

  package mutating func next() throws(MultipartError) -> MultipartEvent {
    while true {
      switch state {
      case .preamble:
        let (found, end) = findDelimiter()
        preambleBytes += end - position
        if preambleBytes > Self.headLimit { throw .headTooLarge(limit: Self.headLimit) }
        position = end
        guard found else { return .needsInput }
        position += delimiter.count
        state = .delimiterEnd(endsPart: false)
      case .delimiterEnd(let endsPart):
        guard let isClosing = try consumeDelimiterLine() else { return .needsInput }
        state = isClosing ? .closing : .head
        if endsPart { return .partEnded }
      case .head:
        guard let part = try parseHead() else { return .needsInput }
        state = .body
        return .part(part)
      case .body:
        let (found, end) = findDelimiter()
        let piece = Array(input[position..<end])
        position = end
        if found {
          position += delimiter.count
          state = .delimiterEnd(endsPart: true)
        }
        if !piece.isEmpty { return .piece(piece) }
        if !found { return .needsInput }
      case .closing:
        state = .epilogue
        input = []
        position = 0
        return .ended
      case .epilogue: return .needsInput
      }
    }
  }

  // MARK: Delimiters

  /// Searches for a delimiter. Returns its start if found, otherwise the start of a possible partial delimiter or the
  /// end of the input.
  private func findDelimiter() -> (found: Bool, at: Int) {
    var start = position
    while let candidate = input[start...].firstIndex(of: 0x0D) {
      let rest = input[candidate...]
      if rest.count >= delimiter.count {
        if rest.prefix(delimiter.count).elementsEqual(delimiter) { return (true, candidate) }
      } else if rest.elementsEqual(delimiter.prefix(rest.count)) {
        return (false, candidate)
      }
      start = candidate + 1
    }
    return (false, input.count)
  }

  /// Consumes the rest of a delimiter's line. Returns whether it was the closing delimiter; `nil` if the line is
  /// incomplete.
  private mutating func consumeDelimiterLine() throws(MultipartError) -> Bool? {
    let rest = input[position...]
    guard let first = rest.first else { return nil }
    if first == 0x2D {
      guard rest.count > 1 else { return nil }
      guard rest[position + 1] == 0x2D else { throw .malformed }
      return true
    }
    let padding = rest.prefix { $0 == 0x20 || $0 == 0x09 }.count
    if padding > Self.paddingLimit { throw .malformed }
    let line = rest.dropFirst(padding)
    guard line.count >= 2 else {
      if let byte = line.first, byte != 0x0D { throw .malformed }
      return nil
    }
    guard line.starts(with: [0x0D, 0x0A]) else { throw .malformed }
    position += padding + 2
    return false
  }

  // MARK: Heads

  /// Parses the fields of a part up to the empty line. Returns `nil` if they are incomplete.
  private mutating func parseHead() throws(MultipartError) -> MultipartPart? {
    var part = MultipartPart()
    var start = position
    while true {
      guard let feed = input[start...].firstIndex(of: 0x0A) else {
        if input.count - position > Self.headLimit { throw .headTooLarge(limit: Self.headLimit) }
        return nil
      }
      if feed - position > Self.headLimit { throw .headTooLarge(limit: Self.headLimit) }
      guard feed > start, input[feed - 1] == 0x0D else { throw .malformed }
      let line = input[start..<feed - 1]
      start = feed + 1
      if line.isEmpty {
        position = start
        return part
      }
      try Self.read(line, into: &part)
    }
  }

  private static func read(_ line: ArraySlice<UInt8>, into part: inout MultipartPart) throws(MultipartError) {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
      line[..<colon].allSatisfy(HTTPGrammar.isToken), !line.contains(0), !line.contains(0x0D)
    else { throw .malformed }
    let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
    let value = HTTPGrammar.trimmed(HTTPGrammar.text(line[(colon + 1)...])[...])
    // Other fields are ignored, also Content-Type, which is only a guess of the client.
    guard name == "content-disposition" else { return }
    var fields = FieldParameters(String(value))
    guard fields.value?.lowercased() == "form-data" else { throw .malformed }
    part.name = fields.take("name")
    // RFC 7578 §4.2 forbids filename*, but some clients send it, and then it is decoded.
    part.filename = fields.takeExtendedValue("filename") ?? fields.take("filename")
  }

  /// RFC 2046 §5.1.1: bchars.
  private static func isBoundary(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "'()+_,-./:=? ".utf8.contains(byte)
    }
  }
}
