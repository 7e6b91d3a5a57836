import HTTPCore
import ImageService
import PhotoModel
import Telemetry

/// `/metrics`: the daemon's metrics in the Prometheus text format.
///
/// Runs on its own queue: some values are read from /proc, which must not block a connection's loop, and none of them
/// may wait for SQLite or a render.
struct MetricsRoute: Sendable {
  let registry: MetricsRegistry
  let queue: WorkQueue

  /// Builds and sends the response on the queue.
  func answer(_ principal: Principal, _ reply: Reply) throws(Problem) {
    guard principal.may(.admin) else {
      guard principal == .anonymous else { throw .insufficientScope([.admin]) }
      throw Problem(
        403, "forbidden", "Forbidden",
        detail: """
          Metrics need a token with the scope admin or, while the setting trustedProxies is empty, a request from this \
          machine that no proxy forwarded.
          """)
    }
    // The metrics are about the whole library and all callers.
    guard principal.visibility == .everything else {
      throw Problem(
        403, "forbidden", "Forbidden", detail: "Metrics need a token that is not limited to some collections.")
    }
    let isAccepted = queue.submit { [registry] in
      reply.send(
        HTTPResponse(
          .ok, [("Content-Type", MetricsRegistry.mediaType), ("Cache-Control", "no-store")],
          body: registry.exposition()))
    }
    if !isAccepted { throw Problem.overloaded }
  }
}
