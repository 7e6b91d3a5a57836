import AccessControl
import PhotoModel

/// The authenticated sender of a request: a principal and how it proved its identity.
struct Caller: Sendable {
  enum Credential: Sendable, Hashable { case none, bearer, session, signature }

  private(set) var principal: Principal
  let credential: Credential
  /// The class of callers that share prepared responses. `nil`: no prepared responses for this caller.
  let accessClass: AccessClass?
  /// When the credential expires, in seconds since 1970. `nil`: never.
  let expires: Int64?
  /// The identifier of the caller's token.
  let token: String?

  /// Whether the caller is unknown: without a credential, and not the local administrator.
  var isAnonymous: Bool { credential == .none && principal.name == Principal.anonymous.name }

  /// A caller without a credential; only possible if no token was ever made.
  init(withoutCredential principal: Principal) {
    self.principal = principal
    (credential, accessClass) = (.none, .everyone)
    (expires, token) = (nil, nil)
  }

  init(_ grant: Grant, _ credential: Credential) {
    principal = grant.principal
    self.credential = credential
    accessClass = grant.accessClass
    expires = grant.expires
    token = grant.token
  }

  /// The same caller without a scope.
  func without(_ scope: Scope) -> Caller {
    var caller = self
    caller.principal = principal.without(scope)
    return caller
  }

  /// The same caller in a library that hides the names of people from callers without the scope `people`.
  func needingScopeForNames() -> Caller {
    var caller = self
    caller.principal.namesNeedScope = true
    return caller
  }

  /// Whether the response would be the same for every caller, because no credential was sent.
  var sendsNoCredential: Bool { credential == .none }

  /// When a signed URL expires. `nil` for other credentials, whose expiry is checked with each request.
  var urlExpiry: Int64? { credential == .signature ? expires : nil }
}

/// The result of authentication.
enum AuthenticationResult: Sendable {
  case caller(Caller)
  /// No credential was sent, and a credential is required because a token was made.
  case missing
  /// The credential is invalid.
  case rejected(CredentialError, Caller.Credential)
}
