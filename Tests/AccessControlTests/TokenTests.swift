import AccessControl
import Foundation
import PhotoModel
import Testing

@Suite("Tokens")
struct TokenTests {
  @Test("a token opens what it was made for, from the first refresh after another process made it")
  func made() throws {
    let access = try TemporaryAccess()
    #expect(!access.registry.isGuarded && access.registry.classOfNobody == .anybody)
    let (token, secret) = try access.token([.read, .location], limitedTo: ["album"], name: "gallery")
    let grant = try access.registry.grant(bearer: secret)
    #expect(grant.principal.scopes == [.read, .location] && grant.principal.visibility == .collections(["album"]))
    #expect(grant.token == token.identifier && grant.expires == nil)
    #expect(access.registry.isGuarded && access.registry.classOfNobody != .anybody)
    #expect(try access.outside.tokens().map(\.name) == ["gallery"])
  }

  @Test("what is no token, or none of ours, opens nothing")
  func unknown() throws {
    let access = try TemporaryAccess()
    let (_, secret) = try access.token()
    for (text, refusal) in [
      ("", Refusal.malformed), ("photod_", .malformed), (String(secret.dropLast()), .malformed),
      (secret + "A", .malformed),
      (secret.replacing("photod_", with: "session_"), .malformed), (secret + "=", .malformed),
      (Secret(.token).text, .unknown), (Secret(.session).text, .malformed),
      (String(repeating: "x", count: 10_000), .malformed),
    ] {
      #expect(access.refusal { () throws(Refusal) in try access.registry.grant(bearer: text) } == refusal, "\(text)")
    }
  }

  @Test("it ends at its second, on the hot path too, and when it is revoked, at the next refresh")
  func ends() throws {
    let access = try TemporaryAccess()
    let short = try access.token(for: 60)
    let long = try access.token()
    let grant = try access.registry.grant(bearer: short.secret)
    #expect(access.remembered(short.secret) === grant && grant.expires == access.clock.now + 60)
    _ = try access.registry.grant(bearer: long.secret)
    access.clock.advance(59)
    #expect(access.remembered(short.secret) != nil)
    access.clock.advance(1)
    #expect(access.remembered(short.secret) == nil && access.remembered(long.secret) != nil)
    #expect(access.refusal { () throws(Refusal) in try access.registry.grant(bearer: short.secret) } == .expired)

    _ = try access.outside.revokeToken(long.token.identifier)
    #expect(access.remembered(long.secret) != nil, "nobody has looked yet")
    access.registry.refresh()
    #expect(access.remembered(long.secret) == nil)
    #expect(access.refusal { () throws(Refusal) in try access.registry.grant(bearer: long.secret) } == .revoked)
    #expect(access.registry.isGuarded, "the last token gone opens no door")
  }

  @Test("the hot path knows a secret only after it was good, only as its kind, and only whole")
  func remembering() throws {
    let access = try TemporaryAccess()
    let (_, secret) = try access.token()
    #expect(access.remembered(secret) == nil)
    _ = try access.registry.grant(bearer: secret)
    #expect(access.remembered(secret) != nil && access.remembered(secret, .session) == nil)
    for text in ["", String(secret.dropLast()), secret + "A", String(secret.dropLast()) + "!"] {
      #expect(access.remembered(text) == nil)
    }
  }

  @Test("callers who see the same part share a class, others never; one who may not read has none")
  func classes() throws {
    let access = try TemporaryAccess()
    func grant(_ scopes: Set<Scope>, _ collections: Set<LocalIdentifier>?) throws -> Grant {
      try access.registry.grant(bearer: try access.token(scopes, limitedTo: collections).secret)
    }
    let everything = [try grant([.read], nil), try grant([.read, .location, .admin], nil)]
    let some = [try grant([.read], ["a", "b"]), try grant([.read, .write], ["b", "a"])]
    let other = try grant([.read], ["a"])
    #expect(everything[0].accessClass == everything[1].accessClass && some[0].accessClass == some[1].accessClass)
    let classes = [
      everything[0].accessClass, some[0].accessClass, other.accessClass, access.registry.classOfNobody, .anybody,
    ]
    #expect(Set(classes).count == 5 && !classes.contains(nil))
    #expect(try grant([.write], nil).accessClass == nil)
  }

  @Test("nothing that opens is in the file, which nobody else may read")
  func file() throws {
    let access = try TemporaryAccess()
    let (_, secret) = try access.token()
    let path = access.folder + "/access.sqlite"
    let bytes = try #require(FileManager.default.contents(atPath: path))
    #expect(bytes.range(of: Data(secret.utf8)) == nil && bytes.range(of: Data(secret.dropFirst(7).utf8)) == nil)
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    _ = try AccessDatabase(dataFolder: access.folder)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
  }

  @Test("no more tokens are in force than there may be, and what is over is not kept without end")
  func bounded() throws {
    var limits = AccessLimits()
    limits.tokens = 3
    let access = try TemporaryAccess(limits)
    for _ in 0..<10 {
      for _ in 0..<3 { _ = try access.token() }
      #expect(throws: AccessError.self) { try access.token() }
      for token in try access.outside.tokens() where token.revoked == nil {
        _ = try access.outside.revokeToken(token.identifier)
      }
    }
    #expect(try access.outside.tokens().count <= 2 * limits.tokens)
    access.registry.refresh()
    #expect(access.registry.isGuarded)
  }

  @Test("it is revoked by its identifier, or by its name where no other in force has it")
  func revoking() throws {
    let access = try TemporaryAccess()
    let first = try access.token(name: "phone").token
    let second = try access.token(name: "phone").token
    #expect(throws: AccessError.self) { try access.outside.revokeToken("phone") }
    #expect(throws: AccessError.self) { try access.outside.revokeToken("tablet") }
    #expect(try access.outside.revokeToken(first.identifier).identifier == first.identifier)
    #expect(try access.outside.revokeToken("phone").identifier == second.identifier)
    #expect(try access.outside.tokens().allSatisfy { $0.revoked != nil })
  }

  @Test("uses are written down to the hour, by whoever refreshes")
  func lastUsed() throws {
    let access = try TemporaryAccess()
    let (_, secret) = try access.token()
    _ = try access.token()
    _ = try access.registry.grant(bearer: secret)
    access.clock.advance(60)
    access.registry.refresh()
    let uses = try access.outside.tokens().map(\.lastUsed)
    #expect(uses == [access.clock.now / 3600 * 3600, nil])
    access.clock.advance(7200)
    access.registry.refresh()
    #expect(try access.outside.tokens()[0].lastUsed == uses[0], "not used since")
    #expect(access.remembered(secret) != nil)
    access.clock.advance(60)
    access.registry.refresh()
    #expect(try access.outside.tokens()[0].lastUsed == access.clock.now / 3600 * 3600)
  }
}

extension LocalIdentifier: ExpressibleByStringLiteral {
  package init(stringLiteral value: String) { self.init(value) }
}
