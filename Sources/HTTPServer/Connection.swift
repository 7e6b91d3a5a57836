// One client. Bytes come in, the parser makes requests of them, the handler answers, bytes go out. What happens when is
// `ConnectionMachine`'s to decide; this owns the socket, the parser and what waits to be sent.
//
// Requests of one connection are answered one after the other: while one is being answered nothing more is read, so
// that a client that pipelines without reading fills its own socket and not our memory.
//
// A request that the handler answers from memory costs one `recv` and one `sendmsg`: the descriptor stays registered for
// reading, answers are sent before anybody asks whether there is room, and epoll is told only when something changes.

import CPhotodSystem
import Dispatch
import HTTPCore

#if canImport(Glibc)
  import Glibc
#endif

/// `@unchecked Sendable` because every mutable field is touched on the loop's queue only; other threads hold a
/// connection to name it in a closure for that queue.
final class Connection: EventLoop.Registrant, @unchecked Sendable {
  private enum Framing {
    case whole, chunked, untilClose
  }

  /// What the access log will say of the request under way.
  private struct Account {
    let identifier: RequestIdentifier
    let arrived: Int64
    let began: UInt64
    let head: RequestHead?
    var status = 0
    var bodyBytes = 0
    var stages: String?
  }

  /// Requests answered in one turn; then other connections have theirs.
  private static let requestsATurn = 32
  private static let receptionsATurn = 4
  /// A producer that waits is called again when no more than this is left to send.
  private static let lowWaterBytes = 65_536
  /// A body of no more than this is not counted: health, problems, an asset.
  private static let freeAnswerBytes = 2048
  private static let idleEvents = EPOLLIN.rawValue | EPOLLRDHUP.rawValue

  private let descriptor: Int32
  private let loop: EventLoop
  private let handler: any HTTPHandler
  private let limits: ServerLimits
  private let peer: Peer
  private let received: ByteBudget
  private let answers: ByteBudget
  private let closed: @Sendable () -> Void

  // Guarded by the loop's queue.
  private var identifier: UInt64?
  private var watched: UInt32 = 0
  private var machine: ConnectionMachine
  private var parser: RequestParser
  private var isParsing = false
  /// Whole requests are here, and will be answered when others have had their turn.
  private var isResting = false
  /// The answer under way. The responder holds the connection, so this breaks the circle when the answer is complete.
  private weak var responder: Responder?
  private var framing = Framing.whole
  private var output = OutputQueue()
  /// Producers that wait for `output` to run low.
  private var roomHandlers: [@Sendable () -> Void] = []
  private var account: Account?
  /// The body that a handler takes in pieces, from the end of its head to the end of its answer.
  private var stream: Stream?

  /// A body on its way to a handler.
  private struct Stream {
    /// Who may read it. It holds the connection, so this breaks the circle.
    weak var body: StreamedBody?
    var buffer = BodyBuffer()
    /// Who waits for the next piece.
    var reader: (@Sendable (BodyRead) -> Void)?
    /// The client waits for 100 (Continue).
    var expectsContinue: Bool
    let reservation: ByteBudget.Reservation
  }

  init(
    descriptor: Int32, peer: Peer, loop: EventLoop, handler: any HTTPHandler, limits: ServerLimits,
    received: ByteBudget, answers: ByteBudget, closed: @escaping @Sendable () -> Void
  ) {
    self.descriptor = descriptor
    self.peer = peer
    self.loop = loop
    self.handler = handler
    self.limits = limits
    self.received = received
    self.answers = answers
    self.closed = closed
    parser = RequestParser(limits: limits.parser, budget: received)
    machine = ConnectionMachine(limits: limits, now: loop.now)
  }

