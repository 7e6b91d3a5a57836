// The door of this module: decodes pictures in worker processes.
//
//   decode -> DecoderFailures (failed before?) -> DecoderZygote (start it) -> DecoderSlots (wait for a pair)
//     -> DecodeSession: request to the zygote, which forks a worker in a sandbox; bands of rows to the caller
//     -> the worker has ended -> its slots are free again
//
// An encode is the same with an EncodeSession. It has places of its own: a render may wait for an encoder while it holds
// a decoder's place, and encoders never wait for decoders.

import CPhotodDecoder
import Dispatch
import Logging
import PhotoModel
import Synchronization

/// Decoder programs and their workers.
package final class DecoderPool: Sendable {
  package struct Limits: Sendable {
    /// What the protocol allows.
    package static let maximumWorkers = Int(DECODER_MAX_CHILDREN)
    package static let maximumSlotBytes = Int(DECODER_MAX_SLOT_BYTES)

    /// Decoders at a time, over all codecs, and as many encoders.
    package var workers: Int
    /// The bytes of one slot. A worker has two, and the daemon has a copy of one.
    package var slotBytes = 2 << 20
    /// How long a worker may send nothing, or four times its CPU seconds if that is longer.
    package var stall = Duration.seconds(60)
    /// Files that can't be decoded, of which the pool remembers the reason.
    package var rememberedFailures = 4096

    package init(workers: Int) { self.workers = max(1, workers) }

    /// What the slots of all workers take in this process, with the pages that it shares with them.
    package var memoryBytes: Int { 2 * workers * 3 * slotBytes }
  }

  package let failures: DecoderFailures
  private let zygotes: [DecoderCodec: DecoderZygote]
  private let codecs: [DecoderCodec]
  private let limits: Limits
  /// Slots that no worker uses.
  private let slots = Mutex<[DecoderSlots]>([])
  /// One for each worker that may run.
  private let places: DispatchSemaphore
  /// One for each encoder that may run.
  private let encoderPlaces: DispatchSemaphore
  private let running = Atomic<Int>(0)

  /// Starts nothing yet.
  ///
  /// - Parameters:
  ///   - folder: the folder of the decoder programs.
  ///   - sandbox: the parts without which a codec is not used.
  package init(
    codecs: [DecoderCodec] = DecoderCodec.all, folder: String, sandbox: SandboxRequirement, limits: Limits,
    logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  ) {
    self.codecs = codecs
    self.limits = limits
    failures = DecoderFailures(limit: limits.rememberedFailures, logger: logger)
    places = DispatchSemaphore(value: limits.workers)
    encoderPlaces = DispatchSemaphore(value: limits.workers)
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

  /// Ends all zygotes, and their workers. For the end of the daemon, after its renders.
  package func end() {
    for zygote in zygotes.values { zygote.end() }
  }

  /// Decodes on the calling thread, which waits for the worker: for render workers, never for a connection's loop.
  ///
  /// - Parameters:
  ///   - payload: the file, or the bytes, that the request's ranges are of.
  ///   - file: remembers a failure, and fails at once if one is remembered; `nil` for what is no file.
  ///   - rows: gets each band with its bytes, in order, on the calling thread. The bytes are a copy that the worker
  ///     can't change, and are valid during the call. The worker decodes the next bands meanwhile.
  /// - Throws: after some rows or none. Rows that came before an error are valid, but not the whole picture.
  package func decode(
    _ request: DecodeRequest, of payload: DecodePayload, file: DecodedFile? = nil,
    cancellation: DecodeCancellation = DecodeCancellation(), rows: (RowBand, RawSpan) -> RowDemand
  ) throws(DecoderError) {
    let codec = request.codec
    guard let zygote = zygotes[codec] else { throw .unavailable(codec, .notInstalled) }
    try request.validate()
    if let file, let failure = failures.failure(of: file) { throw .failed(codec, failure) }
    let layout = try BandLayout(request.samples, request.size, slotBytes: limits.slotBytes)
    try Self.take(places, cancellation)
    defer { places.signal() }
    var hasRows = false
    try attempts(payload, request, zygote, cancellation, file) { channel, slots in
      withoutActuallyEscaping(rows) { rows in
        var session = DecodeSession(request, layout, slots, rows: rows)
        defer { hasRows = hasRows || session.hasRows }
        return channel.run(&session)
      }
    } canRepeat: {
      !hasRows
    }
  }

  /// Encodes on the calling thread, which waits for the worker.
  ///
  /// - Parameter rows: all rows of the picture, top to bottom, without padding.
  /// - Returns: the coded bytes; for AVIF those of the colours, then those of alpha if there is any.
  package func encode(
    _ encode: EncodeRequest, rows: UnsafeRawBufferPointer, cancellation: DecodeCancellation = DecodeCancellation()
  ) throws(DecoderError) -> [[UInt8]] {
    let request = encode.request
    guard let zygote = zygotes[request.codec] else { throw .unavailable(request.codec, .notInstalled) }
    try request.validate()
    let layout = try BandLayout(request.samples, request.size, slotBytes: limits.slotBytes)
    precondition(rows.count == layout.planes[0].strideBytes * request.size.height, "rows of another size")
    try Self.take(encoderPlaces, cancellation)
    defer { encoderPlaces.signal() }
    var parts: [[UInt8]] = []
    try attempts(.bytes(encode.payload), request, zygote, cancellation, nil) { channel, slots in
      var session = EncodeSession(encode, layout, slots, rows: rows)
      let result = channel.run(&session)
      parts = session.parts
      return result
    } canRepeat: {
      true
    }
    return parts
  }

  /// Runs a worker, and a second one if the first was lost with its zygote: that end says nothing about the picture.
  private func attempts(
    _ payload: DecodePayload, _ request: DecodeRequest, _ zygote: DecoderZygote, _ cancellation: DecodeCancellation,
    _ file: DecodedFile?, _ converse: (inout WorkerChannel, DecoderSlots) -> WorkerChannel.Result,
    canRepeat: () -> Bool
  ) throws(DecoderError) {
    running.add(1, ordering: .relaxed)
    defer { running.subtract(1, ordering: .relaxed) }
    do throws(DecoderError) {
      do throws(DecoderError) {
        try attempt(payload, request, zygote, cancellation, converse)
      } catch {
        guard case .interrupted = error, canRepeat() else { throw error }
        try attempt(payload, request, zygote, cancellation, converse)
      }
    } catch {
      if case .failed(_, let failure) = error { failures.record(failure, request.codec, file) }
      throw error
    }
  }

  private func attempt(
    _ payload: DecodePayload, _ request: DecodeRequest, _ zygote: DecoderZygote, _ cancellation: DecodeCancellation,
    _ converse: (inout WorkerChannel, DecoderSlots) -> WorkerChannel.Result
  ) throws(DecoderError) {
    let codec = request.codec
    let connection: ZygoteConnection
    do throws(DecoderUnavailability) {
      connection = try zygote.connection()
    } catch {
      throw .unavailable(codec, error)
    }
    guard let slots = takeSlots() else { throw .interrupted(codec) }
    let layout = try BandLayout(request.samples, request.size, slotBytes: limits.slotBytes)
    let result = try payload.withDescriptor(codec) { descriptor throws(DecoderError) in
      do throws(WorkerChannel.StartFailure) {
        var channel = try WorkerChannel(
          request, layout, slots, payload: descriptor, to: connection, cancellation: cancellation, stall: limits.stall)
        return converse(&channel, slots)
      } catch {
        return WorkerChannel.Result(error: .interrupted(codec), hasEnded: true, lostZygote: error == .notSent)
      }
    }
    // Another worker must not share slots with one that may still write. They are dropped then.
    if result.hasEnded { self.slots.withLock { $0.append(slots) } }
    if result.lostZygote { zygote.lost(connection) }
    if let error = result.error { throw error }
  }

  private static func take(_ places: DispatchSemaphore, _ cancellation: DecodeCancellation) throws(DecoderError) {
    while places.wait(timeout: .now() + .milliseconds(20)) == .timedOut {
      if cancellation.isCancelled { throw .cancelled }
    }
  }

  private func takeSlots() -> DecoderSlots? {
    slots.withLock { $0.popLast() } ?? DecoderSlots(slotBytes: limits.slotBytes)
  }
}
