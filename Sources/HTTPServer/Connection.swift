// One client. Bytes come in, the parser makes requests of them, the handler answers through a responder, bytes go out.
//
// Requests of one connection are answered one after the other: while one is being answered nothing more is read, so
// that a client that pipelines without reading fills its own socket and not our memory.
//
//     reading --head, body--> answering --last byte queued--> flushing --all sent--> reading | lingering | closed

import CPhotodSystem
import Dispatch
import HTTPCore

#if canImport(Glibc)
  import Glibc
#endif

/// `@unchecked Sendable` because every mutable field is touched on the loop's queue only; other threads hold a
/// connection to name it in a closure for that queue.
final class Connection: EventLoop.Registrant, @unchecked Sendable {
  private enum State {
    case reading, answering, flushing
    /// Our side is shut; what a refused client still sends is thrown away, so that it can read why (RFC 9112 §9.6).
    case lingering
    case closed
  }

  private enum Framing {
    case whole, chunked, untilClose
  }

  private let descriptor: Int32
  private let loop: EventLoop
  private let handler: any HTTPHandler
  private let limits: ServerLimits
  private let commonFields: [(name: String, value: String)]
  private let peer: Peer
  private let closed: @Sendable () -> Void

  // Guarded by the loop's queue.
  private var identifier: UInt64?
  private var watched: UInt32 = 0
  private var state = State.reading
  private var parser: RequestParser
  /// The answer under way. The responder holds the connection, so this breaks the circle when the answer is complete.
  private weak var responder: Responder?
  private var version = HTTPVersion.http11
  private var framing = Framing.whole
  private var hasSentHead = false
  private var keepsAlive = true
  private var isDraining = false
  /// The client may be in the middle of a message that was refused.
  private var wasRefused = false
  private var peerHasClosed = false
  private var requestCount = 0
  /// What is to be sent, and how many bytes of its first element are.
  private var output: [[UInt8]] = []
  private var sentOfFirst = 0
  private var deadline: UInt64

  init(
    descriptor: Int32, peer: Peer, loop: EventLoop, handler: any HTTPHandler, limits: ServerLimits,
    commonFields: [(name: String, value: String)], closed: @escaping @Sendable () -> Void
  ) {
    self.descriptor = descriptor
    self.peer = peer
    self.loop = loop
    self.handler = handler
    self.limits = limits
    self.commonFields = commonFields
    self.closed = closed
    self.parser = RequestParser(limits: limits.parser)
    self.deadline = .max
  }

