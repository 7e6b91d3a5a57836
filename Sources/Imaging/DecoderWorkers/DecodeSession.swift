// One decode on the daemon's side: sends the request, receives messages, copies rows, and waits until the worker has
// ended. Everything that the worker sends is checked against the request.
//
//   send -> [ message -> check -> copy rows -> release the slot -> consumer ] ... -> verdict -> kill -> wait for the end
//
// A picture that several workers decode has one session for each of them (DecodeGroup).

import CPhotodDecoder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// What a consumer of rows wants next.
package enum RowDemand: Sendable, Hashable {
  case more
  /// The rest is not needed: the worker is ended, and the decode succeeds.
  case enough
}

/// Used by one thread, that of the decode.
final class DecodeSession {
  /// How often a waiting decode looks at the flag of its cancellation.
  static let flagInterval = Duration.milliseconds(20)
  /// How long a killed worker may take to end. It holds at most its price in memory.
  private static let endInterval = Duration.seconds(5)

  /// How a session ended.
  struct Result {
    /// `nil`: all rows came, or as many as the consumer wanted.
    var error: DecoderError?
    var hasRows: Bool
    /// Whether the worker has certainly ended, so that its slots don't change any more.
    var hasEnded: Bool
    /// Whether the zygote has ended.
    var lostZygote: Bool
    var usage = DecoderUsage()
  }

  enum Verdict {
    case complete
    case failed(DecoderError)
    /// The worker closed its socket without a last message.
    case closed
  }

  private enum End {
    /// With the status of waitpid(2).
    case ended(Int32)
    case refused
    case lost
    /// It did not end in time.
    case unknown
  }

  private let request: DecodeRequest
  private let layout: BandLayout
  private let slots: DecoderSlots
  private let cancellation: DecodeCancellation
  private let stall: Duration
  private let progress: Descriptor
  private let child: DecoderChild
  /// The next band that must come.
  private var tile = 0
  private var row = 0
  private var hasRows = false
  private var end: End?
  private var usage = DecoderUsage()

