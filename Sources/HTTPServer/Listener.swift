import CPhotodSystem
import Dispatch
import Logging

#if canImport(Glibc)
  import Glibc
#endif

/// A listening socket on a loop: accepts, and hands each connection to the server.
///
/// At the connection limit, or out of descriptors, it takes itself out of the loop and looks again on the next tick or
/// when a connection closes: it never spins on a connection that it can't take.
final class Listener: EventLoop.Registrant {
  private static let acceptsABatch = 64

  private let descriptor: Int32
  private let loop: EventLoop
  private let mayAccept: () -> Bool
  /// Called as accepting stops for want of room, and is to be called back by `resume`.
  private let paused: () -> Void
  private let accepted: (Int32, Peer) -> Void
  private let logger: Logger

  // Guarded by the loop's queue.
  private var identifier: UInt64?
  private var isPaused = false
  private var isClosed = false

  init(
    descriptor: Int32, loop: EventLoop, logger: Logger, mayAccept: @escaping () -> Bool,
    paused: @escaping () -> Void, accepted: @escaping (Int32, Peer) -> Void
  ) {
    self.descriptor = descriptor
    self.loop = loop
    self.logger = logger
    self.mayAccept = mayAccept
    self.paused = paused
    self.accepted = accepted
  }

  func start() {
    identifier = loop.add(self, descriptor: descriptor, events: EPOLLIN.rawValue)
  }

  func close() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    guard !isClosed else { return }
    isClosed = true
    if let identifier { loop.remove(identifier, descriptor: descriptor) }
    Glibc.close(descriptor)
  }

  func eventsArrived(_ events: UInt32) {
    for _ in 0..<Self.acceptsABatch {
      guard mayAccept() else { return pause(because: "at the connection limit") }
      var storage = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let connection = withUnsafeMutablePointer(to: &storage) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { photod_accept(descriptor, $0, &length) }
      }
      if connection >= 0 {
        accepted(connection, Peer(&storage))
        continue
      }
      switch errno {
      case EAGAIN: return
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: return pause(because: String(cString: strerror(errno)))
      default: continue  // The client gave up before it was accepted (accept(2), "Error handling").
      }
    }
  }

  func tick(now: UInt64) { resume() }

  /// Accepts again, if it had paused.
  func resume() {
    dispatchPrecondition(condition: .onQueue(loop.queue))
    guard isPaused, !isClosed, mayAccept(), let identifier else { return }
    isPaused = false
    loop.modify(identifier, descriptor: descriptor, events: EPOLLIN.rawValue)
  }

  private func pause(because reason: String) {
    guard !isPaused, let identifier else { return }
    isPaused = true
    paused()
    loop.modify(identifier, descriptor: descriptor, events: 0)
    logger.warning("not accepting for now", metadata: ["reason": "\(reason)"])
  }
}
