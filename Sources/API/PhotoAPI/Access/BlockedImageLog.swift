import HTTPCore
import Logging
import Synchronization

/// Logs that a browser discards pictures because a page of another origin shows them.
///
/// Without the page's origin in `corsOrigins`, responses have `Cross-Origin-Resource-Policy: same-origin`. A browser
/// then shows a broken image in an `<img>` of another site, and neither the page nor its author learns why (Fetch
/// §3.7.1).
final class BlockedImageLog: Sendable {
  /// At most one line in this time.
  static let interval = Duration.seconds(3600)

  private let now: @Sendable () -> ContinuousClock.Instant
  private let logger: Logger
  /// When the next line may be logged, and how many requests there were since the last one.
  private let state: Mutex<(next: ContinuousClock.Instant, count: Int)>

  init(logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.now = now
    self.logger = logger
    state = Mutex((now(), 0))
  }

  /// Notes a request if its response will be discarded. Costs one comparison for requests of the daemon's own pages.
  func note(_ head: borrowing RequestHead, _ origins: OriginRules) {
    // Another port of the same machine, such as a development server, is the same site and another origin.
    guard head.has(.secFetchDest), head.has(.secFetchMode), !head.isSameOriginFetch,
      head.list(.secFetchMode, contains: "no-cors"), head.list(.secFetchDest, contains: "image")
    else { return }
    // An allowed origin gets `cross-origin`, but the browser sends no Origin with a plain `<img>`.
    guard head.value(of: .origin).map({ origins.current.cors.reach(of: $0) == .none }) ?? true else { return }
    let moment = now()
    let count = state.withLock { state -> Int? in
      state.count += 1
      guard moment >= state.next else { return nil }
      defer { state = (moment + Self.interval, 0) }
      return state.count
    }
    guard let count else { return }
    logger.warning(
      "browser discards images shown by a page of another origin",
      metadata: [
        "requests": "\(count)", "remedy": "add the page's origin to corsOrigins, and crossorigin to its <img>",
      ])
  }
}
