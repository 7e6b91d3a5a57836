// One worker on the daemon's side: its sockets, its messages and its end. A dialogue says what the messages mean.
//
//   send the request -> [ message -> dialogue ] ... -> verdict -> kill -> wait for the end

import CPhotodDecoder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// How a conversation with a worker ends.
enum WorkerVerdict {
  case complete
  case failed(DecoderError)
}

/// What the messages of a worker mean: it checks each one against the request.
protocol WorkerDialogue {
  /// Called once, before the first message.
  mutating func begin(_ channel: borrowing WorkerChannel)

  /// Returns how the conversation ends, or `nil` to go on.
  ///
  /// - Parameter bytes: what follows the message, at most `ENCODER_MAX_MESSAGE_BYTES`; valid during the call.
  mutating func received(
    _ message: decoder_message, _ bytes: UnsafeRawBufferPointer, _ channel: borrowing WorkerChannel
  ) -> WorkerVerdict?
}

struct WorkerChannel: ~Copyable {
  /// How often a waiting conversation looks at the flag of its cancellation.
  static let flagInterval = Duration.milliseconds(20)
  /// How long a killed worker may take to end. It holds at most its price in memory.
  private static let endInterval = Duration.seconds(5)

  /// How a conversation ended.
  struct Result {
    /// `nil`: the dialogue said that it was complete.
    var error: DecoderError?
    /// Whether the worker has certainly ended, so that its slots don't change any more.
    var hasEnded: Bool
    /// Whether the zygote has ended.
    var lostZygote: Bool
  }

  private enum End {
    /// With the status of waitpid(2).
    case ended(Int32)
    case refused
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

  private let codec: DecoderCodec
  private let cancellation: DecodeCancellation
  private let stall: Duration
  private let progress: Descriptor
  private let child: DecoderChild
  private var end: End?

  /// Sends the request to the zygote.
  ///
  /// - Parameters:
  ///   - request: valid.
  ///   - payload: open for reading; used only during this call.
  ///   - stall: how long the worker may send nothing.
  init(
    _ request: DecodeRequest, _ layout: BandLayout, _ slots: DecoderSlots, payload: Int32,
    to connection: ZygoteConnection, cancellation: DecodeCancellation, stall: Duration
  ) throws(StartFailure) {
    codec = request.codec
    self.cancellation = cancellation
    self.stall = max(stall, .seconds(4 * request.cpuSeconds))
    guard let progress = SocketPair(), let status = SocketPair() else { throw .noSockets }
    let descriptors = [payload, progress.other.number, status.other.number] + slots.descriptors
    guard connection.send(request.message(layout, slotBytes: slots.slotBytes), descriptors) else { throw .notSent }
    self.progress = progress.takeOwn()
    child = DecoderChild(status: status.takeOwn())
  }

  /// Sends a message to the worker. One that has ended or reads nothing is noticed by its next message, or its silence.
  func send<Message: BitwiseCopyable>(_ message: Message) {
    withUnsafeBytes(of: message) { bytes in
      _ = photod_decoder_send(progress.number, bytes.baseAddress, bytes.count, nil, 0)
    }
  }

  /// Receives everything. Returns when the worker has ended.
  mutating func run(_ dialogue: inout some WorkerDialogue) -> Result {
    cancellation.attach(child)
    dialogue.begin(self)
    let verdict = receive(&dialogue)
    // It may be still running: writing into slots after its last message, for example.
    if verdict != nil { child.kill() }
    waitForEnd()
    cancellation.detach(child)
    var result = Result(error: nil, hasEnded: false, lostZygote: false)
    switch end {
    case .ended, .refused: result.hasEnded = true
    case .lost: result.lostZygote = true
    case .unknown, nil: break
    }
    switch verdict {
    case .complete: break
    case .failed(let error): result.error = error
    case nil: result.error = cancellation.isCancelled ? .cancelled : error(of: end)
    }
    return result
  }

  /// The meaning of an end without a last message.
  private func error(of end: End?) -> DecoderError {
    guard case .ended(let status) = end else { return .interrupted(codec) }
    switch photod_decoder_signal(status) {
    case 0: return .failed(codec, .protocolViolation)
    case SIGSYS: return .failed(codec, .sandbox)
    case SIGXCPU: return .failed(codec, .time)
    // Not ours: the kernel's when the machine has no memory, or an operator's.
    case SIGKILL, SIGTERM: return .interrupted(codec)
    default: return .failed(codec, .crashed)
    }
  }

  // MARK: Messages

  /// Returns `nil` if the worker closed its socket without a last message.
  private mutating func receive(_ dialogue: inout some WorkerDialogue) -> WorkerVerdict? {
    let capacity = MemoryLayout<decoder_message>.size + Int(ENCODER_MAX_MESSAGE_BYTES)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
    defer { buffer.deallocate() }
    var silentSince = ContinuousClock.now
    while true {
      if cancellation.isCancelled { return .failed(.cancelled) }
      let silence = ContinuousClock.now - silentSince
      if silence >= stall { return .failed(.failed(codec, .time)) }
      let isReadable = wait(for: stall - silence)
      if isReadable {
        switch nextMessage(buffer) {
        case .message(let message, let bytes):
          if Int(message.kind) == Int(DECODER_FAILED) { return .failed(failure(message)) }
          if let verdict = dialogue.received(message, bytes, self) { return verdict }
          silentSince = .now
        case .violation: return .failed(.failed(codec, .protocolViolation))
        case .none: break
        case .closed: return nil
        }
      } else if end != nil {
        // The zygote refused the request, or has ended. A worker's messages come before its end.
        return nil
      }
    }
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

  /// Waits for a message, or for a change of the worker's status, which it reads. Returns whether there may be a message.
  private mutating func wait(for limit: Duration) -> Bool {
    let interval = cancellation.hasFlag ? min(limit, Self.flagInterval) : limit
    // The status no longer matters after the end: it would be readable forever.
    var polled = [pollfd(fd: progress.number, events: Int16(POLLIN), revents: 0)]
    if end == nil { polled.append(pollfd(fd: child.statusDescriptor, events: Int16(POLLIN), revents: 0)) }
    _ = poll(&polled, nfds_t(polled.count), Self.milliseconds(interval))
    if polled[0].revents != 0 { return true }
    if polled.count > 1, polled[1].revents != 0 { receiveStatus() }
    return false
  }

  private enum Received {
    case message(decoder_message, UnsafeRawBufferPointer)
    /// Nothing yet.
    case none
    case violation
    /// The worker has closed its end.
    case closed
  }

  private func nextMessage(_ buffer: UnsafeMutableRawBufferPointer) -> Received {
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

  private mutating func waitForEnd() {
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
  private mutating func receiveStatus() {
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
    case Int(DECODER_CHILD_STARTED): if descriptor >= 0 { child.started(pidfd: descriptor) }
    case Int(DECODER_CHILD_ENDED): end = .ended(status.status)
    default: end = .refused
    }
  }

  /// For poll(2): rounded up, so that a wait is never too short.
  private static func milliseconds(_ duration: Duration) -> Int32 {
    Int32(clamping: Int64((duration / .milliseconds(1)).rounded(.up)))
  }
}
