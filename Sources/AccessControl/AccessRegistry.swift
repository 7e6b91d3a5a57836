// Who may come in, in memory: what the daemon asks on its way to every answer, and SQLite never.
//
//     access.sqlite -> refresh (once a second, where another process has changed it) -> tokens, keys
//     credential -> grant(bearer:) | grant(session:) | grant(signature:) -> Grant, remembered by its bytes
//     the next request with the same bytes -> rememberedGrant: one look-up
//
// What is remembered is let go when anything changes and when it ends, so a revoked token opens nothing a second later.

import Logging
import PhotoModel
import Synchronization

package final class AccessRegistry: Sendable {
  private struct Session {
    let grant: Grant
    var leaseEnds: Int64
  }

  private struct Remembered {
    let kind: Secret.Kind
    let bytes: [UInt8]
    let grant: Grant
  }

  private struct State {
    var version: Int64 = 0
    var tokens: [[UInt8]: AccessToken] = [:]
    var byIdentifier: [String: AccessToken] = [:]
    /// The newest first.
    var keys: [SigningKey] = []
    var classes: [Visibility: AccessClass] = [:]
    var nextClass = AccessClass.firstLimited
    /// Secrets of tokens and sessions that were good, by their hash: no more than there are tokens and sessions.
    var remembered: [Int: Remembered] = [:]
    /// By the digest of their secret.
    var sessions: [[UInt8]: Session] = [:]
    /// Tokens that were used since that was last written down.
    var used: Set<String> = []
    var writesUsesAt: Int64 = 0

    /// The class of those who see this part; a part that some token still has keeps its number.
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
      remembered[bytes.withUnsafeBytes(AccessRegistry.hash)] = Remembered(kind: kind, bytes: bytes, grant: grant)
    }

    /// Asks each grant whether it was used since it was last asked; a session that was is leased anew.
    mutating func collectUses(at now: Int64, lease: Int64) {
      for (digest, session) in sessions where session.grant.isUsed.exchange(false, ordering: .relaxed) {
        sessions[digest]?.leaseEnds = now + lease
        if let token = session.grant.token { used.insert(token) }
      }
      for remembered in remembered.values where remembered.grant.isUsed.exchange(false, ordering: .relaxed) {
        if let token = remembered.grant.token { used.insert(token) }
      }
    }

    mutating func dropSessions(_ isOver: (Session) -> Bool) {
      let ended = sessions.values.filter(isOver).map { ObjectIdentifier($0.grant) }
      guard !ended.isEmpty else { return }
      sessions = sessions.filter { !isOver($0.value) }
      remembered = remembered.filter { !ended.contains(ObjectIdentifier($0.value.grant)) }
    }

    mutating func dropSession(_ digest: [UInt8]) {
      guard let session = sessions.removeValue(forKey: digest) else { return }
      remembered = remembered.filter { $0.value.grant !== session.grant }
    }
  }

  /// How often uses are written down.
  private static let useSeconds: Int64 = 60

  package let limits: AccessLimits
  private let database: AccessDatabase
  private let now: @Sendable () -> Int64
  private let logger: Logger
  private let state = Mutex(State())
  /// Of ``AccessClass``: that of callers who bring nothing.
  private let classOfNobodyNumber = Atomic<UInt64>(0)
  private let epoch = Atomic<UInt64>(0)

  /// - Parameter now: seconds since 1970; tests bring a clock of their own.
  package init(
    database: AccessDatabase, logger: Logger, now: @escaping @Sendable () -> Int64 = { SystemTime.now }
  ) throws(AccessError) {
    self.database = database
    self.logger = logger
    self.now = now
    limits = database.limits
    let version = try database.version()
    load(try database.digestedTokens(), try database.signingKeys(), version)
  }

  /// Whether a token was ever made. Then nobody is let in without one, even when all of them are over: it would be an odd
  /// way of losing the last key, if that opened the door.
  package var isGuarded: Bool { classOfNobodyNumber.load(ordering: .acquiring) != 0 }

  /// What a caller without a credential may be shown of what was prepared.
  package var classOfNobody: AccessClass { AccessClass(rawValue: classOfNobodyNumber.load(ordering: .acquiring)) }

  // MARK: On the way to every answer

  /// What a credential's bytes gave before, if it still does. One look-up under a lock; nothing is hashed but by the seed of
  /// this process.
  package func rememberedGrant(_ kind: Secret.Kind, _ secret: UnsafeRawBufferPointer) -> Grant? {
    guard !secret.isEmpty, secret.count <= Secret.maximumLength else { return nil }
    let hash = Self.hash(secret)
    guard let found = state.withLock({ $0.remembered[hash] }), found.kind == kind,
      Self.areEqual(found.bytes, secret), isInForce(found.grant)
    else { return nil }
    found.grant.wasUsed()
    return found.grant
  }

  /// What a token gives.
  package func grant(bearer text: String) throws(Refusal) -> Grant {
    guard let secret = Secret(text, .token) else { throw .malformed }
    if let grant = remembered(secret, .token) { return grant }
    let now = now()
    let digest = secret.digest
    let result = state.withLock { state -> Result<Grant, Refusal> in
      guard let token = state.tokens[digest] else { return .failure(.unknown) }
      return Self.inForce(token, at: now).map { token in
        let grant = state.grant(of: token)
        state.remember(secret, .token, grant)
        return grant
      }
    }
    let grant = try result.get()
    grant.wasUsed()
    return grant
  }

  /// What a session gives; `nil`: there is none, or none any more.
  package func grant(session text: String) -> Grant? {
    guard let secret = Secret(text, .session) else { return nil }
    if let grant = remembered(secret, .session) { return grant }
    let now = now()
    let digest = secret.digest
    let grant = state.withLock { state -> Grant? in
      guard let session = state.sessions[digest], session.leaseEnds > now else { return nil }
      if let expires = session.grant.expires, expires <= now { return nil }
      state.remember(secret, .session, session.grant)
      return session.grant
    }
    grant?.wasUsed()
    return grant
  }

  /// What a signature gives for what it stands on.
  ///
  /// - Parameter subject: what was asked, or the collection that the signature names.
  package func grant(signature: URLSignature, on subject: URLSignature.Subject) throws(Refusal) -> Grant {
    // Before anything is looked at: what is prepared for the answer is found no more once any of that has changed. Where there
    // are no tokens, the class of nobody is anybody's, whose answers do not end.
    let nobody = classOfNobody
    let accessClass = nobody == .anybody ? nil : nobody
    let now = now()
    let (key, issuer) = state.withLock { state in
      (state.keys.first { $0.identifier == signature.key }, state.byIdentifier[signature.issuer])
    }
    guard let key else { throw .expired }
    guard signature.isGood(for: subject, with: key) else { throw .forged }
    guard signature.expires > now else { throw .expired }
    let name = "signed \(Base64URL.text(Array(signature.code.prefix(15))))"
    let (visibility, ends): (Visibility, Int64)
    if signature.issuer == URLSignature.operatorIssuer {
      (visibility, ends) = (.everything, signature.expires)
    } else {
      guard let issuer else { throw .unknown }
      let token = try Self.inForce(issuer, at: now).get()
      guard token.scopes.contains(.read) else { throw .powerless }
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

  package enum SignInRefusal: Error, Sendable, Hashable {
    case refused(Refusal)
    /// There are as many sessions as there may be.
    case tooManySessions
  }

  /// Begins a browser's session for the holder of a token. Where that has too many, the one that was not used for longest
  /// ends.
  package func signIn(_ text: String) throws(SignInRefusal) -> (secret: Secret, grant: Grant) {
    let ofToken: Grant
    do throws(Refusal) { ofToken = try grant(bearer: text) } catch { throw .refused(error) }
    // A grant of its own: its uses renew the lease.
    let grant = Grant(
      ofToken.principal, accessClass: ofToken.accessClass, expires: ofToken.expires, token: ofToken.token)
    let secret = Secret(.session)
    let (now, limits) = (now(), limits)
    let isKept = state.withLock { state in
      state.dropSessions { $0.leaseEnds <= now }
      let own = state.sessions.filter { $0.value.grant.token == grant.token }
      if own.count >= limits.sessionsAToken, let oldest = own.min(by: { $0.value.leaseEnds < $1.value.leaseEnds }) {
        state.dropSession(oldest.key)
      }
      guard state.sessions.count < limits.sessions else { return false }
      state.sessions[secret.digest] = Session(grant: grant, leaseEnds: now + limits.sessionLeaseSeconds)
      return true
    }
    guard isKept else { throw .tooManySessions }
    return (secret, grant)
  }

  /// Ends a session; nothing where there is none.
  package func signOut(_ text: String) {
    guard let secret = Secret(text, .session) else { return }
    state.withLock { $0.dropSession(secret.digest) }
  }

  /// Signs a subject, or all of a collection, with the newest key.
  ///
  /// - Parameters:
  ///   - issuer: whose sight and life bound what it opens; `nil`: the operator's.
  ///   - expires: seconds since 1970; no later than the issuer's own end.
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

  /// A token by its identifier or name.
  package func token(_ identifier: String) -> AccessToken? { state.withLock { $0.byIdentifier[identifier] } }

  // MARK: Once a second

  /// Takes over what another process has changed, ends what has ended, and now and then writes down which tokens were used.
  package func refresh() {
    do throws(AccessError) {
      let version = try database.version()
      if version != state.withLock({ $0.version }) {
        load(try database.digestedTokens(), try database.signingKeys(), version)
        logger.info("who may come in was changed", metadata: ["tokens": "\(state.withLock { $0.tokens.count })"])
      }
      let used = expire()
      if !used.isEmpty { try database.tokensWereUsed(used, at: now()) }
    } catch {
      logger.error("who may come in can't be read; what was known goes on", metadata: ["error": "\(error)"])
    }
  }

  /// Tokens that were used and are to be written down now.
  private func expire() -> [String] {
    let (now, lease) = (now(), limits.sessionLeaseSeconds)
    return state.withLock { state in
      state.collectUses(at: now, lease: lease)
      state.dropSessions { $0.leaseEnds <= now || $0.grant.expires.map { $0 <= now } ?? false }
      state.remembered = state.remembered.filter { $0.value.grant.expires.map { $0 > now } ?? true }
      guard now >= state.writesUsesAt else { return [] }
      state.writesUsesAt = now + Self.useSeconds
      defer { state.used = [] }
      return Array(state.used)
    }
  }

  /// Takes over a new list. Sessions of tokens that are over, or are no longer what they were, end.
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
      state.collectUses(at: now, lease: limits.sessionLeaseSeconds)
      let known = state.byIdentifier
      state.dropSessions { session in
        guard let token = session.grant.token.flatMap({ known[$0] }) else { return true }
        return token.standing(at: now) != .active || before[token.identifier]?.principal != token.principal
      }
      state.remembered = [:]
      // What was prepared for signed URLs is found no more.
      let epoch = epoch.add(1, ordering: .relaxed).newValue
      let nobody = tokens.isEmpty ? AccessClass.anybody : .signed(epoch: epoch)
      classOfNobodyNumber.store(nobody.rawValue, ordering: .releasing)
    }
  }

  // MARK: Looking up

  private func remembered(_ secret: Secret, _ kind: Secret.Kind) -> Grant? {
    var text = secret.text
    return text.withUTF8 { rememberedGrant(kind, UnsafeRawBufferPointer($0)) }
  }

  private func isInForce(_ grant: Grant) -> Bool {
    guard let expires = grant.expires else { return true }
    return expires > now()
  }

  private static func inForce(_ token: AccessToken, at now: Int64) -> Result<AccessToken, Refusal> {
    switch token.standing(at: now) {
    case .active: .success(token)
    case .expired: .failure(.expired)
    case .revoked: .failure(.revoked)
    }
  }

  /// Seeded anew in every process, so that nobody can make credentials that fall into one place.
  fileprivate static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: bytes)
    return hasher.finalize()
  }

  /// In a time that does not depend on where they differ.
  private static func areEqual(_ a: [UInt8], _ b: UnsafeRawBufferPointer) -> Bool {
    guard a.count == b.count else { return false }
    var difference: UInt8 = 0
    for i in a.indices { difference |= a[i] ^ b[i] }
    return difference == 0
  }
}
