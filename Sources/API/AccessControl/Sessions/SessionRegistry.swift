import PhotoModel
import Synchronization

/// Browser sessions, in memory only. A session has the rights of its token and ends with it, at sign-out, or when it is
/// unused for its lease. Leases are counted in seconds of a clock that can't be set (`elapsed`); tokens expire by the
/// system clock (`now`, seconds since 1970).
final class SessionRegistry: Sendable {
  private struct Session {
    let grant: Grant
    /// By the clock that can't be set.
    var leaseEnds: Int64
  }

  /// Sessions by the digest of their secret.
  private let sessions = Mutex<[[UInt8]: Session]>([:])
  private let limits: AccessLimits

  init(limits: AccessLimits) { self.limits = limits }

  /// Starts a session for the token of a grant. If the token has too many sessions, its least recently used session
  /// ends.
  ///
  /// - Returns: `nil` if the limit of sessions is reached.
  func start(for tokenGrant: Grant, elapsed: Int64) -> (secret: Secret, grant: Grant)? {
    // A separate grant, because its usage flag renews the lease of the session.
    let grant = Grant(
      tokenGrant.principal, accessClass: tokenGrant.accessClass, expires: tokenGrant.expires, token: tokenGrant.token)
    let secret = Secret(.session)
    let digest = secret.digest
    let hasStarted = sessions.withLock { sessions -> Bool in
      Self.end(&sessions) { $0.leaseEnds <= elapsed }
      let ofToken = sessions.filter { $0.value.grant.token == grant.token }
      if ofToken.count >= limits.sessionsPerToken,
        let oldest = ofToken.min(by: { $0.value.leaseEnds < $1.value.leaseEnds })
      {
        sessions.removeValue(forKey: oldest.key)?.grant.end()
      }
      guard sessions.count < limits.sessions else { return false }
      sessions[digest] = Session(grant: grant, leaseEnds: elapsed + limits.sessionLeaseSeconds)
      return true
    }
    guard hasStarted else { return nil }
    return (secret, grant)
  }

  /// The grant of the session with this digest of its secret; `nil` if there is none or it has ended.
  func grant(_ digest: [UInt8], at now: Int64, elapsed: Int64) -> Grant? {
    sessions.withLock { sessions -> Grant? in
      guard let session = sessions[digest], session.leaseEnds > elapsed, session.grant.isValid(at: now) else {
        return nil
      }
      return session.grant
    }
  }

  /// Ends the session with this digest of its secret, if there is one.
  func end(_ digest: [UInt8]) {
    let session = sessions.withLock { $0.removeValue(forKey: digest) }
    session?.grant.end()
  }

  /// Ends the sessions whose lease or token has expired.
  func endExpired(at now: Int64, elapsed: Int64) {
    sessions.withLock { sessions in
      Self.end(&sessions) { $0.leaseEnds <= elapsed || !$0.grant.isValid(at: now) }
    }
  }

  /// Ends the sessions whose token is not in a list of active tokens, or has other rights there.
  ///
  /// - Parameter active: the principals of the active tokens by identifier.
  func end(unlessIn active: [String: Principal]) {
    sessions.withLock { sessions in
      Self.end(&sessions) { session in session.grant.token.flatMap { active[$0] } != session.grant.principal }
    }
  }

  /// Renews the lease of each session that was used since the last call.
  ///
  /// - Returns: the identifiers of their tokens.
  func takeUsage(elapsed: Int64) -> [String] {
    sessions.withLock { sessions in
      var tokens: [String] = []
      for (digest, session) in sessions where session.grant.takeUsage() {
        sessions[digest]?.leaseEnds = elapsed + limits.sessionLeaseSeconds
        if let token = session.grant.token { tokens.append(token) }
      }
      return tokens
    }
  }

  private static func end(_ sessions: inout [[UInt8]: Session], where shouldEnd: (Session) -> Bool) {
    for (digest, session) in sessions where shouldEnd(session) {
      session.grant.end()
      sessions[digest] = nil
    }
  }
}
