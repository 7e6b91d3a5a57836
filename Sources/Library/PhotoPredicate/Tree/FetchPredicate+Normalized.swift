// Normalises predicates and extracts the required values of a key, for choosing an index.

import PhotoModel

extension FetchPredicate {
  /// An equivalent predicate in which `NOT` stands only before comparisons, and only if no relation expresses the same.
  /// Constants are removed unless one is the whole predicate. Booleans are compared only by `==`. `IN {}` is false.
  package var normalized: FetchPredicate { normalized(isNegated: false) }

  private func normalized(isNegated: Bool) -> FetchPredicate {
    switch self {
    case .constant(let value): return .constant(value != isNegated)
    case .not(let predicate): return predicate.normalized(isNegated: !isNegated)
    case .and(let terms), .or(let terms):
      let isConjunction = if case .and = self { !isNegated } else { isNegated }
      let parts = terms.map { $0.normalized(isNegated: isNegated) }
      // False decides a conjunction, and true a disjunction; the other constant has no effect.
      if parts.contains(.constant(!isConjunction)) { return .constant(!isConjunction) }
      let remaining = parts.filter { $0 != .constant(isConjunction) }
      return isConjunction ? .conjunction(remaining) : .disjunction(remaining)
    case .comparison(let comparison):
      // No value is in an empty list.
      if comparison.test == .oneOf([]) { return .constant(isNegated) }
      guard isNegated else { return .comparison(comparison.normalized) }
      return comparison.inverse.map { .comparison($0.normalized) } ?? .not(.comparison(comparison.normalized))
    }
  }

  /// The terms that must all be true, of a normalised predicate. Empty if it is always true.
  package var conjuncts: [FetchPredicate] {
    switch self {
    case .and(let terms): terms
    case .constant(true): []
    default: [self]
    }
  }

  /// The bounds of an integer, or of a date in milliseconds, of a normalised predicate. Empty if no object can match
  /// all terms; `nil` if no term bounds the key.
  package func requiredRange(of key: PropertyKey) -> IntegerBounds? {
    var bounds: IntegerBounds?
    for case .comparison(let comparison) in conjuncts where comparison.subject == PredicateComparison.Subject(key) {
      guard let term = comparison.bounds else { continue }
      bounds = bounds.map { $0.intersection(term) } ?? term
    }
    return bounds
  }
}

/// A closed range of numbers. Empty if the first is greater than the second.
package struct IntegerBounds: Sendable, Hashable {
  package var lower: Int64
  package var upper: Int64

  package var isEmpty: Bool { lower > upper }

  func intersection(_ other: IntegerBounds) -> IntegerBounds {
    IntegerBounds(lower: max(lower, other.lower), upper: min(upper, other.upper))
  }

  static let none = IntegerBounds(lower: .max, upper: .min)
}

extension PredicateComparison {
  fileprivate var normalized: PredicateComparison {
    guard case .relation(.notEqual, .boolean(let value)) = test, !subject.isNullable else { return self }
    return PredicateComparison(subject, .relation(.equal, .boolean(!value)))
  }

  /// The comparison that is true exactly where this one is false. With an absent value both `<` and `>=` are false, so
  /// neither is the inverse of the other.
  fileprivate var inverse: PredicateComparison? {
    var inverse = self
    // `NOT ANY list == text` is not `ANY list != text`: of a list, only a comparison with nil has an inverse.
    if subject.key.type == .strings {
      guard case .isNil = test else { return nil }
    }
    switch test {
    case .relation(let relation, let value) where !subject.isNullable || !relation.isOrdering:
      inverse.test = .relation(relation.inverse, value)
    case .property(let relation, let other)
    where !(subject.isNullable || other.isNullable) || !relation.isOrdering:
      inverse.test = .property(relation.inverse, other)
    case .isNil(let isNil): inverse.test = .isNil(!isNil)
    default: return nil
    }
    return inverse
  }

  fileprivate var bounds: IntegerBounds? {
    switch test {
    case .relation(let relation, let value): return value.discrete.map { Self.bounds(relation, $0) }
    case .between(let lower, let upper):
      guard let lower = lower.discrete, let upper = upper.discrete else { return nil }
      return Self.bounds(.greaterOrEqual, lower).intersection(Self.bounds(.lessOrEqual, upper))
    case .oneOf(let values):
      let numbers = values.compactMap(\.discrete)
      guard numbers.count == values.count else { return nil }
      guard let lower = numbers.min(), let upper = numbers.max() else { return IntegerBounds.none }
      return IntegerBounds(lower: lower, upper: upper)
    case .property, .isNil, .string: return nil
    }
  }

  private static func bounds(_ relation: Relation, _ number: Int64) -> IntegerBounds {
    switch relation {
    case .equal: IntegerBounds(lower: number, upper: number)
    case .notEqual: IntegerBounds(lower: .min, upper: .max)
    case .less: number == .min ? .none : IntegerBounds(lower: .min, upper: number - 1)
    case .lessOrEqual: IntegerBounds(lower: .min, upper: number)
    case .greater: number == .max ? .none : IntegerBounds(lower: number + 1, upper: .max)
    case .greaterOrEqual: IntegerBounds(lower: number, upper: .max)
    }
  }
}

extension PropertyValue {
  fileprivate var discrete: Int64? {
    switch self {
    case .integer(let number): number
    case .date(let date): date.milliseconds
    default: nil
    }
  }
}
