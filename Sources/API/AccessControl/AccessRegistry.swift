// Access control in memory. Every request is checked here, without a query to SQLite.
//
//     access.sqlite -> refresh (once a second, if another process has changed the file)
//       -> SigningKeyRing, TokenRegistry, SessionRegistry
//     token or session -> grant(bearer:) | grant(session:) -> Grant -> GrantCache
//     next request with the same bytes -> cachedGrant: one lookup
//     signed URL -> grant(signature:) -> Grant, not cached here
//
// Each part has its own lock, and none is held while another part or SQLite works. When the tokens or keys change, the
// grants made from them end, also those that a request just looked up, so a revoked token is rejected within about a
// second.

import Logging
import PhotoModel
import Synchronization

package final class AccessRegistry: Sendable {
  package let limits: AccessLimits
  let now: @Sendable () -> Int64
  let tokens = TokenRegistry()
  let signingKeys = SigningKeyRing()
  private let sessions: SessionRegistry
  private let cache = GrantCache()
  private let usage = TokenUsage()
  private let database: AccessDatabase
  private let logger: Logger
  /// The version of the access list in memory.
  private let loadedVersion = Mutex<Int64?>(nil)

  /// Loads the access list.
  ///
  /// - Parameter now: seconds since 1970; tests pass a manual clock.
  package init(
    database: AccessDatabase, logger: Logger, now: @escaping @Sendable () -> Int64 = { SystemTime.now }
  ) throws(AccessError) {
    self.database = database
    self.logger = logger
    self.now = now
    limits = database.limits
    sessions = SessionRegistry(limits: database.limits)
    try reload()
  }

  /// Whether a credential is required, which is the case once a token has been created. It stays required when all
  /// tokens are expired or revoked: revoking the last token must not open the library to everyone.
  package var requiresCredential: Bool { unauthenticatedClass != .everyone }

  /// The class of prepared responses that a caller without a credential may get.
  package var unauthenticatedClass: AccessClass { tokens.unauthenticatedClass }

  /// Whether a caller with this principal's name can still send requests: whether its token is active or, without a
  /// token, whether none is required. What a caller keeps in the daemon ends when it can't.
  package func admits(_ principalName: String) -> Bool {
    guard let identifier = AccessToken.identifier(ofPrincipal: principalName) else { return !requiresCredential }
    return tokens.token(identifier)?.status(at: now()) == .active
  }

  // MARK: Checking a request

  /// The cached grant for a credential's bytes, if it is still valid. Takes one lock.
  package func cachedGrant(_ kind: Secret.Kind, _ secret: UnsafeRawBufferPointer) -> Grant? {
    guard let grant = cache.grant(kind, secret), grant.isValid(at: now()) else { return nil }
    grant.markUsed()
    return grant
  }

  /// The grant of a token.
  package func grant(bearer text: String) throws(CredentialError) -> Grant {
    guard let secret = Secret(text, .token) else { throw .malformed }
    if let grant = cachedGrant(for: secret) { return grant }
    let grant = try tokens.grant(secret.digest, at: now())
    cache.insert(grant, for: secret)
    grant.markUsed()
    return grant
  }

  /// The grant of a session; `nil` if the session does not exist or has ended.
  package func grant(session text: String) -> Grant? {
    guard let secret = Secret(text, .session) else { return nil }
    if let grant = cachedGrant(for: secret) { return grant }
    guard let grant = sessions.grant(secret.digest, at: now()) else { return nil }
    cache.insert(grant, for: secret)
    grant.markUsed()
    return grant
  }

  private func cachedGrant(for secret: Secret) -> Grant? {
    var text = secret.text
    return text.withUTF8 { cachedGrant(secret.kind, UnsafeRawBufferPointer($0)) }
  }

  // MARK: Sessions

  package enum SignInError: Error, Sendable, Hashable {
    case refused(CredentialError)
    /// The limit of sessions is reached.
    case tooManySessions
  }

  /// Starts a browser session for a token. If the token has too many sessions, its least recently used session ends.
  package func signIn(_ text: String) throws(SignInError) -> (secret: Secret, grant: Grant) {
    let tokenGrant = try signInGrant(text)
    let now = now()
    let session = sessions.start(for: tokenGrant, at: now)
    cache.removeInvalid(at: now)
    guard let session else { throw .tooManySessions }
    // A reload that revoked the token after the first lookup did not find this session, so look again.
    do throws(SignInError) {
      _ = try signInGrant(text)
    } catch {
      sessions.end(session.secret.digest)
      throw error
    }
    return session
  }

  private func signInGrant(_ text: String) throws(SignInError) -> Grant {
    do throws(CredentialError) { return try grant(bearer: text) } catch { throw .refused(error) }
  }

  /// Ends a session. Does nothing if there is none.
  package func signOut(_ text: String) {
    guard let secret = Secret(text, .session) else { return }
    sessions.end(secret.digest)
    cache.removeInvalid(at: now())
  }

  // MARK: Periodic work

  /// Called once a second by one timer; calls must not overlap. Ends expired sessions, loads changes that another
  /// process made, and periodically records which tokens were used. Blocks while SQLite works.
  package func refresh() {
    let now = now()
    usage.record(tokens.takeUsage() + sessions.takeUsage(at: now))
    sessions.endExpired(at: now)
    cache.removeInvalid(at: now)
    do throws(AccessError) {
      if let list = try reload() {
        logger.info("access list reloaded", metadata: ["tokens": "\(list.tokens.count)"])
      }
      try usage.writeIfDue(to: database, at: now)
    } catch {
      logger.error("access database unavailable; keeping the loaded access list", metadata: ["error": "\(error)"])
    }
  }

  /// Loads the access list if it has changed, and ends the sessions of tokens that are no longer active or have
  /// changed.
  ///
  /// - Returns: the new list; `nil` if it is loaded already.
  @discardableResult
  private func reload() throws(AccessError) -> AccessList? {
    guard let list = try database.accessList(unlessVersion: loadedVersion.withLock { $0 }) else { return nil }
    let now = now()
    // The tokens come after the keys, because they publish the new access class, and before the sessions, so that a
    // sign-in finds either the new tokens or its session ended.
    signingKeys.replace(with: list.keys)
    tokens.replace(with: list.tokens)
    let active = list.tokens.map(\.token).filter { $0.status(at: now) == .active }
    sessions.end(unlessIn: Dictionary(active.map { ($0.identifier, $0.principal) }) { $1 })
    cache.removeInvalid(at: now)
    loadedVersion.withLock { $0 = list.version }
    return list
  }
}
