// One client connection. It reads bytes, parses them into requests, passes each request to the handler and sends the
// response. It owns the socket, the parser and the output queue. `ConnectionMachine` decides what happens on each
// event.
//
// The requests of one connection are processed one at a time. While a request is being processed nothing more is read,
// so a client that pipelines requests without reading responses fills its own socket and not the server's memory.
//
// A request that the handler answers from memory costs one `recv` and one `sendmsg`: the descriptor stays registered
// for reading, the response is sent without first waiting for writability, and `epoll_ctl` is called only when the
// watched events change.

import CPhotodSystem
import Dispatch
import HTTPCore

#if canImport(Glibc)
  import Glibc
#endif

/// `@unchecked Sendable` because every mutable field is accessed on the loop's queue only. Other threads hold a
/// reference only to capture it in a closure for that queue.
final class Connection: EventLoop.Registrant, @unchecked Sendable {
  private enum Framing {
    case whole, chunked, untilClose
  }

  /// The access log entry of the request in progress.
  private struct RequestLogEntry {
    let identifier: RequestIdentifier
    let arrived: Int64
    let began: UInt64
    let head: RequestHead?
    var status = 0
    var bodyBytes = 0
    var stages: String?
  }

  /// Requests processed in one turn. After that the connection yields to the other connections of the loop.
  private static let maximumRequestsPerTurn = 32
  private static let maximumReadsPerTurn = 4
  /// A waiting producer is called when at most this many bytes remain to be sent.
  private static let lowWatermarkBytes = 65_536
  /// Bodies up to this size are not counted against the response budget: health checks, problem documents, single
  /// assets.
  private static let uncountedResponseBytes = 2048
  private static let readEvents = EPOLLIN.rawValue | EPOLLRDHUP.rawValue

  private let descriptor: Int32
  private let loop: EventLoop
  private let handler: any HTTPHandler
  private let limits: ServerLimits
  private let peer: Peer
  private let requestBudget: ByteBudget
  private let responseBudget: ByteBudget
  private let onClose: @Sendable () -> Void

  // Guarded by the loop's queue.
  private var registration: UInt64?
  private var watchedEvents: UInt32 = 0
  private var machine: ConnectionMachine
  private var parser: RequestParser
  private var isParsing = false
  /// Complete requests are buffered and are processed after the other connections have had their turn.
  private var isYielding = false
  /// The responder of the current response. Weak, because the responder holds the connection.
  private weak var responder: Responder?
  private var framing = Framing.whole
  private var output = OutputQueue()
  /// Called when `output` falls to the low watermark.
  private var writabilityHandlers: [@Sendable () -> Void] = []
  private var logEntry: RequestLogEntry?
  /// The streamed request body, from the end of the request head to the end of the response.
  private var stream: Stream?

  /// A request body that is streamed to a handler.
  private struct Stream {
    /// The object through which the handler reads. Weak, because it holds the connection.
    weak var body: StreamedBody?
    var buffer = BodyBuffer()
    /// The pending read.
    var reader: (@Sendable (BodyRead) -> Void)?
    /// The client waits for 100 (Continue).
    var expectsContinue: Bool
    let reservation: ByteBudget.Reservation
  }

  init(
    descriptor: Int32, peer: Peer, loop: EventLoop, handler: any HTTPHandler, limits: ServerLimits,
    requestBudget: ByteBudget, responseBudget: ByteBudget, onClose: @escaping @Sendable () -> Void
  ) {
    self.descriptor = descriptor
    self.peer = peer
    self.loop = loop
    self.handler = handler
    self.limits = limits
    self.requestBudget = requestBudget
    self.responseBudget = responseBudget
    self.onClose = onClose
    parser = RequestParser(limits: limits.parser, budget: requestBudget)
    machine = ConnectionMachine(limits: limits, now: loop.now)
  }

