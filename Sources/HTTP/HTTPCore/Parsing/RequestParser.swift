// The HTTP/1 request parser (RFC 9112): bytes go in, requests come out. It owns no socket and no clock. It consumes
// complete lines and pieces of body, and its results do not depend on how the input was split.
//
// It is strict where leniency would let two parties disagree about the end of a message (RFC 9112 §11.2): lines end
// only in CR LF, Content-Length occurs at most once, and Content-Length with Transfer-Encoding is rejected.
//
// Received text is not copied: lines and fields are ranges of `input`, which the request head shares. If the previous
// request has been released, the parser reuses its arrays and allocates nothing.
//
// Memory beyond a small free amount is reserved from a `ByteBudget` before the parser asks for more bytes or returns a
// request. The reservation is released with that request.

#if canImport(Glibc)
  import Glibc
#endif

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

package struct RequestParser: Sendable {
  private enum State: Sendable {
    case requestLine
    case fields
    /// A body is announced; the caller has not yet chosen how to receive it.
    case bodyPending(length: Int?)
    case fixedBody(remaining: Int)
    case chunkSize
    case chunkData(remaining: Int)
    case chunkEnd
    case trailers
  }

  /// Larger arrays are counted against the budget and are not reused for the next request.
  private static let reusableCapacityBytes = 2048
  private static let reusableFieldCapacity = 32
  /// Bytes that a parser may hold without counting them.
  package static let uncountedBytes =
    reusableCapacityBytes + reusableFieldCapacity * MemoryLayout<RequestHead.Field>.stride
  /// Bytes that chunk lines may use beyond 16 bytes per chunk and twice the announced data.
  private static let chunkOverheadBytes = 16_384

  private let limits: ParserLimits
  private let budget: ByteBudget?
  private var state = State.requestLine
  private var input: [UInt8] = []
  /// Bytes of `input` before this position are consumed. They are kept while a head is parsed, because its fields are
  /// ranges of them.
  private var position = 0
  /// Bytes between `position` and this hold no line feed.
  private var scanned = 0
  /// The reservation of `input` and `fields`, shared with every head that uses them.
  private var inputReservation: ByteBudget.Reservation?

  /// The head that is being parsed.
  private var fields: [RequestHead.Field] = []
  private var names: HeaderNames = []
  private var method = HTTPMethod.get
  private var version = HTTPVersion.http11
  private var target = 0..<0
  /// Bytes of head or trailers so far, line ends included.
  private var lineBytes = 0
  private var leadingEmptyLines = 0

  /// The head of a message whose body is not complete.
  private var head: RequestHead?
  private var body: [UInt8] = []
  private var bodyReservation: ByteBudget.Reservation?
  private var chunkOverhead = 0
  /// The body is streamed: it is neither buffered nor limited here.
  private var isStreaming = false

  /// - Parameter budget: the budget that requests are counted against; `nil` disables counting.
  package init(limits: ParserLimits, budget: ByteBudget? = nil) {
    self.limits = limits
    self.budget = budget
  }

  /// Whether part of a request has arrived.
  package var isInsideRequest: Bool {
    if case .requestLine = state { return position < input.count }
    return true
  }

  /// Whether unconsumed input is buffered.
  package var hasInput: Bool { position < input.count }

  /// Bytes of unconsumed input.
  package var bufferedBytes: Int { input.count - position }

  /// Appends bytes from the socket.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if case .fields = state {
    } else if position == input.count {
      input.removeAll(keepingCapacity: input.capacity <= Self.reusableCapacityBytes)
      scanned = 0
      position = 0
    } else if position > 0 {
      input.removeFirst(position)
      scanned = max(0, scanned - position)
      position = 0
    }
    input.append(contentsOf: bytes)
  }

  /// Returns the next event. After an error the parser can't be used until `reset`.
  package mutating func next() throws(ParseError) -> ParserEvent {
    while true {
      switch state {
      case .requestLine:
        guard
          let line = try line(limit: limits.requestLineBytes, else: .requestLineTooLong(limit: limits.requestLineBytes))
        else { return try needsInput() }
        // RFC 9112 §2.2: empty lines before the request line are ignored, but only a few of them.
        if line.isEmpty {
          leadingEmptyLines += 1
          if leadingEmptyLines > 4 { throw .malformedRequestLine }
          continue
        }
        try parseRequestLine(line)
        state = .fields
      case .fields:
        guard let line = try headLine() else { return try needsInput() }
        if !line.isEmpty {
          if fields.count == limits.headerFields { throw .tooManyFields(limit: limits.headerFields) }
          let field = try Self.field(input.span, line)
          names.insert(field.headerName)
          fields.append(field)
          continue
        }
        if let event = try finishHead() { return event }
      case .bodyPending: try bufferBody()
      case .fixedBody(let remaining):
        let taken = min(remaining, bufferedBytes)
        state = .fixedBody(remaining: remaining - taken)
        if let piece = consumeBody(taken) { return .piece(piece) }
        if taken < remaining { return try needsInput() }
        return try finishBody()
      case .chunkSize:
        guard let line = try line(limit: 256, else: .malformedChunk) else { return try needsInput() }
        let size = try Self.chunkSize(input.span, line)
        if !isStreaming && body.count + size > limits.bodyBytes { throw .bodyTooLarge(limit: limits.bodyBytes) }
        // Otherwise many small chunks with long extensions would make the parser read far more than the body limit.
        chunkOverhead = max(0, chunkOverhead + line.count - 16 - 2 * size)
        if chunkOverhead > Self.chunkOverheadBytes { throw .malformedChunk }
        if !isStreaming { try reserveBody(for: body.count + size) }
        lineBytes = 0
        state = size == 0 ? .trailers : .chunkData(remaining: size)
      case .chunkData(let remaining):
        let taken = min(remaining, bufferedBytes)
        let piece = consumeBody(taken)
        state = taken < remaining ? .chunkData(remaining: remaining - taken) : .chunkEnd
        if let piece { return .piece(piece) }
        if taken < remaining { return try needsInput() }
      case .chunkEnd:
        guard let line = try line(limit: 0, else: .malformedChunk) else { return try needsInput() }
        if !line.isEmpty { throw .malformedChunk }
        state = .chunkSize
      case .trailers:
        // Trailers are checked and discarded, because no handler uses them (RFC 9110 §6.5.1 allows this).
        guard let line = try headLine() else { return try needsInput() }
        if line.isEmpty { return try finishBody() }
        _ = try Self.field(input.span, line)
      }
    }
  }

  /// Discards everything, after an error.
  package mutating func reset() { self = RequestParser(limits: limits, budget: budget) }

  // MARK: Memory

  private mutating func needsInput() throws(ParseError) -> ParserEvent {
    if case .fields = state {
      // The fields are ranges of `input`, so all of it is kept.
      try reserveInput()
    } else {
      try compactInput()
    }
    return .needsInput
  }

  /// All input is parsed and the next bytes may come much later, so release the consumed part and count the rest.
  private mutating func compactInput() throws(ParseError) {
    guard isLarge else { return }
    input = Array(input[position...])
    scanned = max(0, scanned - position)
    position = 0
    if fields.capacity > Self.reusableFieldCapacity { fields = [] }
    inputReservation = nil
    try reserveInput()
  }

  private var isLarge: Bool {
    input.capacity > Self.reusableCapacityBytes || fields.capacity > Self.reusableFieldCapacity
  }

  /// Reserves budget for `input` and `fields` if they are large.
  private mutating func reserveInput() throws(ParseError) {
    guard let budget, isLarge else { return }
    let bytes = input.capacity + fields.capacity * MemoryLayout<RequestHead.Field>.stride
    // A shared reservation may cover arrays that now belong only to the head.
    if !isKnownUniquelyReferenced(&inputReservation) { inputReservation = ByteBudget.Reservation(of: budget) }
    guard inputReservation?.grow(to: bytes) == true else { throw .overloaded }
  }

  /// Grows the body's array to hold `size` bytes in total and reserves budget for it first.
  private mutating func reserveBody(for size: Int) throws(ParseError) {
    guard size > body.capacity else { return }
    // Double the capacity, so that many chunks do not cause as many copies; grow by less if the budget is short.
    var capacity = min(limits.bodyBytes, max(size, body.capacity * 2))
    if let budget {
      let reservation = bodyReservation ?? ByteBudget.Reservation(of: budget)
      if !reservation.grow(to: capacity) {
        capacity = size
        guard reservation.grow(to: capacity) else { throw .overloaded }
      }
      bodyReservation = reservation
    }
    body.reserveCapacity(capacity)
  }

  // MARK: Lines

  /// Consumes and returns the next line without its line end; `nil` if it is incomplete.
  private mutating func line(limit: Int, else tooLong: ParseError) throws(ParseError) -> Range<Int>? {
    let start = max(scanned, position)
    guard let end = Self.lineFeed(input, from: start) else {
      // The line end may be incomplete, so limit + 1 bytes are allowed.
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
    try Self.rejectControlCharacters(input.span, line)
    lineBytes += end + 1 - position
    position = end + 1
    return line
  }

  /// Consumes a line of the head or the trailers, within the limit of the whole header.
  private mutating func headLine() throws(ParseError) -> Range<Int>? {
    let tooLarge = ParseError.headerTooLarge(limit: limits.headerBytes)
    let line = try line(limit: max(0, limits.headerBytes - lineBytes), else: tooLarge)
    if lineBytes > limits.headerBytes { throw tooLarge }
    return line
  }

  private static func lineFeed(_ bytes: [UInt8], from start: Int) -> Int? {
    bytes.withUnsafeBytes { bytes in
      guard start < bytes.count, let base = bytes.baseAddress else { return nil }
      return memchr(base + start, 0x0A, bytes.count - start).map { base.distance(to: UnsafeRawPointer($0)) }
    }
  }

  /// Reports NUL and a carriage return inside a line as separate errors; the grammar rejects the rest.
  private static func rejectControlCharacters(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(ParseError) {
    var isBad = false
    for i in line { isBad = isBad || bytes[i] == 0 || bytes[i] == 0x0D }
    guard isBad else { return }
    for i in line {
      if bytes[i] == 0 { throw .nulByte }
      if bytes[i] == 0x0D { throw .bareCarriageReturn }
    }
  }

  // MARK: Head

  private mutating func parseRequestLine(_ line: Range<Int>) throws(ParseError) {
    // Done here and not at the end of the previous request, because by now the handler has released its head.
    fields.removeAll(keepingCapacity: fields.capacity <= Self.reusableFieldCapacity)
    names = []
    let found = try Self.requestLine(input.span, line)
    version = found.version
    target = found.target
    method = found.isGet ? .get : HTTPMethod(String(decoding: input[found.method], as: UTF8.self))
  }

  private struct RequestLine {
    let method: Range<Int>
    let isGet: Bool
    let target: Range<Int>
    let version: HTTPVersion
  }

  private static func requestLine(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(ParseError) -> RequestLine {
    var first = line.lowerBound
    while first < line.upperBound, HTTPGrammar.isToken(bytes[first]) { first += 1 }
    guard first > line.lowerBound, first < line.upperBound, bytes[first] == 0x20 else { throw .malformedRequestLine }
    var last = line.upperBound - 1
    while last > first, bytes[last] != 0x20 { last -= 1 }
    guard last > first + 1 else { throw .malformedRequestLine }
    let version = try version(bytes, last + 1..<line.upperBound)
    // RFC 3986: visible ASCII only.
    for i in first + 1..<last where bytes[i] <= 0x20 || bytes[i] >= 0x7F { throw .malformedTarget }
    let start = line.lowerBound
    let isGet =
      first - start == 3 && bytes[start] == UInt8(ascii: "G") && bytes[start + 1] == UInt8(ascii: "E")
      && bytes[start + 2] == UInt8(ascii: "T")
    return RequestLine(method: start..<first, isGet: isGet, target: first + 1..<last, version: version)
  }

  /// HTTP-version (RFC 9112 §2.3), case-sensitive.
  private static func version(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(ParseError) -> HTTPVersion {
    let name: StaticString = "HTTP/"
    guard range.count == 8 else { throw .malformedRequestLine }
    let start = range.lowerBound
    for i in 0..<5 where bytes[start + i] != name.utf8Start[i] { throw .malformedRequestLine }
    guard HTTPGrammar.isDigit(bytes[start + 5]), bytes[start + 6] == UInt8(ascii: "."),
      HTTPGrammar.isDigit(bytes[start + 7])
    else {
      throw .malformedRequestLine
    }
    guard bytes[start + 5] == UInt8(ascii: "1") else { throw .unsupportedVersion }
    return bytes[start + 7] == UInt8(ascii: "0") ? .http10 : .http11
  }

  private static func field(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(ParseError) -> RequestHead.Field {
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
    return RequestHead.Field(
      headerName: HeaderName(bytes, line.lowerBound..<colon), nameStart: UInt32(line.lowerBound),
      nameEnd: UInt32(colon),
      valueStart: UInt32(value.lowerBound), valueEnd: UInt32(value.upperBound))
  }

  /// Determines the framing of the body (RFC 9112 §6.3) and checks the target (§3.2).
  private mutating func finishHead() throws(ParseError) -> ParserEvent? {
    try reserveInput()
    let head = RequestHead(
      method: method, version: version, bytes: input, targetRange: target, fields: fields, names: names,
      reservation: inputReservation)
    try checkHost(head)
    var expectsContinue = false
    if let expectation = head.value(of: .expect) {
      guard expectation.lowercased() == "100-continue" else { throw .unknownExpectation }
      expectsContinue = version == .http11
    }
    let codings = head.values(of: .transferEncoding)
    let lengths = head.values(of: .contentLength)
    if !codings.isEmpty {
      if !lengths.isEmpty { throw .contentLengthWithTransferEncoding }
      if version == .http10 { throw .transferEncodingInHTTP10 }
      guard codings.count == 1, codings[0].lowercased() == "chunked" else { throw .unknownTransferEncoding }
      expectBody(of: head, .bodyPending(length: nil))
      return .head(head, length: nil, expectsContinue: expectsContinue)
    }
    if lengths.count > 1 { throw .repeatedContentLength }
    guard let digits = lengths.first else { return finish(head) }
    guard !digits.isEmpty, digits.utf8.allSatisfy(HTTPGrammar.isDigit) else { throw .malformedContentLength }
    // A number too large for Int exceeds every limit.
    guard let length = Int(digits) else { throw .bodyTooLarge(limit: limits.bodyBytes) }
    if length == 0 { return finish(head) }
    expectBody(of: head, .bodyPending(length: length))
    return .head(head, length: length, expectsContinue: expectsContinue)
  }

  private func checkHost(_ head: RequestHead) throws(ParseError) {
    var host: Range<Int>?
    for field in fields where field.headerName == .host {
      if host != nil { throw .repeatedHost }
      host = field.value
    }
    if host == nil && version == .http11 { throw .missingHost }
    if let host, !RequestTarget.isHost(input.span, host) { throw .malformedHost }
    if RequestTarget.isTriviallyValid(input.span, target) { return }
    guard RequestTarget(head.target, method: method, host: head.value(of: .host)) != nil else { throw .malformedTarget }
  }

  // MARK: Body

  private static func chunkSize(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(ParseError) -> Int {
    var size = 0
    var digits = 0
    var i = line.lowerBound
    while i < line.upperBound, let value = HTTPGrammar.hexValue(bytes[i]) {
      digits += 1
      if digits > 15 { throw .malformedChunk }
      size = size << 4 | Int(value)
      i += 1
    }
    if digits == 0 { throw .malformedChunk }
    // RFC 9112 §7.1.1: BWS, then extensions. Their meaning is ignored, but their bytes are counted.
    while i < line.upperBound, bytes[i] == 0x20 || bytes[i] == 0x09 { i += 1 }
    if i < line.upperBound {
      guard bytes[i] == UInt8(ascii: ";") else { throw .malformedChunk }
      for j in i..<line.upperBound where !HTTPGrammar.isFieldContent(bytes[j]) { throw .malformedChunk }
    } else if i > line.lowerBound + digits {
      throw .malformedChunk
    }
    return size
  }

  /// Buffers the announced body within the body limit and returns it with the request. This is the default.
  package mutating func bufferBody() throws(ParseError) {
    guard case .bodyPending(let length) = state else { return }
    guard let length else {
      state = .chunkSize
      return
    }
    guard length <= limits.bodyBytes else { throw .bodyTooLarge(limit: limits.bodyBytes) }
    try reserveBody(for: length)
    state = .fixedBody(remaining: length)
  }

  /// Streams the announced body in pieces. The caller limits its size.
  package mutating func streamBody() {
    guard case .bodyPending(let length) = state else { return }
    isStreaming = true
    state = length.map { .fixedBody(remaining: $0) } ?? .chunkSize
  }

  /// Consumes `count` bytes of the body. Returns them if the body is streamed.
  private mutating func consumeBody(_ count: Int) -> [UInt8]? {
    let range = position..<position + count
    position += count
    guard isStreaming else {
      body.append(contentsOf: input[range])
      return nil
    }
    return count > 0 ? Array(input[range]) : nil
  }

  /// The head keeps its own bytes; the parser keeps only the input after them.
  private mutating func expectBody(of head: RequestHead, _ state: State) {
    self.head = head
    self.state = state
    if fields.capacity > Self.reusableFieldCapacity { fields = [] }
    input = Array(input[position...])
    inputReservation = nil
    position = 0
    scanned = 0
    chunkOverhead = 0
  }

  private mutating func finishBody() throws(ParseError) -> ParserEvent {
    // The input after this request waits until the response is sent.
    try compactInput()
    // The head was set when the body was announced.
    guard let head else { preconditionFailure("a body without a head") }
    self.head = nil
    let event = finish(head)
    if !isStreaming { return event }
    isStreaming = false
    return .bodyEnded
  }

  private mutating func finish(_ head: RequestHead) -> ParserEvent {
    let request = HTTPRequest(head: head, body: body, reservation: bodyReservation)
    state = .requestLine
    body = []
    bodyReservation = nil
    lineBytes = 0
    leadingEmptyLines = 0
    return .request(request)
  }
}
