// Access control in memory. Every request is checked here, without a query to SQLite.
//
//     access.sqlite -> refresh (once a second, if another process has changed the file) -> tokens, keys
//     token or session -> grant(bearer:) | grant(session:) -> Grant, cached by the secret's bytes
//     next request with the same bytes -> cachedGrant: one look-up
//     signed URL -> grant(signature:) -> Grant, not cached here
//
// A cached grant is dropped when the tokens or keys change and when it expires, so a revoked token is rejected within
// about a second.

import Logging
import PhotoModel
import Synchronization

package final class AccessRegistry: Sendable {
  private struct Session {
    let grant: Grant
    var leaseEnds: Int64
  }

  private struct CachedGrant {
    let kind: Secret.Kind
    let bytes: [UInt8]
    let grant: Grant
  }

  private struct State {
    var version: Int64 = 0
    var tokens: [[UInt8]: AccessToken] = [:]
    var byIdentifier: [String: AccessToken] = [:]
    /// Newest first.
    var keys: [SigningKey] = []
    var classes: [Visibility: AccessClass] = [:]
    var nextClass = AccessClass.firstLimited
    /// Grants of valid tokens and sessions by the hash of the secret. There are never more than tokens and sessions.
    var cachedGrants: [Int: CachedGrant] = [:]
    /// Sessions by the digest of their secret.
    var sessions: [[UInt8]: Session] = [:]
    /// Tokens used since the last write to the database.
    var used: Set<String> = []
    var nextUsageWrite: Int64 = 0

    /// The class of the callers with this visibility. A visibility keeps its class while a token has it.
    mutating func accessClass(of visibility: Visibility) -> AccessClass {
      if visibility == .everything { return .everything }
      if let known = classes[visibility] { return known }
      defer { nextClass += 1 }
      let new = AccessClass(rawValue: nextClass)
      classes[visibility] = new
      return new
    }

    mutating func grant(of token: AccessToken) -> Grant {
      Grant(
        token.principal, accessClass: accessClass(of: token.visibility), expires: token.expires,
        token: token.identifier)
    }

    mutating func remember(_ secret: Secret, _ kind: Secret.Kind, _ grant: Grant) {
      let bytes = Array(secret.text.utf8)
      cachedGrants[bytes.withUnsafeBytes(AccessRegistry.hash)] = CachedGrant(kind: kind, bytes: bytes, grant: grant)
    }

    /// Collects and clears the usage flags of all grants, and renews the lease of each used session.
    mutating func collectUsage(at now: Int64, lease: Int64) {
      for (digest, session) in sessions where session.grant.isUsed.exchange(false, ordering: .relaxed) {
        sessions[digest]?.leaseEnds = now + lease
        if let token = session.grant.token { used.insert(token) }
      }
      for remembered in cachedGrants.values where remembered.grant.isUsed.exchange(false, ordering: .relaxed) {
        if let token = remembered.grant.token { used.insert(token) }
      }
    }

    mutating func dropSessions(_ isOver: (Session) -> Bool) {
      let ended = sessions.values.filter(isOver).map { ObjectIdentifier($0.grant) }
      guard !ended.isEmpty else { return }
      sessions = sessions.filter { !isOver($0.value) }
      cachedGrants = cachedGrants.filter { !ended.contains(ObjectIdentifier($0.value.grant)) }
    }

    mutating func dropSession(_ digest: [UInt8]) {
      guard let session = sessions.removeValue(forKey: digest) else { return }
      cachedGrants = cachedGrants.filter { $0.value.grant !== session.grant }
    }
  }

  /// Interval at which token usage is written to the database.
  private static let usageWriteSeconds: Int64 = 60

  package let limits: AccessLimits
  private let database: AccessDatabase
  private let now: @Sendable () -> Int64
  private let logger: Logger
  private let state = Mutex(State())
  /// Raw value of the ``AccessClass`` of callers without a credential.
  private let unauthenticatedClassValue = Atomic<UInt64>(0)
  private let epoch = Atomic<UInt64>(0)

  /// - Parameter now: seconds since 1970; tests pass a manual clock.
  package init(
    database: AccessDatabase, logger: Logger, now: @escaping @Sendable () -> Int64 = { SystemTime.now }
  ) throws(AccessError) {
    self.database = database
    self.logger = logger
    self.now = now
    limits = database.limits
    let version = try database.version()
    load(try database.tokensWithDigests(), try database.signingKeys(), version)
  }

  /// Whether a credential is required, which is the case once a token has been created. It stays required when all
  /// tokens are expired or revoked: revoking the last token must not open the library to everyone.
  package var requiresCredential: Bool { unauthenticatedClassValue.load(ordering: .acquiring) != 0 }

  /// The class of prepared responses that a caller without a credential may get.
  package var unauthenticatedClass: AccessClass {
    AccessClass(rawValue: unauthenticatedClassValue.load(ordering: .acquiring))
  }

  // MARK: Checking a request

  /// The cached grant for a credential's bytes, if it is still valid. Costs one look-up under a lock and one hash with
  /// this process's random seed.
  package func cachedGrant(_ kind: Secret.Kind, _ secret: UnsafeRawBufferPointer) -> Grant? {
    guard !secret.isEmpty, secret.count <= Secret.maximumBytes else { return nil }
    let hash = Self.hash(secret)
    guard let found = state.withLock({ $0.cachedGrants[hash] }), found.kind == kind,
      Self.areEqual(found.bytes, secret), isActive(found.grant)
    else { return nil }
    found.grant.markUsed()
    return found.grant
  }

  /// The grant of a token.
  package func grant(bearer text: String) throws(CredentialError) -> Grant {
    guard let secret = Secret(text, .token) else { throw .malformed }
    if let grant = cachedGrant(for: secret, .token) { return grant }
    let now = now()
    let digest = secret.digest
    let result = state.withLock { state -> Result<Grant, CredentialError> in
      guard let token = state.tokens[digest] else { return .failure(.unknown) }
      return Self.activeToken(token, at: now).map { token in
        let grant = state.grant(of: token)
        state.remember(secret, .token, grant)
        return grant
      }
    }
    let grant = try result.get()
    grant.markUsed()
    return grant
  }

  /// The grant of a session; `nil` if the session does not exist or has ended.
  package func grant(session text: String) -> Grant? {
    guard let secret = Secret(text, .session) else { return nil }
    if let grant = cachedGrant(for: secret, .session) { return grant }
    let now = now()
    let digest = secret.digest
    let grant = state.withLock { state -> Grant? in
      guard let session = state.sessions[digest], session.leaseEnds > now else { return nil }
      if let expires = session.grant.expires, expires <= now { return nil }
      state.remember(secret, .session, session.grant)
      return session.grant
    }
    grant?.markUsed()
    return grant
  }

  /// The grant of a URL signature.
  ///
  /// - Parameter subject: the requested resource, or the collection that the signature names.
  package func grant(signature: URLSignature, on subject: URLSignature.Subject) throws(CredentialError) -> Grant {
    // Read the class before the keys and tokens: a later change of those gives a new class, so responses prepared under
    // this one are no longer found. Without tokens the class is `.anybody`, whose prepared responses never become
    // invalid, so a signed URL gets no class then.
    let nobody = unauthenticatedClass
    let accessClass = nobody == .anybody ? nil : nobody
    let now = now()
    let (key, issuer) = state.withLock { state in
      (state.keys.first { $0.identifier == signature.key }, state.byIdentifier[signature.issuer])
    }
    guard let key else { throw .expired }
    guard signature.isValid(for: subject, with: key) else { throw .invalidSignature }
    guard signature.expires > now else { throw .expired }
    let name = "signed \(Base64URL.text(Array(signature.mac.prefix(15))))"
    let (visibility, ends): (Visibility, Int64)
    if signature.issuer == URLSignature.operatorIssuer {
      (visibility, ends) = (.everything, signature.expires)
    } else {
      guard let issuer else { throw .unknown }
      let token = try Self.activeToken(issuer, at: now).get()
      guard token.scopes.contains(.read) else { throw .missingReadScope }
      (visibility, ends) = (token.visibility, min(signature.expires, token.expires ?? .max))
    }
    guard let collection = signature.collection.map({ LocalIdentifier($0) }) else {
      return Grant(
        Principal(name: name, scopes: [.read], visibility: visibility), accessClass: accessClass, expires: ends,
        token: issuer?.identifier)
    }
    let condition =
      visibility == .everything
      ? nil
      : issuer.map { issuer in
        Grant.Condition(
          collection: collection,
          issuer: Principal(name: issuer.principal.name, scopes: [.read], visibility: visibility))
      }
    return Grant(
      Principal(name: name, scopes: [.read], visibility: .collections([collection])), accessClass: accessClass,
      expires: ends, token: issuer?.identifier, condition: condition)
  }

  // MARK: Sessions and signatures

  package enum SignInError: Error, Sendable, Hashable {
    case refused(CredentialError)
    /// The limit of sessions is reached.
    case tooManySessions
  }

  /// Starts a browser session for a token. If the token has too many sessions, its least recently used session ends.
  package func signIn(_ text: String) throws(SignInError) -> (secret: Secret, grant: Grant) {
    let ofToken: Grant
    do throws(CredentialError) { ofToken = try grant(bearer: text) } catch { throw .refused(error) }
    // A separate grant, because its usage flag renews the lease of the session.
    let grant = Grant(
      ofToken.principal, accessClass: ofToken.accessClass, expires: ofToken.expires, token: ofToken.token)
    let secret = Secret(.session)
    let (now, limits) = (now(), limits)
    let isKept = state.withLock { state in
      state.dropSessions { $0.leaseEnds <= now }
      let own = state.sessions.filter { $0.value.grant.token == grant.token }
      if own.count >= limits.sessionsPerToken, let oldest = own.min(by: { $0.value.leaseEnds < $1.value.leaseEnds }) {
        state.dropSession(oldest.key)
      }
      guard state.sessions.count < limits.sessions else { return false }
      state.sessions[secret.digest] = Session(grant: grant, leaseEnds: now + limits.sessionLeaseSeconds)
      return true
    }
    guard isKept else { throw .tooManySessions }
    return (secret, grant)
  }

  /// Ends a session. Does nothing if there is none.
  package func signOut(_ text: String) {
    guard let secret = Secret(text, .session) else { return }
    state.withLock { $0.dropSession(secret.digest) }
  }

  /// Signs a subject, or a whole collection, with the newest key. Returns `nil` if there is no key.
  ///
  /// - Parameters:
  ///   - issuer: the token whose visibility and expiry limit the signed URL; `nil`: the operator.
  ///   - expires: seconds since 1970; reduced to the expiry of the issuer if that is earlier.
  package func sign(
    _ subject: URLSignature.Subject, collection: String?, issuer: String?, expires: Int64
  ) -> URLSignature? {
    let (key, end) = state.withLock { state in
      (state.keys.first, issuer.flatMap { state.byIdentifier[$0]?.expires })
    }
    guard let key else { return nil }
    return URLSignature(
      subject, collection: collection, issuer: issuer ?? URLSignature.operatorIssuer,
      expires: min(expires, end ?? .max),
      with: key)
  }

  /// A token by its identifier.
  package func token(_ identifier: String) -> AccessToken? { state.withLock { $0.byIdentifier[identifier] } }

  // MARK: Periodic work

  /// Called once a second. Loads changes that another process made, drops expired sessions and grants, and periodically
  /// records which tokens were used.
  package func refresh() {
    do throws(AccessError) {
      let version = try database.version()
      if version != state.withLock({ $0.version }) {
        load(try database.tokensWithDigests(), try database.signingKeys(), version)
        logger.info("access list reloaded", metadata: ["tokens": "\(state.withLock { $0.tokens.count })"])
      }
      let used = expire()
      if !used.isEmpty { try database.recordUsage(used, at: now()) }
    } catch {
      logger.error("access database unavailable; keeping the loaded access list", metadata: ["error": "\(error)"])
    }
  }

  /// Drops what has expired. Returns the used tokens if their usage is due to be written.
  private func expire() -> [String] {
    let (now, lease) = (now(), limits.sessionLeaseSeconds)
    return state.withLock { state in
      state.collectUsage(at: now, lease: lease)
      state.dropSessions { $0.leaseEnds <= now || $0.grant.expires.map { $0 <= now } ?? false }
      state.cachedGrants = state.cachedGrants.filter { $0.value.grant.expires.map { $0 > now } ?? true }
      guard now >= state.nextUsageWrite else { return [] }
      state.nextUsageWrite = now + Self.usageWriteSeconds
      defer { state.used = [] }
      return Array(state.used)
    }
  }

  /// Replaces the access list. Ends the sessions of tokens that are no longer active or have changed.
  private func load(_ tokens: [(digest: [UInt8], token: AccessToken)], _ keys: [SigningKey], _ version: Int64) {
    let now = now()
    state.withLock { state in
      let before = state.byIdentifier
      state.version = version
      state.tokens = Dictionary(tokens.map { ($0.digest, $0.token) }) { $1 }
      state.byIdentifier = Dictionary(tokens.map { ($0.token.identifier, $0.token) }) { $1 }
      state.keys = keys
      let parts = Set(state.tokens.values.map(\.visibility))
      state.classes = state.classes.filter { parts.contains($0.key) }
      state.collectUsage(at: now, lease: limits.sessionLeaseSeconds)
      let known = state.byIdentifier
      state.dropSessions { session in
        guard let token = session.grant.token.flatMap({ known[$0] }) else { return true }
        return token.status(at: now) != .active || before[token.identifier]?.principal != token.principal
      }
      state.cachedGrants = [:]
      // A new epoch makes the responses that were prepared for signed URLs unreachable.
      let epoch = epoch.add(1, ordering: .relaxed).newValue
      let nobody = tokens.isEmpty ? AccessClass.anybody : .signed(epoch: epoch)
      unauthenticatedClassValue.store(nobody.rawValue, ordering: .releasing)
    }
  }

  // MARK: Look-up

  private func cachedGrant(for secret: Secret, _ kind: Secret.Kind) -> Grant? {
    var text = secret.text
    return text.withUTF8 { cachedGrant(kind, UnsafeRawBufferPointer($0)) }
  }

  private func isActive(_ grant: Grant) -> Bool {
    guard let expires = grant.expires else { return true }
    return expires > now()
  }

  private static func activeToken(_ token: AccessToken, at now: Int64) -> Result<AccessToken, CredentialError> {
    switch token.status(at: now) {
    case .active: .success(token)
    case .expired: .failure(.expired)
    case .revoked: .failure(.revoked)
    }
  }

  /// `Hasher` is seeded randomly in every process, so that attackers can't construct credentials with colliding hashes.
  fileprivate static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: bytes)
    return hasher.finalize()
  }

  /// Compares in constant time for equal lengths.
  private static func areEqual(_ a: [UInt8], _ b: UnsafeRawBufferPointer) -> Bool {
    guard a.count == b.count else { return false }
    var difference: UInt8 = 0
    for i in a.indices { difference |= a[i] ^ b[i] }
    return difference == 0
  }
}
