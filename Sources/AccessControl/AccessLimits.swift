/// What who may come in may take, each with its default.
package struct AccessLimits: Sendable, Hashable {
  /// Tokens in force at a time. As many again are remembered that are over.
  package var tokens = 1024
  /// Collections that one token is limited to, at most.
  package var collectionsAToken = 256
  /// Browser sessions at a time, and those of one token.
  package var sessions = 1024
  package var sessionsAToken = 16
  /// Seconds that a session is kept which nobody uses.
  package var sessionLeaseSeconds: Int64 = 7 * 86_400
  /// Seconds that a signed URL may live.
  package var signedURLSeconds: Int64 = 30 * 86_400
  /// Peers whose failed attempts are counted at a time.
  package var failingPeers = 4096

  package init() {}
}
