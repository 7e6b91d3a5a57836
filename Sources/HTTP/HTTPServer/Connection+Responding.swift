// The responses of a connection: the entry points of `Responder` and of the server's own responses. Each queues bytes
// in `ResponseSender`, reports to `ConnectionMachine` and flushes.

import Dispatch
import HTTPCore
import Primitives

extension Connection {
  /// Bodies up to this size are not counted against the response budget: health checks, problem documents, single
  /// assets.
  private static let uncountedResponseBytes = 2048

  // MARK: Prepared responses

  /// Sends a prepared response, usually with one gathered send.
  func send(_ response: PreparedResponse, isHead: Bool, identifier: RequestIdentifier) {
    _ = machine.handle(.responseBegan, now: loop.now)
    _ = machine.handle(.responseCompleted, now: loop.now)
    sender.send(
      response, isHead: isHead, identifier: identifier, keepsAlive: machine.keepsAlive, version: machine.version,
      to: socket.descriptor)
    if !sender.isEmpty, let owner = response.makeMemoryOwner?() { sender.hold(owner) }
    flush()
  }

  /// Sends a range of an open file, without waiting for a disk. Returns `false` and sends nothing if its bytes are not
  /// in the page cache, if the file has changed, or if slow clients hold the memory for responses.
  func send(_ range: PreparedRange) -> Bool {
    let uncopied = range.uncopied
    let copied = range.count - uncopied.count
    var reservation: ByteBudget.Reservation?
    if copied > Self.uncountedResponseBytes {
      reservation = responseBudget.tryReserve(copied, leaving: BodySender.bytesForCompleteResponses(of: responseBudget))
      if reservation == nil { return false }
    }
    // Nothing can load the bytes that the kernel sends, so a range that must be loaded is left to the handler.
    guard range.file.isCached(uncopied), range.read(after: uncopied, into: loop.rangeBuffer) == copied else {
      return false
    }
    _ = machine.handle(.responseBegan, now: loop.now)
    _ = machine.handle(.responseCompleted, now: loop.now)
    sender.send(
      range, uncopied: uncopied, reservedBy: reservation, keepsAlive: machine.keepsAlive, version: machine.version,
      to: socket.descriptor)
    flush()
    return true
  }

  // MARK: Responses of a handler

  func respond(_ response: HTTPResponse, isHead: Bool, for responder: Responder) {
    guard isCurrent(responder) else { return }
    // A client would take a body after 204 or 304 for the beginning of the next response.
    let sendsBody = !isHead && !response.head.status.forbidsBody
    var reservation: ByteBudget.Reservation?
    if sendsBody, response.owner == nil, response.body.count > Self.uncountedResponseBytes {
      // Reserve before the head is queued, because a queued head can't be replaced by a 503. Bytes that the kernel
      // accepts at once are released at once.
      reservation = responseBudget.tryReserve(response.body.capacity)
      if reservation == nil { return sendServerResponse(handler.overloadedResponse()) }
    }
    let framing: BodyFraming =
      if response.head.status.forbidsBody || (isHead && response.body.isEmpty) { .none } else {
        .length(response.body.count)
      }
    begin(response.head, framing: framing)
    if sendsBody { sender.appendBody(response.body, reservedBy: reservation) }
    if let owner = response.owner { sender.hold(owner) }
    complete()
  }

  func startResponse(_ head: ResponseHead, isHead: Bool, for responder: Responder) {
    guard isCurrent(responder) else { return }
    begin(head, framing: isHead ? .none : machine.version == .http10 ? .untilClose : .chunked)
    flush()
  }

  /// Queues the head of a response whose body has a known length. It is sent with the first bytes of the body.
  func startResponse(_ head: ResponseHead, length: Int, for responder: Responder) {
    guard isCurrent(responder) else { return }
    begin(head, framing: .length(length))
    machine.sendWithoutPauses()
  }

  /// Queues segments of a body. When they are nearly sent, `source` makes the next ones.
  func write(_ batch: BodySender.Batch, from source: BodySender, for responder: Responder) {
    guard isCurrent(responder) else { return }
    for segment in batch.segments {
      sender.appendSegment(segment, reservedBy: batch.reservation, loader: source.loader)
    }
    if batch.isLast { return complete() }
    sender.whenWritable { source.pull() }
    flush()
  }

