// One worker on the daemon's side: its sockets, its messages and its end. A session interprets the messages.
//
//   send the request -> [ message -> session ] ... -> outcome -> kill -> wait for the end

import CPhotodDecoder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// How a conversation with a worker ends.
enum WorkerOutcome {
  case complete
  case failed(DecoderError)
  /// The worker closed its socket without a last message.
  case closed
}

/// Used by one thread, that of the decode or encode.
final class WorkerChannel {
  /// How often the stop flag is checked while waiting.
  static let flagInterval = Duration.milliseconds(20)
  /// How long a killed worker may take to end. Until then it may hold memory up to its limit.
  private static let endInterval = Duration.seconds(5)
  /// The longest single wait for the worker.
  private static let waitInterval = Duration.seconds(1)
  /// A wait that takes this much longer than ``waitInterval`` shows that this process was stopped (SIGSTOP, suspend),
  /// most likely together with the worker.
  private static let pauseInterval = Duration.seconds(2)
  /// How long the zygote may take to start a worker. A zygote that takes longer is stopped, or waits for a disk.
  private static let startInterval = Duration.seconds(10)

  /// How a conversation ended.
  struct Result {
    /// `nil`: the session was complete.
    var error: DecoderError?
    /// Whether the worker has certainly ended, so that its slots no longer change.
    var hasEnded: Bool
    /// Whether the zygote has ended, or does not answer.
    var lostZygote: Bool
    var usage = DecoderUsage()
  }

  private enum Termination {
    /// With the status of waitpid(2).
    case ended(Int32)
    case refused
    /// The zygote has ended, or did not start the worker in time.
    case lost
    /// It did not end in time.
    case unknown
  }

  /// Why no conversation began.
  enum StartFailure: Error {
    /// The zygote did not take the request.
    case notSent
    /// The process has no more descriptors.
    case noSockets
  }

  let request: DecodeRequest
  private var codec: DecoderCodec { request.codec }
  private let stop: StopFlag?
  private let stall: Duration
  private let now: @Sendable () -> ContinuousClock.Instant
  private let connection: ZygoteConnection
  private let progress: Descriptor
  private let child: DecoderChild
  /// Whether the zygote has confirmed the start of the worker.
  private var hasStarted = false
  private var end: Termination?
  private var usage = DecoderUsage()
  /// One message, and the bytes that follow it.
  private let buffer = UnsafeMutableRawBufferPointer.allocate(
    byteCount: MemoryLayout<decoder_message>.size + Int(ENCODER_MAX_MESSAGE_BYTES), alignment: 16)

  /// Sends the request to the zygote.
  ///
  /// - Parameters:
  ///   - request: valid.
  ///   - payload: open for reading; used only during this call.
  ///   - stop: ends a conversation when it is raised, at most ``flagInterval`` later.
  ///   - stall: how long the worker may send nothing.
  ///   - now: the clock of the worker's silence.
  init(
    _ request: DecodeRequest, _ layout: BandLayout, _ slots: DecoderSlots, payload: Int32,
    to connection: ZygoteConnection, stop: StopFlag?, stall: Duration,
    now: @escaping @Sendable () -> ContinuousClock.Instant
  ) throws(StartFailure) {
    self.request = request
    self.now = now
    self.connection = connection
    self.stop = stop
    self.stall = max(stall, .seconds(4 * request.cpuSeconds))
    guard let progress = SocketPair(), let status = SocketPair() else { throw .noSockets }
    let descriptors = [payload, progress.other.number, status.other.number] + slots.descriptors
    guard connection.send(request.message(layout, slotBytes: slots.slotBytes), descriptors) else { throw .notSent }
    self.progress = progress.takeOwn()
    child = DecoderChild(status: status.takeOwn())
  }

  deinit { buffer.deallocate() }

