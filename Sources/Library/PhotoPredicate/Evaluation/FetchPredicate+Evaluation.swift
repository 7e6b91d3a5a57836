// Evaluates predicates in memory. This is a second definition of their meaning: SQLCondition must agree with it on
// every row, and tests compare the two.

import PhotoModel

extension FetchPredicate {
  /// Whether an object matches the predicate. Linear in the size of the predicate and of the compared strings; `LIKE`
  /// takes at worst the product of both lengths.
  package func matches(_ row: some PropertyRow) -> Bool {
    switch self {
    case .constant(let value): value
    case .and(let terms): terms.allSatisfy { $0.matches(row) }
    case .or(let terms): terms.contains { $0.matches(row) }
    case .not(let predicate): !predicate.matches(row)
    case .comparison(let comparison): comparison.matches(row)
    }
  }
}

extension PredicateComparison {
  func matches(_ row: some PropertyRow) -> Bool {
    if let element = ofElement {
      guard case .strings(let texts) = row.value(for: subject.key) else { return false }
      return texts.contains { element.matches(SingleValue(value: .string($0))) }
    }
    let value = subject.value(in: row).map(folded)
    let type = subject.key.type
    switch test {
    case .relation(let relation, let literal):
      guard let value else { return relation == .notEqual }
      return relation.holds(type.order(value, folded(literal)))
    case .property(let relation, let other):
      switch (value, other.value(in: row).map(folded)) {
      case (let value?, let otherValue?): return relation.holds(type.order(value, otherValue))
      case (nil, nil): return relation == .equal
      default: return relation == .notEqual
      }
    case .isNil(let isNil): return (value == nil) == isNil
    case .between(let lower, let upper):
      guard let value else { return false }
      return type.order(value, folded(lower)) >= 0 && type.order(value, folded(upper)) <= 0
    case .oneOf(let literals):
      guard let value else { return false }
      return literals.contains { type.order(value, folded($0)) == 0 }
    case .string(let comparison, let text):
      guard case .string(let value) = value else { return false }
      return comparison.holds(value, folding.folded(text))
    }
  }

  private func folded(_ value: PropertyValue) -> PropertyValue {
    guard !folding.isEmpty, case .string(let text) = value else { return value }
    return .string(folding.folded(text))
  }
}

/// A row with one value for every key.
struct SingleValue: PropertyRow {
  let value: PropertyValue?
  func value(for key: PropertyKey) -> PropertyValue? { value }
}

extension PredicateComparison.Subject {
  fileprivate func value(in row: some PropertyRow) -> PropertyValue? {
    guard let mask, case .integer(let bits) = row.value(for: key) else { return row.value(for: key) }
    return .integer(bits & mask)
  }
}

extension PredicateComparison.Relation {
  /// - Parameter order: -1, 0 or 1.
  func holds(_ order: Int) -> Bool {
    switch self {
    case .equal: order == 0
    case .notEqual: order != 0
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    }
  }
}

extension PredicateComparison.StringOperator {
  fileprivate func holds(_ text: String, _ part: String) -> Bool {
    switch self {
    case .beginsWith: text.hasCodePointPrefix(part)
    case .endsWith: text.hasCodePointSuffix(part)
    case .contains: text.containsCodePoints(part)
    case .like: LikePattern.matches(text, pattern: part)
    }
  }
}

extension FetchSortDescriptors {
  /// Whether one object sorts before another; false both ways only for the same object.
  package func areInIncreasingOrder(_ first: some PropertyRow, _ second: some PropertyRow) -> Bool {
    for descriptor in total {
      let key = descriptor.key
      let order =
        switch (first.value(for: key), second.value(for: key)) {
        case (nil, nil): 0
        case (nil, _): -1
        case (_, nil): 1
        case (let first?, let second?): key.type.order(first, second)
        }
      if order != 0 { return (order < 0) == descriptor.isAscending }
    }
    return false
  }
}
