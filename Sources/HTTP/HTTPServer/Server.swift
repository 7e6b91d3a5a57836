// The server: it owns the event loops, the listeners and the connection counts. It accepts connections, distributes
// them over the loops, applies the connection limits and drains at shutdown. It does not interpret requests;
// `HTTPHandler` does.

import CPhotodSystem
import Dispatch
import HTTPCore
import Logging
import Primitives
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

package final class Server: Sendable {
  private struct State {
    var connectionCount = 0
    /// Open connections by client address. Addresses without connections have no entry.
    var connectionsByAddress: [IPAddress: Int] = [:]
    /// Connections that were closed at once, because their address had too many.
    var refusedConnections = 0
    /// A listener has paused and must be resumed when a connection closes.
    var isPaused = false
    var isDraining = false
    /// The connections in the accept queues were accepted, and no more will be.
    var hasClosedListeners = false
    var onDrained: (@Sendable () -> Void)?
    /// To remove at shutdown.
    var socketFiles: [SocketFile] = []
  }

  /// Each loop occupies a thread. Dispatch has 255 threads for all serial queues of one quality of service, and the
  /// work queues need the rest.
  static let maximumLoops = 128

  private let limits: ServerLimits
  private let handler: any HTTPHandler
  private let proxies: PeerSet
  private let accessLog: AccessLog?
  private let logger: Logger
  private let loops: [EventLoop]
  /// Memory of the requests of all connections: a body is counted by its announced size before it arrives.
  private let requestBudget: ByteBudget
  /// Memory of responses without an owner, until their last byte was handed to the kernel.
  private let responseBudget: ByteBudget
  private let state = Mutex(State())
  private let nextLoop = Atomic<Int>(0)
  /// Accessed on the first loop's queue only. That loop accepts all connections.
  private nonisolated(unsafe) var listeners: [Listener] = []

  /// - Parameters:
  ///   - proxies: peers that forward many clients. Their connections are not counted by address.
  ///   - loopCount: number of event loops, at most ``maximumLoops``; more than one per core brings nothing.
  ///   - accessLog: receives finished requests; `nil` disables the access log.
  package init(
    handler: any HTTPHandler, limits: ServerLimits, proxies: PeerSet, loopCount: Int, accessLog: AccessLog?,
    clock: ServerClock = .system, logger: Logger
  ) {
    self.handler = handler
    self.limits = limits
    self.proxies = proxies
    self.accessLog = accessLog
    self.logger = logger
    requestBudget = ByteBudget(capacityBytes: limits.requestBufferBytes)
    responseBudget = ByteBudget(capacityBytes: limits.responseBufferBytes)
    let count = min(max(1, loopCount), Self.maximumLoops)
    loops = (0..<count).map { EventLoop(index: $0, clock: clock, accessLog: accessLog) }
    for loop in loops { loop.start() }
    // A write to a closed connection must return an error and not raise SIGPIPE.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Connections and listeners hold the server, and responders hold their connection, so none of them exists any
  /// longer.
  deinit {
    for loop in loops { loop.stop() }
  }

  /// Binds every address and starts accepting. Returns the addresses with the actual ports.
  ///
  /// Either all addresses are bound or none: if one fails, the sockets that were already bound are closed.
  package func start(at addresses: [ListenAddress]) throws(ListenError) -> [ListenAddress] {
    var sockets: [(descriptor: Int32, bound: ListenAddress)] = []
    do throws(ListenError) {
      for address in addresses { sockets.append(try address.listen(backlog: limits.backlog)) }
    } catch {
      for socket in sockets { close(socket.descriptor) }
      throw error
    }
    let files = addresses.compactMap { address -> SocketFile? in
      if case .unix(let path) = address { SocketFile(at: path) } else { nil }
    }
    state.withLock { $0.socketFiles += files }
    listen(sockets.map(\.descriptor), isShared: false)
    return sockets.map(\.bound)
  }

  /// The address of an inherited listening socket. The server owns the socket from now on.
  package static func address(ofInherited descriptor: Int32) throws(ListenError) -> ListenAddress {
    try ListenAddress.ofListeningSocket(descriptor)
  }

  /// Starts accepting on inherited sockets, which another process bound.
  package func start(on descriptors: [Int32]) { listen(descriptors, isShared: true) }

  /// - Parameter isShared: another process also holds the sockets and accepts the connections that remain in their
  ///   queues.
  private func listen(_ descriptors: [Int32], isShared: Bool) {
    let loop = loops[0]
    for descriptor in descriptors {
      loop.enqueue { [self] in
        let listener = Listener(
          descriptor: descriptor, isShared: isShared, loop: loop, logger: logger,
          mayAccept: { [self] in state.withLock { $0.connectionCount < limits.connections } },
          onPause: { [self] in state.withLock { $0.isPaused = true } },
          onAccept: { [self] in connectionAccepted($0, $1) })
        listeners.append(listener)
        listener.start()
      }
    }
  }

  /// Current values and totals. Callable from any thread.
  package var statistics: ServerStatistics {
    var statistics = ServerStatistics()
    (statistics.connections, statistics.refusedConnections) = state.withLock {
      ($0.connectionCount, $0.refusedConnections)
    }
    statistics.requestBufferBytes = requestBudget.bytesInUse
    statistics.responseBufferBytes = responseBudget.bytesInUse
    for loop in loops { loop.counters.add(to: &statistics) }
    return statistics
  }

  /// The number of event loops.
  package var loopCount: Int { loops.count }

  /// Calls `answered` on an event loop, after the work that is enqueued there now: a check that the loop is not stuck.
  ///
  /// - Parameter index: less than ``loopCount``.
  package func probe(loop index: Int, _ answered: @escaping @Sendable () -> Void) {
    loops[index].enqueue(answered)
  }

  /// Checks every deadline now, as the timer does every second. For tests, which control the clock.
  package func tick() {
    for loop in loops { loop.enqueue { loop.tick() } }
  }

  /// Stops accepting, serves the accepted connections, and calls `finished` once: when the last connection has closed,
  /// or when `deadline` has passed and the remaining connections were closed. Clients in the accept queue of a socket
  /// that this server bound are accepted first. Clients in the queue of an inherited socket wait for the next process.
  package func drain(deadline: Duration, finished: @escaping @Sendable () -> Void) {
    let socketFiles = state.withLock { state in
      state.isDraining = true
      state.onDrained = finished
      defer { state.socketFiles = [] }
      return state.socketFiles
    }
    // Before the listeners are closed.
    for file in socketFiles { file.remove() }
    loops[0].enqueue { [self] in
      for listener in listeners { listener.close() }
      listeners = []
      state.withLock { $0.hasClosedListeners = true }
      // Enqueued after the last connection was accepted.
      for loop in loops {
        loop.enqueue { for case let connection as Connection in loop.registrants { connection.drain() } }
      }
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + deadline.seconds) { [self] in
      for loop in loops {
        loop.enqueue { for case let connection as Connection in loop.registrants { connection.close() } }
      }
    }
    loops[0].enqueue { [self] in finishIfDrained() }
  }

  private func connectionAccepted(_ descriptor: Int32, _ peer: Peer) {
    let countedAddress: IPAddress? =
      if case .address(let address) = peer, !proxies.contains(peer) { address.clientNetwork } else { nil }
    let isAdmitted = state.withLock { state in
      if let countedAddress {
        if state.connectionsByAddress[countedAddress, default: 0] >= limits.connectionsPerAddress {
          state.refusedConnections += 1
          return false
        }
        state.connectionsByAddress[countedAddress, default: 0] += 1
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
        descriptor: descriptor, peer: peer, loop: loop, handler: handler, limits: limits, requestBudget: requestBudget,
        responseBudget: responseBudget, onClose: { [self] in connectionClosed(countedAddress) })
      connection.start()
      if state.withLock({ $0.isDraining }) { connection.drain() }
    }
  }

  private func connectionClosed(_ countedAddress: IPAddress?) {
    // A paused listener may wait for a connection slot or for a descriptor. Any closing connection can free either.
    let hasPausedListener = state.withLock { state in
      if let countedAddress, let count = state.connectionsByAddress[countedAddress] {
        state.connectionsByAddress[countedAddress] = count > 1 ? count - 1 : nil
      }
      state.connectionCount -= 1
      defer { state.isPaused = false }
      return state.isPaused
    }
    // Asynchronous, because the descriptor is closed after this call returns.
    if hasPausedListener { loops[0].enqueue { [self] in for listener in listeners { listener.resume() } } }
    finishIfDrained()
  }

  private func finishIfDrained() {
    let finished = state.withLock { state in
      state.hasClosedListeners && state.connectionCount == 0 ? state.onDrained.take() : nil
    }
    guard let finished else { return }
    guard let accessLog else { return finished() }
    // Write the last access log lines before reporting completion.
    let last = DispatchGroup()
    for loop in loops {
      last.enter()
      loop.enqueue {
        loop.flushAccessLog()
        last.leave()
      }
    }
    last.notify(queue: .global()) {
      accessLog.flush()
      finished()
    }
  }
}
