// The middle level of the grammar: comparisons, BETWEEN, IN and the operators of strings. Types are checked here.

extension PredicateParser {
  /// A comparison, or only an operand if no operator follows.
  mutating func comparison() throws(PredicateError) -> PredicateOrOperand {
    let start = token
    if token.kind == .keyword(.any) {
      let compared = try anyElement()
      try countTerm(at: start)
      return .predicate(.comparison(compared))
    }
    let left: PredicateOperand
    switch try operand(.first) {
    case .predicate(let predicate): return .predicate(predicate)
    case .operand(let operand): left = operand
    }
    let compared: PredicateComparison
    switch token.kind {
    case .sign(let sign):
      guard let relation = sign.relation else { return .operand(left) }
      compared = try self.relation(relation, of: left)
    case .keyword(.between): compared = try between(try subject(left))
    case .keyword(.in): compared = try oneOf(try subject(left))
    case .keyword(let keyword):
      guard let comparison = PredicateComparison.StringOperator(rawValue: keyword.rawValue) else {
        return .operand(left)
      }
      compared = try string(comparison, try subject(left))
    default: return .operand(left)
    }
    try countTerm(at: start)
    return .predicate(.comparison(compared))
  }

  /// `ANY`, a list, an operator and values: one text of the list must fulfil the comparison.
  private mutating func anyElement() throws(PredicateError) -> PredicateComparison {
    try advance()
    let lists = Expectation.key(schema.names(for: principal) { $0.type == .strings })
    guard case .name(let name) = token.kind, let key = schema.key(named: name), key.type == .strings,
      !key.needsLocationScope || principal.may(.location)
    else { throw unexpected(lists) }
    let element = PredicateOperand.subject(PredicateComparison.Subject(key.element), token.range)
    try advance()
    var compared: PredicateComparison
    switch token.kind {
    case .sign(let sign):
      guard let relation = sign.relation else { throw unexpected(.oneOf(key.element.type.operators)) }
      let start = token
      compared = try self.relation(relation, of: element)
      // A list can be compared with values only.
      if case .property = compared.test { throw error(at: start.range, .value(of: key.element, orNil: false)) }
    case .keyword(.between): compared = try between(try subject(element))
    case .keyword(.in): compared = try oneOf(try subject(element))
    case .keyword(let keyword):
      guard let comparison = PredicateComparison.StringOperator(rawValue: keyword.rawValue) else {
        throw unexpected(.oneOf(key.element.type.operators))
      }
      compared = try string(comparison, try subject(element))
    default: throw unexpected(.oneOf(key.element.type.operators))
    }
    compared.subject = PredicateComparison.Subject(key)
    return compared
  }

  private mutating func relation(
    _ relation: PredicateComparison.Relation, of left: PredicateOperand
  ) throws(PredicateError) -> PredicateComparison {
    let sign = token
    if case .subject(let subject, _) = left { try check(relation, of: subject, at: sign) }
    try advance()
    let option = try foldingOption()
    let (start, context) = (token, left.contextOfOtherSide)
    guard case .operand(let right) = try operand(context) else {
      throw error(at: start.range, expectation(context))
    }
    switch (left, right) {
    case (.literal(let literal), .subject(let subject, _)):
      try check(relation, of: subject, at: sign)
      return try self.relation(relation.flipped, of: subject, literal, option: option)
    case (.subject(let subject, _), .literal(let literal)):
      return try self.relation(relation, of: subject, literal, option: option)
    case (.subject(let subject, _), .subject(let other, let range)):
      guard subject.key.type.isComparable(with: other.key.type) else {
        throw error(at: range, .value(of: subject.key, orNil: false))
      }
      try check(option, for: subject)
      return PredicateComparison(subject, .property(relation, other), folding: option?.folding ?? [])
    case (.literal(let literal), .literal):
      throw error(at: literal.range, anyKey)
    }
  }

  private func relation(
    _ relation: PredicateComparison.Relation, of subject: PredicateComparison.Subject, _ literal: Literal,
    option: FoldingOption?
  ) throws(PredicateError) -> PredicateComparison {
    try check(option, for: subject)
    let takesNil = subject.isNullable && subject.mask == nil && !relation.isOrdering
    if case .null = literal.kind, takesNil { return PredicateComparison(subject, .isNil(relation == .equal)) }
    let value = try value(of: literal, for: subject, orNil: takesNil)
    return PredicateComparison(subject, .relation(relation, value), folding: option?.folding ?? [])
  }