  /// Sends a message to the worker. Errors are ignored: a worker that has ended or does not read is detected by
  /// ``receive(while:_:)``.
  func send<Message: BitwiseCopyable>(_ message: Message) {
    withUnsafeBytes(of: message) { bytes in
      _ = photod_decoder_send(progress.number, bytes.baseAddress, bytes.count, nil, 0)
    }
  }

  /// Kills the worker, unless it has ended by itself. After its last message it may still be running, and write into
  /// slots. Does not wait.
  func kill(after outcome: WorkerOutcome) {
    switch outcome {
    case .complete, .failed: child.kill()
    case .closed: break
    }
  }

  /// Waits until the worker, which was killed or has closed its socket, has ended.
  func finish(_ outcome: WorkerOutcome) -> Result {
    waitForEnd()
    var result = Result(error: nil, hasEnded: false, lostZygote: false, usage: usage)
    switch end {
    case .ended, .refused: result.hasEnded = true
    case .lost: result.lostZygote = true
    case .unknown, nil: break
    }
    switch outcome {
    case .complete: break
    case .failed(let error): result.error = error
    case .closed: result.error = stop?.isRaised == true ? .cancelled : error(of: end)
    }
    return result
  }

  /// The error for a worker that ended without a last message.
  private func error(of end: Termination?) -> DecoderError {
    guard case .ended(let status) = end else { return .interrupted(codec) }
    switch photod_decoder_signal(status) {
    case 0: return .failed(codec, .protocolViolation)
    case SIGSYS: return .failed(codec, .sandbox)
    case SIGXCPU: return .failed(codec, .time)
    // Sent by the kernel if the machine has no memory, or by an operator; photod's own kill has another outcome.
    case SIGKILL, SIGTERM: return .interrupted(codec)
    default: return .failed(codec, .crashed)
    }
  }

  // MARK: Messages

  /// Receives messages until one of them ends the conversation, or until `isWanted` is false, which gives `nil`. Time
  /// between calls, and time for which this process was stopped, do not count as the worker's silence.
  ///
  /// - Parameter received: gets each message, and the bytes that follow it: at most `ENCODER_MAX_MESSAGE_BYTES`, valid
  ///   during the call. Returns how the conversation ends, or `nil` to continue.
  func receive(
    while isWanted: () -> Bool = { true }, _ received: (decoder_message, UnsafeRawBufferPointer) -> WorkerOutcome?
  ) -> WorkerOutcome? {
    var silentSince = now()
    var lastLook = silentSince
    while isWanted() {
      if stop?.isRaised == true { return .failed(.cancelled) }
      let time = now()
      if time - lastLook >= Self.waitInterval + Self.pauseInterval { silentSince = time }
      lastLook = time
      let silence = time - silentSince
      let wasStarted = hasStarted
      let limit = wasStarted ? stall : Self.startInterval
      if silence >= limit {
        guard wasStarted else { return killHungZygote() }
        return .failed(.failed(codec, .stalled))
      }
      let isReadable = wait(for: min(limit - silence, Self.waitInterval))
      // The time before the start was spent by the zygote, not the worker.
      if hasStarted != wasStarted { silentSince = now() }
      if isReadable {
        switch nextMessage() {
        case .message(let message, let bytes):
          hasStarted = true
          if Int(message.kind) == Int(DECODER_FAILED) { return .failed(failure(message)) }
          if let outcome = received(message, bytes) { return outcome }
          silentSince = now()
          lastLook = silentSince
        case .violation: return .failed(.failed(codec, .protocolViolation))
        case .none: break
        case .closed: return .closed
        }
      } else if end != nil {
        // The zygote refused the request, or has ended. A worker's messages come before its end.
        return .closed
      }
    }
    return nil
  }

  /// Kills the zygote, which did not start the worker in time. Its other workers end with it.
  private func killHungZygote() -> WorkerOutcome {
    connection.end()
    end = .lost
    return .closed
  }

