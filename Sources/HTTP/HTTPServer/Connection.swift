// One client connection. It reads bytes, parses them into requests, passes each request to the handler and sends the
// response. `ConnectionMachine` decides what happens on each event; this class carries the decisions out with three
// parts, each of which owns its state and knows nothing of the others:
//
//     ConnectionSocket   the descriptor, its registration with epoll, reading, lingering
//     BodyReceiver       one streamed request body, from the parser to the handler
//     ResponseSender     the current response, from the handler to the socket
//
// This file has the life cycle of a connection and the receiving of requests; `Connection+Responding.swift` has the
// sending of responses.
//
// The requests of one connection are processed one at a time. While a request is being processed nothing more is read,
// so a client that pipelines requests without reading responses fills its own socket and not the server's memory.
//
// A request that the handler answers from memory costs one `recv` and one `sendmsg`: the descriptor stays registered
// for reading, the response is sent without first waiting for writability, and `epoll_ctl` is called only when the
// watched events change.

import Dispatch
import HTTPCore
import Primitives

/// `@unchecked Sendable` because every mutable field is accessed on the loop's queue only. Other threads hold a
/// reference only to capture it in a closure for that queue.
final class Connection: EventLoop.Registrant, @unchecked Sendable {
  /// Requests processed in one turn; a prepared range counts as several. After that the connection yields to the other
  /// connections of the loop.
  private static let maximumRequestsPerTurn = 32
  /// Bytes of a prepared range that count as one request in a turn: the loop sends them.
  private static let rangeBytesPerRequest = 8192
  private static let maximumReadsPerTurn = 4

  let loop: EventLoop
  let handler: any HTTPHandler
  let limits: ServerLimits
  private let peer: Peer
  private let requestBudget: ByteBudget
  let responseBudget: ByteBudget
  private let onClose: @Sendable () -> Void

  // Guarded by the loop's queue. Fields that are not private are also used in `Connection+Responding.swift`.
  var machine: ConnectionMachine
  var socket: ConnectionSocket
  var sender: ResponseSender
  private var parser: RequestParser
  private var isParsing = false
  /// Complete requests are buffered and are processed after the other connections have had their turn.
  private var isYielding = false
  /// The next bytes to send are being loaded into the page cache on another queue. Nothing is sent meanwhile.
  var isLoadingFile = false
  /// The streamed request body, from the end of the request head to the end of the response.
  private var receiver: BodyReceiver?
  /// The responder of the current response. Weak, because the responder holds the connection.
  weak var responder: Responder?

  init(
    descriptor: Int32, peer: Peer, loop: EventLoop, handler: any HTTPHandler, limits: ServerLimits,
    requestBudget: ByteBudget, responseBudget: ByteBudget, onClose: @escaping @Sendable () -> Void
  ) {
    self.peer = peer
    self.loop = loop
    self.handler = handler
    self.limits = limits
    self.requestBudget = requestBudget
    self.responseBudget = responseBudget
    self.onClose = onClose
    machine = ConnectionMachine(limits: limits, now: loop.now)
    socket = ConnectionSocket(descriptor: descriptor, loop: loop)
    sender = ResponseSender(loop: loop, peer: peer)
    parser = RequestParser(limits: limits.parser, budget: requestBudget)
  }

  func start() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    if !socket.register(self, watching: [.input, .halfClose]) { close() }
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

  func eventsArrived(_ rawEvents: UInt32) {
    let events = SocketEvents(rawValue: rawEvents)
    if !events.isDisjoint(with: .failure) { return close() }
    if events.contains(.output) { flush() }
    if machine.isReading {
      if !events.isDisjoint(with: [.input, .halfClose]) { receive() }
    } else if machine.phase == .lingering {
      discardInput()
    } else if machine.phase == .bodyPaused {
      // The peer's half-close may be reported while part of the body is still in the kernel's buffer. Leave it there
      // until the handler reads.
      socket.ignore([.input, .halfClose])
    } else {
      // While a request is processed, later bytes stay in the kernel. Stop watching for them until the response is
      // sent.
      if events.contains(.input) { socket.ignore(.input) }
      if events.contains(.halfClose) { peerHalfClosed() }
    }
  }

