/// Limits of access control, each with its default.
package struct AccessLimits: Sendable, Hashable {
  /// Maximum number of active tokens. At most as many expired or revoked tokens are also kept.
  package var tokens = 1024
  /// Maximum number of collections in the limit of one token.
  package var collectionsPerToken = 256
  /// Maximum number of browser sessions, in total and per token.
  package var sessions = 1024
  package var sessionsPerToken = 16
  /// Seconds after which an unused session ends.
  package var sessionLeaseSeconds: Int64 = 7 * 86_400
  /// Maximum lifetime of a signed URL in seconds.
  package var signedURLSeconds: Int64 = 30 * 86_400
  /// Maximum number of peers whose failed attempts are tracked.
  package var throttledPeers = 4096

  package init() {}
}
