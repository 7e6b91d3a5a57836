import PhotoModel

/// The keys of one kind of object. Predicates and sort descriptors are parsed against it.
package struct PropertySchema: Sendable {
  package let keys: [PropertyKey]
  /// The keys that replace those of the same name for principals without the scope `location`.
  package let keysWithoutLocation: [PropertyKey]
  /// The tie-breaker: every object has a value, and no two objects share it.
  let identifier: PropertyKey

  private let byName: [String: PropertyKey]
  private let enumerationNames: Set<String>

  /// - Precondition: names and aliases are unique, none is a keyword, and one key is `localIdentifier`.
  package init(_ keys: [PropertyKey], withoutLocation: [PropertyKey] = []) {
    self.keys = keys
    keysWithoutLocation = withoutLocation
    let named = keys.flatMap { key in ([key.name] + key.aliases).map { ($0, key) } }
    byName = Dictionary(uniqueKeysWithValues: named)
    precondition(named.allSatisfy { Keyword($0.0) == nil }, "a keyword can't be a key")
    guard let identifier = byName["localIdentifier"], identifier.type == .string, !identifier.isNullable else {
      preconditionFailure("ties are broken by localIdentifier")
    }
    self.identifier = identifier
    enumerationNames = Set(keys.flatMap(\.type.cases).flatMap { [$0.name, $0.fullName] })
  }

  /// The key with that name or alias, regardless of scopes.
  package func key(named name: String) -> PropertyKey? { byName[name] }

  /// The key with that name or alias for a principal. Keys that need the scope `location` do not exist without it.
  func key(named name: String, for principal: Principal) -> PropertyKey? {
    guard let key = byName[name] else { return nil }
    if !key.needsLocationScope || principal.may(.location) { return key }
    return keysWithoutLocation.first { $0.name == key.name }
  }

  /// Whether an enumeration has a value with that name.
  func isEnumerationValue(_ name: String) -> Bool { enumerationNames.contains(name) }

  /// The names of the keys available to a principal, optionally filtered.
  func names(for principal: Principal, where isWanted: (PropertyKey) -> Bool = { _ in true }) -> [String] {
    keys.filter { key(named: $0.name, for: principal) != nil && isWanted($0) }.map(\.name)
  }
}
