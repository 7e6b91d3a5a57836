/// What a caller may do.
package enum Scope: String, Sendable, Hashable, CaseIterable {
  case read, write, location, admin
}

/// Which part of the library there is for somebody.
package enum Visibility: Sendable, Hashable {
  /// All of it.
  case everything
  /// These albums, what is in these folders, and the assets in them. Nothing else exists.
  case collections(Set<LocalIdentifier>)
}

/// Who is asking. Every call into the library names one; what a principal may not see does not exist for it.
package struct Principal: Sendable, Hashable {
  /// Who it is, for ownership: two requests with the same name belong to the same caller.
  package let name: String
  package let scopes: Set<Scope>
  package let visibility: Visibility

  package init(name: String, scopes: Set<Scope>, visibility: Visibility = .everything) {
    self.name = name
    self.scopes = scopes
    self.visibility = visibility
  }

  /// The person at this machine: a loopback peer that nobody forwarded.
  package static let local = Principal(name: "local", scopes: Set(Scope.allCases))

  /// Anybody else, where the daemon was started with `--allow-anonymous`: reads, and never places.
  package static let anonymous = Principal(name: "anonymous", scopes: [.read])

  package func may(_ scope: Scope) -> Bool { scopes.contains(scope) }
}
