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
    var connectionsByAddress: [IPAddress: Int] = [:]
    /// A listener waits for room.
    var isPaused = false
    var isDraining = false
    var drained: (@Sendable () -> Void)?
    /// Socket files to be removed in the end.
    var socketFiles: [String] = []
  }

  private let limits: ServerLimits
  private let handler: any HTTPHandler
  private let proxies: PeerSet
  private let accessLog: AccessLog?
  private let logger: Logger
  private let loops: [EventLoop]
  private let received: ByteBudget
  private let answers: ByteBudget
  private let state = Mutex(State())
  private let nextLoop = Atomic<Int>(0)
  /// Touched on the first loop's queue only; that loop does the accepting.
  private nonisolated(unsafe) var listeners: [Listener] = []

  /// - Parameters:
  ///   - proxies: peers whose connections are everybody's, and so not counted by address.
  ///   - loopCount: event loops; one a core is as many as are of use.
  ///   - accessLog: where finished requests are told; nowhere if `nil`.
  package init(
    handler: any HTTPHandler, limits: ServerLimits, proxies: PeerSet, loopCount: Int, accessLog: AccessLog?,
    clock: ServerClock = .system, logger: Logger
  ) {
    self.handler = handler
    self.limits = limits
    self.proxies = proxies
    self.accessLog = accessLog
    self.logger = logger
    received = ByteBudget(capacityBytes: limits.receivedBytes)
    answers = ByteBudget(capacityBytes: limits.answerBytes)
    loops = (0..<max(1, loopCount)).map { EventLoop(index: $0, clock: clock, accessLog: accessLog) }
    // A client that goes away while it is written to is an error code, never a signal.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Binds every address and starts accepting. Returns the addresses with the ports that were really bound.
  ///
  /// All are bound or none: what was bound before the one that can't be is given back.
  package func start(at addresses: [ListenAddress]) throws(ListenError) -> [ListenAddress] {
    var sockets: [(descriptor: Int32, bound: ListenAddress)] = []
    do throws(ListenError) {
      for address in addresses { sockets.append(try address.listen(backlog: limits.backlog)) }
    } catch {
      for socket in sockets { close(socket.descriptor) }
      throw error
    }
    state.withLock { state in
      for case .unix(let path) in addresses { state.socketFiles.append(path) }
    }
    listen(sockets.map(\.descriptor))
    return sockets.map(\.bound)
  }

  /// The address of a socket that somebody else listens at; it becomes ours.
  package static func address(ofInherited descriptor: Int32) throws(ListenError) -> ListenAddress {
    try ListenAddress.adopt(descriptor)
  }

  /// Starts accepting on sockets that somebody else bound and listens at.
  package func start(on descriptors: [Int32]) { listen(descriptors) }

  private func listen(_ descriptors: [Int32]) {
    for loop in loops { loop.start() }
    let loop = loops[0]
    for descriptor in descriptors {
      loop.queue.async { [self] in
        let listener = Listener(
          descriptor: descriptor, loop: loop, logger: logger,
          mayAccept: { [self] in state.withLock { $0.connectionCount < limits.connections } },
          paused: { [self] in state.withLock { $0.isPaused = true } },
          accepted: { [self] in adopt($0, $1) })
        listeners.append(listener)
        listener.start()
      }
    }
  }

  /// What is going on, and what has been. From any thread.
  package var statistics: ServerStatistics {
    var statistics = ServerStatistics()
    statistics.connections = state.withLock { $0.connectionCount }
    statistics.receivedBytes = received.heldBytes
    statistics.answerBytes = answers.heldBytes
    for loop in loops { loop.counters.add(to: &statistics) }
    return statistics
  }

  /// Looks at every deadline now, as is done every second anyway: for tests, which move the clock by hand.
  package func tick() {
    for loop in loops { loop.queue.async { loop.tick() } }
  }

  /// Stops accepting, lets what is under way finish, and calls `finished` once: when the last connection has gone, or
  /// when `deadline` has passed and the rest were cut off.
  package func drain(deadline: Duration, finished: @escaping @Sendable () -> Void) {
    let socketFiles = state.withLock { state in
      state.isDraining = true
      state.drained = finished
      defer { state.socketFiles = [] }
      return state.socketFiles
    }
    for path in socketFiles { unlink(path) }
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
    let counted: IPAddress? =
      if case .address(let address) = peer, !proxies.contains(peer) { address.group } else { nil }
    let isAdmitted = state.withLock { state in
      if let counted {
        if state.connectionsByAddress[counted, default: 0] >= limits.connectionsPerAddress { return false }
        state.connectionsByAddress[counted, default: 0] += 1
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
    loop.run { [self] in
      let connection = Connection(
        descriptor: descriptor, peer: peer, loop: loop, handler: handler, limits: limits, received: received,
        answers: answers, closed: { [self] in connectionClosed(counted) })
      connection.start()
      if state.withLock({ $0.isDraining }) { connection.drain() }
    }
  }

  private func connectionClosed(_ counted: IPAddress?) {
    // Any connection that goes may be the room that a listener waits for, of connections or of descriptors.
    let isWaitedFor = state.withLock { state in
      if let counted, let count = state.connectionsByAddress[counted] {
        state.connectionsByAddress[counted] = count > 1 ? count - 1 : nil
      }
      state.connectionCount -= 1
      defer { state.isPaused = false }
      return state.isPaused
    }
    // In its turn, when the descriptor is closed.
    if isWaitedFor { loops[0].queue.async { [self] in for listener in listeners { listener.resume() } } }
    finishIfDrained()
  }

  private func finishIfDrained() {
    let finished = state.withLock { state in
      state.isDraining && state.connectionCount == 0 ? state.drained.take() : nil
    }
    guard let finished else { return }
    guard let accessLog else { return finished() }
    // The last lines too.
    let last = DispatchGroup()
    for loop in loops { loop.queue.async(group: last) { loop.flushRecords() } }
    last.notify(queue: .global()) {
      accessLog.finish()
      finished()
    }
  }
}
