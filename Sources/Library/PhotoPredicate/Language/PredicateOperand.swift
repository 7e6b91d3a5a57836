/// One side of a comparison.
enum PredicateOperand {
  /// A key, and its range in Unicode scalars of the text.
  case subject(PredicateComparison.Subject, Range<Int>)
  case literal(Literal)

  /// The context of an operand: decides which operands are allowed, and what an error reports as expected.
  enum Context {
    /// A predicate is also allowed here.
    case first
    /// Compared with a key, so the names of its values are valid.
    case opposite(PropertyKey)
    /// Compared with a value, so it must be a key.
    case oppositeValue
  }

  /// The context of the other operand of a comparison.
  var contextOfOtherSide: Context {
    switch self {
    case .subject(let subject, _): .opposite(subject.key)
    case .literal: .oppositeValue
    }
  }
}

/// The result of parsing where both a predicate and an operand are allowed: both may begin with the same tokens.
enum PredicateOrOperand {
  case predicate(FetchPredicate)
  case operand(PredicateOperand)
}
