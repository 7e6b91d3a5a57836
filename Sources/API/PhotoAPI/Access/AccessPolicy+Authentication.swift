// Authentication and authorization of a request. Credentials are tried in this order: a signature in the URL (if
// present, it must be valid), a bearer token, a session cookie, no credential. If no token was ever made, a request
// without a credential comes from the local administrator (see `isLocal`) or is anonymous.

import AccessControl
import HTTPCore
import HTTPServer
import PhotoModel

extension AccessPolicy {
  /// The access class used to look up prepared responses. `nil`: the request needs the full authentication path.
  /// Takes one lock and does one lookup.
  func accessClass(_ head: borrowing RequestHead) -> AccessClass? {
    switch head.withBearer({ access.cachedGrant(.token, $0)?.accessClass }) {
    case .token(let found): return found
    case .malformed: return nil
    // As in `authenticate`: another authentication scheme counts as no credential.
    case .other, .none: break
    }
    guard head.has(.cookie) else { return access.unauthenticatedClass }
    guard !head.has(.origin), head.isSameOriginFetch else { return nil }
    guard let session = head.withSession({ access.cachedGrant(.session, $0)?.accessClass }) else {
      return access.unauthenticatedClass
    }
    return session
  }

  func authenticate(_ head: RequestHead, _ target: RequestTarget, _ route: Route?, from peer: Peer)
    -> AuthenticationResult
  {
    let result = identity(head, target, route, from: peer)
    guard namesNeedScope, case .caller(let caller) = result else { return result }
    return .caller(caller.needingScopeForNames())
  }

  private func identity(_ head: RequestHead, _ target: RequestTarget, _ route: Route?, from peer: Peer)
    -> AuthenticationResult
  {
    if let parameters = target.parameters, URLSignature.isPresent(in: parameters) {
      return callerOrRejection(.signature) { () throws(CredentialError) in
        try signed(target, parameters, route)
      }
    }
    switch head.withBearer({ String(decoding: $0, as: UTF8.self) }) {
    case .token(let token):
      return callerOrRejection(.bearer) { () throws(CredentialError) in try access.grant(bearer: token) }
    case .malformed: return .rejected(.malformed, .bearer)
    case .other, .none: break
    }
    if head.isSameOriginFetch, isSameOrigin(head, target, from: peer),
      let session = head.withSession({ String(decoding: $0, as: UTF8.self) }),
      let grant = access.grant(session: session)
    {
      return .caller(Caller(grant, .session))
    }
    if access.requiresCredential { return .missing }
    return .caller(Caller(withoutCredential: isLocal(head, from: peer) ? .local : .anonymous))
  }

  private func callerOrRejection(_ credential: Caller.Credential, _ grant: () throws(CredentialError) -> Grant)
    -> AuthenticationResult
  {
    do throws(CredentialError) { return .caller(Caller(try grant(), credential)) } catch {
      return .rejected(error, credential)
    }
  }

  /// Validates a signed URL. It grants either one image, or one album: the album itself, its asset list and its
  /// assets.
  private func signed(
    _ target: RequestTarget, _ parameters: [(name: String, value: String)], _ route: Route?
  ) throws(CredentialError) -> Grant {
    guard let signature = URLSignature(parameters) else { throw .malformed }
    guard let collection = signature.collection else {
      guard route?.group.signedAccess == .image else { throw .wrongResource }
      let others = parameters.filter { !URLSignature.parameterNames.contains($0.name) }
      return try access.grant(
        signature: signature, on: URLSignature.Subject(segments: target.segments, parameters: others))
    }
    switch route?.group.signedAccess {
    case .album where route?["collection"] == collection: break
    case .albumAsset, .image: break
    case .album, nil: throw .wrongResource
    }
    // The reader may choose the other query parameters, but an album's signature does not list hidden assets.
    if parameters.contains(where: { $0.name == "includeHiddenAssets" && $0.value != "false" }) { throw .wrongResource }
    return try access.grant(signature: signature, on: SignedTarget.subject(ofCollection: collection))
  }

  // MARK: Authorization

  /// Returns the caller if it meets the requirement; otherwise throws the problem, with throttling of failed attempts.
  /// Returns `nil` if the requirement is open and no valid caller is known.
  func authorize(
    _ head: RequestHead, _ identity: AuthenticationResult, _ requirement: Requirement, from peer: Peer
  ) throws(Problem) -> Caller? {
    switch identity {
    case .rejected(let refusal, let credential):
      // Open routes also respond to callers with an invalid token. An invalid signature is always rejected.
      if requirement == .open && credential != .signature { return nil }
      throw throttled(Problem(refusal, credential), refusal, credential, head, from: peer)
    case .missing:
      if requirement == .open { return nil }
      throw .unauthorized
    case .caller(let caller):
      switch requirement {
      case .scopes(let some) where caller.principal.scopes.isDisjoint(with: some): throw .insufficientScope(some)
      case .open, .authenticated, .scopes: return caller
      }
    }
  }

  /// The problem for a rejected credential: `problem` itself, or 429 if this client has failed too often.
  func throttled(
    _ problem: Problem, _ refusal: CredentialError, _ credential: Caller.Credential, _ head: RequestHead,
    from peer: Peer
  ) -> Problem {
    guard refusal.isSuspicious else { return problem }
    let seconds = failedAttempts.failed(client(head, from: peer), credential: credential, reason: "\(refusal)")
    return seconds > 0 ? .tooManyAttempts(seconds) : problem
  }

  /// Throws 429 if this client has recently sent too many wrong tokens. Its token is not checked then.
  func checkThrottle(_ head: RequestHead, from peer: Peer) throws(Problem) {
    let seconds = failedAttempts.waitSeconds(client(head, from: peer))
    if seconds > 0 { throw .tooManyAttempts(seconds) }
  }

  /// The client that failed attempts are counted for: the client that a trusted proxy reports, otherwise the peer.
  /// IPv6 clients are counted per /64 network.
  private func client(_ head: RequestHead, from peer: Peer) -> Peer {
    guard proxies.contains(peer) else { return peer.clientNetwork }
    // Each proxy appends its own peer: the last address that is not a trusted proxy is the client.
    for text in Forwarded.clients(head).reversed() {
      guard let address = IPAddress(text) else { break }
      if !proxies.contains(.address(address)) { return .address(address.clientNetwork) }
    }
    return peer.clientNetwork
  }
}

extension Peer {
  fileprivate var clientNetwork: Peer {
    if case .address(let address) = self { .address(address.clientNetwork) } else { self }
  }
}
