// The parsed and type-checked form of a predicate: a tree in which every comparison is of a key with values of its
// type, so evaluation and compilation can't fail. PredicateParser builds it. PHFetchOptions calls this a predicate; the
// type has another name because files that import Foundation see `Predicate` as well.

/// A condition on the properties of an asset or a collection.
///
/// Logic is two-valued: a comparison with an absent property is false, `!=` with it is true, and `NOT` inverts either
/// result in all cases.
package indirect enum FetchPredicate: Sendable, Hashable {
  /// `TRUEPREDICATE` or `FALSEPREDICATE`.
  case constant(Bool)
  /// All terms are true. Made by ``conjunction(_:)``: two or more terms, none of which is a conjunction.
  case and([FetchPredicate])
  /// At least one term is true. Made by ``disjunction(_:)``: two or more terms, none of which is a disjunction.
  case or([FetchPredicate])
  case not(FetchPredicate)
  case comparison(PredicateComparison)

  /// The conjunction of all terms; nested conjunctions are flattened.
  package static func conjunction(_ terms: [FetchPredicate]) -> FetchPredicate {
    let parts = terms.flatMap { if case .and(let parts) = $0 { parts } else { [$0] } }
    return parts.count == 1 ? parts[0] : parts.isEmpty ? .constant(true) : .and(parts)
  }

  /// The disjunction of all terms; nested disjunctions are flattened.
  package static func disjunction(_ terms: [FetchPredicate]) -> FetchPredicate {
    let parts = terms.flatMap { if case .or(let parts) = $0 { parts } else { [$0] } }
    return parts.count == 1 ? parts[0] : parts.isEmpty ? .constant(false) : .or(parts)
  }
}

extension FetchPredicate {
  /// Whether it uses a location key and so requires the scope `location`.
  package var needsLocationScope: Bool {
    switch self {
    case .constant: false
    case .and(let terms), .or(let terms): terms.contains(where: \.needsLocationScope)
    case .not(let term): term.needsLocationScope
    case .comparison(let comparison): comparison.needsLocationScope
    }
  }
}

/// One comparison: a key, optionally masked to some bits, and the condition on its value.
package struct PredicateComparison: Sendable, Hashable {
  /// The left side of a comparison.
  package struct Subject: Sendable, Hashable {
    package var key: PropertyKey
    /// A bit mask for a key of integers or options.
    package var mask: Int64?

    package init(_ key: PropertyKey, mask: Int64? = nil) {
      self.key = key
      self.mask = mask
    }

    /// Whether the value may be absent.
    var isNullable: Bool { key.isNullable }
  }

  package enum Relation: String, Sendable, Hashable, CaseIterable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="

    /// The relation with its operands exchanged.
    var flipped: Relation {
      switch self {
      case .equal, .notEqual: self
      case .less: .greater
      case .lessOrEqual: .greaterOrEqual
      case .greater: .less
      case .greaterOrEqual: .lessOrEqual
      }
    }

    /// The relation that is true of two present values exactly where this one is false.
    var inverse: Relation {
      switch self {
      case .equal: .notEqual
      case .notEqual: .equal
      case .less: .greaterOrEqual
      case .lessOrEqual: .greater
      case .greater: .lessOrEqual
      case .greaterOrEqual: .less
      }
    }

    var isOrdering: Bool { self != .equal && self != .notEqual }
  }

  package enum StringOperator: String, Sendable, Hashable, CaseIterable {
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case contains = "CONTAINS"
    case like = "LIKE"
  }

  package enum Test: Sendable, Hashable {
    case relation(Relation, PropertyValue)
    /// Compared with another property of the same object. Two absent values are equal.
    case property(Relation, Subject)
    /// `== nil` where true, `!= nil` where false.
    case isNil(Bool)
    /// Between two values, both included; the second may be less than the first.
    case between(PropertyValue, PropertyValue)
    case oneOf([PropertyValue])
    case string(StringOperator, String)
  }

  package var subject: Subject
  package var test: Test
  /// `[c]`, `[d]` or `[cd]`: only for strings.
  package var folding: TextFolding

  package init(_ subject: Subject, _ test: Test, folding: TextFolding = []) {
    self.subject = subject
    self.test = test
    self.folding = folding
  }

  /// For a list of texts: the comparison that must hold for any of them. `nil` for other keys, and for a comparison
  /// with nil, which concerns the whole list.
  var ofElement: PredicateComparison? {
    if case .isNil = test { return nil }
    guard subject.key.type == .strings else { return nil }
    return PredicateComparison(Subject(subject.key.element), test, folding: folding)
  }

  fileprivate var needsLocationScope: Bool {
    if case .property(_, let other) = test, other.key.needsLocationScope { return true }
    return subject.key.needsLocationScope
  }
}
