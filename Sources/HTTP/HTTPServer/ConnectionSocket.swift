import CPhotodSystem

#if canImport(Glibc)
  import Glibc
#endif

/// The events of a socket that epoll reports (epoll_ctl(2)).
struct SocketEvents: OptionSet {
  let rawValue: UInt32

  /// Bytes have arrived, or the peer has half-closed.
  static let input = SocketEvents(rawValue: EPOLLIN.rawValue)
  /// The peer has stopped sending. It may still be reading.
  static let halfClose = SocketEvents(rawValue: EPOLLRDHUP.rawValue)
  /// The send buffer has room.
  static let output = SocketEvents(rawValue: EPOLLOUT.rawValue)
  /// The socket failed or both directions are closed. Reported even if not watched.
  static let failure = SocketEvents(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
}

/// The non-blocking socket of one connection, its registration with the loop, and the events that the loop watches.
///
/// It calls `epoll_ctl` only when the watched events change. A value inside `Connection`, used only on the loop's
/// queue. Its methods make no call-outs, so they can't re-enter the connection.
struct ConnectionSocket {
  enum ReadResult {
    /// Bytes in the loop's read buffer, valid until the next read of any connection of the loop.
    case bytes(UnsafeRawBufferPointer)
    /// The peer has stopped sending.
    case end
    case wouldBlock
    case failed
  }

  /// Reads of one call of `discardInput`, so that a client that never stops sending does not block the loop.
  private static let maximumDiscardingReads = 16

  let descriptor: Int32
  private let loop: EventLoop
  private var registration: UInt64?
  private var watchedEvents: SocketEvents = []
  /// Bytes in the send buffer that the peer had not acknowledged at the last call of `acknowledgedBytes`.
  private var unacknowledgedBytes = 0

  /// - Parameter descriptor: a connected non-blocking socket, owned from now on and closed by `close`.
  init(descriptor: Int32, loop: EventLoop) {
    self.descriptor = descriptor
    self.loop = loop
  }

  // MARK: Registration

  /// Registers with the loop, which reports the events to `registrant`. Returns `false` if the kernel refuses.
  mutating func register(_ registrant: any EventLoop.Registrant, watching events: SocketEvents) -> Bool {
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    watchedEvents = events
    registration = loop.add(registrant, descriptor: descriptor, events: events.rawValue)
    return registration != nil
  }

  mutating func unregister() {
    if let registration { loop.remove(registration, descriptor: descriptor) }
    registration = nil
  }

  /// Closes the descriptor. Call `unregister` first.
  func close() { _ = Glibc.close(descriptor) }

  mutating func watch(_ events: SocketEvents) { setWatchedEvents(watchedEvents.union(events)) }

  mutating func ignore(_ events: SocketEvents) { setWatchedEvents(watchedEvents.subtracting(events)) }

  private mutating func setWatchedEvents(_ events: SocketEvents) {
    guard events != watchedEvents, let registration else { return }
    watchedEvents = events
    loop.modify(registration, descriptor: descriptor, events: events.rawValue)
  }

  // MARK: Reading

  /// Reads once into the loop's buffer.
  func receive() -> ReadResult {
    while true {
      let count = recv(descriptor, loop.readBuffer.baseAddress, loop.readBuffer.count, 0)
      if count > 0 { return .bytes(UnsafeRawBufferPointer(rebasing: loop.readBuffer[..<count])) }
      if count == 0 { return .end }
      if errno == EAGAIN { return .wouldBlock }
      if errno != EINTR { return .failed }
    }
  }

  // MARK: Sending

  /// The number of bytes that the peer's system has acknowledged since the last call (SIOCOUTQ, tcp(7)). More exact
  /// than writability, which the kernel reports only when a third of the send buffer is free. One system call. The
  /// first result after the buffer was empty has no meaning.
  ///
  /// - Parameter sentBytes: what the kernel has accepted since the last call.
  mutating func acknowledgedBytes(afterSending sentBytes: Int = 0) -> Int {
    var waiting: Int32 = 0
    // If the socket does not report this, count all accepted bytes as acknowledged.
    if ioctl(descriptor, UInt(TIOCOUTQ), &waiting) != 0 { waiting = 0 }
    defer { unacknowledgedBytes = Int(waiting) }
    return max(0, unacknowledgedBytes + sentBytes - Int(waiting))
  }

  // MARK: Lingering

  /// Shuts down the sending side and watches only for input, which `discardInput` then reads. An immediate close would
  /// reset a client that is still sending, and the client might never read the response (RFC 9112 §9.6).
  mutating func beginLingering() {
    shutdown(descriptor, Int32(SHUT_WR))
    setWatchedEvents(.input)
  }

  /// Reads and discards all bytes that have arrived. `bytes` means that more may be waiting; the loop reports it again.
  func discardInput() -> ReadResult {
    var result = receive()
    for _ in 1..<Self.maximumDiscardingReads {
      guard case .bytes = result else { break }
      result = receive()
    }
    return result
  }
}
