import AccessControl
import HTTPServer
import Logging
import Synchronization

/// The failed attempts of all clients, guarded for use by several requests at a time. Logs each failure without the
/// credential.
final class FailedAttemptThrottle: Sendable {
  private let backoff: Mutex<FailureBackoff<Peer>>
  private let start = ContinuousClock.now
  private let logger: Logger

  init(capacity: Int, logger: Logger) {
    backoff = Mutex(FailureBackoff(capacity: capacity))
    self.logger = logger
  }

  func waitSeconds(_ client: Peer) -> Int64 {
    let now = now
    return backoff.withLock { $0.waitSeconds(client, at: now) }
  }

  /// Records a failure. Returns how many seconds the client still had to wait; attempts during a wait are neither
  /// counted nor logged.
  func failed(_ client: Peer, credential: String, reason: String) -> Int64 {
    let now = now
    let wait = backoff.withLock { $0.failed(client, at: now) }
    if wait == 0 {
      logger.notice(
        "authentication failed",
        metadata: ["peer": "\(client.text)", "credential": "\(credential)", "reason": "\(reason)"])
    }
    return wait
  }

  private var now: Int64 { start.duration(to: .now).components.seconds }
}