  private mutating func between(_ subject: PredicateComparison.Subject) throws(PredicateError) -> PredicateComparison {
    guard subject.key.type.isOrdered else { throw unexpected(.oneOf(subject.key.type.operators)) }
    try advance()
    let option = try foldingOption()
    try check(option, for: subject)
    try take(.openBrace, else: .list(of: subject.key))
    let lower = try listed(for: subject)
    try take(.comma, else: .oneOf([","]))
    let upper = try listed(for: subject)
    try take(.closeBrace, else: .oneOf(["}"]))
    return PredicateComparison(subject, .between(lower, upper), folding: option?.folding ?? [])
  }

  private mutating func oneOf(_ subject: PredicateComparison.Subject) throws(PredicateError) -> PredicateComparison {
    guard subject.key.type != .strings else { throw unexpected(.oneOf(subject.key.type.operators)) }
    try advance()
    let option = try foldingOption()
    try check(option, for: subject)
    try take(.openBrace, else: .list(of: subject.key))
    var values: [PropertyValue] = []
    while token.kind != .sign(.closeBrace) {
      if !values.isEmpty { try take(.comma, else: .oneOf([",", "}"])) }
      guard values.count < limits.listValues else {
        throw unexpected(.atMost(limits.listValues, of: "values in braces"))
      }
      values.append(try listed(for: subject))
    }
    try advance()
    return PredicateComparison(subject, .oneOf(values), folding: option?.folding ?? [])
  }

  /// A value in a list.
  private mutating func listed(for subject: PredicateComparison.Subject) throws(PredicateError) -> PropertyValue {
    let start = token
    guard case .operand(.literal(let literal)) = try operand(.opposite(subject.key)) else {
      throw error(at: start.range, .value(of: subject.key, orNil: false))
    }
    return try value(of: literal, for: subject, orNil: false)
  }

  private mutating func string(
    _ comparison: PredicateComparison.StringOperator, _ subject: PredicateComparison.Subject
  ) throws(PredicateError) -> PredicateComparison {
    if subject.key.type == .strings, comparison == .contains { return try contains(subject) }
    guard subject.key.type == .string else { throw unexpected(.oneOf(subject.key.type.operators)) }
    try advance()
    let option = try foldingOption()
    let start = token
    guard case .string(let text) = try listed(for: subject) else { preconditionFailure("a string's value is a string") }
    if comparison == .like, LikePattern.wildcardCount(text) > limits.wildcards {
      throw error(at: start.range, .atMost(limits.wildcards, of: "* and ? in a pattern"))
    }
    return PredicateComparison(subject, .string(comparison, text), folding: option?.folding ?? [])
  }

  /// `CONTAINS` after a list: one of its texts is equal.
  private mutating func contains(_ list: PredicateComparison.Subject) throws(PredicateError) -> PredicateComparison {
    try advance()
    let option = try foldingOption()
    let value = try listed(for: PredicateComparison.Subject(list.key.element))
    return PredicateComparison(list, .relation(.equal, value), folding: option?.folding ?? [])
  }

  private struct FoldingOption {
    let bracket: Token
    let folding: TextFolding
  }

  /// `[c]`, `[d]` or `[cd]`, if present.
  private mutating func foldingOption() throws(PredicateError) -> FoldingOption? {
    guard token.kind == .sign(.openBracket) else { return nil }
    let bracket = token
    try advance()
    guard case .name(let name) = token.kind, let folding = TextFolding(name: String(name)) else {
      throw unexpected(.foldingOption)
    }
    try advance()
    guard token.kind == .sign(.closeBracket) else { throw unexpected(.oneOf(["]"])) }
    try advance()
    return FoldingOption(bracket: bracket, folding: folding)
  }

  private func check(_ option: FoldingOption?, for subject: PredicateComparison.Subject) throws(PredicateError) {
    guard let option, subject.key.type != .string else { return }
    throw error(at: option.bracket.range, .value(of: subject.key, orNil: false))
  }

  private func check(
    _ relation: PredicateComparison.Relation, of subject: PredicateComparison.Subject, at sign: Token
  ) throws(PredicateError) {
    guard relation.isOrdering, !subject.key.type.isOrdered else { return }
    throw error(at: sign.range, .oneOf(subject.key.type.operators))
  }

  /// The left operand of an operator that requires a key there.
  private func subject(_ left: PredicateOperand) throws(PredicateError) -> PredicateComparison.Subject {
    switch left {
    case .subject(let subject, _): return subject
    case .literal(let literal): throw error(at: literal.range, anyKey)
    }
  }

  /// The value of a literal as the type of a key requires it.
  func value(
    of literal: Literal, for subject: PredicateComparison.Subject, orNil: Bool
  ) throws(PredicateError) -> PropertyValue {
    do throws(Literal.TypeMismatch) {
      return try literal.value(for: subject.key)
    } catch {
      throw self.error(at: error.range, .value(of: subject.key, orNil: orNil))
    }
  }
}
