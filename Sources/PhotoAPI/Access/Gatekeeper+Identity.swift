// Who is asking. In this order: a signature in the URL, which then has to be good; a token; a session's cookie; nobody. Where
// no token was ever made, nobody is the person at this machine, or anonymous.

import AccessControl
import HTTPCore
import HTTPServer
import PhotoModel

extension Gatekeeper {
  /// The class of a caller whose answer may be there already; `nil`: that takes a closer look. Takes one lock for one look-up.
  func accessClass(_ head: borrowing RequestHead) -> AccessClass? {
    switch head.withBearer({ access.rememberedGrant(.token, $0)?.accessClass }) {
    case .token(let found): return found
    case .malformed: return nil
    // As `identity` has it: another scheme is nobody's.
    case .other, .none: break
    }
    guard head.has(.cookie) else { return access.classOfNobody }
    guard !head.has(.origin), head.isFetchedByOwnPage else { return nil }
    guard let session = head.withSession({ access.rememberedGrant(.session, $0)?.accessClass }) else {
      return access.classOfNobody
    }
    return session
  }

  func identity(_ head: RequestHead, _ target: RequestTarget, _ route: Route?, from peer: Peer) -> Identity {
    if let parameters = target.parameters, URLSignature.isIn(parameters) {
      return refusable(.signature) { () throws(Refusal) in
        try signed(target, parameters, route)
      }
    }
    switch head.withBearer({ String(decoding: $0, as: UTF8.self) }) {
    case .token(let token):
      return refusable(.bearer) { () throws(Refusal) in try access.grant(bearer: token) }
    case .malformed: return .refused(.malformed, .bearer)
    case .other, .none: break
    }
    if head.isFetchedByOwnPage, isOwnPage(head, target, from: peer),
      let session = head.withSession({ String(decoding: $0, as: UTF8.self) }),
      let grant = access.grant(session: session)
    {
      return .caller(Caller(grant, .session))
    }
    if access.isGuarded { return .nobody }
    return .caller(Caller(tokenless: isLocal(head, from: peer) ? .local : .anonymous))
  }

  private func refusable(_ credential: Caller.Credential, _ grant: () throws(Refusal) -> Grant) -> Identity {
    do throws(Refusal) { return .caller(Caller(try grant(), credential)) } catch { return .refused(error, credential) }
  }

  /// What a signed URL opens: the image that it was written on, or its album: that, its list, and what is in it.
  private func signed(
    _ target: RequestTarget, _ parameters: [(name: String, value: String)], _ route: Route?
  ) throws(Refusal) -> Grant {
    guard let signature = URLSignature(parameters) else { throw .malformed }
    guard let collection = signature.collection else {
      guard case .image = route else { throw .misplaced }
      let others = parameters.filter { !URLSignature.names.contains($0.name) }
      return try access.grant(
        signature: signature, on: URLSignature.Subject(segments: target.segments, parameters: others))
    }
    switch route {
    case .collection(collection), .collectionAssets(collection), .asset, .metadata, .image: break
    default: throw .misplaced
    }
    // The query is the reader's own, but whoever gave an album away gave what it shows.
    if parameters.contains(where: { $0.name == "includeHiddenAssets" && $0.value != "false" }) { throw .misplaced }
    return try access.grant(signature: signature, on: SignedTarget.subject(ofCollection: collection))
  }

  // MARK: Letting in

  /// The caller, if it may do this; else why not, and not too often.
  func admit(
    _ head: RequestHead, _ identity: Identity, _ requirement: Requirement, from peer: Peer
  ) throws(Problem) -> Caller? {
    switch identity {
    case .refused(let refusal, let credential):
      // What needs no caller is answered to a caller with a bad token too. A URL, though, is what it is.
      if requirement == .nothing && credential != .signature { return nil }
      throw slowing(Problem(refusal, credential), refusal, credential, head, from: peer)
    case .nobody:
      if requirement == .nothing { return nil }
      throw .unauthorized
    case .caller(let caller):
      if case .scope(let scopes) = requirement, caller.principal.scopes.isDisjoint(with: scopes) {
        throw .insufficientScope(scopes)
      }
      return caller
    }
  }

