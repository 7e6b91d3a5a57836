import PhotoModel

/// The keys of one kind of object, which predicates and sort descriptors are read against.
package struct PropertySchema: Sendable {
  package let keys: [PropertyKey]
  /// What ties are broken by: no two objects share it, and none is without.
  package let identifier: PropertyKey

  private let byName: [String: PropertyKey]
  private let enumerationNames: Set<String>

  /// - Precondition: no name or alias is there twice, none is a keyword, and one key is `localIdentifier`.
  package init(_ keys: [PropertyKey]) {
    self.keys = keys
    let named = keys.flatMap { key in ([key.name] + key.aliases).map { ($0, key) } }
    byName = Dictionary(uniqueKeysWithValues: named)
    precondition(named.allSatisfy { Keyword($0.0) == nil }, "a keyword can't be a key")
    guard let identifier = byName["localIdentifier"], identifier.type == .string, !identifier.isNullable else {
      preconditionFailure("ties are broken by localIdentifier")
    }
    self.identifier = identifier
    enumerationNames = Set(keys.flatMap(\.type.cases).flatMap { [$0.name, $0.fullName] })
  }

  /// The key of that name or alias, whoever may see it.
  package func key(named name: String) -> PropertyKey? { byName[name] }

  /// Whether some enumeration has a value of that name.
  func namesValue(_ name: String) -> Bool { enumerationNames.contains(name) }

  /// The names of those keys that a caller may use, perhaps only of some.
  func names(for principal: Principal, where isWanted: (PropertyKey) -> Bool = { _ in true }) -> [String] {
    keys.filter { (!$0.needsLocationScope || principal.may(.location)) && isWanted($0) }.map(\.name)
  }
}
