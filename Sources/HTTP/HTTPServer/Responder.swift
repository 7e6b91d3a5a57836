import Dispatch
import HTTPCore
import Synchronization

/// Sends the response to one request. Usable from any thread, but the calls for one response must come from one thread
/// at a time.
///
/// Use either one `send`, or `start`, then any number of `write`, then `finish`. Calls on the connection's own queue
/// take effect at once, calls from elsewhere asynchronously.
package final class Responder: Sendable {
  private struct State {
    var hasStarted = false
    /// The complete response was handed to the connection. A close handler would never be called and is not kept.
    var isComplete = false
    var isClosed = false
    var onClose: [@Sendable () -> Void] = []

    /// Removes the close handlers. The caller calls or releases them after the lock: both may run arbitrary code.
    mutating func takeHandlers() -> [@Sendable () -> Void] {
      defer { onClose = [] }
      return onClose
    }
  }

  /// The identifier of the request in responses and in the access log.
  package let requestID: RequestIdentifier
  private let connection: Connection
  private let loop: EventLoop
  private let state = Mutex(State())
  /// The request method is HEAD: the response head is sent unchanged, the body is omitted.
  private let isHead: Bool

  init(connection: Connection, loop: EventLoop, isHead: Bool, requestID: RequestIdentifier) {
    self.connection = connection
    self.loop = loop
    self.isHead = isHead
    self.requestID = requestID
  }

  /// Sends a complete response.
  package func send(_ response: HTTPResponse) {
    guard begin() else { return }
    loop.run { [self] in connection.respond(response, isHead: isHead, for: self) }
  }

  /// Sends a response whose body is produced while it is sent. Its head gets the Content-Length of the source, and
  /// nothing is read for HEAD. Call it on a work queue: the calling thread reads the first segments.
  ///
  /// - Parameters:
  ///   - submit: submits work to the queue that reads the further segments and waits for the disk. If it returns
  ///     `false`, the work is not accepted and the connection closes.
  ///   - onFailure: called on any thread with the cause, if a further segment can't be read. The connection closes.
  /// - Throws: if the first segments can't be read, or if there is no memory for the segments. Nothing is sent then, so
  ///   another response can follow.
  package func send(
    _ head: ResponseHead, body source: any BodySource,
    submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool,
    onFailure: @escaping @Sendable (BodySourceError) -> Void
  ) throws(BodySourceError) {
    let length = Int(source.length)
    guard !isHead, length > 0 else {
      guard begin() else { return }
      return loop.run { [self] in
        connection.startResponse(head, length: length, for: self)
        connection.finish(for: self)
      }
    }
    guard let reservation = BodySender.reserve(for: source, from: connection.responseBudget) else { throw .overloaded }
    let sender = BodySender(
      source, to: self, reservedBy: reservation, loader: FileLoader(submit: submit, onFailure: onFailure))
    // Weak, so that a body whose first segments can't be read is released before the response that follows.
    onClose { [weak sender] in sender?.cancel() }
    let batch = try sender.first()
    guard begin() else { return }
    loop.run { [self] in
      connection.startResponse(head, length: length, for: self)
      connection.write(batch, from: sender, for: self)
    }
  }

  /// Queues the next segments of a body.
  func deliver(_ batch: BodySender.Batch, from sender: BodySender) {
    loop.run { [self] in connection.write(batch, from: sender, for: self) }
  }

  /// Closes the connection, because the rest of the body can't be sent.
  func abort() {
    loop.run { [self] in connection.abort(for: self) }
  }

  /// Sends the head of a response whose body is streamed: chunked, or ended by closing the connection for HTTP/1.0.
  package func start(_ head: ResponseHead) {
    guard begin() else { return }
    loop.run { [self] in connection.startResponse(head, isHead: isHead, for: self) }
  }

  /// Sends the arrays together as one chunk of the body. Empty arrays are skipped.
  ///
  /// A handler with more than a few pieces must wait for `whenWritable` before the next, so that a slow client does not
  /// make the server buffer the body. If the handler does not wait, the connection closes at
  /// `ServerLimits.outputQueueBytes`.
  ///
  /// - Parameters:
  ///   - owner: accounts for the memory of the pieces. Held until their last byte was handed to the kernel or the
  ///     connection ended.
  ///   - whenWritable: called once, on the connection's queue, when few bytes are left to send. Not called if the
  ///     client disconnects first; use `onClose` for that case.
  package func write(
    _ pieces: [[UInt8]], owner: (any MemoryOwner)? = nil, whenWritable: (@Sendable () -> Void)? = nil
  ) {
    loop.run { [self] in connection.write(isHead ? [] : pieces, owner: owner, whenWritable: whenWritable, for: self) }
  }

  /// Ends the body.
  package func finish() {
    loop.run { [self] in connection.finish(for: self) }
  }

  /// Calls `handler` once if the client disconnects before its response is complete, at once if it has already
  /// disconnected. Several handlers are called in the order in which they were added. When the response is complete, a
  /// handler is released without a call, whether it was added before or after; it may hold this responder.
  package func onClose(_ handler: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      if !state.isClosed && !state.isComplete { state.onClose.append(handler) }
      return state.isClosed
    }
    if isLate { handler() }
  }

  /// The client disconnected. Called on the loop's queue.
  func connectionClosed() {
    let handlers = state.withLock { state in
      state.isClosed = true
      return state.takeHandlers()
    }
    for handler in handlers { handler() }
  }

  /// The response is complete. Called on the loop's queue.
  func completed() {
    let handlers = state.withLock { state in
      state.isComplete = true
      return state.takeHandlers()
    }
    withExtendedLifetime(handlers) {}
  }

  /// Returns `false` for a second response to the same request, which is a bug in the handler and is ignored in release
  /// builds.
  private func begin() -> Bool {
    let isFirst = state.withLock { state in
      defer { state.hasStarted = true }
      return !state.hasStarted
    }
    assert(isFirst, "two responses to one request")
    return isFirst
  }

  deinit {
    guard !state.withLock({ $0.hasStarted || $0.isClosed }) else { return }
    let (connection, isHead) = (connection, isHead)
    loop.enqueue { connection.responderReleased(isHead: isHead) }
  }
}
