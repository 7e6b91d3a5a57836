import Dispatch
import HTTPCore
import Synchronization

/// The one way to answer a request. Usable from any thread; the calls for one answer come from one thread at a time.
///
/// Either `send`, or `start`, any number of `write` and `finish`. On the connection's own queue they act at once, from
/// elsewhere in their turn.
package final class Responder: Sendable {
  private struct State {
    var hasStarted = false
    var isClosed = false
    var onClose: (@Sendable () -> Void)?
  }

  /// The request's name, in answers and in the access log.
  package let requestID: RequestIdentifier
  private let connection: Connection
  private let loop: EventLoop
  private let state = Mutex(State())
  /// The request was HEAD: heads are sent as they are, bodies are not.
  private let isHead: Bool

  init(connection: Connection, loop: EventLoop, isHead: Bool, requestID: RequestIdentifier) {
    self.connection = connection
    self.loop = loop
    self.isHead = isHead
    self.requestID = requestID
  }

  /// The whole answer.
  package func send(_ response: HTTPResponse) {
    guard begin() else { return }
    loop.run { [self] in connection.respond(response, isHead: isHead, for: self) }
  }

  /// The head of an answer whose body comes in pieces: chunked, or ended by closing for HTTP/1.0.
  package func start(_ head: ResponseHead) {
    guard begin() else { return }
    loop.run { [self] in connection.respondInPieces(head, isHead: isHead, for: self) }
  }

  /// A piece of body; what is in one piece is sent at once and together. Empty pieces are nothing.
  ///
  /// Whoever has more than a few pieces waits for room before the next: a client that reads slowly must not make us hold
  /// what it has not read. One that does not wait loses its client at `ServerLimits.queuedBytes`.
  ///
  /// - Parameters:
  ///   - owner: answers for the memory of the pieces: held until their last byte was handed to the kernel, or the connection
  ///     ended.
  ///   - whenRoom: called once, on the connection's queue, when little of what was written still waits; never if the client
  ///     goes first, which `onClose` tells.
  package func write(
    _ pieces: [[UInt8]], owner: (any MemoryOwner)? = nil, whenRoom: (@Sendable () -> Void)? = nil
  ) {
    loop.run { [self] in connection.write(isHead ? [] : pieces, owner: owner, whenRoom: whenRoom, for: self) }
  }

  /// The end of the body.
  package func finish() {
    loop.run { [self] in connection.finish(for: self) }
  }

  /// Calls `handler` once if the client goes before its answer is complete, at once if it has already gone.
  package func onClose(_ handler: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      if !state.isClosed { state.onClose = handler }
      return state.isClosed
    }
    if isLate { handler() }
  }

  /// The client is gone. On the loop's queue.
  func connectionClosed() {
    let handler = state.withLock { state in
      state.isClosed = true
      return state.onClose.take()
    }
    handler?()
  }

  /// The answer is complete: whoever waits for the client to go can stop.
  func completed() { state.withLock { $0.onClose = nil } }

  /// An answer begins once; a second is a bug of ours that is dropped in release builds.
  private func begin() -> Bool {
    let isFirst = state.withLock { state in
      defer { state.hasStarted = true }
      return !state.hasStarted
    }
    assert(isFirst, "a request was answered twice")
    return isFirst
  }

  deinit {
    guard !state.withLock({ $0.hasStarted || $0.isClosed }) else { return }
    let connection = connection
    loop.queue.async { connection.abandoned() }
  }
}