  func start() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    watched = Self.idleEvents
    identifier = loop.add(self, descriptor: descriptor, events: watched)
    if identifier == nil { close() }
  }

  /// No further requests: an idle connection closes now, a busy one after its answer.
  func drain() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    perform(machine.handle(.drained, now: loop.now))
  }

  /// Closes at once, whatever is under way.
  func close() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    perform(machine.handle(.failed, now: loop.now))
  }

  // MARK: Events

  func eventsArrived(_ events: UInt32) {
    if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { return close() }
    if events & EPOLLOUT.rawValue != 0 { flush() }
    if machine.isReading {
      if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { receive() }
    } else if machine.phase == .lingering {
      discard()
    } else if machine.phase == .holding {
      // There may be more of the body before the end that is told of; and all of it stays in the kernel for now.
      watch(watched & ~Self.idleEvents)
    } else {
      // While a request is answered, what comes after it stays in the kernel, and is not heard of again until then.
      if events & EPOLLIN.rawValue != 0 { watch(watched & ~EPOLLIN.rawValue) }
      if events & EPOLLRDHUP.rawValue != 0 { peerFinished() }
    }
  }

  func tick(now: UInt64) {
    if now >= machine.deadline { perform(machine.handle(.ticked, now: now)) }
  }

  private func peerFinished() {
    guard !machine.peerHasFinished else { return }
    watch(watched & ~EPOLLRDHUP.rawValue & ~EPOLLIN.rawValue)
    perform(machine.handle(.peerFinished, now: loop.now))
  }

  private func perform(_ action: ConnectionMachine.Action) {
    switch action {
    case .none: break
    case .readNext: readNext()
    case .timeOut: refuse(.timedOut)
    case .failBody: endBody(.failed(.timedOut))
    case .probe:
      output.append(ResponseWriter.continueResponse)
      flush()
    case .linger: linger()
    case .close: shut()
    }
  }

  private func shut() {
    if let identifier { loop.remove(identifier, descriptor: descriptor) }
    identifier = nil
    finishAccount(isCut: true)
    // Counted out before the client can see it, so that who was closed may come again at once.
    closed()
    Glibc.close(descriptor)
    // A responder may hold this for longer.
    parser.discard()
    output.removeAll()
    letGoOfOwners()
    roomHandlers = []
    endBody(.failed(.closed))
    stream = nil
    responder?.connectionClosed()
    responder = nil
  }

  // MARK: Reading

  private func receive() {
    for _ in 0..<Self.receptionsATurn {
      let count = recv(descriptor, loop.scratch.baseAddress, loop.scratch.count, 0)
      if count > 0 {
        if machine.phase == .waiting { _ = machine.handle(.received, now: loop.now) }
        parser.append(UnsafeRawBufferPointer(rebasing: loop.scratch[..<count]))
        parse()
        if count < loop.scratch.count || !machine.isReading || isResting { return }
      } else if count == 0 {
        return perform(machine.handle(.peerFinished, now: loop.now))
      } else if errno == EAGAIN {
        return
      } else if errno != EINTR {
        return close()
      }
    }
  }

  /// Makes requests of what has arrived, and has them answered one after the other.
  private func parse() {
    guard !isParsing, !isResting else { return }
    isParsing = true
    answerWhatIsHere()
    isParsing = false
    // From one who has stopped sending there may still have been whole requests here, but nothing more will come.
    if machine.peerHasFinished && machine.isReading && !isResting {
      perform(machine.handle(.peerFinished, now: loop.now))
    }
  }

  private func answerWhatIsHere() {
    var left = Self.requestsATurn
    while machine.isReading {
      do throws(ParseError) {
        switch try parser.next() {
        case .needsInput: return
        case .head(let head, let length, let expectsContinue):
          if handler.takesBodyInPieces(head) {
            parser.takeBodyInPieces()
            try beginStream(head, length: length, expectsContinue: expectsContinue)
          } else {
            try parser.takeBodyWhole()
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
          if left == 0, machine.isReading, parser.isInsideRequest { return rest() }
        }
      } catch {
        if machine.phase == .streaming {
          _ = machine.handle(.bodyFailed, now: loop.now)
          endBody(.failed(.malformed(error)))
        } else {
          _ = machine.handle(.refused, now: loop.now)
          refuse(error)
        }
      }
    }
  }

  private func sendContinue() {
    output.append(ResponseWriter.continueResponse)
    flush()
  }

  // MARK: Bodies in pieces

  /// Hands the head to the handler. Nothing more is read until that asks.
  private func beginStream(_ head: RequestHead, length: Int?, expectsContinue: Bool) throws(ParseError) {
    guard let reservation = received.reservation(of: limits.bodyWindowBytes + loop.scratch.count) else {
      throw .overloaded
    }
    _ = machine.handle(.streamed(keepsAlive: head.keepsAlive, version: head.version), now: loop.now)
    let name = loop.nextIdentifier()
    if loop.keepsRecords {
      account = Account(identifier: name, arrived: loop.wall, began: loop.now, head: head)
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
      // Whose body has begun to come does not wait (RFC 9110 §10.1.1).
      if !parser.hasInput { sendContinue() }
    }
    // The client may have gone while it was told to go on.
    guard stream != nil else { return reader(.failed(.closed)) }
    stream?.reader = reader
    serveReader()
    guard machine.phase == .holding, let stream, stream.buffer.byteCount < limits.bodyWindowBytes else { return }
    _ = machine.handle(.bodyWanted, now: loop.now)
    watch(watched | Self.idleEvents)
    parse()
  }

  private func bodyReceived(_ piece: [UInt8]) {
    stream?.buffer.append(piece)
    serveReader()
    if let stream, stream.buffer.byteCount >= limits.bodyWindowBytes {
      _ = machine.handle(.bodyHeld, now: loop.now)
    }
  }

  private func endBody(_ end: BodyRead) {
    stream?.buffer.end(end)
    serveReader()
  }

  /// Not from here: a reader may read on at once, or answer, and would come back to this very place.
  private func serveReader() {
    guard let reader = stream?.reader, let read = stream?.buffer.next() else { return }
    stream?.reader = nil
    loop.queue.async { reader(read) }
  }

  /// Goes on after others had their turn. Until then nothing more is read, or it would pile up here.
  private func rest() {
    isResting = true
    watch(watched & ~Self.idleEvents)
    loop.queue.async { [self] in
      isResting = false
      guard machine.isReading else { return }
      if !machine.peerHasFinished { watch(watched | Self.idleEvents) }
      parse()
    }
  }

  private func readNext() {
    if !machine.peerHasFinished { watch(watched | Self.idleEvents) }
    if parser.isInsideRequest { _ = machine.handle(.received, now: loop.now) }
    parse()
  }

  private func answer(_ request: consuming HTTPRequest) {
    _ = machine.handle(
      .requested(keepsAlive: request.head.keepsAlive, version: request.head.version), now: loop.now)
    let name = loop.nextIdentifier()
    if let prepared = handler.preparedAnswer(to: request, from: peer) {
      return send(prepared, to: request.head, name)
    }
    if loop.keepsRecords {
      account = Account(identifier: name, arrived: loop.wall, began: loop.now, head: request.head)
    }
    let responder = Responder(
      connection: self, loop: loop, isHead: request.method == .head, requestID: name)
    self.responder = responder
    handler.handle(request, from: peer, responder)
  }

  // MARK: Answering

  /// One copy of the head, one gathered send of it and the body.
  private func send(_ answer: PreparedAnswer, to request: RequestHead, _ name: RequestIdentifier) {
    _ = machine.handle(.answerBegan, now: loop.now)
    let head = loop.headScratch
    var headBytes = answer.writeHead(to: head, identifier: name)
    let tail = loop.headTail(keepsAlive: machine.keepsAlive, version: machine.version)
    UnsafeMutableRawBufferPointer(rebasing: head[headBytes...]).copyBytes(from: tail)
    headBytes += tail.count
    let sendsBody = request.method != .head && !answer.body.isEmpty
    if loop.keepsRecords {
      account = Account(
        identifier: name, arrived: loop.wall, began: loop.now, head: request, status: answer.status.code,
        bodyBytes: sendsBody ? answer.body.count : 0)
    }
    _ = machine.handle(.answerCompleted, now: loop.now)
    let sent = output.sendNow(
      UnsafeRawBufferPointer(rebasing: head[..<headBytes]), sendsBody ? answer.body : [], to: descriptor)
    loop.counters.answered(answer.status, isPrepared: true)
    loop.counters.sent(sent)
    guard output.isEmpty else {
      if let owner = answer.ownerOfWaiting?() { output.hold(owner) }
      return flush()
    }
    finishAccount(isCut: false)
    perform(machine.handle(.sent(sent, all: true), now: loop.now))
  }

  func respond(_ response: HTTPResponse, isHead: Bool, for responder: Responder) {
    guard isCurrent(responder) else { return }
    var reservation: ByteBudget.Reservation?
    if !isHead, response.owner == nil, response.body.count > Self.freeAnswerBytes {
      // Before its head, for there is no taking back afterwards. What the kernel takes at once is given back at once.
      reservation = answers.reservation(of: response.body.capacity)
      if reservation == nil { return respondNow(handler.responseToSlowReaders()) }
    }
    let framing: BodyFraming =
      if response.head.status.forbidsBody || (isHead && response.body.isEmpty) { .none } else {
        .length(response.body.count)
      }
    sendHead(response.head, framing)
    if !isHead && !response.body.isEmpty { append(response.body, counted: reservation) }
    if let owner = response.owner { output.hold(owner) }
    complete()
  }

  func respondInPieces(_ head: ResponseHead, isHead: Bool, for responder: Responder) {
    guard isCurrent(responder) else { return }
    framing = machine.version == .http10 ? .untilClose : .chunked
    sendHead(head, isHead ? .none : framing == .chunked ? .chunked : .close)
    if isHead { framing = .whole }
    flush()
  }

  func write(
    _ pieces: [[UInt8]], owner: (any MemoryOwner)?, whenRoom: (@Sendable () -> Void)?, for responder: Responder
  ) {
    guard isCurrent(responder) else { return }
    // Whoever writes more than that without waiting would pile it up here.
    if output.byteCount > limits.queuedBytes { return close() }
    let size = pieces.reduce(0) { $0 + $1.count }
    if size > 0 {
      if framing == .chunked { output.append(ResponseWriter.chunkStart(size)) }
      for piece in pieces where !piece.isEmpty { append(piece) }
      if framing == .chunked { output.append(ResponseWriter.chunkEnd) }
      if let owner { output.hold(owner) }
    }
    if let whenRoom { roomHandlers.append(whenRoom) }
    flush()
  }

  func finish(for responder: Responder) {
    guard isCurrent(responder) else { return }
    if framing == .chunked { output.append(ResponseWriter.lastChunk) }
    complete()
  }

  /// A responder went without an answer.
  func abandoned() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    guard isAnswering, !machine.hasBegunAnswer else { return }
    respondNow(handler.responseToAbandonment())
  }

  private func isCurrent(_ responder: Responder) -> Bool {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    return isAnswering && self.responder === responder
  }

  /// Whether a handler has a request of which the answer is not complete.
  private var isAnswering: Bool {
    machine.phase == .answering || machine.phase == .holding || machine.phase == .streaming
  }

  private func refuse(_ error: ParseError) {
    parser.discard()
    if loop.keepsRecords {
      account = Account(identifier: loop.nextIdentifier(), arrived: loop.wall, began: loop.now, head: nil)
    }
    respondNow(handler.response(to: error))
  }

  /// An answer of the server's own, which is small.
  private func respondNow(_ response: HTTPResponse) {
    sendHead(response.head, .length(response.body.count))
    if !response.body.isEmpty { append(response.body) }
    complete()
  }

  private func sendHead(_ head: ResponseHead, _ framing: BodyFraming) {
    _ = machine.handle(.answerBegan, now: loop.now)
    // What is still to come of a body is nobody's.
    if let stream, !stream.buffer.hasEnded {
      parser.discard()
      endBody(.failed(.closed))
    }
    loop.counters.answered(head.status, isPrepared: false)
    if loop.keepsRecords {
      account?.status = head.status.code
      account?.stages = head["Server-Timing"]
    }
    output.append(ResponseWriter.preparedHead(head, framing: framing))
    output.append(
      loop.headTail(keepsAlive: machine.keepsAlive && framing != .close, version: machine.version))
  }

  private func append(_ body: [UInt8], counted reservation: ByteBudget.Reservation? = nil) {
    account?.bodyBytes += body.count
    output.append(body, counted: reservation)
  }

  private func complete() {
    responder?.completed()
    responder = nil
    endBody(.failed(.closed))
    stream = nil
    roomHandlers = []
    let endsHere = framing == .untilClose
    framing = .whole
    if endsHere { machine.endsWithThisAnswer() }
    _ = machine.handle(.answerCompleted, now: loop.now)
    flush()
  }

  // MARK: Sending

  private func flush() {
    while !output.isEmpty {
      let sent = output.send(to: descriptor)
      if sent >= 0 {
        loop.counters.sent(sent)
        letGoOfOwners()
        if !output.isEmpty { perform(machine.handle(.sent(sent, all: false), now: loop.now)) }
      } else if errno == EAGAIN {
        watch(watched | EPOLLOUT.rawValue)
        perform(machine.handle(.blocked, now: loop.now))
        return makeRoom()
      } else if errno != EINTR {
        return close()
      }
    }
    if watched & EPOLLOUT.rawValue != 0 { watch(watched & ~EPOLLOUT.rawValue) }
    makeRoom()
    if machine.phase == .sending { finishAccount(isCut: false) }
    perform(machine.handle(.sent(0, all: true), now: loop.now))
  }

  /// Not from here: what they do in the end may lead back to this very place.
  private func letGoOfOwners() {
    let owners = output.takeDoneOwners()
    if !owners.isEmpty { loop.letGo(owners) }
  }

  private func makeRoom() {
    guard !roomHandlers.isEmpty, output.byteCount <= Self.lowWaterBytes else { return }
    // Not from here: a producer writes at once, and would come back to this very place.
    for handler in roomHandlers { loop.queue.async(execute: handler) }
    roomHandlers = []
  }

  private func finishAccount(isCut: Bool) {
    guard let account else { return }
    self.account = nil
    loop.records.append(
      identifier: account.identifier, arrived: account.arrived, duration: loop.monotonicNow() &- account.began,
      head: account.head, peer: peer.text, status: account.status, bodyBytes: account.bodyBytes, isCut: isCut,
      stages: account.stages)
  }

  /// Our side first: closing outright would reset a client that is still sending, and it might never see the answer.
  private func linger() {
    shutdown(descriptor, Int32(SHUT_WR))
    watch(EPOLLIN.rawValue)
    discard()
  }

  private func discard() {
    // A batch at a time, so that one who sends without end does not hold the loop.
    for _ in 0..<16 {
      let count = recv(descriptor, loop.scratch.baseAddress, loop.scratch.count, 0)
      if count == 0 { return perform(machine.handle(.peerFinished, now: loop.now)) }
      if count < 0 && errno == EAGAIN { return }
      if count < 0 && errno != EINTR { return close() }
    }
  }

  private func watch(_ events: UInt32) {
    guard events != watched, let identifier else { return }
    watched = events
    loop.modify(identifier, descriptor: descriptor, events: events)
  }
}
