// Access control in memory. Every request is checked here, without a query to SQLite.
//
//     access.sqlite -> refresh (once a second, if another process has changed or replaced the file)
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
import Primitives
import Synchronization

package final class AccessRegistry: Sendable {
  package let limits: AccessLimits
  let now: @Sendable () -> Int64
  private let elapsed: @Sendable () -> Int64
  let tokens = TokenRegistry()
  let signingKeys = SigningKeyRing()
  private let sessions: SessionRegistry
  private let cache = GrantCache()
  private let usage = TokenUsage()
  private let logger: Logger
  /// The database of the access list in memory, and the version of that list.
  private let loaded: Mutex<(database: AccessDatabase, version: Int64?)>
  /// The last attempt to read the access list failed.
  private let lastReloadFailed = Atomic<Bool>(false)
  /// The error that was logged last; `nil` after the access list was read again.
  private let loggedError = Mutex<String?>(nil)

  /// Loads the access list.
  ///
  /// - Parameters:
  ///   - now: seconds since 1970, for the expiry of tokens; tests pass a manual clock.
  ///   - elapsed: seconds of a clock that can't be set, for the leases of sessions.
  package init(
    database: AccessDatabase, logger: Logger, now: @escaping @Sendable () -> Int64 = { SystemTime.now },
    elapsed: @escaping @Sendable () -> Int64 = { SystemTime.elapsed }
  ) throws(AccessError) {
    loaded = Mutex((database: database, version: nil))
    self.logger = logger
    self.now = now
    self.elapsed = elapsed
    limits = database.limits
    sessions = SessionRegistry(limits: database.limits)
    try reload()
  }

  /// Whether a credential is required, which is the case once a token has been created. It stays required when all
  /// tokens are expired or revoked: revoking the last token must not open the library to everyone.
  package var requiresCredential: Bool { unauthenticatedClass != .everyone }

  /// The class of prepared responses that a caller without a credential may get.
  package var unauthenticatedClass: AccessClass { tokens.unauthenticatedClass }

  /// Whether the tokens in memory are those of `access.sqlite`. If not, a revocation may be in another file, or in one
  /// that can't be read. One system call.
  package var isCurrent: Bool { !isReplaced && !lastReloadFailed.load(ordering: .relaxed) }

  /// Whether `access.sqlite` is not the file that the tokens were loaded from. One system call.
  package var isReplaced: Bool { loaded.withLock { $0.database }.isReplaced }

  /// Whether a caller with this principal's name can still send requests: whether its token is active or, without a
  /// token, whether none is required. Objects that the caller keeps in the daemon, such as fetch results, end when it
  /// no longer can.
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
    guard let grant = sessions.grant(secret.digest, at: now(), elapsed: elapsed()) else { return nil }
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
    let session = sessions.start(for: tokenGrant, elapsed: elapsed())
    cache.removeInvalid(at: now())
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
  /// process made, also if it has replaced the file, and periodically records which tokens were used. Blocks while
  /// SQLite works.
  package func refresh() {
    let now = now()
    let elapsed = elapsed()
    usage.record(tokens.takeUsage() + sessions.takeUsage(elapsed: elapsed))
    sessions.endExpired(at: now, elapsed: elapsed)
    cache.removeInvalid(at: now)
    do throws(AccessError) {
      if let list = try reloadRecordingResult() {
        logger.info("access list reloaded", metadata: ["tokens": "\(list.tokens.count)"])
      }
      try usage.writeIfDue(to: loaded.withLock { $0.database }, at: now, elapsed: elapsed)
      if loggedError.withLock({ $0.take() }) != nil { logger.info("access database available again") }
    } catch {
      log(error)
    }
  }

  /// Like ``reload()``; also records for ``isCurrent`` whether it failed.
  private func reloadRecordingResult() throws(AccessError) -> AccessList? {
    do throws(AccessError) {
      let list = try reload()
      lastReloadFailed.store(false, ordering: .relaxed)
      return list
    } catch {
      lastReloadFailed.store(true, ordering: .relaxed)
      throw error
    }
  }

  /// Logs an error, but not each second.
  private func log(_ error: AccessError) {
    let text = "\(error)"
    let isNew = loggedError.withLock { last in
      defer { last = text }
      return last != text
    }
    guard isNew else { return }
    logger.error("access database unavailable; keeping the loaded access list", metadata: ["error": "\(text)"])
  }

  /// Loads the access list if it has changed, and ends the sessions of tokens that are no longer active or have
  /// changed. A file that has replaced the loaded one is opened. If there is none, or it has no tokens although some
  /// were loaded, the loaded list stays: no file may open the library to callers without a token.
  ///
  /// - Returns: the new list; `nil` if it is loaded already.
  @discardableResult
  private func reload() throws(AccessError) -> AccessList? {
    let (open, version) = loaded.withLock { $0 }
    let isReplaced = open.isReplaced
    let database = try isReplaced ? open.reopened() : open
    guard let list = try database.accessList(unlessVersion: isReplaced ? nil : version) else { return nil }
    if isReplaced, list.tokens.isEmpty, requiresCredential { throw .replacedWithoutTokens(path: database.path) }
    let now = now()
    // The tokens come after the keys, because they publish the new access class, and before the sessions, so that a
    // sign-in finds either the new tokens or its session ended.
    signingKeys.replace(with: list.keys)
    tokens.replace(with: list.tokens)
    let active = list.tokens.map(\.token).filter { $0.status(at: now) == .active }
    sessions.end(unlessIn: Dictionary(active.map { ($0.identifier, $0.principal) }) { $1 })
    cache.removeInvalid(at: now)
    loaded.withLock { $0 = (database: database, version: list.version) }
    return list
  }
}
