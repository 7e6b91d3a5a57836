import AccessControl
import PhotoModel
import Testing

@Suite("Sessions")
struct SessionTests {
  @Test("a session is its token's holder, until it is signed out")
  func signedIn() throws {
    let access = try TemporaryAccess()
    let (token, secret) = try access.token([.read, .location], limitedTo: ["album"])
    let (session, grant) = try access.registry.signIn(secret)
    #expect(access.registry.grant(session: session.text) === grant)
    #expect(grant.principal == token.principal, "what it makes is its token's")
    #expect(access.remembered(session.text, .session) === grant && access.remembered(session.text) == nil)
    #expect(access.registry.grant(session: secret) == nil, "a token is no session")
    #expect(access.refusal { () throws(Refusal) in try access.registry.grant(bearer: session.text) } == .malformed)
    access.registry.signOut(session.text)
    #expect(access.registry.grant(session: session.text) == nil && access.remembered(session.text, .session) == nil)
  }

  @Test("nobody is signed in with what is no token")
  func refused() throws {
    let access = try TemporaryAccess()
    _ = try access.token()
    for text in ["", "x", Secret(.token).text, Secret(.session).text] {
      #expect(throws: AccessRegistry.SignInRefusal.self) { try access.registry.signIn(text) }
    }
  }

  @Test("it ends when nobody uses it for its lease, and each use begins that anew")
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
    #expect(access.registry.grant(session: session.text) != nil, "what is remembered goes with the next refresh")
    access.clock.advance(101)
    access.registry.refresh()
    access.clock.advance(101)
    access.registry.refresh()
    #expect(access.registry.grant(session: session.text) == nil)
  }

  @Test("it ends with its token: when that expires, and when it is revoked")
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

  @Test("a change of another token ends nobody's session")
  func others() throws {
    let access = try TemporaryAccess()
    let (_, secret) = try access.token()
    let (session, _) = try access.registry.signIn(secret)
    let other = try access.token()
    _ = try access.outside.revokeToken(other.token.identifier)
    access.registry.refresh()
    #expect(access.registry.grant(session: session.text) != nil)
  }

  @Test("of one token's sessions the one not used for longest makes room; of all there is an end")
  func bounded() throws {
    var limits = AccessLimits()
    (limits.sessions, limits.sessionsAToken) = (5, 3)
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
    #expect(throws: AccessRegistry.SignInRefusal.tooManySessions) { try access.registry.signIn(second.secret) }
    #expect(sessions.dropFirst().allSatisfy { access.registry.grant(session: $0) != nil }, "nobody else's goes")
  }
}
