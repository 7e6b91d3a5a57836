import AccessControl
import PhotoModel

// Problems of access: missing, invalid and insufficient credentials.

extension Problem {
  /// RFC 6750 §3: without a credential, the challenge carries no error code.
  static let unauthorized = Problem(
    401, "unauthorized", "Unauthorized",
    detail:
      "Send a token made by 'photod token create' as Authorization: Bearer TOKEN, or sign in at /v1/session.",
    fields: ["WWW-Authenticate": challenge])

  /// RFC 6750 §3.1: the request needs at least one of these scopes.
  static func insufficientScope(_ scopes: Set<Scope>) -> Problem {
    let names = scopes.map(\.rawValue).sorted()
    return Problem(
      403, "insufficient-scope", "The token lacks a scope",
      detail: "This needs a token with the scope \(names.joined(separator: " or ")).",
      fields: [
        "WWW-Authenticate": challenge + ", error=\"insufficient_scope\", scope=\"\(names.joined(separator: " "))\""
      ])
  }

  static func tooManyAttempts(_ seconds: Int64) -> Problem {
    Problem(
      429, "too-many-attempts", "Too many failed attempts",
      detail: "Too many failed attempts came from your address. Wait before the next attempt.",
      fields: ["Retry-After": String(seconds)])
  }

  /// The limited issuer of a signed album no longer sees the album.
  static let issuerLostAccess = Problem(.revoked, .signature)

  init(_ refusal: CredentialError, _ credential: Caller.Credential) {
    if credential == .signature {
      let detail =
        switch refusal {
        case .expired: "The signed URL has expired, or its key is no longer valid. Ask its issuer for a new one."
        case .revoked, .unknown, .missingReadScope: "The issuer of this URL no longer has access to this resource."
        case .malformed, .invalidSignature, .wrongResource:
          "The URL was changed after signing, or was signed for another resource."
        }
      self.init(
        403, refusal == .expired ? "signed-url-expired" : "signed-url-refused", "The signed URL is not valid",
        detail: detail)
      return
    }
    let detail =
      switch refusal {
      case .expired: "The token has expired. Make a new one with photod token create."
      case .revoked: "The token was revoked. Make a new one with photod token create."
      case .malformed where credential == .session: "The member token of the body is not a valid token."
      case .malformed: "The Authorization field does not contain a valid token."
      // All but the first are of signed URLs only.
      case .unknown, .invalidSignature, .wrongResource, .missingReadScope:
        "No token of this daemon has this value. A new token works after a second. Otherwise copy it again, or make a "
          + "new one with photod token create."
      }
    self.init(
      401, "invalid-token", "The token is not valid", detail: detail,
      fields: ["WWW-Authenticate": Self.challenge + ", error=\"invalid_token\", error_description=\"\(detail)\""])
  }

  private static let challenge = "Bearer realm=\"photod\""
}
