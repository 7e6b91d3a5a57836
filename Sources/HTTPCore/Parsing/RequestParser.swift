// Bytes in, requests out (RFC 9112). The parser owns no socket and no clock. It consumes whole lines and whole pieces
// of body, and gives the same answer however the bytes were split on their way.
//
// It is strict where leniency would let two parties disagree about where a message ends (RFC 9112 §11.2): line ends are
// CR LF and nothing else, lengths come once, chunked stands alone.
//
// What is received stays where it was put: lines and fields are ranges of `input`, which a request's head shares. A parser
// whose last request has been let go uses its arrays again and allocates nothing.
//
// What is held beyond a little is taken from a `ByteBudget` before the parser asks for more bytes or gives a request
// out, and goes with that request.

#if canImport(Glibc)
  import Glibc
#endif

/// What the parser found.
package enum ParserEvent: Sendable {
  /// More bytes are needed.
  case needsInput
  /// The head is complete and announces a body, of so many bytes where it says so; `expectsContinue` if the client waits
  /// for 100 (RFC 9110 §10.1.1). The caller now says how it takes the body; the next event is of that.
  case head(RequestHead, length: Int?, expectsContinue: Bool)
  /// Of a body that is taken in pieces, with its framing taken off: one of them, and its end.
  case piece([UInt8])
  case bodyEnded
  /// The request is complete. The parser is ready for the next one.
  case request(HTTPRequest)
}

