import AccessControl
import Foundation
import GRDB
import PhotoModel
import Testing

@Suite("Signed URLs")
struct SignatureTests {
  private let subject = URLSignature.Subject(
    segments: ["v1", "assets", "x y", "image"], parameters: [("targetSize", "20x20"), ("format", "jpeg")])

  private func signed(
    _ access: TemporaryAccess, by issuer: String? = nil, collection: String? = nil, for seconds: Int64 = 60
  ) throws -> URLSignature {
    try #require(
      access.registry.sign(subject, collection: collection, issuer: issuer, expires: access.clock.now + seconds))
  }

  private func refusal(
    _ signature: URLSignature, _ access: TemporaryAccess, on subject: URLSignature.Subject? = nil
  ) -> CredentialError? {
    access.refusal { () throws(CredentialError) in
      try access.registry.grant(signature: signature, on: subject ?? self.subject)
    }
  }

  @Test("a signature survives a round trip and grants read access to the signed resource only")
  func roundTrip() throws {
    let access = try TemporaryAccess()
    let (token, _) = try access.token([.read, .write, .location, .admin], limitedTo: ["album"])
    let signature = try signed(access, by: token.identifier)
    #expect(URLSignature(signature.parameters) == signature)
    let grant = try access.registry.grant(signature: signature, on: subject)
    #expect(grant.principal.scopes == [.read], "a signature never gives the location scope")
    #expect(grant.principal.visibility == .collections(["album"]), "the visibility of the issuer")
    #expect(grant.principal.name != token.principal.name && grant.expires == access.clock.now + 60)
    // The order of the parameters does not matter.
    let reordered = URLSignature.Subject(
      segments: subject.segments, parameters: [("format", "jpeg"), ("targetSize", "20x20")])
    #expect(refusal(signature, access, on: reordered) == nil)
  }

  @Test("a signature is rejected for any other resource")
  func elsewhere() throws {
    let access = try TemporaryAccess()
    let signature = try signed(access)
    let (path, query) = (subject.segments, [(name: "targetSize", value: "20x20"), ("format", "jpeg")])
    for (segments, parameters) in [
      (["v1", "assets", "x", "image"], query), (["v1", "assets", "x y"], query), (path + ["x"], query), ([], query),
      (["v1", "assets", "x y/image"], query), (path, Array(query.dropLast())), (path, query + [("v", "1")]),
      (path, query + [query[0]]), (path, [("targetSize", "20x21"), ("format", "jpeg")]),
      (path, [("targetSize", "20x20&format=jpeg")]), (path, [("targetsize", "20x20"), ("format", "jpeg")]),
    ] {
      let other = URLSignature.Subject(segments: segments, parameters: parameters)
      #expect(refusal(signature, access, on: other) == .invalidSignature, "\(segments) \(parameters)")
    }
  }

  @Test("a change of any part of a signature makes it invalid or malformed")
  func tampered() throws {
    let access = try TemporaryAccess()
    let (token, _) = try access.token()
    let other = try access.token().token
    let signature = try signed(access, by: token.identifier, collection: "album")
    let parameters = signature.parameters
    func isValid(_ parameters: [(name: String, value: String)]) -> Bool {
      guard let changed = URLSignature(parameters) else { return false }
      return refusal(changed, access) == nil
    }
    #expect(isValid(parameters))
    for i in parameters.indices {
      var without = parameters
      without.remove(at: i)
      #expect(!isValid(without), "\(parameters[i].name) left out")
      #expect(!isValid(parameters + [parameters[i]]), "\(parameters[i].name) twice")
      for (j, character) in parameters[i].value.enumerated() {
        for replacement in ["0", "9", "A", "-", ""] where replacement != String(character) {
          var changed = parameters
          let at = parameters[i].value.index(parameters[i].value.startIndex, offsetBy: j)
          changed[i].value.replaceSubrange(at...at, with: replacement)
          #expect(!isValid(changed), "\(changed[i])")
        }
      }
    }
    var withOtherIssuer = parameters
    withOtherIssuer[1].value = other.identifier
    #expect(!isValid(withOtherIssuer), "a token can't sign in another token's name")
    withOtherIssuer[1].value = URLSignature.operatorIssuer
    #expect(!isValid(withOtherIssuer))
    // Without its collection parameter the signature would cover the path itself, which was not signed.
    #expect(!isValid(Array(try signed(access).parameters.dropLast() + parameters.suffix(1))))
  }

  @Test("a signature ends at its expiry, or when its issuer expires, is revoked or lacks the read scope")
  func ends() throws {
    let access = try TemporaryAccess()
    let short = try access.token(for: 30).token
    let long = try access.token().token
    let writer = try access.token([.add]).token
    let byShort = try signed(access, by: short.identifier, for: 60)
    #expect(byShort.expires == access.clock.now + 30, "the expiry is limited by the issuer")
    let byLong = try signed(access, by: long.identifier, for: 60)
    let byOperator = try signed(access, for: 60)
    #expect(refusal(try signed(access, by: writer.identifier), access) == .missingReadScope)
    access.clock.advance(29)
    #expect(refusal(byShort, access) == nil)
    access.clock.advance(1)
    #expect(refusal(byShort, access) == .expired && refusal(byLong, access) == nil)
    _ = try access.outside.revokeToken(long.identifier)
    access.registry.refresh()
    #expect(refusal(byLong, access) == .revoked && refusal(byOperator, access) == nil)
    access.clock.advance(30)
    #expect(refusal(byOperator, access) == .expired)
  }

  @Test("two keys are valid at a time: a signature survives one key rotation but not two")
  func rotation() throws {
    let access = try TemporaryAccess()
    _ = try access.token()
    let first = try signed(access, for: 1000)
    _ = try access.outside.rotateSigningKey()
    access.registry.refresh()
    let second = try signed(access, for: 1000)
    #expect(first.key != second.key && refusal(first, access) == nil && refusal(second, access) == nil)
    _ = try access.outside.rotateSigningKey()
    access.registry.refresh()
    #expect(refusal(first, access) == .expired && refusal(second, access) == nil)
    let file = try DatabaseQueue(path: access.folder + "/access.sqlite")
    let keyCount = try file.read { db in try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM signingKey") }
    #expect(keyCount == 2)
  }

  @Test("an album signature grants only the album, and only while a limited issuer still sees it")
  func albums() throws {
    let access = try TemporaryAccess()
    let everything = try access.token().token
    let some = try access.token(limitedTo: ["folder"]).token
    let cases: [(issuer: AccessToken, seen: Visibility?)] = [(everything, nil), (some, .collections(["folder"]))]
    for (issuer, seen) in cases {
      let signature = try signed(access, by: issuer.identifier, collection: "album")
      let grant = try access.registry.grant(signature: signature, on: subject)
      #expect(grant.principal.visibility == .collections(["album"]) && grant.principal.scopes == [.read])
      #expect(grant.principal.issuerVisibility == seen)
    }
  }

  @Test("a change of the access list gives unauthenticated callers a new access class")
  func classes() throws {
    let access = try TemporaryAccess()
    #expect(try access.registry.grant(signature: try signed(access), on: subject).accessClass == nil)
    let token = try access.token().token
    let before = try access.registry.grant(signature: try signed(access), on: subject).accessClass
    #expect(before == access.registry.unauthenticatedClass && before != nil)
    _ = try access.outside.revokeToken(token.identifier)
    access.registry.refresh()
    #expect(access.registry.unauthenticatedClass != before)
  }
}
