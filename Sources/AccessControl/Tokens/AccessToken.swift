import PhotoModel

/// What is known of a token. Its secret is not.
package struct AccessToken: Sendable, Hashable {
  /// 16 hexadecimal digits. Names it in lists and in what it signs; opens nothing.
  package let identifier: String
  package var name: String
  package var scopes: Set<Scope>
  /// The albums and folders that it is limited to; `nil`: to none, it sees everything.
  package var collections: Set<LocalIdentifier>?
  /// Seconds since 1970, as all times here.
  package var created: Int64
  /// When it ends; `nil`: never.
  package var expires: Int64?
  package var revoked: Int64?
  /// When it was last used, to the hour.
  package var lastUsed: Int64?

  package enum Standing: String, Sendable { case active, expired, revoked }

  package func standing(at now: Int64) -> Standing {
    if revoked != nil { return .revoked }
    if let expires, expires <= now { return .expired }
    return .active
  }

  package var visibility: Visibility { collections.map(Visibility.collections) ?? .everything }

  /// Who comes with it. What a session of it makes is its own too.
  package var principal: Principal {
    Principal(name: "token \(identifier)", scopes: scopes, visibility: visibility)
  }
}
