import CPhotodSystem
import HTTPCore
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Carries a body from its source to a connection: it asks for segments on a work queue, hands them to the connection on
/// the loop's queue, and asks for the next ones when little is left to send.
///
///     pull (work queue) -> source.next -> load the range -> deliver (loop) -> ... few bytes left -> pull
///
/// At most one step is under way, so the source is never called by two threads at a time. A step collects segments of
/// a few megabytes, so a short body takes one step: changing the queue costs more than the rest of it.
final class BodySender: Sendable {
  /// The result of one step.
  struct Batch: Sendable {
    var segments: [BodySegment] = []
    /// The body ends after these segments.
    var isLast = false
  }

  /// A step ends when its segments have at least this many bytes, or this many in memory.
  private static let batchBytes: Int64 = 16 << 20
  private static let batchMemoryBytes: Int64 = 256 << 10

  private let source: any BodySource
  private let responder: Responder
  /// Submits work to the queue that reads files.
  private let submit: @Sendable (@escaping @Sendable () -> Void) -> Bool
  /// The client has gone.
  private let isCancelled = Atomic<Bool>(false)

  init(
    _ source: any BodySource, to responder: Responder,
    submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool
  ) {
    self.source = source
    self.responder = responder
    self.submit = submit
  }

  /// The first segments, read by the calling thread. Then the connection calls `pull` for each further step.
  func first() throws(BodySourceError) -> Batch { try next() }

  func cancel() {
    isCancelled.store(true, ordering: .relaxed)
    source.cancel()
  }

  func pull() {
    let isAccepted = submit { [self] in
      guard !isCancelled.load(ordering: .relaxed) else { return }
      do throws(BodySourceError) {
        responder.deliver(try next(), from: self)
      } catch {
        responder.abort()
      }
    }
    if !isAccepted { responder.abort() }
  }

  private func next() throws(BodySourceError) -> Batch {
    var batch = Batch()
    var bytes: Int64 = 0
    var memoryBytes: Int64 = 0
    while bytes < Self.batchBytes, memoryBytes < Self.batchMemoryBytes {
      guard let segment = try source.next() else {
        batch.isLast = true
        break
      }
      switch segment {
      case .bytes: memoryBytes += segment.length
      case .file(let file, let range): try Self.load(range, of: file)
      }
      bytes += segment.length
      batch.segments.append(segment)
    }
    return batch
  }

  /// Waits for the disk here, so that the loop does not.
  private static func load(_ range: Range<Int64>, of file: any SendableFile) throws(BodySourceError) {
    guard photod_load_range(file.descriptor, range.lowerBound, Int64(range.count)) == 0 else {
      throw .readFailed(code: errno)
    }
  }
}
