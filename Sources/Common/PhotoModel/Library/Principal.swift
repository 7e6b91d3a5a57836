/// A permission of a caller.
package enum Scope: String, Sendable, Hashable, CaseIterable {
  case read
  /// Uploading, and nothing else: PhotoKit's add-only level.
  case add
  /// Changing the library. Requires `read`, because the result of a change reveals what exists, and includes `add`.
  case write
  /// Reading places.
  case location
  /// Reading the names of people, in libraries that hide them from other callers: `Principal.mayReadNames`.
  case people
  case admin

  /// The scopes in force: `write` includes `add`, and has no effect without `read`.
  package static func effective(_ scopes: Set<Scope>) -> Set<Scope> {
    guard scopes.contains(.write) else { return scopes }
    return scopes.contains(.read) ? scopes.union([.add]) : scopes.subtracting([.write])
  }
}

/// The part of the library that a principal can see.
package enum Visibility: Sendable, Hashable {
  /// The whole library.
  case everything
  /// These albums, the contents of these folders, and the assets in them. Nothing else exists for the principal.
  case collections(Set<LocalIdentifier>)
}

/// The caller of an operation. Every call into the library names one; assets that a principal may not see do not exist
/// for it.
package struct Principal: Sendable, Hashable {
  /// The owner name: two requests with the same name belong to the same caller.
  package let name: String
  package private(set) var scopes: Set<Scope>
  package let visibility: Visibility
  /// For a signed album: the part of the library that its issuer sees, or `nil` if the issuer sees everything. The
  /// principal can read nothing while this part lacks one of the collections that the principal sees.
  package let issuerVisibility: Visibility?
  /// Whether the library hides the names of people from callers without the scope `people`.
  package var namesNeedScope = false

  package init(
    name: String, scopes: Set<Scope>, visibility: Visibility = .everything, issuerVisibility: Visibility? = nil
  ) {
    self.name = name
    self.scopes = scopes
    self.visibility = visibility
    self.issuerVisibility = issuerVisibility
  }

  /// The user at this machine: a loopback peer without forwarding.
  package static let local = Principal(name: "local", scopes: Set(Scope.allCases))

  /// Any other caller, if the daemon runs with `--allow-anonymous`: may read, but never sees locations.
  package static let anonymous = Principal(name: "anonymous", scopes: [.read])

  /// The same principal with the whole library visible: for reading an asset that a limited caller has just made and
  /// does not see yet.
  package var seeingEverything: Principal {
    var principal = Principal(name: name, scopes: scopes)
    principal.namesNeedScope = namesNeedScope
    return principal
  }

  /// The same principal without a scope.
  package func without(_ scope: Scope) -> Principal {
    var principal = self
    principal.scopes.remove(scope)
    return principal
  }

  package func may(_ scope: Scope) -> Bool { scopes.contains(scope) }

  /// Whether the principal may read, search and set the names of the people in pictures.
  package var mayReadNames: Bool { !namesNeedScope || may(.people) }

  /// Whether the principal may read facts that need these scopes. Names need `people` only where they are hidden.
  package func mayRead(needing scopes: Set<Scope>) -> Bool {
    scopes.allSatisfy { $0 == .people ? mayReadNames : may($0) }
  }
}
