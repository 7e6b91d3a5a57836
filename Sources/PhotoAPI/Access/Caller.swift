import AccessControl
import PhotoModel

/// Who is asking, once that is known.
struct Caller: Sendable {
  enum Credential: Sendable, Hashable { case none, bearer, session, signature }

  let principal: Principal
  let credential: Credential
  /// Whose prepared answers it shares; `nil`: nothing is prepared for it.
  let accessClass: AccessClass?
  /// Seconds since 1970 when what it came with ends.
  let expires: Int64?
  /// The identifier of its token.
  let token: String?
  /// What has to be looked up before anything else: that the issuer of a signed URL still sees what it is for.
  let condition: Grant.Condition?

  /// Nobody was asked for a token, for there are none.
  init(tokenless principal: Principal) {
    self.principal = principal
    (credential, accessClass) = (.none, .anybody)
    (expires, token, condition) = (nil, nil, nil)
  }

  init(_ grant: Grant, _ credential: Credential) {
    principal = grant.principal
    self.credential = credential
    accessClass = grant.accessClass
    expires = grant.expires
    token = grant.token
    condition = grant.condition
  }

  /// Whether it is shown nothing that anybody else would not be shown as well.
  var isAnybody: Bool { credential == .none }

  /// When the URL alone stops being enough; what else a caller comes with is asked for its end each time.
  var urlEnds: Int64? { credential == .signature ? expires : nil }
}

/// What a request says of who is asking.
enum Identity: Sendable {
  case caller(Caller)
  /// It says nothing, and there are tokens.
  case nobody
  /// What it says is no good.
  case refused(Refusal, Caller.Credential)
}
