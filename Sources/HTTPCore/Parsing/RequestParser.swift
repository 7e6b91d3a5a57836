// Bytes in, requests out (RFC 9112). The parser owns no socket and no clock. It consumes whole lines and whole pieces
// of body, and gives the same answer however the bytes were split on their way.
//
// It is strict where leniency would let two parties disagree about where a message ends (RFC 9112 §11.2): line ends are
// CR LF and nothing else, lengths come once, chunked stands alone.

/// What the parser found.
package enum ParserEvent: Sendable {
  /// More bytes are needed.
  case needsInput
  /// The head is complete and announces a body; `expectsContinue` if the client waits for 100 (RFC 9110 §10.1.1).
  case head(expectsContinue: Bool)
  /// The request is complete. The parser is ready for the next one.
  case request(HTTPRequest)
}

package struct RequestParser: Sendable {
  private enum State: Sendable {
    case requestLine
    case fields
    case fixedBody(remaining: Int)
    case chunkSize
    case chunkData(remaining: Int)
    case chunkEnd
    case trailers
  }

  private let limits: ParserLimits
  private var state = State.requestLine
  private var input: [UInt8] = []
  /// Bytes of `input` before this are consumed.
  private var position = 0
  /// Bytes between `position` and this hold no line feed.
  private var scanned = 0

  /// The head under construction: what stood in its lines, without line ends.
  private var headBytes: [UInt8] = []
  private var fields: [RequestHead.Field] = []
  private var method = HTTPMethod.get
  private var version = HTTPVersion.http11
  private var target = 0..<0
  /// Bytes of head or trailers so far, line ends included.
  private var lineBytes = 0
  private var emptyLinesBefore = 0

  private var head: RequestHead?
  private var requestTarget: RequestTarget?
  private var body: [UInt8] = []

  package init(limits: ParserLimits) {
    self.limits = limits
  }

  /// Whether part of a request has arrived.
  package var isInsideRequest: Bool {
    if case .requestLine = state { return position < input.count }
    return true
  }

  /// Bytes that are held and not consumed.
  package var bufferedBytes: Int { input.count - position }

  /// Takes bytes as they come from the socket.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if position == input.count {
      input.removeAll(keepingCapacity: input.capacity <= 65_536)
      position = 0
      scanned = 0
    } else if position > 32_768 {
      input.removeFirst(position)
      scanned -= position
      position = 0
    }
    input.append(contentsOf: bytes)
  }

  /// The next event in what has arrived. After an error the parser is of no further use.
  package mutating func next() throws(ParseError) -> ParserEvent {
    while true {
      switch state {
      case .requestLine:
        guard
          let line = try line(limit: limits.requestLineBytes, else: .requestLineTooLong(limit: limits.requestLineBytes))
        else { return .needsInput }
        // RFC 9112 §2.2: an empty line before the request line is ignored; a stream of them is not.
        if line.isEmpty {
          emptyLinesBefore += 1
          if emptyLinesBefore > 4 { throw .malformedRequestLine }
          continue
        }
        try parseRequestLine(line)
        state = .fields
      case .fields:
        guard let line = try headLine() else { return .needsInput }
        if !line.isEmpty {
          try parseField(line)
          continue
        }
        if let event = try headIsComplete() { return event }
      case .fixedBody(let remaining):
        let taken = min(remaining, bufferedBytes)
        take(taken)
        if taken < remaining {
          state = .fixedBody(remaining: remaining - taken)
          return .needsInput
        }
        return finish()
      case .chunkSize:
        guard let line = try line(limit: 256, else: .malformedChunk) else { return .needsInput }
        let size = try chunkSize(line)
        if body.count + size > limits.bodyBytes { throw .bodyTooLarge(limit: limits.bodyBytes) }
        lineBytes = 0
        state = size == 0 ? .trailers : .chunkData(remaining: size)
      case .chunkData(let remaining):
        let taken = min(remaining, bufferedBytes)
        take(taken)
        if taken < remaining {
          state = .chunkData(remaining: remaining - taken)
          return .needsInput
        }
        state = .chunkEnd
      case .chunkEnd:
        guard let line = try line(limit: 0, else: .malformedChunk) else { return .needsInput }
        if !line.isEmpty { throw .malformedChunk }
        state = .chunkSize
      case .trailers:
        // Trailers are checked and dropped: no handler has a use for them (RFC 9110 §6.5.1 allows it).
        guard let line = try headLine() else { return .needsInput }
        if line.isEmpty { return finish() }
        _ = try fieldRanges(line)
      }
    }
  }

  // MARK: Lines

  /// The next line without its line end, consumed; `nil` if it is not complete.
  private mutating func line(limit: Int, else tooLong: ParseError) throws(ParseError) -> Range<Int>? {
    scanned = max(scanned, position)
    guard let end = input[scanned...].firstIndex(of: UInt8(ascii: "\n")) else {
      // A line end of its own is still to come, so limit + 1 bytes may wait for it.
      if input.count - position > limit + 1 { throw tooLong }
      scanned = input.count
      return nil
    }
    guard end > position, input[end - 1] == UInt8(ascii: "\r") else {
      if end - position > limit { throw tooLong }
      throw .bareLineFeed
    }
    let line = position..<end - 1
    if line.count > limit { throw tooLong }
    for i in line where input[i] < 0x20 || input[i] == 0x7F {
      if input[i] == 0 { throw .nulByte }
      if input[i] == UInt8(ascii: "\r") { throw .bareCarriageReturn }
    }
    lineBytes += end + 1 - position
    position = end + 1
    return line
  }

  /// A line of head or trailers, within what the header may hold in all.
  private mutating func headLine() throws(ParseError) -> Range<Int>? {
    let tooLarge = ParseError.headerTooLarge(limit: limits.headerBytes)
    let line = try line(limit: max(0, limits.headerBytes - lineBytes), else: tooLarge)
    if lineBytes > limits.headerBytes { throw tooLarge }
    return line
  }

  // MARK: Head

  private mutating func parseRequestLine(_ line: Range<Int>) throws(ParseError) {
    guard let first = input[line].firstIndex(of: 0x20), let last = input[line].lastIndex(of: 0x20), first < last,
      first > line.lowerBound, last > first + 1
    else { throw .malformedRequestLine }
    guard input[line.lowerBound..<first].allSatisfy(Text.isToken) else { throw .malformedRequestLine }
    let versionBytes = input[last + 1..<line.upperBound]
    guard versionBytes.count == 8, versionBytes.starts(with: "HTTP/".utf8), Text.isDigit(input[last + 6]),
      input[last + 7] == UInt8(ascii: "."), Text.isDigit(input[last + 8])
    else { throw .malformedRequestLine }
    switch (input[last + 6], input[last + 8]) {
    case (UInt8(ascii: "1"), UInt8(ascii: "0")): version = .http10
    case (UInt8(ascii: "1"), _): version = .http11
    default: throw .unsupportedVersion
    }
    // RFC 3986: visible ASCII only.
    guard input[first + 1..<last].allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw .malformedTarget }
    method = HTTPMethod(String(decoding: input[line.lowerBound..<first], as: UTF8.self))
    headBytes.append(contentsOf: input[first + 1..<last])
    target = 0..<headBytes.count
  }

  private mutating func parseField(_ line: Range<Int>) throws(ParseError) {
    if fields.count == limits.headerFields { throw .tooManyFields(limit: limits.headerFields) }
    let field = try fieldRanges(line)
    let start = headBytes.count
    headBytes.append(contentsOf: input[field.name])
    headBytes.append(contentsOf: input[field.value])
    let middle = start + field.name.count
    fields.append(RequestHead.Field(name: start..<middle, value: middle..<headBytes.count))
  }

  private func fieldRanges(_ line: Range<Int>) throws(ParseError) -> RequestHead.Field {
    let first = input[line.lowerBound]
    if first == 0x20 || first == 0x09 { throw .foldedField }
    guard let colon = input[line].firstIndex(of: UInt8(ascii: ":")), colon > line.lowerBound else {
      throw .malformedField
    }
    let before = input[colon - 1]
    if before == 0x20 || before == 0x09 { throw .spaceBeforeColon }
    guard input[line.lowerBound..<colon].allSatisfy(Text.isToken) else { throw .malformedField }
    var start = colon + 1
    var end = line.upperBound
    while start < end, input[start] == 0x20 || input[start] == 0x09 { start += 1 }
    while end > start, input[end - 1] == 0x20 || input[end - 1] == 0x09 { end -= 1 }
    guard input[start..<end].allSatisfy(Text.isFieldContent) else { throw .malformedField }
    return RequestHead.Field(name: line.lowerBound..<colon, value: start..<end)
  }

  /// Decides the framing of the body (RFC 9112 §6.3) and what the request is about (§3.2).
  private mutating func headIsComplete() throws(ParseError) -> ParserEvent? {
    let head = RequestHead(method: method, version: version, bytes: headBytes, targetRange: target, fields: fields)
    let hosts = head.values(of: "host")
    if hosts.count > 1 { throw .repeatedHost }
    if hosts.isEmpty && version == .http11 { throw .missingHost }
    if let host = hosts.first, !RequestTarget.isHost(host) { throw .malformedHost }
    guard let target = RequestTarget(head.target, method: method, host: hosts.first) else { throw .malformedTarget }

    let lengths = head.values(of: "content-length")
    let codings = head.values(of: "transfer-encoding")
    var expectsContinue = false
    if let expectation = head.value(of: "expect") {
      guard expectation.lowercased() == "100-continue" else { throw .unknownExpectation }
      expectsContinue = version == .http11
    }
    self.head = head
    self.requestTarget = target
    if !codings.isEmpty {
      if !lengths.isEmpty { throw .contentLengthWithTransferEncoding }
      if version == .http10 { throw .transferEncodingInHTTP10 }
      guard codings.count == 1, codings[0].lowercased() == "chunked" else { throw .unknownTransferEncoding }
      state = .chunkSize
      return .head(expectsContinue: expectsContinue)
    }
    if lengths.count > 1 { throw .repeatedContentLength }
    guard let digits = lengths.first else { return finish() }
    guard !digits.isEmpty, digits.utf8.allSatisfy(Text.isDigit) else { throw .malformedContentLength }
    // A number too large for Int is a body too large for anyone.
    guard let length = Int(digits), length <= limits.bodyBytes else { throw .bodyTooLarge(limit: limits.bodyBytes) }
    if length == 0 { return finish() }
    state = .fixedBody(remaining: length)
    return .head(expectsContinue: expectsContinue)
  }

  // MARK: Body

  private func chunkSize(_ line: Range<Int>) throws(ParseError) -> Int {
    var size = 0
    var digits = 0
    var i = line.lowerBound
    while i < line.upperBound, let value = Text.hexValue(input[i]) {
      digits += 1
      if digits > 15 { throw .malformedChunk }
      size = size << 4 | Int(value)
      i += 1
    }
    if digits == 0 { throw .malformedChunk }
    // RFC 9112 §7.1.1: BWS, then extensions; their meaning is ignored, their bytes are not.
    while i < line.upperBound, input[i] == 0x20 || input[i] == 0x09 { i += 1 }
    if i < line.upperBound {
      guard input[i] == UInt8(ascii: ";"), input[i..<line.upperBound].allSatisfy(Text.isFieldContent) else {
        throw .malformedChunk
      }
    } else if i > line.lowerBound + digits {
      throw .malformedChunk
    }
    return size
  }

  private mutating func take(_ count: Int) {
    body.append(contentsOf: input[position..<position + count])
    position += count
  }

  private mutating func finish() -> ParserEvent {
    // Both were set when the head was complete; there is no way here around that.
    guard let head, let requestTarget else { preconditionFailure("a body without a head") }
    let request = HTTPRequest(head: head, target: requestTarget, body: body)
    state = .requestLine
    headBytes = []
    fields = []
    self.head = nil
    self.requestTarget = nil
    body = []
    lineBytes = 0
    emptyLinesBefore = 0
    return .request(request)
  }
}
