import AccessControl
import Foundation
import GRDB
import PhotoModel
import Testing

@Suite("Tokens")
struct TokenTests {
  @Test("a token created by another process is accepted after the next refresh, with its scopes")
  func made() throws {
    let access = try TemporaryAccess()
    #expect(!access.registry.requiresCredential && access.registry.unauthenticatedClass == .everyone)
    let (token, secret) = try access.token([.read, .location], limitedTo: ["album"], name: "gallery")
    let grant = try access.registry.grant(bearer: secret)
    #expect(grant.principal.scopes == [.read, .location] && grant.principal.visibility == .collections(["album"]))
    #expect(grant.token == token.identifier && grant.expires == nil)
    #expect(access.registry.requiresCredential && access.registry.unauthenticatedClass != .everyone)
    #expect(try access.outside.tokens().map(\.name) == ["gallery"])
  }

  @Test("a data folder that can't be created is named, with the system's reason")
  func noFolder() throws {
    let access = try TemporaryAccess()
    let folder = access.folder + "/access.sqlite/data"
    #expect {
      try AccessDatabase(dataFolder: folder)
    } throws: {
      "\($0)" == "\(folder) can't be used: Not a directory"
    }
  }

  @Test("malformed and unknown tokens are rejected")
  func unknown() throws {
    let access = try TemporaryAccess()
    let (_, secret) = try access.token()
    for (text, refusal) in [
      ("", CredentialError.malformed), ("photod_", .malformed), (String(secret.dropLast()), .malformed),
      (secret + "A", .malformed),
      (secret.replacing("photod_", with: "session_"), .malformed), (secret + "=", .malformed),
      (Secret(.token).text, .unknown), (Secret(.session).text, .malformed),
      (String(repeating: "x", count: 10_000), .malformed),
    ] {
      #expect(
        access.refusal { () throws(CredentialError) in try access.registry.grant(bearer: text) } == refusal, "\(text)")
    }
  }

  @Test("a token is rejected from its expiry second on, also if cached, and after revocation from the next refresh on")
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
    #expect(
      access.refusal { () throws(CredentialError) in try access.registry.grant(bearer: short.secret) } == .expired)

    _ = try access.outside.revokeToken(long.token.identifier)
    #expect(access.remembered(long.secret) != nil, "the registry has not refreshed yet")
    access.registry.refresh()
    #expect(access.remembered(long.secret) == nil)
    #expect(access.refusal { () throws(CredentialError) in try access.registry.grant(bearer: long.secret) } == .revoked)
    #expect(access.registry.requiresCredential, "a credential is still required after the last token ended")
  }

  @Test("a principal can send requests while its token is active; without a token, while none was ever made")
  func admittedPrincipals() throws {
    let access = try TemporaryAccess()
    let tokenless = [Principal.local.name, Principal.anonymous.name]
    func admits(_ names: [String]) -> [Bool] { names.map { access.registry.admits($0) } }
    #expect(admits(tokenless) == [true, true])
    let short = try access.token(for: 60)
    let long = try access.token()
    let names = try [short, long].map { try access.registry.grant(bearer: $0.secret).principal.name }
    #expect(admits(tokenless) == [false, false] && admits(names) == [true, true])
    access.clock.advance(60)
    #expect(admits(names) == [false, true])
    _ = try access.outside.revokeToken(long.token.identifier)
    access.registry.refresh()
    #expect(admits(names) == [false, false] && admits(["token unknown"]) == [false])
  }

  @Test("the grant cache contains a secret only after it was valid, and only for its kind and full text")
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

  @Test("callers with equal visibility share an access class, others do not; a caller without the read scope has none")
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
      everything[0].accessClass, some[0].accessClass, other.accessClass, access.registry.unauthenticatedClass,
      .everyone,
    ]
    #expect(Set(classes).count == 5 && !classes.contains(nil))
    #expect(try grant([.add], nil).accessClass == nil)
  }

  @Test("a token with write and without read can't be created, and an old one has no rights; write includes add")
  func scopes() throws {
    let access = try TemporaryAccess()
    #expect(throws: AccessError.self) { try access.token([.write]) }
    #expect(throws: AccessError.self) { try access.token([.write, .location]) }
    for (stored, effective) in [
      ([.write], []), ([.write, .admin], [.admin]), ([.read, .write], [.read, .add, .write]), ([.add], [.add]),
      ([.read, .location], [.read, .location]),
    ] as [(Set<Scope>, Set<Scope>)] {
      #expect(Scope.effective(stored) == effective)
    }
    #expect(try access.registry.grant(bearer: access.token([.read, .write]).secret).principal.may(.add))
  }

  @Test("the database file contains no token secret and is readable by its owner only")
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

  @Test("an empty file of tokens is refused: a new one would let callers in without a token")
  func emptyFile() throws {
    let access = try TemporaryAccess()
    let folder = access.folder + "/other"
    let path = folder + "/access.sqlite"
    _ = try AccessDatabase(dataFolder: folder)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["access.sqlite"])
    try Data().write(to: URL(filePath: path))
    #expect {
      _ = try AccessDatabase(dataFolder: folder)
    } throws: {
      if case AccessError.withoutTables(path)? = $0 as? AccessError { true } else { false }
    }
    #expect(FileManager.default.contents(atPath: path)?.isEmpty == true)
    try FileManager.default.removeItem(atPath: path)
    #expect(try AccessDatabase(dataFolder: folder).tokens().isEmpty)
  }

  @Test("a replaced file of tokens is loaded; one that is missing or has no tokens lets no caller in without a token")
  func replacedFile() throws {
    let access = try TemporaryAccess()
    let path = access.folder + "/access.sqlite"
    let (token, secret) = try access.token()
    let registry = access.registry
    func refusal(_ text: String) -> CredentialError? {
      access.refusal { () throws(CredentialError) in try registry.grant(bearer: text) }
    }
    #expect(registry.isCurrent && refusal(secret) == nil)
    // As a file is restored: the same content, in another file.
    try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
    try FileManager.default.removeItem(atPath: path)
    #expect(!registry.isCurrent)
    registry.refresh()
    #expect(!registry.isCurrent && registry.requiresCredential && refusal(secret) == nil)
    try FileManager.default.moveItem(atPath: path + ".copy", toPath: path)
    #expect(!registry.isCurrent)
    registry.refresh()
    #expect(registry.isCurrent && refusal(secret) == nil)
    _ = try AccessDatabase(dataFolder: access.folder).revokeToken(token.identifier)
    registry.refresh()
    #expect(refusal(secret) == .revoked)

    try FileManager.default.removeItem(atPath: path)
    let new = try AccessDatabase(dataFolder: access.folder)
    registry.refresh()
    #expect(!registry.isCurrent && registry.requiresCredential && refusal(secret) == .revoked)
    let made = try new.createToken(name: nil, scopes: [.read], collections: nil, expires: nil, at: access.clock.now)
    registry.refresh()
    #expect(registry.isCurrent && refusal(secret) == .unknown && refusal(made.secret.text) == nil)
  }

  @Test("a file of tokens that is overwritten in place is noticed, and the loaded tokens stay")
  func overwrittenFile() throws {
    let access = try TemporaryAccess()
    let path = access.folder + "/access.sqlite"
    let (_, secret) = try access.token()
    let registry = access.registry
    registry.refresh()
    let whole = try #require(FileManager.default.contents(atPath: path))
    func overwrite(_ bytes: Data) throws {
      let file = try FileHandle(forUpdating: URL(filePath: path))
      try file.write(contentsOf: bytes)
      try file.close()
    }
    try overwrite(Data(count: whole.count))
    registry.refresh()
    #expect(!registry.isCurrent && !registry.isReplaced && registry.requiresCredential)
    _ = try registry.grant(bearer: secret)
    #expect {
      _ = try AccessDatabase(dataFolder: access.folder)
    } throws: { error in
      "\(error)".contains("photod restore --include-tokens")
    }
    try overwrite(whole)
    registry.refresh()
    #expect(registry.isCurrent)
    _ = try registry.grant(bearer: secret)
  }

  @Test("a first token in a replaced file ends access without a token")
  func firstTokenInReplacedFile() throws {
    let access = try TemporaryAccess()
    try FileManager.default.removeItem(atPath: access.folder + "/access.sqlite")
    let new = try AccessDatabase(dataFolder: access.folder)
    access.registry.refresh()
    #expect(access.registry.isCurrent && !access.registry.requiresCredential)
    _ = try new.createToken(name: nil, scopes: [.read], collections: nil, expires: nil, at: access.clock.now)
    access.registry.refresh()
    #expect(access.registry.requiresCredential)
  }

  @Test("the number of active tokens is limited, and so is the number of inactive tokens kept")
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
    #expect(access.registry.requiresCredential)
  }

  @Test("a token is found and revoked by its identifier, or by its name if no other active token has it")
  func revoking() throws {
    let access = try TemporaryAccess()
    let first = try access.token(name: "phone").token
    let second = try access.token(name: "phone").token
    #expect(throws: AccessError.self) { try access.outside.revokeToken("phone") }
    #expect(throws: AccessError.self) { try access.outside.revokeToken("tablet") }
    #expect(throws: AccessError.self) { try access.outside.token("phone") }
    #expect(try access.outside.token(second.identifier).identifier == second.identifier)
    #expect(try access.outside.revokeToken(first.identifier).identifier == first.identifier)
    #expect(try access.outside.token("phone").identifier == second.identifier)
    #expect(try access.outside.revokeToken("phone").identifier == second.identifier)
    #expect(try access.outside.tokens().allSatisfy { $0.revoked != nil })
  }

  @Test("refresh records token usage, rounded down to the hour")
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
    #expect(try access.outside.tokens()[0].lastUsed == uses[0], "unused since the last record")
    #expect(access.remembered(secret) != nil)
    access.clock.advance(60)
    access.registry.refresh()
    #expect(try access.outside.tokens()[0].lastUsed == access.clock.now / 3600 * 3600)
  }

  @Test("token usage is recorded after the clock was set back")
  func lastUsedAfterClockSet() throws {
    let access = try TemporaryAccess()
    let (_, secret) = try access.token()
    for seconds in [0, -3 * 365 * 86_400] as [Int64] {
      access.clock.set(by: seconds)
      _ = try access.registry.grant(bearer: secret)
      access.clock.advance(60)
      access.registry.refresh()
      #expect(try access.outside.tokens().map(\.lastUsed) == [access.clock.now / 3600 * 3600])
    }
  }

  @Test("token usage that can't be written is written with the next batch")
  func failedUsageWrite() throws {
    let access = try TemporaryAccess()
    let (_, secret) = try access.token()
    let file = try DatabaseQueue(path: access.folder + "/access.sqlite")
    try file.write { db in
      try db.execute(
        sql: "CREATE TRIGGER refusal BEFORE UPDATE ON token BEGIN SELECT RAISE(ABORT, 'refused by the test'); END")
    }
    _ = try access.registry.grant(bearer: secret)
    access.clock.advance(60)
    access.registry.refresh()
    #expect(try access.outside.tokens().map(\.lastUsed) == [nil])
    try file.write { db in try db.execute(sql: "DROP TRIGGER refusal") }
    access.clock.advance(60)
    access.registry.refresh()
    #expect(try access.outside.tokens().map(\.lastUsed) == [access.clock.now / 3600 * 3600])
  }
}

extension LocalIdentifier: ExpressibleByStringLiteral {
  package init(stringLiteral value: String) { self.init(value) }
}
