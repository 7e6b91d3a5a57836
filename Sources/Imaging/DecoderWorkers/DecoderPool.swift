// The entry point of this module: decodes pictures in worker processes.
//
//   decode -> DecoderFailures (failed before?) -> DecoderZygote (start it) -> DecoderSlots (wait for a pair)
//     -> DecodeGroup of DecodeSessions: requests to the zygote, which forks a worker in a sandbox for each; bands of rows
//        to the caller
//     -> the worker has ended -> its slots are free again
//
// An encode is the same with an EncodeSession. Encoders have their own permits: a render may wait for an encoder while
// it holds a decoder permit, and encoders never wait for decoders.

import CPhotodDecoder
import Dispatch
import Logging
import PhotoModel
import Synchronization

/// Decoder programs and their workers.
package final class DecoderPool: Sendable {
  package struct Limits: Sendable {
    /// The maximum number of workers that the protocol allows.
    package static let maximumWorkers = Int(DECODER_MAX_CHILDREN)
    package static let maximumSlotBytes = Int(DECODER_MAX_SLOT_BYTES)

    /// Maximum number of decoder processes at a time, over all codecs, and of encoder processes.
    package var workers: Int
    /// The bytes of one slot. A worker has two, and the daemon has a copy of one.
    package var slotBytes = 2 << 20
    /// How long a worker may send nothing, or four times its CPU seconds if that is longer. Time for which this process
    /// was stopped does not count.
    package var stall = Duration.seconds(60)
    /// Maximum number of undecodable pictures that the pool remembers, with the reason.
    package var rememberedFailures = 4096

    package init(workers: Int) { self.workers = max(1, workers) }
  }

  package let failures: DecoderFailures
  private let usages = DecoderUsages()
  private let zygotes: [DecoderCodec: DecoderZygote]
  private let codecs: [DecoderCodec]
  private let limits: Limits
  private let now: @Sendable () -> ContinuousClock.Instant
  /// Slots that no worker uses.
  private let slots = Mutex<[DecoderSlots]>([])
  /// One for each decoder that may run.
  private let permits: DispatchSemaphore
  /// One for each encoder that may run.
  private let encoderPermits: DispatchSemaphore
  private let running = Atomic<Int>(0)

  /// Starts nothing yet.
  ///
  /// - Parameters:
  ///   - folder: the folder of the decoder programs.
  ///   - sandbox: a codec that lacks one of these parts is not used.
  ///   - now: the clock of the workers' silence, and of the pauses before a start.
  package init(
    codecs: [DecoderCodec] = DecoderCodec.all, folder: String, sandbox: SandboxRequirement, limits: Limits,
    logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  ) {
    self.codecs = codecs
    self.limits = limits
    self.now = now
    failures = DecoderFailures(limit: limits.rememberedFailures, logger: logger)
    permits = DispatchSemaphore(value: limits.workers)
    encoderPermits = DispatchSemaphore(value: limits.workers)
    zygotes = Dictionary(
      uniqueKeysWithValues: codecs.map { codec in
        let zygote = DecoderZygote(
          codec, path: "\(folder)/\(codec.programName)", required: sandbox.parts, logger: logger, now: now)
        return (codec, zygote)
      })
  }

  /// Running workers.
  package var workerCount: Int { running.load(ordering: .relaxed) }

  /// Starts the zygotes of all codecs and reports on each. Called before sockets are opened: a zygote needs no memory
  /// of the daemon's, and starts fastest while the daemon is small. Takes some milliseconds for each codec.
  package func start() -> [DecoderReport] {
    codecs.map { codec in
      guard let zygote = zygotes[codec] else { return DecoderReport(codec: codec, state: .unavailable(.notInstalled)) }
      do throws(DecoderUnavailability) {
        let connection = try zygote.connection()
        return DecoderReport(codec: codec, state: .ready(library: connection.library, sandbox: connection.sandbox))
      } catch {
        return DecoderReport(codec: codec, state: .unavailable(error))
      }
    }
  }

  /// The sandbox of a codec's running zygote; empty if none runs.
  package func sandbox(of codec: DecoderCodec) -> SandboxParts { zygotes[codec]?.running?.sandbox ?? [] }

  /// The process of a codec's running zygote.
  package func processIdentifier(of codec: DecoderCodec) -> Int32? { zygotes[codec]?.running?.processIdentifier }

  /// CPU time and memory that the workers of a codec have used.
  package func usage(of codec: DecoderCodec) -> DecoderUsage { usages.usage(of: codec) }

  /// Ends all zygotes, and their workers. For the end of the daemon, after its renders.
  package func end() {
    for zygote in zygotes.values { zygote.end() }
  }

  /// Decodes on the calling thread, which waits for the worker: for render workers, never for a connection's loop.
  ///
  /// - Parameters:
  ///   - payload: the file or the bytes that the request's ranges refer to.
  ///   - file: identifies the file, so that failures are remembered: a picture of it that failed before fails at once.
  ///     `nil` for bytes that are not a file.
  ///   - fallback: a request to another codec, for when the first codec can't be used here or does not support the
  ///     picture.
  ///   - workers: how many may decode the picture, if it has several tiles and they are idle.
  ///   - stop: ends the workers soon after it is raised.
  ///   - rows: gets each band with its bytes, in order, on the calling thread. The bytes are a copy that the worker
  ///     can't change, and are valid during the call. The worker decodes the next bands during the call.
  /// - Throws: possibly after some rows, which are then valid, but not the whole picture.
  package func decode(
    _ request: DecodeRequest, of payload: DecodePayload, file: DecodedFile? = nil, fallback: DecodeRequest? = nil,
    workers: Int = 1, stop: StopFlag? = nil, rows: (RowBand, RawSpan) -> RowDemand
  ) throws(DecoderError) {
    let picture = file.map { DecodedPicture(request, of: $0) }
    if let picture, let failure = failures.failure(of: picture) { throw .failed(request.codec, failure) }
    var hasRows = false
    do throws(DecoderError) {
      try decode(request, of: payload, workers: workers, stop) { band, bytes in
        hasRows = true
        return rows(band, bytes)
      }
    } catch {
      if let fallback, !hasRows, error.isOfCodec {
        return try decode(fallback, of: payload, file: file, workers: workers, stop: stop, rows: rows)
      }
      if case .failed(_, let failure) = error, !failures.record(failure, request.codec, picture) {
        throw .interrupted(request.codec)
      }
      throw error
    }
  }

  private func decode(
    _ request: DecodeRequest, of payload: DecodePayload, workers: Int, _ stop: StopFlag?,
    _ rows: (RowBand, RawSpan) -> RowDemand
  ) throws(DecoderError) {
    guard let zygote = zygotes[request.codec] else { throw .unavailable(request.codec, .notInstalled) }
    try request.validate()
    let layout = try BandLayout(request.samples, request.size, slotBytes: limits.slotBytes)
    try Self.take(permits, stop)
    var permits = 1
    if !request.areAlternatives { permits += takeIdlePermits(min(workers, request.tiles.count) - 1) }
    running.add(permits, ordering: .relaxed)
    defer {
      running.subtract(permits, ordering: .relaxed)
      for _ in 0..<permits { self.permits.signal() }
    }
    var hasRows = false
    try runWithRetry(request, of: payload, workers: permits, layout: layout, zygote: zygote, stop) { channels, slots in
      let sessions = zip(channels, slots).map { DecodeSession($0, layout, $1) }
      var group = DecodeGroup(sessions, of: request)
      return group.run { band, bytes in
        hasRows = true
        return rows(band, bytes)
      }
    } canRetry: {
      !hasRows
    }
  }

  /// Encodes on the calling thread, which waits for the worker.
  ///
  /// - Parameter rows: all rows of the picture, top to bottom, without padding.
  /// - Returns: the coded bytes; for AVIF those of the colours, then those of alpha if there is any.
  package func encode(
    _ encode: EncodeRequest, rows: UnsafeRawBufferPointer, stop: StopFlag? = nil
  ) throws(DecoderError) -> [[UInt8]] {
    precondition(
      encode.hasRows && rows.count == encode.request.samples.rowBytes(encode.size) * encode.size.height,
      "rows of another size")
    return try run(encode, of: .bytes(encode.profile), rows, stop)
  }

  /// Transcodes a JPEG on the calling thread, which waits for the worker.
  ///
  /// - Parameter payload: the file, or the bytes, with the JPEG.
  /// - Returns: the JPEG XL.
  package func transcode(
    _ encode: EncodeRequest, of payload: DecodePayload, stop: StopFlag? = nil
  ) throws(DecoderError) -> [UInt8] {
    precondition(!encode.hasRows, "a request with rows")
    return try run(encode, of: payload, UnsafeRawBufferPointer(start: nil, count: 0), stop).first ?? []
  }

  private func run(
    _ encode: EncodeRequest, of payload: DecodePayload, _ rows: UnsafeRawBufferPointer, _ stop: StopFlag?
  ) throws(DecoderError) -> [[UInt8]] {
    let request = encode.request
    guard let zygote = zygotes[request.codec] else { throw .unavailable(request.codec, .notInstalled) }
    try request.validate()
    let layout = try BandLayout(request.samples, request.size, slotBytes: limits.slotBytes)
    try Self.take(encoderPermits, stop)
    running.add(1, ordering: .relaxed)
    defer {
      running.subtract(1, ordering: .relaxed)
      encoderPermits.signal()
    }
    var parts: [[UInt8]] = []
    do throws(DecoderError) {
      try runWithRetry(request, of: payload, workers: 1, layout: layout, zygote: zygote, stop) { channels, slots in
        var session = EncodeSession(encode, layout, slots[0], rows: rows)
        let result = session.run(channels[0])
        parts = session.parts
        return [result]
      } canRetry: {
        true
      }
    } catch {
      if case .failed(_, let failure) = error, !failures.record(failure, request.codec, nil) {
        throw .interrupted(request.codec)
      }
      throw error
    }
    return parts
  }

  /// Runs workers. Retries once if a worker was interrupted, for example because its zygote has ended: that says
  /// nothing about the picture.
  ///
  /// - Parameter runSessions: gets a channel and slots for each worker; returns when all workers have ended.
  private func runWithRetry(
    _ request: DecodeRequest, of payload: DecodePayload, workers: Int, layout: BandLayout, zygote: DecoderZygote,
    _ stop: StopFlag?, _ runSessions: ([WorkerChannel], [DecoderSlots]) -> [WorkerChannel.Result],
    canRetry: () -> Bool
  ) throws(DecoderError) {
    do throws(DecoderError) {
      try runOnce(request.parts(workers), of: payload, layout: layout, zygote: zygote, stop, runSessions)
    } catch {
      guard case .interrupted = error, canRetry() else { throw error }
      // With one worker: the process may have no descriptors for more.
      try runOnce([request], of: payload, layout: layout, zygote: zygote, stop, runSessions)
    }
  }

  /// - Parameter parts: the request of each worker.
  private func runOnce(
    _ parts: [DecodeRequest], of payload: DecodePayload, layout: BandLayout, zygote: DecoderZygote,
    _ stop: StopFlag?, _ runSessions: ([WorkerChannel], [DecoderSlots]) -> [WorkerChannel.Result]
  ) throws(DecoderError) {
    let codec = zygote.codec
    let connection: ZygoteConnection
    do throws(DecoderUnavailability) {
      connection = try zygote.connection()
    } catch {
      throw .unavailable(codec, error)
    }
    let results = try payload.withDescriptor(codec) { descriptor throws(DecoderError) in
      runWorkers(
        parts, payload: descriptor, of: codec, layout: layout, connection: connection, stop, runSessions)
    }
    for result in results { usages.add(result.usage, codec) }
    if results.contains(where: \.lostZygote) { zygote.lost(connection) }
    // Prefer a worker's own failure to an interruption of another worker.
    let errors = results.compactMap(\.error)
    if let error = errors.first(where: { if case .failed = $0 { true } else { false } }) ?? errors.first { throw error }
  }

  /// Starts a worker for each part, and runs their sessions. If a worker can't be started, the others are killed.
  private func runWorkers(
    _ parts: [DecodeRequest], payload descriptor: Int32, of codec: DecoderCodec, layout: BandLayout,
    connection: ZygoteConnection, _ stop: StopFlag?,
    _ runSessions: ([WorkerChannel], [DecoderSlots]) -> [WorkerChannel.Result]
  ) -> [WorkerChannel.Result] {
    var channels: [WorkerChannel] = []
    var used: [DecoderSlots] = []
    var failure: WorkerChannel.Result?
    for part in parts where failure == nil {
      guard let slots = takeSlots() else {
        failure = WorkerChannel.Result(error: .interrupted(codec), hasEnded: true, lostZygote: false)
        break
      }
      used.append(slots)
      do throws(WorkerChannel.StartFailure) {
        channels.append(
          try WorkerChannel(
            part, layout, slots, payload: descriptor, to: connection, stop: stop, stall: limits.stall, now: now))
      } catch {
        failure = WorkerChannel.Result(error: .interrupted(codec), hasEnded: true, lostZygote: error == .notSent)
      }
    }
    let results: [WorkerChannel.Result]
    if let failure {
      for channel in channels { channel.kill(after: .complete) }
      results = channels.map { $0.finish(.complete) } + [failure]
    } else {
      results = runSessions(channels, used)
    }
    // Slots of a worker that may still write are dropped: no other worker may get them.
    for (slots, result) in zip(used, results) where result.hasEnded {
      slots.clear(layout)
      self.slots.withLock { $0.append(slots) }
    }
    return results
  }

  private static func take(_ permits: DispatchSemaphore, _ stop: StopFlag?) throws(DecoderError) {
    while permits.wait(timeout: .now() + .milliseconds(20)) == .timedOut {
      if stop?.isRaised == true { throw .cancelled }
    }
  }

  /// Takes idle permits, at most `wanted`, and returns their number. Does not wait.
  private func takeIdlePermits(_ wanted: Int) -> Int {
    var taken = 0
    while taken < wanted, permits.wait(timeout: .now()) == .success { taken += 1 }
    return taken
  }

  private func takeSlots() -> DecoderSlots? {
    slots.withLock { $0.popLast() } ?? DecoderSlots(slotBytes: limits.slotBytes)
  }
}