  func tick(now: UInt64) {
    guard now >= machine.deadline else { return }
    // Ask the socket how much the client has received: the kernel reports writability only when a third of the send
    // buffer, which may be megabytes, is free.
    if machine.isBlockedSending { _ = machine.handle(.sent(socket.acknowledgedBytes(), all: false), now: now) }
    perform(machine.handle(.timerFired, now: now))
  }

  /// The peer has stopped sending while a request is processed. What it has sent before is read after the response.
  private func peerHalfClosed() {
    socket.ignore([.input, .halfClose])
    guard !machine.peerHasHalfClosed else { return }
    perform(machine.handle(.peerHalfClosed, now: loop.now))
  }

  func perform(_ action: ConnectionMachine.Action) {
    switch action {
    case .none: break
    case .readNext: readNext()
    case .readBeforeDrain:
      receive()
      perform(machine.handle(.drainRequested, now: loop.now))
    case .sendTimeoutResponse: reject(.timedOut)
    case .failBody: receiver?.end(.failed(.timedOut))
    case .probe: sendContinue()
    case .probeInBody:
      sender.appendChunkProbe()
      flush()
    case .linger:
      socket.beginLingering()
      discardInput()
    case .close: tearDown()
    }
  }

  private func discardInput() {
    switch socket.discardInput() {
    case .bytes, .wouldBlock: break
    case .end: perform(machine.handle(.peerHalfClosed, now: loop.now))
    case .failed: close()
    }
  }

  private func tearDown() {
    socket.unregister()
    sender.logRequest(wasAborted: true)
    // Update the counts before the client sees the close, so that the client can reconnect at once.
    onClose()
    socket.close()
    // A responder may keep this object alive longer, so free the buffers now.
    parser.reset()
    let unusedHandlers = sender.removeAll()
    endBody()
    let responder = responder
    self.responder = nil
    responder?.connectionClosed()
    // Not released earlier: a closure's deinit may run arbitrary code that uses this connection.
    withExtendedLifetime(unusedHandlers) {}
  }

  // MARK: Reading

  private func receive() {
    for _ in 0..<Self.maximumReadsPerTurn {
      switch socket.receive() {
      case .bytes(let bytes):
        if machine.phase == .idle { _ = machine.handle(.bytesReceived, now: loop.now) }
        parser.append(bytes)
        processInput()
        if bytes.count < loop.readBuffer.count || !machine.isReading || isYielding { return }
      case .end: return perform(machine.handle(.peerHalfClosed, now: loop.now))
      case .wouldBlock: return
      case .failed: return close()
      }
    }
  }

  /// Continues with the next request, of which a part may already be buffered.
  private func readNext() {
    // Also after a half-close: requests that the peer has sent before it may still be in the kernel. Only the end of
    // the input ends the connection.
    socket.watch([.input, .halfClose])
    if parser.isInsideRequest { _ = machine.handle(.bytesReceived, now: loop.now) }
    processInput()
  }

  /// Continues after the other connections have had their turn. Until then nothing is read, because the input would
  /// accumulate in memory.
  private func yieldTurn() {
    isYielding = true
    socket.ignore([.input, .halfClose])
    loop.enqueue { [self] in
      isYielding = false
      guard machine.isReading else { return }
      socket.watch([.input, .halfClose])
      processInput()
    }
  }

  /// Parses the buffered bytes and processes the complete requests one after the other.
  private func processInput() {
    guard !isParsing, !isYielding else { return }
    isParsing = true
    processRequests()
    isParsing = false
  }

  private func processRequests() {
    var remainingRequests = Self.maximumRequestsPerTurn
    while machine.isReading {
      do throws(ParseError) {
        switch try parser.next() {
        case .needsInput: return
        case .head(let head, let length, let expectsContinue):
          if let handle = handler.streamHandler(for: head, from: peer) {
            parser.streamBody()
            try beginStream(head, length: length, expectsContinue: expectsContinue, handle)
          } else {
            try parser.bufferBody()
            _ = machine.handle(.bodyAnnounced, now: loop.now)
            if expectsContinue { sendContinue() }
          }
        case .piece(let piece):
          _ = machine.handle(.bodyReceived(piece.count), now: loop.now)
          receiver?.append(piece)
          if receiver?.hasRoom == false { _ = machine.handle(.bodyWindowFull, now: loop.now) }
        case .bodyEnded:
          _ = machine.handle(.bodyEnded, now: loop.now)
          receiver?.end(.end)
        case .request(let request):
          remainingRequests -= process(request)
          if remainingRequests <= 0, machine.isReading, parser.isInsideRequest { return yieldTurn() }
        }
      } catch {
        if machine.phase == .streamingBody {
          _ = machine.handle(.bodyFailed, now: loop.now)
          receiver?.end(.failed(.malformed(error)))
        } else {
          _ = machine.handle(.requestRejected, now: loop.now)
          reject(error)
        }
      }
    }
  }