package struct RequestParser: Sendable {
  private enum State: Sendable {
    case requestLine
    case fields
    /// A body is announced; nobody has said how it is to be taken.
    case announced(length: Int?)
    case fixedBody(remaining: Int)
    case chunkSize
    case chunkData(remaining: Int)
    case chunkEnd
    case trailers
  }

  /// Arrays larger than this are counted, and not kept for the next request.
  private static let keptBytes = 2048
  private static let keptFields = 32
  /// What a parser may hold that is not counted.
  package static let freeBytes = keptBytes + keptFields * MemoryLayout<RequestHead.Field>.stride
  /// What chunk lines may cost beyond 16 bytes a chunk and the data that they announce.
  private static let chunkOverheadBytes = 16_384

  private let limits: ParserLimits
  private let budget: ByteBudget?
  private var state = State.requestLine
  private var input: [UInt8] = []
  /// Bytes of `input` before this are consumed. While a head is read they stay, for its fields are ranges of them.
  private var position = 0
  /// Bytes between `position` and this hold no line feed.
  private var scanned = 0
  /// What `input` and `fields` are counted as, with every head that shares them.
  private var inputReservation: ByteBudget.Reservation?

  /// The head under construction.
  private var fields: [RequestHead.Field] = []
  private var names: HeaderNames = []
  private var method = HTTPMethod.get
  private var version = HTTPVersion.http11
  private var target = 0..<0
  /// Bytes of head or trailers so far, line ends included.
  private var lineBytes = 0
  private var emptyLinesBefore = 0

  /// The head of a message whose body is still to come.
  private var head: RequestHead?
  private var body: [UInt8] = []
  private var bodyReservation: ByteBudget.Reservation?
  private var chunkOverhead = 0
  /// The body is given out as it comes, and neither held nor limited here.
  private var isInPieces = false

  /// - Parameter budget: what requests are taken from; `nil`: they are not counted.
  package init(limits: ParserLimits, budget: ByteBudget? = nil) {
    self.limits = limits
    self.budget = budget
  }

  /// Whether part of a request has arrived.
  package var isInsideRequest: Bool {
    if case .requestLine = state { return position < input.count }
    return true
  }

  /// Whether anything that came is not consumed.
  package var hasInput: Bool { position < input.count }

  /// Bytes that are held and not consumed.
  package var bufferedBytes: Int { input.count - position }

  /// Takes bytes as they come from the socket.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if case .fields = state {
    } else if position == input.count {
      input.removeAll(keepingCapacity: input.capacity <= Self.keptBytes)
      scanned = 0
      position = 0
    } else if position > 0 {
      input.removeFirst(position)
      scanned = max(0, scanned - position)
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
        else { return try needsInput() }
        // RFC 9112 §2.2: an empty line before the request line is ignored; a stream of them is not.
        if line.isEmpty {
          emptyLinesBefore += 1
          if emptyLinesBefore > 4 { throw .malformedRequestLine }
          continue
        }
        try parseRequestLine(line)
        state = .fields
      case .fields:
        guard let line = try headLine() else { return try needsInput() }
        if !line.isEmpty {
          if fields.count == limits.headerFields { throw .tooManyFields(limit: limits.headerFields) }
          let field = try Self.field(input.span, line)
          names.insert(field.known)
          fields.append(field)
          continue
        }
        if let event = try headIsComplete() { return event }
      case .announced: try takeBodyWhole()
      case .fixedBody(let remaining):
        let taken = min(remaining, bufferedBytes)
        state = .fixedBody(remaining: remaining - taken)
        if let piece = take(taken) { return .piece(piece) }
        if taken < remaining { return try needsInput() }
        return try finishBody()
      case .chunkSize:
        guard let line = try line(limit: 256, else: .malformedChunk) else { return try needsInput() }
        let size = try Self.chunkSize(input.span, line)
        if !isInPieces && body.count + size > limits.bodyBytes { throw .bodyTooLarge(limit: limits.bodyBytes) }
        // Many small chunks with long extensions would make us read far more than a body may hold.
        chunkOverhead = max(0, chunkOverhead + line.count - 16 - 2 * size)
        if chunkOverhead > Self.chunkOverheadBytes { throw .malformedChunk }
        if !isInPieces { try makeRoom(for: body.count + size) }
        lineBytes = 0
        state = size == 0 ? .trailers : .chunkData(remaining: size)
      case .chunkData(let remaining):
        let taken = min(remaining, bufferedBytes)
        let piece = take(taken)
        state = taken < remaining ? .chunkData(remaining: remaining - taken) : .chunkEnd
        if let piece { return .piece(piece) }
        if taken < remaining { return try needsInput() }
      case .chunkEnd:
        guard let line = try line(limit: 0, else: .malformedChunk) else { return try needsInput() }
        if !line.isEmpty { throw .malformedChunk }
        state = .chunkSize
      case .trailers:
        // Trailers are checked and dropped: no handler has a use for them (RFC 9110 §6.5.1 allows it).
        guard let line = try headLine() else { return try needsInput() }
        if line.isEmpty { return try finishBody() }
        _ = try Self.field(input.span, line)
      }
    }
  }

  /// Lets go of everything, after an error.
  package mutating func discard() { self = RequestParser(limits: limits, budget: budget) }

  // MARK: What is held

  private mutating func needsInput() throws(ParseError) -> ParserEvent {
    if case .fields = state {
      // Fields are ranges of all that came.
      try countInput()
    } else {
      try settle()
    }
    return .needsInput
  }

  /// What has come is read, and this may be all for long: what is consumed is let go, the rest is counted.
  private mutating func settle() throws(ParseError) {
    guard isLarge else { return }
    input = Array(input[position...])
    scanned = max(0, scanned - position)
    position = 0
    if fields.capacity > Self.keptFields { fields = [] }
    inputReservation = nil
    try countInput()
  }

  private var isLarge: Bool { input.capacity > Self.keptBytes || fields.capacity > Self.keptFields }

  /// Has `input` and `fields` counted, where they are large.
  private mutating func countInput() throws(ParseError) {
    guard let budget, isLarge else { return }
    let bytes = input.capacity + fields.capacity * MemoryLayout<RequestHead.Field>.stride
    // One that a head has too may be for arrays that are only the head's by now.
    if !isKnownUniquelyReferenced(&inputReservation) { inputReservation = ByteBudget.Reservation(of: budget) }
    guard inputReservation?.grow(to: bytes) == true else { throw .overloaded }
  }

  /// Makes the body's array large enough for so many bytes in all, and has it counted first.
  private mutating func makeRoom(for size: Int) throws(ParseError) {
    guard size > body.capacity else { return }
    // Twice as large each time, as arrays do, so that many chunks are not as many copies; no larger where room is short.
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

  /// The next line without its line end, consumed; `nil` if it is not complete.
  private mutating func line(limit: Int, else tooLong: ParseError) throws(ParseError) -> Range<Int>? {
    let start = max(scanned, position)
    guard let end = Self.lineFeed(input, from: start) else {
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
    try Self.refuseControls(input.span, line)
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

  private static func lineFeed(_ bytes: [UInt8], from start: Int) -> Int? {
    bytes.withUnsafeBytes { bytes in
      guard start < bytes.count, let base = bytes.baseAddress else { return nil }
      return memchr(base + start, 0x0A, bytes.count - start).map { base.distance(to: UnsafeRawPointer($0)) }
    }
  }

  /// NUL and a carriage return inside a line are told apart from other mistakes; the rest is the grammar's.
  private static func refuseControls(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(ParseError) {
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
    // Here and not where the last request ended: whoever answered it has let its head go by now.
    fields.removeAll(keepingCapacity: fields.capacity <= Self.keptFields)
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
    while first < line.upperBound, Text.isToken(bytes[first]) { first += 1 }
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
    guard Text.isDigit(bytes[start + 5]), bytes[start + 6] == UInt8(ascii: "."), Text.isDigit(bytes[start + 7]) else {
      throw .malformedRequestLine
    }
    guard bytes[start + 5] == UInt8(ascii: "1") else { throw .unsupportedVersion }
    return bytes[start + 7] == UInt8(ascii: "0") ? .http10 : .http11
  }

  private static func field(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(ParseError) -> RequestHead.Field {
    let first = bytes[line.lowerBound]
    if first == 0x20 || first == 0x09 { throw .foldedField }
    var colon = line.lowerBound
    while colon < line.upperBound, Text.isToken(bytes[colon]) { colon += 1 }
    guard colon < line.upperBound, colon > line.lowerBound else { throw .malformedField }
    if bytes[colon] != UInt8(ascii: ":") {
      // White space is named only where a colon comes after it: else it is just no field.
      var next = colon
      while next < line.upperBound, bytes[next] == 0x20 || bytes[next] == 0x09 { next += 1 }
      throw next > colon && next < line.upperBound && bytes[next] == UInt8(ascii: ":")
        ? .spaceBeforeColon : .malformedField
    }
    let value = Text.trimmed(bytes, colon + 1..<line.upperBound)
    for i in value where !Text.isFieldContent(bytes[i]) { throw .malformedField }
    return RequestHead.Field(
      known: HeaderName(bytes, line.lowerBound..<colon), nameStart: UInt32(line.lowerBound), nameEnd: UInt32(colon),
      valueStart: UInt32(value.lowerBound), valueEnd: UInt32(value.upperBound))
  }

  /// Decides the framing of the body (RFC 9112 §6.3) and what the request is about (§3.2).
  private mutating func headIsComplete() throws(ParseError) -> ParserEvent? {
    try countInput()
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
      expectBody(of: head, .announced(length: nil))
      return .head(head, length: nil, expectsContinue: expectsContinue)
    }
    if lengths.count > 1 { throw .repeatedContentLength }
    guard let digits = lengths.first else { return finish(head) }
    guard !digits.isEmpty, digits.utf8.allSatisfy(Text.isDigit) else { throw .malformedContentLength }
    // A number too large for Int is a body too large for anyone.
    guard let length = Int(digits) else { throw .bodyTooLarge(limit: limits.bodyBytes) }
    if length == 0 { return finish(head) }
    expectBody(of: head, .announced(length: length))
    return .head(head, length: length, expectsContinue: expectsContinue)
  }

  private func checkHost(_ head: RequestHead) throws(ParseError) {
    var host: Range<Int>?
    for field in fields where field.known == .host {
      if host != nil { throw .repeatedHost }
      host = field.value
    }
    if host == nil && version == .http11 { throw .missingHost }
    if let host, !RequestTarget.isHost(input.span, host) { throw .malformedHost }
    if RequestTarget.isPlain(input.span, target) { return }
    guard RequestTarget(head.target, method: method, host: head.value(of: .host)) != nil else { throw .malformedTarget }
  }

  // MARK: Body

  private static func chunkSize(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(ParseError) -> Int {
    var size = 0
    var digits = 0
    var i = line.lowerBound
    while i < line.upperBound, let value = Text.hexValue(bytes[i]) {
      digits += 1
      if digits > 15 { throw .malformedChunk }
      size = size << 4 | Int(value)
      i += 1
    }
    if digits == 0 { throw .malformedChunk }
    // RFC 9112 §7.1.1: BWS, then extensions; their meaning is ignored, their bytes are not.
    while i < line.upperBound, bytes[i] == 0x20 || bytes[i] == 0x09 { i += 1 }
    if i < line.upperBound {
      guard bytes[i] == UInt8(ascii: ";") else { throw .malformedChunk }
      for j in i..<line.upperBound where !Text.isFieldContent(bytes[j]) { throw .malformedChunk }
    } else if i > line.lowerBound + digits {
      throw .malformedChunk
    }
    return size
  }

  /// The body that was announced comes with its request, within what one may hold. So it does where nobody says anything.
  package mutating func takeBodyWhole() throws(ParseError) {
    guard case .announced(let length) = state else { return }
    guard let length else {
      state = .chunkSize
      return
    }
    guard length <= limits.bodyBytes else { throw .bodyTooLarge(limit: limits.bodyBytes) }
    try makeRoom(for: length)
    state = .fixedBody(remaining: length)
  }

  /// The body that was announced is given out as it comes. How much of it there may be is the caller's to say.
  package mutating func takeBodyInPieces() {
    guard case .announced(let length) = state else { return }
    isInPieces = true
    state = length.map { .fixedBody(remaining: $0) } ?? .chunkSize
  }

  /// Consumes so much of the body. What is to be given out, if it is taken so.
  private mutating func take(_ count: Int) -> [UInt8]? {
    let range = position..<position + count
    position += count
    guard isInPieces else {
      body.append(contentsOf: input[range])
      return nil
    }
    return count > 0 ? Array(input[range]) : nil
  }

  /// The head keeps the bytes that it is made of; what came after them is all that is still needed here.
  private mutating func expectBody(of head: RequestHead, _ state: State) {
    self.head = head
    self.state = state
    if fields.capacity > Self.keptFields { fields = [] }
    input = Array(input[position...])
    inputReservation = nil
    position = 0
    scanned = 0
    chunkOverhead = 0
  }

  private mutating func finishBody() throws(ParseError) -> ParserEvent {
    // What came after this request waits while it is answered.
    try settle()
    // Set when the body was announced; there is no way here around that.
    guard let head else { preconditionFailure("a body without a head") }
    self.head = nil
    let event = finish(head)
    if !isInPieces { return event }
    isInPieces = false
    return .bodyEnded
  }

  private mutating func finish(_ head: RequestHead) -> ParserEvent {
    let request = HTTPRequest(head: head, body: body, reservation: bodyReservation)
    state = .requestLine
    body = []
    bodyReservation = nil
    lineBytes = 0
    emptyLinesBefore = 0
    return .request(request)
  }
}
