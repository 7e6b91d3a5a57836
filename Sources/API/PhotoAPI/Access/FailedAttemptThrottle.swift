import AccessControl
import HTTPServer
import Logging
import Synchronization

/// The failed attempts of all clients, guarded for use by several requests at a time. Logs each failure without the
/// credential.
final class FailedAttemptThrottle: Sendable {
  /// The attempts that are counted together. Signatures count apart from tokens: a page of any site can make the
  /// browser of its visitor send wrong signatures, which must not keep the visitor from signing in.
  private struct Attempts: Hashable, Sendable {
    let client: Peer
    let areSignatures: Bool
  }

  private let backoff: Mutex<FailureBackoff<Attempts>>
  private let start = ContinuousClock.now
  private let logger: Logger

  init(capacity: Int, logger: Logger) {
    backoff = Mutex(FailureBackoff(capacity: capacity))
    self.logger = logger
  }

  /// Seconds that a client has to wait before it may sign in.
  func waitSeconds(_ client: Peer) -> Int64 {
    let now = now
    let attempts = Attempts(client: client, areSignatures: false)
    return backoff.withLock { $0.waitSeconds(attempts, at: now) }
  }

  /// Records a failure. Returns how many seconds the client still had to wait; attempts during a wait are neither
  /// counted nor logged.
  func failed(_ client: Peer, credential: Caller.Credential, reason: String) -> Int64 {
    let now = now
    let attempts = Attempts(client: client, areSignatures: credential == .signature)
    let wait = backoff.withLock { $0.failed(attempts, at: now) }
    if wait == 0 {
      logger.notice(
        "authentication failed",
        metadata: ["peer": "\(client.text)", "credential": "\(credential)", "reason": "\(reason)"])
    }
    return wait
  }

  private var now: Int64 { start.duration(to: .now).components.seconds }
}
