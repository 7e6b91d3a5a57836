// The HTTP/1 request parser (RFC 9112): bytes go in, requests come out. It owns no socket and no clock. It consumes
// complete lines and pieces of body, and its results do not depend on how the input was split.
//
// This file has the order of the parts of a message and the memory that they take. Each part has a file:
//
//     InputBuffer                line ends                      RFC 9112 §2.2
//     RequestLine                the request line               RFC 9112 §3
//     RequestHead+FieldLine      a header or trailer field      RFC 9112 §5
//     RequestHead+Validation     Host, target, Expect           RFC 9112 §3.2, RFC 9110 §10.1.1
//     RequestFraming             the length of the body         RFC 9112 §6
//     ChunkedCoding              the line before a chunk        RFC 9112 §7.1
//     ParserLimits               limits and errors
//
// It is strict where leniency would let two parties disagree about the end of a message (RFC 9112 §11.2): lines end
// only in CR LF, Content-Length occurs at most once, and Content-Length with Transfer-Encoding is rejected.
//
// Received text is not copied: lines and fields are ranges of `input`, which the request head shares. If the previous
// request has been released, the parser reuses its arrays and allocates nothing.
//
// Memory beyond a small free amount is reserved from a `ByteBudget` before the parser asks for more bytes or returns a
// request. The reservation is released with that request.

import Primitives

