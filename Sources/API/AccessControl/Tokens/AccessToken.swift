import PhotoModel

/// A token without its secret.
package struct AccessToken: Sendable, Hashable {
  /// 16 hexadecimal digits. Identifies the token in lists and in signed URLs; it is not secret and grants nothing.
  package let identifier: String
  package var name: String
  /// The scopes with which it was created. See ``Scope/effective(_:)`` for what they allow.
  package var scopes: Set<Scope>
  /// The albums and folders that the token is limited to; `nil` for the whole library.
  package var collections: Set<LocalIdentifier>?
  /// Seconds since 1970, like all times in this type.
  package var created: Int64
  /// When the token expires; `nil`: never.
  package var expires: Int64?
  package var revoked: Int64?
  /// When the token was last used, rounded down to the hour.
  package var lastUsed: Int64?

  package enum Status: String, Sendable { case active, expired, revoked }

  package func status(at now: Int64) -> Status {
    if revoked != nil { return .revoked }
    if let expires, expires <= now { return .expired }
    return .active
  }

  /// Why the token is rejected; `nil`: it is active.
  func refusal(at now: Int64) -> CredentialError? {
    switch status(at: now) {
    case .active: nil
    case .expired: .expired
    case .revoked: .revoked
    }
  }

  var visibility: Visibility { collections.map(Visibility.collections) ?? .everything }

  /// The principal of a request with this token. A session of the token has the same principal.
  package var principal: Principal {
    Principal(name: Self.principalPrefix + identifier, scopes: Scope.effective(scopes), visibility: visibility)
  }

  private static let principalPrefix = "token "

  /// The identifier of the token that a principal of this name has; `nil` for a principal without a token.
  static func identifier(ofPrincipal name: String) -> String? {
    name.hasPrefix(principalPrefix) ? String(name.dropFirst(principalPrefix.count)) : nil
  }
}