  func start() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    watchedEvents = Self.readEvents
    registration = loop.add(self, descriptor: descriptor, events: watchedEvents)
    if registration == nil { close() }
  }

  /// Accepts no further requests. A connection between two requests closes now, a busy one after its response, a new
  /// one after its first response or after `ServerLimits.drainGrace`.
  func drain() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    perform(machine.handle(.drainRequested, now: loop.now))
  }

  /// Closes at once, even during a request.
  func close() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    perform(machine.handle(.connectionFailed, now: loop.now))
  }

  // MARK: Events

  func eventsArrived(_ events: UInt32) {
    if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { return close() }
    if events & EPOLLOUT.rawValue != 0 { flush() }
    if machine.isReading {
      if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { receive() }
    } else if machine.phase == .lingering {
      discardInput()
    } else if machine.phase == .bodyPaused {
      // The peer's half-close may be reported while part of the body is still in the kernel's buffer. Leave it there
      // until the handler reads.
      watch(watchedEvents & ~Self.readEvents)
    } else {
      // While a request is processed, later bytes stay in the kernel. Stop watching for them until the response is
      // sent.
      if events & EPOLLIN.rawValue != 0 { watch(watchedEvents & ~EPOLLIN.rawValue) }
      if events & EPOLLRDHUP.rawValue != 0 { peerHalfClosed() }
    }
  }

  func tick(now: UInt64) {
    if now >= machine.deadline { perform(machine.handle(.timerFired, now: now)) }
  }

  private func peerHalfClosed() {
    guard !machine.peerHasHalfClosed else { return }
    watch(watchedEvents & ~EPOLLRDHUP.rawValue & ~EPOLLIN.rawValue)
    perform(machine.handle(.peerHalfClosed, now: loop.now))
  }

  private func perform(_ action: ConnectionMachine.Action) {
    switch action {
    case .none: break
    case .readNext: readNext()
    case .readBeforeDrain:
      receive()
      perform(machine.handle(.drainRequested, now: loop.now))
    case .sendTimeoutResponse: reject(.timedOut)
    case .failBody: endBody(.failed(.timedOut))
    case .probe:
      output.append(ResponseWriter.continueResponse)
      flush()
    case .linger: linger()
    case .close: tearDown()
    }
  }

  private func tearDown() {
    if let registration { loop.remove(registration, descriptor: descriptor) }
    registration = nil
    logRequest(wasAborted: true)
    // Update the counts before the client sees the close, so that the client can reconnect at once.
    onClose()
    Glibc.close(descriptor)
    // A responder may keep this object alive longer, so free the buffers now.
    parser.reset()
    output.removeAll()
    releaseSentOwners()
    writabilityHandlers = []
    endBody(.failed(.closed))
    stream = nil
    responder?.connectionClosed()
    responder = nil
  }

  // MARK: Reading

  private func receive() {
    for _ in 0..<Self.maximumReadsPerTurn {
      let count = recv(descriptor, loop.readBuffer.baseAddress, loop.readBuffer.count, 0)
      if count > 0 {
        if machine.phase == .idle { _ = machine.handle(.bytesReceived, now: loop.now) }
        parser.append(UnsafeRawBufferPointer(rebasing: loop.readBuffer[..<count]))
        processInput()
        if count < loop.readBuffer.count || !machine.isReading || isYielding { return }
      } else if count == 0 {
        return perform(machine.handle(.peerHalfClosed, now: loop.now))
      } else if errno == EAGAIN {
        return
      } else if errno != EINTR {
        return close()
      }
    }
  }

  /// Parses the buffered bytes and processes the complete requests one after the other.
  private func processInput() {
    guard !isParsing, !isYielding else { return }
    isParsing = true
    processRequests()
    isParsing = false
    // After a half-close, the buffer could still contain complete requests. They are processed now, and nothing more
    // will arrive.
    if machine.peerHasHalfClosed && machine.isReading && !isYielding {
      perform(machine.handle(.peerHalfClosed, now: loop.now))
    }
  }

  private func processRequests() {
    var left = Self.maximumRequestsPerTurn
    while machine.isReading {
      do throws(ParseError) {
        switch try parser.next() {
        case .needsInput: return
        case .head(let head, let length, let expectsContinue):
          if handler.streamsBody(head, from: peer) {
            parser.streamBody()
            try beginStream(head, length: length, expectsContinue: expectsContinue)
          } else {
            try parser.bufferBody()
            _ = machine.handle(.bodyAnnounced, now: loop.now)
            if expectsContinue { sendContinue() }
          }
        case .piece(let piece):
          _ = machine.handle(.bodyReceived(piece.count), now: loop.now)
          bodyReceived(piece)
        case .bodyEnded:
          _ = machine.handle(.bodyEnded, now: loop.now)
          endBody(.end)
        case .request(let request):
          answer(request)
          left -= 1
          if left == 0, machine.isReading, parser.isInsideRequest { return yieldTurn() }
        }
      } catch {
        if machine.phase == .streamingBody {
          _ = machine.handle(.bodyFailed, now: loop.now)
          endBody(.failed(.malformed(error)))
        } else {
          _ = machine.handle(.requestRejected, now: loop.now)
          reject(error)
        }
      }
    }
  }

  private func sendContinue() {
    output.append(ResponseWriter.continueResponse)
    flush()
  }

  // MARK: Streamed bodies

  /// Passes the head to the handler. The body is not read until the handler asks for it.
  private func beginStream(_ head: RequestHead, length: Int?, expectsContinue: Bool) throws(ParseError) {
    guard let reservation = requestBudget.reservation(of: limits.bodyWindowBytes + loop.readBuffer.count) else {
      throw .overloaded
    }
    _ = machine.handle(.streamedRequestReceived(keepsAlive: head.keepsAlive, version: head.version), now: loop.now)
    let name = loop.nextIdentifier()
    if loop.logsAccess {
      logEntry = RequestLogEntry(identifier: name, arrived: loop.wall, began: loop.now, head: head)
    }
    let responder = Responder(connection: self, loop: loop, isHead: head.method == .head, requestID: name)
    let body = StreamedBody(length: length, connection: self, loop: loop)
    self.responder = responder
    stream = Stream(body: body, expectsContinue: expectsContinue, reservation: reservation)
    handler.handle(head, body, from: peer, responder)
  }

  func readBody(_ reader: @escaping @Sendable (BodyRead) -> Void, for body: StreamedBody) {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    guard stream?.body === body else { return reader(.failed(.closed)) }
    precondition(stream?.reader == nil, "a body is read by one at a time")
    if stream?.expectsContinue == true {
      stream?.expectsContinue = false
      // A client that already sends its body does not need 100 (Continue) (RFC 9110 §10.1.1).
      if !parser.hasInput { sendContinue() }
    }
    // Sending 100 (Continue) may have closed the connection.
    guard stream != nil else { return reader(.failed(.closed)) }
    stream?.reader = reader
    deliverToReader()
    guard machine.phase == .bodyPaused, let stream, stream.buffer.byteCount < limits.bodyWindowBytes else { return }
    _ = machine.handle(.bodyReadRequested, now: loop.now)
    watch(watchedEvents | Self.readEvents)
    processInput()
  }

  private func bodyReceived(_ piece: [UInt8]) {
    stream?.buffer.append(piece)
    deliverToReader()
    if let stream, stream.buffer.byteCount >= limits.bodyWindowBytes {
      _ = machine.handle(.bodyWindowFull, now: loop.now)
    }
  }

  private func endBody(_ end: BodyRead) {
    stream?.buffer.end(end)
    deliverToReader()
  }

  /// Asynchronous, because the reader may read again or respond at once and so re-enter this method.
  private func deliverToReader() {
    guard let reader = stream?.reader, let read = stream?.buffer.next() else { return }
    stream?.reader = nil
    loop.queue.async { reader(read) }
  }

  /// Continues after the other connections have had their turn. Until then nothing is read, because the input would
  /// accumulate in memory.
  private func yieldTurn() {
    isYielding = true
    watch(watchedEvents & ~Self.readEvents)
    loop.queue.async { [self] in
      isYielding = false
      guard machine.isReading else { return }
      if !machine.peerHasHalfClosed { watch(watchedEvents | Self.readEvents) }
      processInput()
    }
  }

  private func readNext() {
    if !machine.peerHasHalfClosed { watch(watchedEvents | Self.readEvents) }
    if parser.isInsideRequest { _ = machine.handle(.bytesReceived, now: loop.now) }
    processInput()
  }

  private func answer(_ request: consuming HTTPRequest) {
    _ = machine.handle(
      .requestReceived(keepsAlive: request.head.keepsAlive, version: request.head.version), now: loop.now)
    let name = loop.nextIdentifier()
    if let prepared = handler.preparedResponse(to: request, from: peer) {
      return send(prepared, to: request.head, name)
    }
    if loop.logsAccess {
      logEntry = RequestLogEntry(identifier: name, arrived: loop.wall, began: loop.now, head: request.head)
    }
    let responder = Responder(
      connection: self, loop: loop, isHead: request.method == .head, requestID: name)
    self.responder = responder
    handler.handle(request, from: peer, responder)
  }

  // MARK: Responding

  /// Sends a prepared response: copies the head once and sends head and body with one gathered send.
  private func send(_ answer: PreparedResponse, to request: RequestHead, _ name: RequestIdentifier) {
    _ = machine.handle(.responseBegan, now: loop.now)
    let head = loop.headBuffer
    var headBytes = answer.writeHead(to: head, identifier: name)
    let tail = loop.headSuffix(keepsAlive: machine.keepsAlive, version: machine.version)
    UnsafeMutableRawBufferPointer(rebasing: head[headBytes...]).copyBytes(from: tail)
    headBytes += tail.count
    let sendsBody = request.method != .head && !answer.body.isEmpty
    if loop.logsAccess {
      logEntry = RequestLogEntry(
        identifier: name, arrived: loop.wall, began: loop.now, head: request, status: answer.status.code,
        bodyBytes: sendsBody ? answer.body.count : 0)
    }
    _ = machine.handle(.responseCompleted, now: loop.now)
    let sent = output.sendNow(
      UnsafeRawBufferPointer(rebasing: head[..<headBytes]), sendsBody ? answer.body : [], to: descriptor)
    loop.counters.countResponse(answer.status, isPrepared: true)
    loop.counters.countSent(sent)
    guard output.isEmpty else {
      if let owner = answer.makeMemoryOwner?() { output.hold(owner) }
      return flush()
    }
    logRequest(wasAborted: false)
    perform(machine.handle(.sent(sent, all: true), now: loop.now))
  }

  func respond(_ response: HTTPResponse, isHead: Bool, for responder: Responder) {
    guard isCurrent(responder) else { return }
    var reservation: ByteBudget.Reservation?
    if !isHead, response.owner == nil, response.body.count > Self.uncountedResponseBytes {
      // Reserve before the head is queued, because a queued head can't be replaced by a 503. Bytes that the kernel
      // accepts at once are released at once.
      reservation = responseBudget.reservation(of: response.body.capacity)
      if reservation == nil { return sendServerResponse(handler.overloadedResponse()) }
    }
    let framing: BodyFraming =
      if response.head.status.forbidsBody || (isHead && response.body.isEmpty) { .none } else {
        .length(response.body.count)
      }
    sendHead(response.head, framing)
    if !isHead && !response.body.isEmpty { append(response.body, reservedBy: reservation) }
    if let owner = response.owner { output.hold(owner) }
    complete()
  }

  func startResponse(_ head: ResponseHead, isHead: Bool, for responder: Responder) {
    guard isCurrent(responder) else { return }
    framing = machine.version == .http10 ? .untilClose : .chunked
    sendHead(head, isHead ? .none : framing == .chunked ? .chunked : .untilClose)
    if isHead { framing = .whole }
    flush()
  }

  func write(
    _ pieces: [[UInt8]], owner: (any MemoryOwner)?, whenWritable: (@Sendable () -> Void)?, for responder: Responder
  ) {
    guard isCurrent(responder) else { return }
    // A producer that ignores `whenWritable` would accumulate output in memory.
    if output.byteCount > limits.outputQueueBytes { return close() }
    let size = pieces.reduce(0) { $0 + $1.count }
    if size > 0 {
      if framing == .chunked { output.append(ResponseWriter.chunkStart(size)) }
      for piece in pieces where !piece.isEmpty { append(piece) }
      if framing == .chunked { output.append(ResponseWriter.chunkEnd) }
      if let owner { output.hold(owner) }
    }
    if let whenWritable { writabilityHandlers.append(whenWritable) }
    flush()
  }

  func finish(for responder: Responder) {
    guard isCurrent(responder) else { return }
    if framing == .chunked { output.append(ResponseWriter.lastChunk) }
    complete()
  }

  /// A responder was released without a response.
  func responderReleased() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    guard isResponding, !machine.hasBegunResponse else { return }
    sendServerResponse(handler.unansweredResponse())
  }

  private func isCurrent(_ responder: Responder) -> Bool {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    return isResponding && self.responder === responder
  }

  /// Whether a handler has a request whose response is not complete.
  private var isResponding: Bool {
    machine.phase == .responding || machine.phase == .bodyPaused || machine.phase == .streamingBody
  }

  private func reject(_ error: ParseError) {
    parser.reset()
    if loop.logsAccess {
      logEntry = RequestLogEntry(identifier: loop.nextIdentifier(), arrived: loop.wall, began: loop.now, head: nil)
    }
    sendServerResponse(handler.response(to: error))
  }

  /// Sends a response made by the server itself. Such a response is small and is not counted against the budget.
  private func sendServerResponse(_ response: HTTPResponse) {
    sendHead(response.head, .length(response.body.count))
    if !response.body.isEmpty { append(response.body) }
    complete()
  }

  private func sendHead(_ head: ResponseHead, _ framing: BodyFraming) {
    _ = machine.handle(.responseBegan, now: loop.now)
    // The rest of a streamed request body will not be read.
    if let stream, !stream.buffer.hasEnded {
      parser.reset()
      endBody(.failed(.closed))
    }
    loop.counters.countResponse(head.status, isPrepared: false)
    if loop.logsAccess {
      logEntry?.status = head.status.code
      logEntry?.stages = head["Server-Timing"]
    }
    output.append(ResponseWriter.headPrefix(head, framing: framing))
    output.append(
      loop.headSuffix(keepsAlive: machine.keepsAlive && framing != .untilClose, version: machine.version))
  }

  private func append(_ body: [UInt8], reservedBy reservation: ByteBudget.Reservation? = nil) {
    logEntry?.bodyBytes += body.count
    output.append(body, reservedBy: reservation)
  }

  private func complete() {
    responder?.completed()
    responder = nil
    endBody(.failed(.closed))
    stream = nil
    writabilityHandlers = []
    let endsHere = framing == .untilClose
    framing = .whole
    if endsHere { machine.closeAfterResponse() }
    _ = machine.handle(.responseCompleted, now: loop.now)
    flush()
  }

  // MARK: Sending

  private func flush() {
    while !output.isEmpty {
      let sent = output.send(to: descriptor)
      if sent >= 0 {
        loop.counters.countSent(sent)
        releaseSentOwners()
        if !output.isEmpty { perform(machine.handle(.sent(sent, all: false), now: loop.now)) }
      } else if errno == EAGAIN {
        watch(watchedEvents | EPOLLOUT.rawValue)
        perform(machine.handle(.writeBlocked, now: loop.now))
        return notifyWritable()
      } else if errno != EINTR {
        return close()
      }
    }
    if watchedEvents & EPOLLOUT.rawValue != 0 { watch(watchedEvents & ~EPOLLOUT.rawValue) }
    notifyWritable()
    if machine.phase == .sending { logRequest(wasAborted: false) }
    perform(machine.handle(.sent(0, all: true), now: loop.now))
  }

  /// Released later, because the deinit of an owner may run arbitrary code and re-enter this connection.
  private func releaseSentOwners() {
    let owners = output.takeSentOwners()
    if !owners.isEmpty { loop.releaseLater(owners) }
  }

  private func notifyWritable() {
    guard !writabilityHandlers.isEmpty, output.byteCount <= Self.lowWatermarkBytes else { return }
    // Asynchronous, because a producer writes at once and would re-enter this method.
    for handler in writabilityHandlers { loop.queue.async(execute: handler) }
    writabilityHandlers = []
  }

  private func logRequest(wasAborted: Bool) {
    guard let logEntry else { return }
    self.logEntry = nil
    loop.accessLogBatch.append(
      identifier: logEntry.identifier, arrived: logEntry.arrived, duration: loop.monotonicNow() &- logEntry.began,
      head: logEntry.head, peer: peer.text, status: logEntry.status, bodyBytes: logEntry.bodyBytes,
      wasAborted: wasAborted,
      stages: logEntry.stages)
  }

  /// Shuts down the sending side first: an immediate close would reset a client that is still sending, and the client
  /// might never read the response.
  private func linger() {
    shutdown(descriptor, Int32(SHUT_WR))
    watch(EPOLLIN.rawValue)
    discardInput()
  }

  private func discardInput() {
    // Bounded, so that a client that never stops sending does not block the loop.
    for _ in 0..<16 {
      let count = recv(descriptor, loop.readBuffer.baseAddress, loop.readBuffer.count, 0)
      if count == 0 { return perform(machine.handle(.peerHalfClosed, now: loop.now)) }
      if count < 0 && errno == EAGAIN { return }
      if count < 0 && errno != EINTR { return close() }
    }
  }

  private func watch(_ events: UInt32) {
    guard events != watchedEvents, let registration else { return }
    watchedEvents = events
    loop.modify(registration, descriptor: descriptor, events: events)
  }
}
