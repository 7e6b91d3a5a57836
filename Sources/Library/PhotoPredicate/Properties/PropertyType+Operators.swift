// Which operators a predicate may apply to a key of a type.

extension PropertyType {
  /// Whether `<` and the like, and `BETWEEN`, apply.
  var isOrdered: Bool { self != .boolean && self != .strings }

  /// Whether `&` applies.
  var hasBits: Bool {
    switch self {
    case .integer, .options: true
    default: false
    }
  }

  /// Whether two properties may be compared with each other.
  func isComparable(with other: PropertyType) -> Bool {
    switch (self, other) {
    case (.enumeration, _), (_, .enumeration), (.strings, _), (_, .strings): false
    case (.integer, .real), (.real, .integer): true
    default: self == other
    }
  }

  /// The operators that may follow a key, as errors list them.
  var operators: [String] {
    if self == .strings { return ["CONTAINS", "== nil", "!= nil"] }
    let relations = PredicateComparison.Relation.allCases.filter { isOrdered || !$0.isOrdering }.map(\.rawValue)
    return relations + (isOrdered ? ["BETWEEN"] : []) + ["IN"]
      + (self == .string ? PredicateComparison.StringOperator.allCases.map(\.rawValue) : []) + (hasBits ? ["&"] : [])
  }
}
