// The server: loops, listeners, and the count of connections. It knows nothing of what it serves.

import CPhotodSystem
import Dispatch
import HTTPCore
import Logging
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

package final class Server: Sendable {
  private struct State {
    var connectionCount = 0
    /// Open connections by address, for addresses that have some.
    var connectionsByPeer: [Peer: Int] = [:]
    var isDraining = false
    var drained: (@Sendable () -> Void)?
  }

  private let limits: ServerLimits
  private let handler: any HTTPHandler
  private let commonFields: [(name: String, value: String)]
  private let logger: Logger
  private let loops: [EventLoop]
  private let state = Mutex(State())
  private let nextLoop = Atomic<Int>(0)
  /// Touched on the first loop's queue only; that loop does the accepting.
  private nonisolated(unsafe) var listeners: [Listener] = []

  /// - Parameters:
  ///   - commonFields: header fields that every answer carries.
  ///   - loopCount: event loops; one a core is as many as are of use.
  package init(
    handler: any HTTPHandler, limits: ServerLimits, commonFields: [(name: String, value: String)], loopCount: Int,
    logger: Logger
  ) {
    self.commonFields = commonFields
    self.handler = handler
    self.limits = limits
    self.logger = logger
    loops = (0..<max(1, loopCount)).map(EventLoop.init)
    // A client that goes away while it is written to is an error code, never a signal.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Binds every address and starts accepting. Returns the addresses with the ports that were really bound.
  package func start(at addresses: [ListenAddress]) throws(ListenError) -> [ListenAddress] {
    for loop in loops { loop.start() }
    var bound: [ListenAddress] = []
    for address in addresses {
      let (descriptor, address) = try address.listen(backlog: limits.backlog)
      bound.append(address)
      let loop = loops[0]
      loop.queue.async { [self] in
        let listener = Listener(
          descriptor: descriptor, loop: loop, logger: logger,
          mayAccept: { [self] in state.withLock { $0.connectionCount < limits.connections } },
          accepted: { [self] in adopt($0, $1) })
        listeners.append(listener)
        listener.start()
      }
    }
    return bound
  }

  /// Stops accepting, lets what is under way finish, and calls `finished` once: when the last connection has gone, or
  /// when `deadline` has passed and the rest were cut off.
  package func drain(deadline: Duration, finished: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.isDraining = true
      state.drained = finished
    }
    loops[0].queue.async { [self] in
      for listener in listeners { listener.close() }
      listeners = []
    }
    for loop in loops {
      loop.queue.async { for case let connection as Connection in loop.all { connection.drain() } }
    }
    let seconds = Double(deadline.components.seconds) + Double(deadline.components.attoseconds) * 1e-18
    loops[0].queue.asyncAfter(deadline: .now() + seconds) { [self] in
      for loop in loops {
        loop.queue.async { for case let connection as Connection in loop.all { connection.close() } }
      }
    }
    loops[0].queue.async { [self] in finishIfDrained() }
  }

  private func adopt(_ descriptor: Int32, _ peer: Peer) {
    let isAdmitted = state.withLock { state in
      if peer != .unix {
        if state.connectionsByPeer[peer, default: 0] >= limits.connectionsPerAddress { return false }
        state.connectionsByPeer[peer, default: 0] += 1
      }
      state.connectionCount += 1
      return true
    }
    guard isAdmitted else {
      close(descriptor)
      return
    }
    let index = nextLoop.wrappingAdd(1, ordering: .relaxed).oldValue
    let loop = loops[Int(UInt(bitPattern: index) % UInt(loops.count))]
    loop.queue.async { [self] in
      let connection = Connection(
        descriptor: descriptor, peer: peer, loop: loop, handler: handler, limits: limits, commonFields: commonFields,
        closed: { [self] in connectionClosed(peer) })
      connection.start()
      if state.withLock({ $0.isDraining }) { connection.drain() }
    }
  }

  private func connectionClosed(_ peer: Peer) {
    let wasFull = state.withLock { state in
      if let count = state.connectionsByPeer[peer] { state.connectionsByPeer[peer] = count > 1 ? count - 1 : nil }
      state.connectionCount -= 1
      return state.connectionCount == limits.connections - 1
    }
    if wasFull { loops[0].queue.async { [self] in for listener in listeners { listener.resume() } } }
    finishIfDrained()
  }

  private func finishIfDrained() {
    let finished = state.withLock { state in
      state.isDraining && state.connectionCount == 0 ? state.drained.take() : nil
    }
    finished?()
  }
}