/// The request parser of one connection. Append received bytes, then call `next` until it returns `needsInput`.
package struct RequestParser: Sendable {
  private enum State: Sendable {
    case requestLine
    case fields(RequestLine)
    /// A body is announced; the caller has not yet chosen how to receive it.
    case bodyPending(length: Int?)
    case fixedBody(remaining: Int)
    case chunkSize
    case chunkData(remaining: Int)
    case chunkEnd
    case trailers
  }

  /// A larger array is counted against the budget and is not reused for the next request.
  private static let reusableFieldCapacity = 32
  private static let maximumLeadingEmptyLines = 4

  private let limits: ParserLimits
  private let budget: ByteBudget?
  private var state = State.requestLine
  private var input = InputBuffer()
  /// The reservation of `input` and `fields`, shared with every head that uses them.
  private var inputReservation: ByteBudget.Reservation?

  /// The fields of the head that is being parsed.
  private var fields: [RequestHead.Field] = []
  private var names: HeaderNames = []
  /// Bytes of the head or the trailers so far, line ends included.
  private var headerBytes = 0
  private var leadingEmptyLines = 0

  /// The head of a message whose body is not complete.
  private var head: RequestHead?
  private var body = BufferedBody()
  private var chunks = ChunkedCoding()
  /// The body is streamed: it is neither buffered nor limited here.
  private var isStreaming = false

  /// - Parameter budget: the budget that requests are counted against; `nil` disables counting.
  package init(limits: ParserLimits, budget: ByteBudget? = nil) {
    self.limits = limits
    self.budget = budget
  }

  /// Whether part of a request has arrived.
  package var isInsideRequest: Bool {
    if case .requestLine = state { return hasInput }
    return true
  }

  /// Whether unconsumed input is buffered.
  package var hasInput: Bool { input.count > 0 }

  /// Bytes of unconsumed input.
  package var bufferedBytes: Int { input.count }

  /// Appends bytes from the socket.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    // The fields of an incomplete head are ranges of the consumed bytes.
    if case .fields = state {} else { input.removeConsumed() }
    input.append(bytes)
  }

  /// Returns the next event. After an error the parser can't be used until `reset`.
  package mutating func next() throws(ParseError) -> ParserEvent {
    while true {
      switch state {
      case .requestLine:
        let tooLong = ParseError.requestLineTooLong(limit: limits.requestLineBytes)
        guard let line = try input.line(limit: limits.requestLineBytes, else: tooLong) else { return try needsInput() }
        headerBytes += line.count + 2
        // RFC 9112 §2.2: empty lines before the request line are ignored, but only a few of them.
        if line.isEmpty {
          leadingEmptyLines += 1
          if leadingEmptyLines > Self.maximumLeadingEmptyLines { throw .malformedRequestLine }
          continue
        }
        // Done here and not at the end of the previous request, because by now the handler has released its head.
        fields.removeAll(keepingCapacity: fields.capacity <= Self.reusableFieldCapacity)
        names = []
        state = try .fields(RequestLine(input.bytes.span, line))
      case .fields(let requestLine):
        guard let line = try headerLine() else { return try needsInput() }
        if line.isEmpty { return try finishHead(requestLine) }
        if fields.count == limits.headerFields { throw .tooManyFields(limit: limits.headerFields) }
        let field = try RequestHead.Field(input.bytes.span, line)
        names.insert(field.headerName)
        fields.append(field)
      case .bodyPending: try bufferBody()
      case .fixedBody(let remaining):
        let taken = min(remaining, input.count)
        state = .fixedBody(remaining: remaining - taken)
        if let piece = consumeBody(taken) { return .piece(piece) }
        if taken < remaining { return try needsInput() }
        return try finishBody()
      case .chunkSize:
        guard let line = try input.line(limit: ChunkedCoding.lineLimit, else: .malformedChunk) else {
          return try needsInput()
        }
        try beginChunk(of: ChunkedCoding.size(input.bytes.span, line), lineBytes: line.count)
      case .chunkData(let remaining):
        let taken = min(remaining, input.count)
        let piece = consumeBody(taken)
        state = taken < remaining ? .chunkData(remaining: remaining - taken) : .chunkEnd
        if let piece { return .piece(piece) }
        if taken < remaining { return try needsInput() }
      case .chunkEnd:
        guard let line = try input.line(limit: 0, else: .malformedChunk) else { return try needsInput() }
        if !line.isEmpty { throw .malformedChunk }
        state = .chunkSize
      case .trailers:
        // Trailers are checked and discarded, because no handler uses them (RFC 9110 §6.5.1 allows this).
        guard let line = try headerLine() else { return try needsInput() }
        if line.isEmpty { return try finishBody() }
        _ = try RequestHead.Field(input.bytes.span, line)
      }
    }
  }

  /// Discards everything, after an error.
  package mutating func reset() { self = RequestParser(limits: limits, budget: budget) }

  // MARK: Head

  /// Consumes a line of the head or the trailers, within the limit of the whole header.
  private mutating func headerLine() throws(ParseError) -> Range<Int>? {
    let tooLarge = ParseError.headerTooLarge(limit: limits.headerBytes)
    let line = try input.line(limit: max(0, limits.headerBytes - headerBytes), else: tooLarge)
    if let line { headerBytes += line.count + 2 }
    if headerBytes > limits.headerBytes { throw tooLarge }
    return line
  }

  private mutating func finishHead(_ line: RequestLine) throws(ParseError) -> ParserEvent {
    try reserveInput()
    let head = RequestHead(
      method: line.isGet ? .get : HTTPMethod(String(decoding: input.bytes[line.method], as: UTF8.self)),
      version: line.version, bytes: input.bytes, targetRange: line.target, fields: fields, names: names,
      reservation: inputReservation)
    try head.checkHostAndTarget()
    let expectsContinue = try head.expectsContinue()
    let length: Int?
    switch try RequestFraming(of: head, bodyLimit: limits.bodyBytes) {
    case .noBody: return finish(head)
    case .length(let bytes): length = bytes
    case .chunked: length = nil
    }
    expectBody(of: head, length: length)
    return .head(head, length: length, expectsContinue: expectsContinue)
  }

  /// The head keeps its own bytes; the parser keeps only the input after them.
  private mutating func expectBody(of head: RequestHead, length: Int?) {
    self.head = head
    state = .bodyPending(length: length)
    if fields.capacity > Self.reusableFieldCapacity { fields = [] }
    input.detach()
    inputReservation = nil
    chunks = ChunkedCoding()
  }

  // MARK: Body

  /// Buffers the announced body within the body limit and returns it with the request. This is the default.
  package mutating func bufferBody() throws(ParseError) {
    guard case .bodyPending(let length) = state else { return }
    guard let length else {
      state = .chunkSize
      return
    }
    guard length <= limits.bodyBytes else { throw .bodyTooLarge(limit: limits.bodyBytes) }
    try body.reserve(length, limit: limits.bodyBytes, budget: budget)
    state = .fixedBody(remaining: length)
  }

  /// Streams the announced body in pieces. The caller limits its size.
  package mutating func streamBody() {
    guard case .bodyPending(let length) = state else { return }
    isStreaming = true
    state = length.map { .fixedBody(remaining: $0) } ?? .chunkSize
  }

  /// The line before a chunk is complete. A chunk of size 0 ends the body; trailers follow.
  private mutating func beginChunk(of size: Int, lineBytes: Int) throws(ParseError) {
    if !isStreaming && body.bytes.count + size > limits.bodyBytes { throw .bodyTooLarge(limit: limits.bodyBytes) }
    try chunks.count(lineBytes: lineBytes, dataBytes: size)
    if !isStreaming { try body.reserve(body.bytes.count + size, limit: limits.bodyBytes, budget: budget) }
    headerBytes = 0
    state = size == 0 ? .trailers : .chunkData(remaining: size)
  }

  /// Consumes `count` bytes of the body. Returns them if the body is streamed.
  private mutating func consumeBody(_ count: Int) -> [UInt8]? {
    let range = input.consume(count)
    guard isStreaming else {
      body.append(input.bytes[range])
      return nil
    }
    return count > 0 ? Array(input.bytes[range]) : nil
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
    let request = HTTPRequest(head: head, body: body.bytes, reservation: body.reservation)
    state = .requestLine
    body = BufferedBody()
    headerBytes = 0
    leadingEmptyLines = 0
    return .request(request)
  }

  // MARK: Memory

  private mutating func needsInput() throws(ParseError) -> ParserEvent {
    if case .fields = state {
      // The fields are ranges of the consumed bytes, so all of them are kept.
      try reserveInput()
    } else {
      try compactInput()
    }
    return .needsInput
  }

  /// All input is parsed and the next bytes may come much later, so release the consumed part and count the rest.
  private mutating func compactInput() throws(ParseError) {
    guard isLarge else { return }
    input.detach()
    if fields.capacity > Self.reusableFieldCapacity { fields = [] }
    inputReservation = nil
    try reserveInput()
  }

  private var isLarge: Bool {
    input.bytes.capacity > InputBuffer.reusableCapacityBytes || fields.capacity > Self.reusableFieldCapacity
  }

  /// Reserves budget for `input` and `fields` if they are large.
  private mutating func reserveInput() throws(ParseError) {
    guard let budget, isLarge else { return }
    let bytes = input.bytes.capacity + fields.capacity * MemoryLayout<RequestHead.Field>.stride
    // A shared reservation may cover arrays that now belong only to the head.
    if !isKnownUniquelyReferenced(&inputReservation) { inputReservation = ByteBudget.Reservation(of: budget) }
    guard inputReservation?.grow(to: bytes) == true else { throw .overloaded }
  }
}
