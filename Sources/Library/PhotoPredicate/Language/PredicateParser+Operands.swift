// The lower level of the grammar: keys, literals, and bits combined with & and |.

import PhotoModel

extension PredicateParser {
  /// A key or a value, or a predicate in parentheses if the context allows it.
  mutating func operand(_ context: PredicateOperand.Context) throws(PredicateError) -> PredicateOrOperand {
    let parsed = try primary(context)
    guard case .operand(var operand) = parsed else { return parsed }
    while true {
      switch token.kind {
      case .sign(.ampersand): operand = try masked(operand)
      case .sign(.bar): operand = try union(operand, context)
      default: return .operand(operand)
      }
    }
  }

  /// `key & bits`, or `bits & key`.
  private mutating func masked(_ left: PredicateOperand) throws(PredicateError) -> PredicateOperand {
    switch left {
    case .subject(let subject, let range):
      guard subject.key.type.hasBits else { throw unexpected(.oneOf(subject.key.type.operators)) }
      try advance()
      let start = token
      guard case .operand(.literal(let literal)) = try primary(.opposite(subject.key)) else {
        throw error(at: start.range, .value(of: subject.key, orNil: false))
      }
      return try masked(subject, by: literal, range.lowerBound..<literal.range.upperBound)
    case .literal(let literal):
      // The precedence of `&` and `|` is not obvious, so parentheses are required.
      if case .union = literal.kind, !literal.isEnclosed {
        throw unexpected(.oneOf(["parentheses around | and its sides"]))
      }
      try advance()
      let start = token
      guard case .operand(.subject(let subject, let range)) = try primary(.oppositeValue), subject.key.type.hasBits
      else {
        throw error(at: start.range, .key(schema.names(for: principal, where: \.type.hasBits)))
      }
      return try masked(subject, by: literal, literal.range.lowerBound..<range.upperBound)
    }
  }

  private func masked(
    _ subject: PredicateComparison.Subject, by literal: Literal, _ range: Range<Int>
  ) throws(PredicateError) -> PredicateOperand {
    guard case .integer(let mask) = try value(of: literal, for: subject, orNil: false) else {
      throw error(at: literal.range, .value(of: subject.key, orNil: false))
    }
    var subject = subject
    subject.mask = mask & (subject.mask ?? -1)
    return .subject(subject, range)
  }

  /// `bits | bits`.
  private mutating func union(
    _ left: PredicateOperand, _ context: PredicateOperand.Context
  ) throws(PredicateError) -> PredicateOperand {
    let first: Literal
    switch left {
    case .subject(let subject, _): throw unexpected(.oneOf(subject.key.type.operators))
    case .literal(let literal): first = literal
    }
    try advance()
    let start = token
    guard case .operand(.literal(let second)) = try primary(context) else { throw error(at: start.range, .bits) }
    return .literal(
      Literal(kind: .union(first.parts + second.parts), range: first.range.lowerBound..<second.range.upperBound))
  }

  private mutating func primary(_ context: PredicateOperand.Context) throws(PredicateError) -> PredicateOrOperand {
    let start = token
    let kind: Literal.Kind
    switch start.kind {
    case .sign(.openParenthesis): return try parenthesized(context)
    case .keyword(.truePredicate), .keyword(.falsePredicate):
      guard case .first = context else { throw unexpected(expectation(context)) }
      try countTerm(at: start)
      try advance()
      return .predicate(.constant(start.kind == .keyword(.truePredicate)))
    case .keyword(.cast): return .operand(.literal(try cast()))
    case .keyword(.true), .keyword(.yes): kind = .boolean(true)
    case .keyword(.false), .keyword(.no): kind = .boolean(false)
    case .keyword(.nil), .keyword(.null): kind = .null
    case .integer(let number): kind = .integer(number)
    case .real(let number): kind = .real(number)
    case .outOfRangeInteger(let number): kind = .outOfRangeInteger(number)
    case .string(let text): kind = .string(text)
    case .name(let name):
      if let key = key(named: name) {
        try advance()
        return .operand(.subject(PredicateComparison.Subject(key), start.range))
      }
      kind = .name(name)
      // When compared with a key, the key determines what was expected.
      if case .opposite = context { break }
      guard schema.isEnumerationValue(name) else { throw unexpected(anyKey) }
    default: throw unexpected(expectation(context))
    }
    try advance()
    return .operand(.literal(Literal(kind: kind, range: start.range)))
  }

  /// The key with that name, if it exists for the principal.
  private func key(named name: String) -> PropertyKey? { schema.key(named: name, for: principal) }

  /// The expectation that an error reports in a context.
  func expectation(_ context: PredicateOperand.Context) -> Expectation {
    switch context {
    case .first: .comparison
    case .opposite(let key): .value(of: key, orNil: false)
    case .oppositeValue: anyKey
    }
  }
}