  /// The rest of the body of a response can't be sent.
  func abort(for responder: Responder) {
    guard isCurrent(responder) else { return }
    close()
  }

  func write(
    _ pieces: [[UInt8]], owner: (any MemoryOwner)?, whenWritable: (@Sendable () -> Void)?, for responder: Responder
  ) {
    guard isCurrent(responder) else { return }
    // A producer that ignores `whenWritable` would accumulate output in memory.
    if sender.queuedBytes > limits.outputQueueBytes { return close() }
    if sender.appendPiece(pieces), let owner { sender.hold(owner) }
    if let whenWritable { sender.whenWritable(whenWritable) }
    flush()
  }

  func finish(for responder: Responder) {
    guard isCurrent(responder) else { return }
    sender.appendBodyEnd()
    complete()
  }

  /// A responder was released without a response.
  func responderReleased(isHead: Bool) {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    guard isResponding, !machine.hasBegunResponse else { return }
    sendServerResponse(handler.unansweredResponse(), isHead: isHead)
  }

  private func isCurrent(_ responder: Responder) -> Bool {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    return isResponding && self.responder === responder
  }

  /// Whether a handler has a request whose response is not complete.
  private var isResponding: Bool {
    machine.phase == .responding || machine.phase == .bodyPaused || machine.phase == .streamingBody
  }

  // MARK: Responses of the server

  /// Sends a response made by the server itself. Such a response is small and is not counted against the budget.
  ///
  /// - Parameter isHead: it answers HEAD, so the body is omitted.
  func sendServerResponse(_ response: HTTPResponse, isHead: Bool = false) {
    begin(response.head, framing: .length(response.body.count))
    if !isHead { sender.appendBody(response.body) }
    complete()
  }

  func sendContinue() {
    sender.appendContinue()
    flush()
  }

  // MARK: Steps

  private func begin(_ head: ResponseHead, framing: BodyFraming) {
    _ = machine.handle(.responseBegan, now: loop.now)
    abandonUnreadBody()
    sender.appendHead(head, framing: framing, keepsAlive: machine.keepsAlive, version: machine.version)
  }

  private func complete() {
    let responder = responder
    self.responder = nil
    responder?.completed()
    endBody()
    let (endsConnection, unusedHandlers) = sender.endResponse()
    if endsConnection { machine.closeAfterResponse() }
    _ = machine.handle(.responseCompleted, now: loop.now)
    flush()
    // Not released earlier: a closure's deinit may run arbitrary code that uses this connection.
    withExtendedLifetime(unusedHandlers) {}
  }

  /// Sends queued bytes and reports the progress to the machine.
  func flush() {
    guard !isLoadingFile else { return }
    switch sender.flush(to: socket.descriptor) {
    case .sentAll:
      socket.ignore(.output)
      if machine.phase == .sending { sender.logRequest(wasAborted: false) }
      perform(machine.handle(.sent(0, all: true), now: loop.now))
    case .unfinished(let sentBytes):
      socket.watch(.output)
      let acknowledged = socket.acknowledgedBytes(afterSending: sentBytes)
      _ = machine.handle(.sent(acknowledged, all: false), now: loop.now)
      _ = machine.handle(.writeBlocked, now: loop.now)
    case .notCached(let file, let range, let loader): load(range, of: file, by: loader)
    case .fileFailed(let loader, let error):
      loader.onFailure(error)
      close()
    case .failed: close()
    }
  }

  /// Loads a range of a file on the queue that waits for the disk, then sends on.
  private func load(_ range: Range<Int64>, of file: any SendableFile, by loader: FileLoader) {
    isLoadingFile = true
    socket.ignore(.output)
    _ = machine.handle(.fileLoadBegan, now: loop.now)
    let isAccepted = loader.reload(range, of: file) { [self] isLoaded in
      loop.enqueue { [self] in fileLoaded(isLoaded) }
    }
    if !isAccepted { close() }
  }

  private func fileLoaded(_ isLoaded: Bool) {
    isLoadingFile = false
    guard machine.phase != .closed else { return }
    guard isLoaded else { return close() }
    sender.rangeLoaded()
    flush()
  }
}
