// The upper levels of the grammar: OR, AND, NOT and parentheses.

extension PredicateParser {
  /// A whole predicate, or only an operand if no operator follows.
  mutating func disjunction() throws(PredicateError) -> PredicateOrOperand {
    let first = try conjunction()
    guard isNext(.or, or: .doubleBar) else { return first }
    var terms = [try predicate(first)]
    while isNext(.or, or: .doubleBar) {
      try advance()
      let next = try conjunction()
      terms.append(try predicate(next))
    }
    return .predicate(.disjunction(terms))
  }

  private mutating func conjunction() throws(PredicateError) -> PredicateOrOperand {
    let first = try negation()
    guard isNext(.and, or: .doubleAmpersand) else { return first }
    var terms = [try predicate(first)]
    while isNext(.and, or: .doubleAmpersand) {
      try advance()
      let next = try negation()
      terms.append(try predicate(next))
    }
    return .predicate(.conjunction(terms))
  }

  private mutating func negation() throws(PredicateError) -> PredicateOrOperand {
    guard isNext(.not, or: .exclamation) else { return try comparison() }
    try descend()
    try advance()
    let negated = try negation()
    ascend()
    return .predicate(.not(try predicate(negated)))
  }

  private func isNext(_ keyword: Keyword, or sign: Sign) -> Bool {
    token.kind == .keyword(keyword) || token.kind == .sign(sign)
  }

  /// The predicate. An operand is an error: its operator is missing.
  func predicate(_ parsed: PredicateOrOperand) throws(PredicateError) -> FetchPredicate {
    switch parsed {
    case .predicate(let predicate): return predicate
    case .operand(.subject(let subject, _)): throw unexpected(.oneOf(subject.key.type.operators))
    case .operand(.literal): throw unexpected(.oneOf(PredicateComparison.Relation.allCases.map(\.rawValue)))
    }
  }

  /// A parenthesis and its content: a predicate or an operand, if the context allows both.
  mutating func parenthesized(_ context: PredicateOperand.Context) throws(PredicateError) -> PredicateOrOperand {
    let start = token
    try openParenthesis()
    let parsed = if case .first = context { try disjunction() } else { try operand(context) }
    guard token.kind == .sign(.closeParenthesis) else {
      switch parsed {
      case .predicate: throw unexpected(endOfComparison)
      case .operand(.subject(let subject, _)): throw unexpected(.oneOf(subject.key.type.operators + [")"]))
      case .operand(.literal): throw unexpected(.oneOf(["|", ")"]))
      }
    }
    let range = start.range.lowerBound..<token.range.upperBound
    try closeParenthesis()
    switch parsed {
    case .predicate: return parsed
    case .operand(.subject(let subject, _)): return .operand(.subject(subject, range))
    case .operand(.literal(var literal)):
      literal.isEnclosed = true
      return .operand(.literal(literal))
    }
  }
}
