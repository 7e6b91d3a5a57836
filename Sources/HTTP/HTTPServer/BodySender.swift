import CPhotodSystem
import HTTPCore
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Carries a body from its source to a connection: it asks for a segment on a work queue, hands it to the connection on
/// the loop's queue, and asks for the next one when little is left to send.
///
///     pull (work queue) -> source.next -> load the range -> deliver (loop) -> ... few bytes left -> pull
///
/// At most one step is under way, so the source is never called by two threads at a time.
final class BodySender: Sendable {
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

  func start() {
    responder.onClose { [self] in isCancelled.store(true, ordering: .relaxed) }
    pull()
  }

  private func pull() {
    let isAccepted = submit { [self] in
      guard !isCancelled.load(ordering: .relaxed) else { return }
      do throws(BodySourceError) {
        let segment = try source.next()
        if case .file(let file, let range) = segment { try Self.load(range, of: file) }
        responder.deliver(segment) { [self] in pull() }
      } catch {
        responder.abort()
      }
    }
    if !isAccepted { responder.abort() }
  }

  /// Waits for the disk here, so that the loop does not.
  private static func load(_ range: Range<Int64>, of file: any SendableFile) throws(BodySourceError) {
    guard photod_load_range(file.descriptor, range.lowerBound, Int64(range.count)) == 0 else {
      throw .readFailed(code: errno)
    }
  }
}
