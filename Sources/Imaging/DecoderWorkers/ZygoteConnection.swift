import CPhotodDecoder

#if canImport(Glibc)
  import Glibc
#endif

/// A running zygote. It ends when this object does.
final class ZygoteConnection: Sendable {
  /// How long a program may take until it is ready.
  private static let startLimit: Int32 = 10_000
  /// How long a zygote may take to accept a request.
  private static let sendLimit: Int32 = 2_000

  let sandbox: SandboxParts
  /// Name and version of the codec's library.
  let library: String
  let started = ContinuousClock.now
  let processIdentifier: Int32
  private let control: Descriptor

  /// Starts the program and waits until it is ready.
  ///
  /// It inherits only its end of the control socket and standard error. It has no parent-death signal, which would end
  /// it with the thread that calls this; it ends when the control socket is closed, also if this process crashes.
  init(program path: String) throws(DecoderUnavailability) {
    guard access(path, X_OK) == 0 else { throw .notInstalled }
    guard let pair = SocketPair() else { throw .notStarting }
    var identifier: pid_t = 0
    guard photod_decoder_spawn(path, pair.other.number, &identifier) == 0 else { throw .notStarting }
    let control = pair.takeOwn()
    do throws(DecoderUnavailability) {
      let hello = try Self.hello(control.number)
      sandbox = SandboxParts(rawValue: hello.sandbox_parts)
      library = withUnsafeBytes(of: hello.library) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
    } catch {
      // A program that has ended has closed its socket. The signal below then no longer changes the status.
      let hasEnded = Self.isClosed(control.number)
      kill(identifier, SIGKILL)
      let status = photod_decoder_reap(identifier)
      if hasEnded && photod_decoder_signal(status) == SIGKILL { throw DecoderUnavailability.restarting }
      throw error
    }
    processIdentifier = identifier
    self.control = control
  }

  /// Ends a zygote that does not answer, and its children with it. Others that use the connection notice it at once.
  func end() {
    // It has not been reaped, so the identifier is its own.
    kill(processIdentifier, SIGKILL)
  }

  deinit {
    end()
    _ = photod_decoder_reap(processIdentifier)
  }

  /// Whether the other end of a socket is closed, without waiting.
  private static func isClosed(_ socket: Int32) -> Bool {
    var polled = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    return poll(&polled, 1, 0) == 1 && polled.revents & Int16(POLLHUP) != 0
  }

  private static func hello(_ control: Int32) throws(DecoderUnavailability) -> decoder_hello {
    var polled = pollfd(fd: control, events: Int16(POLLIN), revents: 0)
    var hello = decoder_hello()
    var descriptor: Int32 = -1
    guard poll(&polled, 1, startLimit) == 1,
      photod_decoder_receive(control, &hello, MemoryLayout<decoder_hello>.size, &descriptor)
        == MemoryLayout<decoder_hello>.size
    else { throw .notStarting }
    guard hello.version == UInt32(DECODER_PROTOCOL_VERSION) else { throw .otherVersion }
    return hello
  }

  /// Sends a request with copies of the descriptors. From any thread. Returns false if the zygote has ended; ends one
  /// that accepts no request in time.
  func send(_ message: [UInt8], _ descriptors: [Int32]) -> Bool {
    while true {
      let result = message.withUnsafeBytes { bytes in
        photod_decoder_send(control.number, bytes.baseAddress, bytes.count, descriptors, Int32(descriptors.count))
      }
      if result == 0 { return true }
      guard errno == EAGAIN else { return false }
      var polled = pollfd(fd: control.number, events: Int16(POLLOUT), revents: 0)
      guard poll(&polled, 1, Self.sendLimit) == 1, polled.revents & Int16(POLLOUT) != 0 else {
        end()
        return false
      }
    }
  }
}