  /// What somebody is told who came with something bad; that they come too often, where they do.
  func slowing(
    _ problem: Problem, _ refusal: Refusal, _ credential: Caller.Credential, _ head: RequestHead, from peer: Peer
  ) -> Problem {
    guard refusal.isSuspicious else { return problem }
    let waits = failures.failed(client(head, from: peer), credential: "\(credential)", reason: "\(refusal)")
    return waits > 0 ? .tooManyAttempts(waits) : problem
  }

  /// Throws where this client has failed too often just now. What it comes with is not looked at then.
  func checkPatience(_ head: RequestHead, from peer: Peer) throws(Problem) {
    let waits = failures.waitSeconds(client(head, from: peer))
    if waits > 0 { throw .tooManyAttempts(waits) }
  }

  /// Whoever a proxy asks for, as it says; else the peer. As limits count: an IPv4 address, or 64 bits of IPv6.
  private func client(_ head: RequestHead, from peer: Peer) -> Peer {
    guard proxies.contains(peer) else { return peer.group }
    // Each proxy appends whom it heard from: the last one that is none of ours is the client.
    for text in Forwarded.clients(head).reversed() {
      guard let address = IPAddress(text) else { break }
      if !proxies.contains(.address(address)) { return .address(address.group) }
    }
    return peer.group
  }
}

extension Peer {
  fileprivate var group: Peer {
    if case .address(let address) = self { .address(address.group) } else { self }
  }
}

extension Problem {
  /// RFC 6750 §3: no error is named where nothing was sent.
  static let unauthorized = Problem(
    401, "unauthorized", "Unauthorized",
    detail:
      "Send a token that photod token create has made, as Authorization: Bearer TOKEN, or sign in at /v1/session.",
    fields: ["WWW-Authenticate": challenge])

  /// RFC 6750 §3.1.
  static func insufficientScope(_ scopes: Set<Scope>) -> Problem {
    let names = scopes.map(\.rawValue).sorted()
    return Problem(
      403, "insufficient-scope", "Not with this token",
      detail: "This needs a token with the scope \(names.joined(separator: " or ")).",
      fields: [
        "WWW-Authenticate": challenge + ", error=\"insufficient_scope\", scope=\"\(names.joined(separator: " "))\""
      ])
  }

  static func tooManyAttempts(_ seconds: Int64) -> Problem {
    Problem(
      429, "too-many-attempts", "Too many failed attempts",
      detail: "What came from your address was refused too often; wait before the next attempt.",
      fields: ["Retry-After": String(seconds)])
  }

  init(_ refusal: Refusal, _ credential: Caller.Credential) {
    if credential == .signature {
      let detail =
        switch refusal {
        case .expired: "The signed URL has ended; ask whoever gave it for a new one."
        case .revoked, .unknown, .powerless: "Whoever signed this URL may no longer see what it opens."
        case .malformed, .forged, .misplaced: "The URL is not as it was signed, or not for this resource."
        }
      self.init(
        403, refusal == .expired ? "signed-url-expired" : "signed-url-refused", "The signed URL opens nothing",
        detail: detail)
      return
    }
    let detail =
      switch refusal {
      case .expired: "The token has expired."
      case .revoked: "The token was revoked."
      case .malformed: "What was sent is no token."
      case .unknown, .forged, .misplaced, .powerless: "There is no such token."
      }
    self.init(
      401, "invalid-token", "The token is no good", detail: detail,
      fields: ["WWW-Authenticate": Self.challenge + ", error=\"invalid_token\", error_description=\"\(detail)\""])
  }

  private static let challenge = "Bearer realm=\"photod\""
}
