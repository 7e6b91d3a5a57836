import CPhotodSystem
import Dispatch
import Logging

#if canImport(Glibc)
  import Glibc
#endif

/// A listening socket on an event loop. It accepts connections and passes each to the server.
///
/// At the connection limit, when descriptors run out, or if the socket fails, it stops watching the socket, and tries
/// again on the next tick or when a connection closes. It never spins on a connection that it can't accept.
final class Listener: EventLoop.Registrant {
  private static let maximumAcceptsPerBatch = 64
  /// Minimum time between two log lines about pauses: at a limit, each closed connection may lead to another pause.
  private static let warningIntervalNanoseconds: UInt64 = 60_000_000_000

  private let descriptor: Int32
  /// Another process also holds the socket.
  private let isShared: Bool
  private let loop: EventLoop
  private let mayAccept: () -> Bool
  /// Called when accepting pauses at a limit. The receiver calls `resume` when a connection closes.
  private let onPause: () -> Void
  private let onAccept: (Int32, Peer) -> Void
  private let logger: Logger

  // Guarded by the loop's queue.
  private var identifier: UInt64?
  private var isWatching = false
  private var isClosed = false
  /// Pauses since the last line in the log.
  private var pauseCount = 0
  private var nextWarning: UInt64 = 0

  init(
    descriptor: Int32, isShared: Bool, loop: EventLoop, logger: Logger, mayAccept: @escaping () -> Bool,
    onPause: @escaping () -> Void, onAccept: @escaping (Int32, Peer) -> Void
  ) {
    self.descriptor = descriptor
    self.isShared = isShared
    self.loop = loop
    self.logger = logger
    self.mayAccept = mayAccept
    self.onPause = onPause
    self.onAccept = onAccept
  }

  func start() {
    identifier = loop.add(self)
    watch()
  }

  /// Stops accepting. Connections in the accept queue of a shared socket stay there for the other process. Connections
  /// in the queue of an unshared socket would be reset by the kernel, so they are accepted first.
  func close() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    guard !isClosed else { return }
    if !isShared { accept(atMost: .max) }
    isClosed = true
    if let identifier { loop.remove(identifier, descriptor: descriptor) }
    Glibc.close(descriptor)
  }

  func eventsArrived(_ events: UInt32) {
    if isWatching { accept(atMost: Self.maximumAcceptsPerBatch) }
  }

  private func accept(atMost count: Int) {
    for _ in 0..<count {
      guard mayAccept() else { return pause(because: "at the connection limit") }
      var storage = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let connection = withUnsafeMutablePointer(to: &storage) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { photod_accept(descriptor, $0, &length) }
      }
      if connection >= 0 {
        onAccept(connection, Peer(&storage))
        continue
      }
      let code = errno
      switch code {
      case EAGAIN: return
      // The client disconnected before it was accepted, or its network failed (accept(2), "Error handling").
      case ECONNABORTED, EINTR, EPROTO, ENETDOWN, ENETUNREACH, EHOSTDOWN, EHOSTUNREACH, ENONET, ENOPROTOOPT: continue
      // No descriptors or memory, or the socket fails, as after shutdown(2) in another process that holds it.
      default: return pause(because: String(cString: strerror(code)))
      }
    }
  }

  func tick(now: UInt64) { resume() }

  /// Resumes accepting after a pause.
  func resume() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    if !isWatching, !isClosed, mayAccept() { watch() }
  }

  private func watch() {
    guard let identifier else { return }
    isWatching = loop.watch(identifier, descriptor: descriptor, events: EPOLLIN.rawValue)
    if !isWatching { logPause(because: String(cString: strerror(errno))) }
  }

  private func pause(because reason: String) {
    guard isWatching else { return }
    isWatching = false
    onPause()
    loop.unwatch(descriptor: descriptor)
    logPause(because: reason)
  }

  /// Counts a pause, and logs it at most once a minute.
  private func logPause(because reason: String) {
    pauseCount += 1
    guard loop.now >= nextWarning else { return }
    logger.warning(
      "accepting connections paused", metadata: ["reason": "\(reason)", "pauses": "\(pauseCount)"])
    nextWarning = loop.now + Self.warningIntervalNanoseconds
    pauseCount = 0
  }
}