  private func failure(_ message: decoder_message) -> DecoderError {
    switch Int(message.reason) {
    case Int(DECODER_REASON_MALFORMED): .failed(codec, .malformed)
    case Int(DECODER_REASON_UNSUPPORTED): .failed(codec, .unsupported)
    case Int(DECODER_REASON_MISMATCH): .failed(codec, .mismatch)
    case Int(DECODER_REASON_MEMORY): .failed(codec, .memory)
    case Int(DECODER_REASON_INPUT): .inputChanged
    case Int(DECODER_REASON_SANDBOX): .interrupted(codec)
    default: .failed(codec, .protocolViolation)
    }
  }

  /// Waits for a message, or for a change of the worker's status, which it reads. Returns whether there may be a
  /// message.
  private func wait(for limit: Duration) -> Bool {
    let interval = stop != nil ? min(limit, Self.flagInterval) : limit
    // The status no longer matters after the end: it would be readable forever.
    var polled = [pollfd(fd: progress.number, events: Int16(POLLIN), revents: 0)]
    if end == nil { polled.append(pollfd(fd: child.statusDescriptor, events: Int16(POLLIN), revents: 0)) }
    _ = poll(&polled, nfds_t(polled.count), Self.milliseconds(interval))
    if polled[0].revents != 0 { return true }
    if polled.count > 1, polled[1].revents != 0 { receiveStatus() }
    return false
  }

  private enum ReceiveOutcome {
    case message(decoder_message, UnsafeRawBufferPointer)
    /// Nothing yet.
    case none
    case violation
    /// The worker has closed its end.
    case closed
  }

  private func nextMessage() -> ReceiveOutcome {
    let headBytes = MemoryLayout<decoder_message>.size
    var descriptor: Int32 = -1
    let count = photod_decoder_receive(progress.number, buffer.baseAddress, buffer.count, &descriptor)
    if descriptor >= 0 { close(descriptor) }
    switch count {
    case headBytes...:
      return .message(
        buffer.loadUnaligned(as: decoder_message.self), UnsafeRawBufferPointer(rebasing: buffer[headBytes..<count]))
    case 0: return hasHangup ? .closed : .violation
    case -1 where errno == EAGAIN: return .none
    default: return .violation
    }
  }

  /// Distinguishes the end of the worker from an empty message.
  private var hasHangup: Bool {
    var polled = pollfd(fd: progress.number, events: 0, revents: 0)
    return poll(&polled, 1, 0) == 1 && polled.revents & Int16(POLLHUP) != 0
  }

  // MARK: The end of the worker

  private func waitForEnd() {
    let limit = ContinuousClock.now + Self.endInterval
    while end == nil {
      let left = limit - .now
      guard left > .zero else {
        end = .unknown
        return
      }
      var polled = pollfd(fd: child.statusDescriptor, events: Int16(POLLIN), revents: 0)
      if poll(&polled, 1, Self.milliseconds(left)) > 0 { receiveStatus() }
    }
  }

  /// Reads one message of the zygote.
  private func receiveStatus() {
    var status = decoder_status()
    var descriptor: Int32 = -1
    let count = photod_decoder_receive(
      child.statusDescriptor, &status, MemoryLayout<decoder_status>.size, &descriptor)
    guard count == MemoryLayout<decoder_status>.size else {
      if descriptor >= 0 { close(descriptor) }
      if count >= 0 || errno != EAGAIN { end = .lost }
      return
    }
    switch Int(status.kind) {
    case Int(DECODER_CHILD_STARTED):
      hasStarted = true
      if descriptor >= 0 { child.started(pidfd: descriptor) }
    case Int(DECODER_CHILD_ENDED):
      end = .ended(status.status)
      usage = DecoderUsage(status)
    default: end = .refused
    }
  }

  /// For poll(2): rounded up, so that a wait is never too short.
  private static func milliseconds(_ duration: Duration) -> Int32 {
    Int32(clamping: Int64((duration / .milliseconds(1)).rounded(.up)))
  }
}
