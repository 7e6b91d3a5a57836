import HTTPCore
import ImageService
import PhotoModel
import Telemetry

/// `/metrics`: what the daemon counts, as Prometheus reads it.
///
/// Made on a queue of its own: some of it comes from /proc, which is not for a connection's loop, and none of it may wait
/// behind SQLite or a render.
struct MetricsRoute: Sendable {
  let registry: MetricsRegistry
  let queue: WorkQueue
  /// Whether anybody may look as long as there are no tokens; else only the person at this machine.
  let isOpen: Bool

  /// Answers through `reply`, in its turn.
  func answer(_ request: HTTPRequest, _ principal: Principal, _ reply: Reply) throws(Problem) {
    try QueryReader(request.target).finish()
    guard principal.may(.admin) || isOpen && principal == .anonymous else {
      guard principal == .anonymous else { throw .insufficientScope([.admin]) }
      throw Problem(
        403, "forbidden", "Not for you",
        detail: "Metrics are for the person at this machine, unless the daemon was started with --allow-anonymous.")
    }
    let isAccepted = queue.submit { [registry] in
      reply.send(
        HTTPResponse(
          .ok, [("Content-Type", MetricsRegistry.mediaType), ("Cache-Control", "no-store")],
          body: registry.exposition()))
    }
    if !isAccepted { throw Problem(ImageServiceError.queueFull) }
  }
}
