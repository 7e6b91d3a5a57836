import AccessControl
import PhotoModel
import Testing

@Suite("Sessions")
struct SessionTests {
  @Test("a session has the principal of its token until sign-out")
  func signedIn() throws {
    let access = try TemporaryAccess()
    let (token, secret) = try access.token([.read, .location], limitedTo: ["album"])
    let (session, grant) = try access.registry.signIn(secret)
    #expect(access.registry.grant(session: session.text) === grant)
    #expect(grant.principal == token.principal, "a session acts as its token")
    #expect(access.remembered(session.text, .session) === grant && access.remembered(session.text) == nil)
    #expect(access.registry.grant(session: secret) == nil, "a token is not accepted as a session")
    #expect(
      access.refusal { () throws(CredentialError) in try access.registry.grant(bearer: session.text) } == .malformed)
    access.registry.signOut(session.text)
    #expect(access.registry.grant(session: session.text) == nil && access.remembered(session.text, .session) == nil)
  }

  @Test("sign-in with an invalid token fails")
  func refused() throws {
    let access = try TemporaryAccess()
    _ = try access.token()
    for text in ["", "x", Secret(.token).text, Secret(.session).text] {
      #expect(throws: AccessRegistry.SignInError.self) { try access.registry.signIn(text) }
    }
  }

  @Test("a session ends when it is unused for its lease, and each use renews the lease")
  func lease() throws {
    var limits = AccessLimits()
    limits.sessionLeaseSeconds = 100
    let access = try TemporaryAccess(limits)
    let (_, secret) = try access.token()
    let (session, _) = try access.registry.signIn(secret)
    for _ in 0..<5 {
      access.clock.advance(90)
      #expect(access.registry.grant(session: session.text) != nil)
      access.registry.refresh()
    }
    access.clock.advance(100)
    #expect(access.registry.grant(session: session.text) != nil, "the cached grant is dropped at the next refresh")
    access.clock.advance(101)
    access.registry.refresh()
    access.clock.advance(101)
    access.registry.refresh()
    #expect(access.registry.grant(session: session.text) == nil)
  }

  @Test(
    "a session stays when the clock is set, and its lease goes on", arguments: [40 * 86_400, -40 * 86_400] as [Int64])
  func clockSet(_ seconds: Int64) throws {
    var limits = AccessLimits()
    limits.sessionLeaseSeconds = 100
    let access = try TemporaryAccess(limits)
    let (_, secret) = try access.token()
    let (session, _) = try access.registry.signIn(secret)
    access.registry.refresh()
    access.clock.set(by: seconds)
    access.registry.refresh()
    #expect(access.registry.grant(session: session.text) != nil)
    access.registry.refresh()
    access.clock.advance(101)
    access.registry.refresh()
    #expect(access.registry.grant(session: session.text) == nil)
  }

  @Test("a session ends when its token expires or is revoked")
  func withToken() throws {
    let access = try TemporaryAccess()
    let short = try access.token(for: 60)
    let long = try access.token()
    let sessions = try [short, long].map { try access.registry.signIn($0.secret).secret.text }
    #expect(sessions.allSatisfy { access.registry.grant(session: $0) != nil })
    access.clock.advance(60)
    #expect(access.registry.grant(session: sessions[0]) == nil && access.remembered(sessions[0], .session) == nil)
    _ = try access.outside.revokeToken(long.token.identifier)
    access.registry.refresh()
    #expect(access.registry.grant(session: sessions[1]) == nil && access.remembered(sessions[1], .session) == nil)
  }

  @Test("a sign-in is refused if its token is revoked while the session starts")
  func revokedDuringSignIn() throws {
    let access = try TemporaryAccess()
    let (token, secret) = try access.token()
    _ = try access.registry.grant(bearer: secret)
    access.clock.interruptNextReading {
      #expect(throws: Never.self) { try access.outside.revokeToken(token.identifier) }
      access.registry.refresh()
    }
    #expect(throws: AccessRegistry.SignInError.refused(.revoked)) { try access.registry.signIn(secret) }
  }

  @Test("a change of another token does not end a session")
  func others() throws {
    let access = try TemporaryAccess()
    let (_, secret) = try access.token()
    let (session, _) = try access.registry.signIn(secret)
    let other = try access.token()
    _ = try access.outside.revokeToken(other.token.identifier)
    access.registry.refresh()
    #expect(access.registry.grant(session: session.text) != nil)
  }

  @Test("the least recently used session of a token makes room for a new one; the total of sessions is limited")
  func bounded() throws {
    var limits = AccessLimits()
    (limits.sessions, limits.sessionsPerToken) = (5, 3)
    let access = try TemporaryAccess(limits)
    let first = try access.token()
    var sessions: [String] = []
    for _ in 0..<4 {
      sessions.append(try access.registry.signIn(first.secret).secret.text)
      access.clock.advance(1)
    }
    #expect(sessions.map { access.registry.grant(session: $0) != nil } == [false, true, true, true])
    let second = try access.token()
    _ = try access.registry.signIn(second.secret)
    _ = try access.registry.signIn(second.secret)
    #expect(throws: AccessRegistry.SignInError.tooManySessions) { try access.registry.signIn(second.secret) }
    #expect(sessions.dropFirst().allSatisfy { access.registry.grant(session: $0) != nil }, "no other session ends")
  }
}
