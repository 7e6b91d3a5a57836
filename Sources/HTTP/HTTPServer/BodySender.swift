import HTTPCore
import Primitives
import Synchronization

/// Carries a body from its source to a connection: it asks for segments on a work queue, hands them to the connection
/// on the loop's queue, and asks for the next ones when little is left to send.
///
///     pull (work queue) -> source.next -> load the range -> deliver (loop) -> ... few bytes left -> pull
///
/// A range whose pages are evicted while the client is slow is loaded again before it is sent (``FileLoader``).
///
/// At most one step is under way, so the source is never called by two threads at a time. A step collects segments of
/// a few megabytes, so a short body takes one step: changing the queue costs more than the rest of it.
///
/// The memory of segments that may wait for the client is reserved before the body begins, and released with the last
/// of them. So a body that has begun never lacks memory because other clients are slow. All bodies leave a quarter of
/// the budget to complete responses.
final class BodySender: Sendable {
  /// The result of one step.
  struct Batch: Sendable {
    var segments: [BodySegment] = []
    /// The body ends after these segments.
    var isLast = false
    /// Counts the segments in memory of the whole body. Each of them holds it until it is sent.
    let reservation: ByteBudget.Reservation
  }

  /// A step ends when its segments have at least this many bytes, or this many in memory.
  private static let batchBytes: Int64 = 16 << 20
  private static let batchMemoryBytes: Int64 = 256 << 10

  private let source: any BodySource
  private let responder: Responder
  private let reservation: ByteBudget.Reservation
  let loader: FileLoader
  /// Whether the client has disconnected.
  private let isCancelled = Atomic<Bool>(false)

  /// - Parameter reservation: made by ``reserve(for:from:)``.
  init(
    _ source: any BodySource, to responder: Responder, reservedBy reservation: ByteBudget.Reservation,
    loader: FileLoader
  ) {
    self.source = source
    self.responder = responder
    self.reservation = reservation
    self.loader = loader
  }

  /// Reserves the memory of the segments that may wait for the client at a time: those of one step, and the rest of the
  /// previous step. `nil` if that would leave less than ``bytesForCompleteResponses(of:)``.
  static func reserve(for source: any BodySource, from budget: ByteBudget) -> ByteBudget.Reservation? {
    let memory = source.memory
    let stepBytes = batchMemoryBytes + memory.largestBytes
    let bytes = min(memory.totalBytes, Int64(ResponseSender.lowWatermarkBytes) + stepBytes)
    return budget.tryReserve(Int(bytes), leaving: bytesForCompleteResponses(of: budget))
  }

  /// The part of the budget that bodies of files leave free for complete responses such as JSON and metrics. A download
  /// may take hours, so slow downloads could otherwise hold the whole budget.
  static func bytesForCompleteResponses(of budget: ByteBudget) -> Int { budget.capacityBytes / 4 }

  /// The first segments, read by the calling thread. Then the connection calls `pull` for each further step.
  func first() throws(BodySourceError) -> Batch { try next() }

  func cancel() {
    isCancelled.store(true, ordering: .relaxed)
    source.cancel()
  }

  func pull() {
    let isAccepted = loader.submit { [self] in
      guard !isCancelled.load(ordering: .relaxed) else { return }
      do throws(BodySourceError) {
        responder.deliver(try next(), from: self)
      } catch {
        // A source that the client's disconnection has cancelled throws too.
        if !isCancelled.load(ordering: .relaxed) { loader.onFailure(error) }
        responder.abort()
      }
    }
    if !isAccepted { responder.abort() }
  }

  private func next() throws(BodySourceError) -> Batch {
    var batch = Batch(reservation: reservation)
    var bytes: Int64 = 0
    var memoryBytes: Int64 = 0
    while bytes < Self.batchBytes, memoryBytes < Self.batchMemoryBytes {
      guard let segment = try source.next() else {
        batch.isLast = true
        break
      }
      switch segment {
      case .bytes: memoryBytes += segment.length
      case .file(let file, let range): try FileLoader.load(range, of: file)
      }
      bytes += segment.length
      batch.segments.append(segment)
    }
    return batch
  }
}
