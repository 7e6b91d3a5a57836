import AccessControl
import AssetLibrary
import FoundationEssentials
import HTTPCore
import HTTPServer
import PhotoModel

/// `GET /v1/authorization`, `POST` and `DELETE /v1/session`, `POST /v1/signedURLs`.
struct AuthorizationRoutes: Sendable {
  let access: AccessRegistry
  let gatekeeper: Gatekeeper
  let fetching: Fetching

  // MARK: Who one is

  /// PhotoKit's words for what a caller may do, and what it amounts to.
  func authorization(_ request: HTTPRequest, _ identity: Identity) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    let shape: AuthorizationJSON =
      switch identity {
      case .caller(let caller): AuthorizationJSON(caller)
      case .nobody: AuthorizationJSON(status: .notDetermined)
      case .refused: AuthorizationJSON(status: .denied)
      }
    return answer(.ok, shape)
  }

  // MARK: Sessions

  /// Signs a browser in with a token. Whoever has failed too often is not heard for a while.
  func signIn(_ request: HTTPRequest, from peer: Peer) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    var body = try JSONObjectReader(request)
    let sent = try body.text("token")
    try body.finish()
    guard let token = sent else { throw QueryReader.invalid("token", "is missing") }
    try gatekeeper.checkPatience(request.head, from: peer)
    do throws(AccessRegistry.SignInRefusal) {
      let (secret, grant) = try access.signIn(token)
      var response = answer(201, AuthorizationJSON(Caller(grant, .session)))
      let isSecure = gatekeeper.isSecure(request.head, from: peer)
      response.head.fields.append(("Set-Cookie", SessionCookie.field(secret.text, isSecure: isSecure)))
      return response
    } catch {
      switch error {
      case .tooManySessions:
        throw Problem(
          429, "too-many-sessions", "Too many sessions", detail: "Sign out elsewhere, or wait until a session ends.",
          fields: ["Retry-After": "60"])
      case .refused(let refusal):
        throw gatekeeper.slowing(Problem(refusal, .bearer), refusal, .session, request.head, from: peer)
      }
    }
  }

  /// Signs a browser out, whoever it was.
  func signOut(_ request: HTTPRequest, from peer: Peer) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    if let session = request.head.withSession({ String(decoding: $0, as: UTF8.self) }) { access.signOut(session) }
    let end = SessionCookie.end(isSecure: gatekeeper.isSecure(request.head, from: peer))
    return HTTPResponse(204, [("Cache-Control", "no-store"), ("Set-Cookie", end)])
  }

  // MARK: Signed URLs

  /// Signs a path that the caller may see, on the lookup queue.
  func sign(_ request: HTTPRequest, _ caller: Caller) throws(Problem) -> HTTPResponse {
    struct Shape: Encodable {
      let url: String
      let expires: String
    }
    try QueryReader(request.target).finish()
    var body = try JSONObjectReader(request)
    let (sent, end) = (try body.text("path"), try body.text("expires"))
    try body.finish()
    guard let path = sent else { throw QueryReader.invalid("path", "is missing") }
    // A URL opens what its issuer may see, as long as the issuer is somebody; what a URL opens can't be signed on.
    guard caller.credential != .signature, caller.principal != .anonymous else {
      throw Problem(403, "forbidden", "Not for you", detail: "Signing needs a token, or to be at this machine.")
    }
    let target = try SignedTarget(path)
    let expires = try Self.end(end, limits: access.limits)
    try fetching.asking { library throws(AssetSourceError) in
      try target.sight(of: caller.principal, in: library)
    }.check()
    guard
      let signature = access.sign(
        target.subject, collection: target.collection, issuer: caller.token, expires: expires)
    else { throw Problem(500, "internal-error", "Internal error", detail: "There is no key to sign with.") }
    return answer(
      201, Shape(url: target.url(signature), expires: Timestamp(milliseconds: signature.expires * 1000).rfc3339))
  }

  /// When a URL ends that is signed now: RFC 3339, a day from now where nothing is said.
  private static func end(_ text: String?, limits: AccessLimits) throws(Problem) -> Int64 {
    let now = SystemTime.now
    guard let text else { return now + min(86_400, limits.signedURLSeconds) }
    let seconds: Int64
    do throws(MalformedRFC3339) {
      seconds = try Timestamp(rfc3339: text).milliseconds / 1000
    } catch {
      throw QueryReader.invalid("expires", "is a time as 2026-01-31T12:00:00Z")
    }
    guard seconds > now, seconds <= now + limits.signedURLSeconds else {
      throw QueryReader.invalid("expires", "lies in the future, at most \(limits.signedURLSeconds) seconds from now")
    }
    return seconds
  }

  private func answer(_ status: HTTPStatus, _ shape: some Encodable) -> HTTPResponse {
    HTTPResponse(
      status, [("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store")], body: JSONBody.encode(shape))
  }
}

/// PHAuthorizationStatus, as far as HTTP has it.
enum AuthorizationStatus: String, Encodable {
  /// There are tokens, and none was sent.
  case notDetermined
  /// A token that has no scope to read with.
  case restricted
  /// What was sent is no good: unknown, expired, revoked.
  case denied
  /// Some collections.
  case limited
  case authorized
}

/// What `GET /v1/authorization` answers.
private struct AuthorizationJSON: Encodable {
  let status: AuthorizationStatus
  let scopes: [String]
  let collections: [String]?
  let expires: String?

  init(status: AuthorizationStatus) {
    self.status = status
    (scopes, collections, expires) = ([], nil, nil)
  }

  init(_ caller: Caller) {
    let principal = caller.principal
    scopes = Scope.allCases.filter(principal.may).map(\.rawValue)
    expires = caller.expires.map { Timestamp(milliseconds: $0 * 1000).rfc3339 }
    switch principal.visibility {
    case .everything:
      collections = nil
      status = principal.may(.read) ? .authorized : .restricted
    case .collections(let some):
      collections = some.map(\.rawValue).sorted()
      status = principal.may(.read) ? .limited : .restricted
    }
  }

  private enum Key: String, CodingKey { case status, scopes, collections, expires }

  // What there is none of is null.
  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(status, forKey: .status)
    try object.encode(scopes, forKey: .scopes)
    try object.encode(collections, forKey: .collections)
    try object.encode(expires, forKey: .expires)
  }
}
