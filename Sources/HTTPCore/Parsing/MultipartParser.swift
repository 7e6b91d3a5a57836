// Bytes in, parts out: multipart/form-data (RFC 7578) as RFC 2046 §5.1.1 frames it. The parser owns no socket, holds a part's
// head and as much of its body as may be the beginning of a delimiter, and gives the same answer however the bytes were
// split on their way.
//
// It is written here because what there is for Swift (vapor/multipart-kit) parses sequences of Swift concurrency, and bodies
// come to us on Dispatch queues.
//
// Line ends are CR LF. White space behind a boundary is passed over (§5.1.1, transport-padding); what stands before the first
// delimiter and behind the last is ignored, within a limit.

/// What the parser found.
package enum MultipartEvent: Sendable, Hashable {
  /// More bytes are needed; or, behind the last delimiter, none.
  case needsInput
  case part(MultipartPart)
  /// Of the part's body; never empty.
  case piece([UInt8])
  case partEnded
  /// The closing delimiter. What comes behind it is ignored.
  case ended
}

/// The head of a part.
package struct MultipartPart: Sendable, Hashable {
  /// `name` and `filename` of Content-Disposition.
  package var name: String?
  package var filename: String?
  /// As it came; what a client says of a file's type is a guess of its own.
  package var contentType: String?
}

package enum MultipartError: Error, Sendable, Hashable {
  /// The body's type names no boundary, or one that is none (RFC 2046 §5.1.1: 1 to 70 of few characters).
  case malformedBoundary
  /// Something stands where a delimiter, a field or its end should.
  case malformed
  /// The head of a part, or what stands before the first, is too long.
  case headTooLarge(limit: Int)
  /// The body ended before its closing delimiter.
  case incomplete

  package var explanation: String {
    switch self {
    case .malformedBoundary: "The Content-Type names no boundary, or one that is none."
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
    /// Behind a boundary: the rest of its line. Only with that is the part before it over.
    case delimiterEnd(isBehindPart: Bool)
    case head
    case body
    case closing
    case epilogue
  }

  /// A part's head, and what stands before the first part.
  package static let headLimit = 16_384
  /// White space behind a boundary.
  private static let paddingLimit = 256

  /// CR LF, two hyphens, the boundary.
  private let delimiter: [UInt8]
  private var state = State.preamble
  private var input: [UInt8]
  private var position = 0
  private var preambleBytes = 0

  /// - Parameter boundary: of the body's Content-Type.
  package init(boundary: String) throws(MultipartError) {
    let bytes = Array(boundary.utf8)
    guard (1...70).contains(bytes.count), bytes.last != 0x20, bytes.allSatisfy(Self.isBoundary) else {
      throw .malformedBoundary
    }
    delimiter = [0x0D, 0x0A, 0x2D, 0x2D] + bytes
    // As if a line had ended before the body: its first delimiter may be its first bytes.
    input = [0x0D, 0x0A]
    position = 0
  }

  /// The boundary that a Content-Type names; `nil` where that is no multipart/form-data.
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

  /// The body is over. Throws where the closing delimiter did not come.
  package func finish() throws(MultipartError) {
    guard state == .epilogue else { throw .incomplete }
  }

  package mutating func next() throws(MultipartError) -> MultipartEvent {
    while true {
      switch state {
      case .preamble:
        let (found, end) = find()
        preambleBytes += end - position
        if preambleBytes > Self.headLimit { throw .headTooLarge(limit: Self.headLimit) }
        position = end
        guard found else { return .needsInput }
        position += delimiter.count
        state = .delimiterEnd(isBehindPart: false)
      case .delimiterEnd(let isBehindPart):
        guard let isClosing = try endOfDelimiter() else { return .needsInput }
        state = isClosing ? .closing : .head
        if isBehindPart { return .partEnded }
      case .head:
        guard let part = try head() else { return .needsInput }
        state = .body
        return .part(part)
      case .body:
        let (found, end) = find()
        let piece = Array(input[position..<end])
        position = end
        if found {
          position += delimiter.count
          state = .delimiterEnd(isBehindPart: true)
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

  /// Whether there is a delimiter, and where: its beginning, or that of what may become one, or the end of what is here.
  private func find() -> (found: Bool, at: Int) {
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

  /// Consumes what is left of a delimiter's line: whether it was the closing one. `nil`: it is not all here.
  private mutating func endOfDelimiter() throws(MultipartError) -> Bool? {
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

  /// The fields of a part, to the empty line. `nil`: they are not all here.
  private mutating func head() throws(MultipartError) -> MultipartPart? {
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
      line[..<colon].allSatisfy(Text.isToken), !line.contains(0), !line.contains(0x0D)
    else { throw .malformed }
    let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
    let value = Text.trimmed(String(decoding: line[(colon + 1)...], as: UTF8.self)[...])
    switch name {
    case "content-disposition":
      var fields = FieldParameters(String(value))
      guard fields.value?.lowercased() == "form-data" else { throw .malformed }
      part.name = fields.take("name")
      // RFC 7578 §4.2 forbids filename*; where a client sends it all the same it means what it says.
      part.filename = fields.takeExtended("filename") ?? fields.take("filename")
    case "content-type": part.contentType = String(value)
    default: break
    }
  }

  /// RFC 2046 §5.1.1: bchars.
  private static func isBoundary(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "'()+_,-./:=? ".utf8.contains(byte)
    }
  }
}