  func start() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    watched = EPOLLIN.rawValue
    identifier = loop.add(self, descriptor: descriptor, events: watched)
    setDeadline(limits.headerDeadline)
    if identifier == nil { close() }
  }

  /// No further requests: an idle connection closes now, a busy one after its answer.
  func drain() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    isDraining = true
    if state == .reading && !parser.isInsideRequest { close() }
  }

  /// Closes at once, whatever is under way.
  func close() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    guard state != .closed else { return }
    state = .closed
    if let identifier { loop.remove(identifier, descriptor: descriptor) }
    // Counted out before the client can see it, so that who was closed may come again at once.
    closed()
    Glibc.close(descriptor)
    output = []
    responder?.connectionClosed()
    responder = nil
  }

  // MARK: Events

  func eventsArrived(_ events: UInt32) {
    if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { return close() }
    if events & EPOLLOUT.rawValue != 0 { flush() }
    if state == .reading, events & EPOLLIN.rawValue != 0 { return read() }
    if state == .lingering { return discard() }
    if state == .answering || state == .flushing, events & EPOLLRDHUP.rawValue != 0 { peerStoppedSending() }
  }

  func tick(now: UInt64) {
    guard now >= deadline else { return }
    if state == .reading, parser.isInsideRequest, !hasSentHead {
      keepsAlive = false
      return respondNow(handler.response(to: .timedOut))
    }
    close()
  }

  /// The client shut down its side while its answer is under way. It may still be reading (RFC 9112 §9.6), or be gone.
  ///
  /// Before the answer an interim response tells, for one who is gone answers it with a reset. Between two pieces of an
  /// answer nothing can, and going is taken for gone: what is still to be made would most likely be made for nobody.
  /// What is made already is sent.
  private func peerStoppedSending() {
    peerHasClosed = true
    watch(watched & ~EPOLLRDHUP.rawValue)
    guard state == .answering else { return }
    if hasSentHead { return close() }
    if version == .http10 { return }
    output.append(ResponseWriter.continueResponse)
    flush()
  }

  private func read() {
    while state == .reading {
      let count = recv(descriptor, loop.scratch.baseAddress, loop.scratch.count, 0)
      if count > 0 {
        if !parser.isInsideRequest { setDeadline(limits.headerDeadline) }
        parser.append(UnsafeRawBufferPointer(rebasing: loop.scratch[..<count]))
        parse()
        if count < loop.scratch.count { return }
      } else if count == 0 {
        return close()
      } else if errno == EAGAIN {
        return
      } else if errno != EINTR {
        return close()
      }
    }
  }

  private func parse() {
    while state == .reading {
      do throws(ParseError) {
        switch try parser.next() {
        case .needsInput: return
        case .head(let expectsContinue):
          setDeadline(limits.bodyDeadline)
          if expectsContinue {
            output.append(ResponseWriter.continueResponse)
            flush()
          }
        case .request(let request): answer(request)
        }
      } catch {
        keepsAlive = false
        wasRefused = true
        respondNow(handler.response(to: error))
      }
    }
  }

  private func answer(_ request: HTTPRequest) {
    state = .answering
    hasSentHead = false
    deadline = .max
    requestCount += 1
    version = request.head.version
    keepsAlive = request.head.keepsAlive && requestCount < limits.requestsPerConnection
    let responder = Responder(connection: self, loop: loop, isHead: request.method == .head)
    self.responder = responder
    watch(peerHasClosed ? 0 : EPOLLRDHUP.rawValue)
    handler.handle(request, from: peer, responder)
  }

  // MARK: Answering

  func respond(_ response: HTTPResponse, isHead: Bool, for responder: Responder) {
    guard isCurrent(responder) else { return }
    let framing: BodyFraming =
      if response.head.status.forbidsBody || (isHead && response.body.isEmpty) { .none } else {
        .length(response.body.count)
      }
    sendHead(response.head, framing)
    if !isHead && !response.body.isEmpty { output.append(response.body) }
    complete()
  }

  func respondInPieces(_ head: ResponseHead, isHead: Bool, for responder: Responder) {
    guard isCurrent(responder) else { return }
    framing = version == .http10 ? .untilClose : .chunked
    if framing == .untilClose { keepsAlive = false }
    sendHead(head, isHead ? .none : framing == .chunked ? .chunked : .close)
    if isHead { framing = .whole }
    flush()
  }

  func write(_ pieces: [[UInt8]], for responder: Responder) {
    guard isCurrent(responder) else { return }
    let size = pieces.reduce(0) { $0 + $1.count }
    guard size > 0 else { return }
    if framing == .chunked { output.append(ResponseWriter.chunkStart(size)) }
    for piece in pieces where !piece.isEmpty { output.append(piece) }
    if framing == .chunked { output.append(ResponseWriter.chunkEnd) }
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
    guard state == .answering, !hasSentHead else { return }
    keepsAlive = false
    respondNow(handler.responseToAbandonment())
  }

  private func isCurrent(_ responder: Responder) -> Bool {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    return state == .answering && self.responder === responder
  }

  /// An answer of the server's own.
  private func respondNow(_ response: HTTPResponse) {
    state = .answering
    sendHead(response.head, .length(response.body.count))
    if !response.body.isEmpty { output.append(response.body) }
    complete()
  }

  private func sendHead(_ head: ResponseHead, _ framing: BodyFraming) {
    hasSentHead = true
    if isDraining { keepsAlive = false }
    var head = head
    head.fields += commonFields
    output.append(
      ResponseWriter.head(head, framing: framing, date: loop.date, keepsAlive: keepsAlive, version: version))
  }

  private func complete() {
    responder?.completed()
    responder = nil
    framing = .whole
    state = .flushing
    flush()
  }

  // MARK: Sending

  private func flush() {
    while !output.isEmpty {
      let sent = sendGathered()
      if sent >= 0 {
        consume(sent)
        // An interim response sent while a body is read has the body's deadline.
        if state != .reading { setDeadline(limits.writeDeadline) }
      } else if errno == EAGAIN {
        watch(watched | EPOLLOUT.rawValue)
        if deadline == .max { setDeadline(limits.writeDeadline) }
        return
      } else if errno != EINTR {
        return close()
      }
    }
    if watched & EPOLLOUT.rawValue != 0 { watch(watched & ~EPOLLOUT.rawValue) }
    switch state {
    case .answering: deadline = .max
    case .flushing: answerIsSent()
    case .reading, .lingering, .closed: break
    }
  }

  private func answerIsSent() {
    guard keepsAlive, !isDraining else { return wasRefused ? linger() : close() }
    state = .reading
    hasSentHead = false
    // From one who has stopped sending there may still be whole requests here, but nothing more will come.
    watch(peerHasClosed ? 0 : EPOLLIN.rawValue)
    setDeadline(parser.isInsideRequest ? limits.headerDeadline : limits.idleDeadline)
    parse()
    if peerHasClosed && state == .reading { close() }
  }

  /// Our side first: closing outright would reset a client that is still sending, and it might never see the answer.
  private func linger() {
    state = .lingering
    shutdown(descriptor, Int32(SHUT_WR))
    watch(EPOLLIN.rawValue)
    setDeadline(limits.lingerDeadline)
    discard()
  }

  private func discard() {
    // A batch at a time, so that one who sends without end does not hold the loop.
    for _ in 0..<16 {
      let count = recv(descriptor, loop.scratch.baseAddress, loop.scratch.count, 0)
      if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { return close() }
      if count < 0 { return }
    }
  }

  private func consume(_ count: Int) {
    var left = count
    while left > 0, let first = output.first {
      let rest = first.count - sentOfFirst
      if left < rest {
        sentOfFirst += left
        return
      }
      left -= rest
      sentOfFirst = 0
      output.removeFirst()
    }
  }

  /// One gathered send of what is queued: up to `most` pieces.
  private func sendGathered() -> Int {
    let most = 16
    return withUnsafeTemporaryAllocation(of: iovec.self, capacity: most) { vectors in
      func gather(_ index: Int) -> Int {
        if index == min(output.count, most) {
          var message = msghdr()
          message.msg_iov = vectors.baseAddress
          message.msg_iovlen = index
          return sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
        }
        return output[index].withUnsafeBytes { bytes in
          let skipped = index == 0 ? sentOfFirst : 0
          vectors.initializeElement(
            at: index,
            to: iovec(
              iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress! + skipped), iov_len: bytes.count - skipped)
          )
          return gather(index + 1)
        }
      }
      return gather(0)
    }
  }

  private func watch(_ events: UInt32) {
    guard events != watched, let identifier else { return }
    watched = events
    loop.modify(identifier, descriptor: descriptor, events: events)
  }

  private func setDeadline(_ duration: Duration) {
    deadline = EventLoop.now() + UInt64(duration / .nanoseconds(1))
  }
}