  /// Returns how many of the requests of the turn it counts as: more than one for a long range.
  private func process(_ request: consuming HTTPRequest) -> Int {
    _ = machine.handle(
      .requestReceived(keepsAlive: request.head.keepsAlive, version: request.head.version), now: loop.now)
    let identifier = loop.nextIdentifier()
    if loop.logsAccess { sender.beginLogEntry(request.head, identifier: identifier) }
    if request.head.has(.range) {
      if let range = handler.preparedRange(of: request, from: peer), send(range) {
        return 1 + range.count / Self.rangeBytesPerRequest
      }
    } else if let prepared = handler.preparedResponse(to: request, from: peer) {
      send(prepared, isHead: request.method == .head, identifier: identifier)
      return 1
    }
    let responder = Responder(
      connection: self, loop: loop, isHead: request.method == .head, requestID: identifier)
    self.responder = responder
    handler.handle(request, from: peer, responder)
    return 1
  }

  private func reject(_ error: ParseError) {
    parser.reset()
    if loop.logsAccess { sender.beginLogEntry(nil, identifier: loop.nextIdentifier()) }
    sendServerResponse(handler.response(to: error))
  }

  // MARK: Streamed bodies

  /// Passes the body to its handler. It is not read until the handler asks for it.
  private func beginStream(
    _ head: RequestHead, length: Int?, expectsContinue: Bool, _ handle: StreamHandler
  ) throws(ParseError) {
    guard let reservation = requestBudget.tryReserve(limits.bodyWindowBytes + loop.readBuffer.count) else {
      throw .overloaded
    }
    _ = machine.handle(.streamedRequestReceived(keepsAlive: head.keepsAlive, version: head.version), now: loop.now)
    let identifier = loop.nextIdentifier()
    if loop.logsAccess { sender.beginLogEntry(head, identifier: identifier) }
    let responder = Responder(connection: self, loop: loop, isHead: head.method == .head, requestID: identifier)
    let body = StreamedBody(length: length, connection: self, loop: loop)
    self.responder = responder
    receiver = BodyReceiver(
      for: body, expectsContinue: expectsContinue, windowBytes: limits.bodyWindowBytes, reservation: reservation,
      loop: loop)
    handle(body, responder)
  }

  /// Calls `reader` with the next piece of `body`, and reads from the client while the window has room.
  func readBody(_ reader: @escaping @Sendable (BodyRead) -> Void, for body: StreamedBody) {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    guard receiver?.receives(for: body) == true else { return reader(.failed(.closed)) }
    // A client that already sends its body does not need 100 (Continue) (RFC 9110 §10.1.1).
    if receiver?.takeExpectation() == true, !parser.hasInput { sendContinue() }
    // Sending 100 (Continue) may have closed the connection.
    guard receiver != nil else { return reader(.failed(.closed)) }
    receiver?.read(reader)
    guard machine.phase == .bodyPaused, receiver?.hasRoom == true else { return }
    _ = machine.handle(.bodyReadRequested, now: loop.now)
    socket.watch([.input, .halfClose])
    processInput()
  }

  /// The handler needs no more of `body`. Nothing more is read from the client.
  func cancelBody(_ body: StreamedBody) {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    guard receiver?.receives(for: body) == true, receiver?.hasEnded == false else { return }
    _ = machine.handle(.bodyFailed, now: loop.now)
    parser.reset()
    receiver?.end(.failed(.cancelled))
  }

  /// A response begins. The rest of a streamed request body will not be read.
  func abandonUnreadBody() {
    guard receiver?.hasEnded == false else { return }
    parser.reset()
    receiver?.end(.failed(.closed))
  }

  /// The response is complete or the connection is closed: a pending read fails, and the window is released.
  func endBody() {
    receiver?.end(.failed(.closed))
    receiver = nil
  }
}
