// A predicate as it was understood: a tree whose every comparison is of a key with values of its type, so that whoever
// evaluates or compiles it has nothing left to refuse. The language is read by PredicateParser; this is what PHFetchOptions
// calls a predicate, and another name than Foundation's own type, which files that import Foundation see as well.

/// A condition on the properties of an asset or a collection.
///
/// It is two-valued: a comparison with a property that an object lacks is false, `!=` with it is true, and `NOT` turns each
/// into the other, whichever way it came about.
package indirect enum FetchPredicate: Sendable, Hashable {
  /// `TRUEPREDICATE` or `FALSEPREDICATE`.
  case constant(Bool)
  /// All of these. Made by ``conjunction(_:)``: two or more, and none of them is a conjunction itself.
  case and([FetchPredicate])
  /// At least one of these. Made by ``disjunction(_:)``: two or more, and none of them is a disjunction itself.
  case or([FetchPredicate])
  case not(FetchPredicate)
  case comparison(PredicateComparison)

  /// All of these; what is joined by `AND` within is taken apart.
  package static func conjunction(_ terms: [FetchPredicate]) -> FetchPredicate {
    let parts = terms.flatMap { if case .and(let parts) = $0 { parts } else { [$0] } }
    return parts.count == 1 ? parts[0] : parts.isEmpty ? .constant(true) : .and(parts)
  }

  /// At least one of these; what is joined by `OR` within is taken apart.
  package static func disjunction(_ terms: [FetchPredicate]) -> FetchPredicate {
    let parts = terms.flatMap { if case .or(let parts) = $0 { parts } else { [$0] } }
    return parts.count == 1 ? parts[0] : parts.isEmpty ? .constant(false) : .or(parts)
  }
}

extension FetchPredicate {
  /// Whether it names a place: only who may read places may ask it.
  package var needsLocationScope: Bool {
    switch self {
    case .constant: false
    case .and(let terms), .or(let terms): terms.contains(where: \.needsLocationScope)
    case .not(let term): term.needsLocationScope
    case .comparison(let comparison): comparison.needsLocationScope
    }
  }
}

/// One comparison: a key, perhaps with some of its bits alone, and what its value has to be.
package struct PredicateComparison: Sendable, Hashable {
  /// What is compared.
  package struct Subject: Sendable, Hashable {
    package var key: PropertyKey
    /// The bits that count, of a key of integers or options.
    package var mask: Int64?

    package init(_ key: PropertyKey, mask: Int64? = nil) {
      self.key = key
      self.mask = mask
    }

    /// Whether there may be no value.
    package var isNullable: Bool { key.isNullable }
  }

  package enum Relation: String, Sendable, Hashable, CaseIterable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="

    /// The same with its sides exchanged.
    package var flipped: Relation {
      switch self {
      case .equal, .notEqual: self
      case .less: .greater
      case .lessOrEqual: .greaterOrEqual
      case .greater: .less
      case .greaterOrEqual: .lessOrEqual
      }
    }

    /// What is true of two values where this is not.
    package var inverse: Relation {
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
    /// With another property of the same object. Two that are both absent are equal.
    case property(Relation, Subject)
    /// `== nil` where true, `!= nil` where false.
    case isNil(Bool)
    /// Neither less than the first nor greater than the second, which may be less than the first.
    case between(PropertyValue, PropertyValue)
    case oneOf([PropertyValue])
    case string(StringOperator, String)
  }

  package var subject: Subject
  package var test: Test
  /// `[c]`: of strings only, both sides' case is folded (see ``CaseFolding``).
  package var foldsCase: Bool

  package init(_ subject: Subject, _ test: Test, foldsCase: Bool = false) {
    self.subject = subject
    self.test = test
    self.foldsCase = foldsCase
  }

  fileprivate var needsLocationScope: Bool {
    if case .property(_, let other) = test, other.key.needsLocationScope { return true }
    return subject.key.needsLocationScope
  }
}
