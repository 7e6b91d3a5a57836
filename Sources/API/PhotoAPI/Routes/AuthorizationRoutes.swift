import AccessControl
import FoundationEssentials
import HTTPCore
import HTTPServer
import PhotoModel
import Primitives

/// `GET /v1/authorization`, `POST` and `DELETE /v1/session`, `POST /v1/signedURLs`.
struct AuthorizationRoutes: Sendable {
  let access: AccessRegistry
  let accessPolicy: AccessPolicy
  let queries: QueryService
  let presets: ImagePresets
  /// The name of the library's time zone.
  let timeZone: String

  // MARK: Authorization status

  /// The caller's authorization status in PhotoKit's terms, with its scopes and collections, and the time zone in which
  /// its pictures without an offset are shown.
  func authorization(_ identity: AuthenticationResult) -> HTTPResponse {
    let shape: AuthorizationJSON =
      switch identity {
      case .caller(let caller): AuthorizationJSON(caller, timeZone: timeZone)
      case .missing: AuthorizationJSON(status: .notDetermined)
      case .rejected: AuthorizationJSON(status: .denied)
      }
    return .json(shape)
  }

  // MARK: Sessions

  /// Signs a browser in with a token. A client with too many failed attempts gets 429.
  func signIn(_ request: HTTPRequest, from peer: Peer) throws(Problem) -> HTTPResponse {
    var body = try JSONObjectReader(request)
    let sent = try body.text("token")
    try body.finish()
    guard let token = sent else { throw QueryReader.invalid("token", "is missing") }
    try accessPolicy.checkThrottle(request.head, from: peer)
    do throws(AccessRegistry.SignInError) {
      let (secret, grant) = try access.signIn(token)
      var response = HTTPResponse.json(AuthorizationJSON(Caller(grant, .session), timeZone: timeZone), status: 201)
      let isSecure = accessPolicy.isSecure(request.head, from: peer)
      response.head.fields.append(("Set-Cookie", SessionCookie.field(secret.text, isSecure: isSecure)))
      return response
    } catch {
      switch error {
      case .tooManySessions:
        throw Problem(
          429, "too-many-sessions", "Too many sessions", detail: "Sign out elsewhere, or wait until a session ends.",
          fields: ["Retry-After": "60"])
      case .refused(let refusal):
        throw accessPolicy.throttled(Problem(refusal, .session), refusal, .session, request.head, from: peer)
      }
    }
  }

  /// Signs a browser out. Succeeds without a session too.
  func signOut(_ request: HTTPRequest, from peer: Peer) -> HTTPResponse {
    if let session = request.head.withSession({ String(decoding: $0, as: UTF8.self) }) { access.signOut(session) }
    let end = SessionCookie.expiredField(isSecure: accessPolicy.isSecure(request.head, from: peer))
    return HTTPResponse(204, [("Cache-Control", "no-store"), ("Set-Cookie", end)])
  }

  // MARK: Signed URLs

  /// Signs a path that the caller may see. Runs on the lookup queue.
  func sign(_ request: HTTPRequest, _ caller: Caller) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      let url: String
      let expires: String
    }
    var body = try JSONObjectReader(request)
    let (sent, end) = (try body.text("path"), try body.text("expires"))
    try body.finish()
    guard let path = sent else { throw QueryReader.invalid("path", "is missing") }
    // A signed URL grants what its issuer may see, so the issuer must be identified. A signed URL can't be used to
    // sign another one.
    guard caller.credential != .signature, !caller.isAnonymous else {
      throw Problem(
        403, "forbidden", "Forbidden",
        detail: """
          Signing needs a token or, while the setting trustedProxies is empty, a request from this machine that no \
          proxy forwarded.
          """)
    }
    let target = try SignedTarget(path, presets: presets)
    try target.checkQuery(queries.tokens)
    let expires = try Self.expiry(end, limits: access.limits)
    try queries.run { library throws(AssetSourceError) in
      try target.lookUp(of: caller.principal, in: library)
    }.check()
    guard
      let signature = access.sign(
        target.subject, collection: target.collection, issuer: caller.token, expires: expires)
    else { throw Problem(500, "internal-error", "Internal error", detail: "The daemon has no signing key.") }
    return .json(
      Payload(url: target.url(signature), expires: Timestamp(milliseconds: signature.expires * 1000).rfc3339),
      status: 201)
  }

  /// When a new signed URL expires: as requested (RFC 3339), by default one day from now.
  private static func expiry(_ text: String?, limits: AccessLimits) throws(Problem) -> Int64 {
    let now = SystemTime.now
    guard let text else { return now + min(86_400, limits.signedURLSeconds) }
    let seconds: Int64
    do throws(MalformedRFC3339) {
      seconds = try Timestamp(rfc3339: text).milliseconds / 1000
    } catch {
      throw QueryReader.invalid("expires", "must be a time such as 2026-01-31T12:00:00Z")
    }
    guard seconds > now, seconds <= now + limits.signedURLSeconds else {
      throw QueryReader.invalid("expires", "must be in the future, at most \(limits.signedURLSeconds) seconds from now")
    }
    return seconds
  }
}

/// PHAuthorizationStatus, as far as it applies to HTTP.
package enum AuthorizationStatus: String, Encodable, CaseIterable {
  /// A credential is required, and none was sent.
  case notDetermined
  /// The token may neither read nor add.
  case restricted
  /// The credential is invalid: unknown, expired or revoked.
  case denied
  /// The caller sees only some collections.
  case limited
  case authorized
}

/// The body of `GET /v1/authorization`.
private struct AuthorizationJSON: Encodable {
  let status: AuthorizationStatus
  let scopes: [String]
  let collections: [String]?
  let expires: String?
  /// Only for callers with a scope.
  let timeZone: String?

  init(status: AuthorizationStatus) {
    self.status = status
    (scopes, collections, expires, timeZone) = ([], nil, nil, nil)
  }

  init(_ caller: Caller, timeZone: String) {
    self.timeZone = timeZone
    let principal = caller.principal
    scopes = Scope.allCases.filter(principal.may).map(\.rawValue)
    expires = caller.expires.map { Timestamp(milliseconds: $0 * 1000).rfc3339 }
    switch principal.visibility {
    case .everything:
      collections = nil
      status = principal.may(.read) || principal.may(.add) ? .authorized : .restricted
    case .collections(let some):
      collections = some.map(\.rawValue).sorted()
      status = principal.may(.read) || principal.may(.add) ? .limited : .restricted
    }
  }

  private enum Key: String, CodingKey { case status, scopes, collections, expires, timeZone }

  // Absent values are written as null.
  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(status, forKey: .status)
    try object.encode(scopes, forKey: .scopes)
    try object.encode(collections, forKey: .collections)
    try object.encode(expires, forKey: .expires)
    try object.encode(timeZone, forKey: .timeZone)
  }
}