  /// Why no session began.
  enum StartFailure: Error {
    /// The zygote did not take the request.
    case notSent
    /// The process has no more descriptors.
    case noSockets
  }

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
    self.request = request
    self.layout = layout
    self.slots = slots
    self.cancellation = cancellation
    self.stall = max(stall, .seconds(4 * request.cpuSeconds))
    guard let progress = SocketPair(), let status = SocketPair() else { throw .noSockets }
    let descriptors = [payload, progress.other.number, status.other.number] + slots.descriptors
    guard connection.send(request.message(layout, slotBytes: slots.slotBytes), descriptors) else { throw .notSent }
    self.progress = progress.takeOwn()
    child = DecoderChild(status: status.takeOwn())
    cancellation.attach(child)
  }

  /// Ends the worker, unless it has ended by itself. It may be still running after its last message, and write into
  /// slots, for example. Does not wait.
  func kill(after verdict: Verdict) {
    switch verdict {
    case .complete, .failed: child.kill()
    case .closed: break
    }
  }

  /// Returns when the worker, which was killed or has closed its socket, has ended.
  func finish(_ verdict: Verdict) -> Result {
    waitForEnd()
    cancellation.detach(child)
    var result = Result(error: nil, hasRows: hasRows, hasEnded: false, lostZygote: false, usage: usage)
    switch end {
    case .ended, .refused: result.hasEnded = true
    case .lost: result.lostZygote = true
    case .unknown, nil: break
    }
    switch verdict {
    case .complete: break
    case .failed(let error): result.error = error
    case .closed: result.error = cancellation.isCancelled ? .cancelled : error(of: end)
    }
    return result
  }

  /// The meaning of an end without a last message.
  private func error(of end: End?) -> DecoderError {
    guard case .ended(let status) = end else { return .interrupted(request.codec) }
    switch photod_decoder_signal(status) {
    case 0: return .failed(request.codec, .protocolViolation)
    case SIGSYS: return .failed(request.codec, .sandbox)
    case SIGXCPU: return .failed(request.codec, .time)
    // Not ours: the kernel's when the machine has no memory, or an operator's.
    case SIGKILL, SIGTERM: return .interrupted(request.codec)
    default: return .failed(request.codec, .crashed)
    }
  }

  // MARK: Messages

  /// Receives everything.
  func receive(_ rows: (RowBand, RawSpan) -> RowDemand) -> Verdict {
    receive(tiles: .max, rows) ?? .complete
  }

  /// Receives the first `tiles` tiles of the request, if it has so many, and then returns `nil`. An earlier end has a
  /// verdict. Time between calls does not count as the worker's silence.
  func receive(tiles: Int, _ rows: (RowBand, RawSpan) -> RowDemand) -> Verdict? {
    var silentSince = ContinuousClock.now
    while tile < tiles {
      if cancellation.isCancelled { return .failed(.cancelled) }
      let silence = ContinuousClock.now - silentSince
      if silence >= stall { return .failed(.failed(request.codec, .time)) }
      let isReadable = wait(for: stall - silence)
      if isReadable {
        switch nextMessage() {
        case .message(let message):
          if let verdict = handle(message, rows) { return verdict }
          silentSince = .now
        case .violation: return .failed(.failed(request.codec, .protocolViolation))
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

  /// Waits for a message, or for a change of the worker's status, which it reads. Returns whether there may be a message.
  private func wait(for limit: Duration) -> Bool {
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
    case message(decoder_message)
    /// Nothing yet.
    case none
    case violation
    /// The worker has closed its end.
    case closed
  }

  private func nextMessage() -> Received {
    var message = decoder_message()
    var descriptor: Int32 = -1
    let count = photod_decoder_receive(progress.number, &message, MemoryLayout<decoder_message>.size, &descriptor)
    if descriptor >= 0 { close(descriptor) }
    switch count {
    case MemoryLayout<decoder_message>.size: return .message(message)
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

  /// Returns how the decode ends, or `nil` to go on.
  private func handle(_ message: decoder_message, _ rows: (RowBand, RawSpan) -> RowDemand) -> Verdict? {
    let codec = request.codec
    switch Int(message.kind) {
    case Int(DECODER_ROWS): return handleRows(message, rows)
    case Int(DECODER_DONE):
      return tile == request.pictureCount ? .complete : .failed(.failed(codec, .protocolViolation))
    case Int(DECODER_FAILED):
      switch Int(message.reason) {
      case Int(DECODER_REASON_MALFORMED): return .failed(.failed(codec, .malformed))
      case Int(DECODER_REASON_UNSUPPORTED): return .failed(.failed(codec, .unsupported))
      case Int(DECODER_REASON_MISMATCH): return .failed(.failed(codec, .mismatch))
      case Int(DECODER_REASON_MEMORY): return .failed(.failed(codec, .memory))
      case Int(DECODER_REASON_INPUT): return .failed(.inputChanged)
      case Int(DECODER_REASON_SANDBOX): return .failed(.interrupted(codec))
      default: return .failed(.failed(codec, .protocolViolation))
      }
    default: return .failed(.failed(codec, .protocolViolation))
    }
  }

  /// Accepts exactly the next band: the worker chooses only the slot.
  private func handleRows(_ message: decoder_message, _ rows: (RowBand, RawSpan) -> RowDemand) -> Verdict? {
    let slot = Int(message.slot)
    let expected = min(layout.bandRows, request.size.height - row)
    guard tile < request.pictureCount, slot < DecoderSlots.count, Int(message.tile) == tile,
      Int(message.first_row) == row, Int(message.row_count) == expected
    else { return .failed(.failed(request.codec, .protocolViolation)) }
    slots.copyBand(from: slot, rows: expected, layout)
    var release = decoder_release(slot: message.slot)
    // A worker that has ended or reads nothing is noticed by its next message, or its silence.
    _ = photod_decoder_send(progress.number, &release, MemoryLayout<decoder_release>.size, nil, 0)
    hasRows = true
    let band = RowBand(tile: tile, firstRow: row, rowCount: expected, layout: layout)
    row += expected
    if row == request.size.height { (tile, row) = (tile + 1, 0) }
    return slots.withCopy { rows(band, $0) } == .enough ? .complete : nil
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
    case Int(DECODER_CHILD_STARTED): if descriptor >= 0 { child.started(pidfd: descriptor) }
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
