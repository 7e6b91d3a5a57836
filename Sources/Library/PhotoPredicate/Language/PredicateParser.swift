// A recursive descent parser for predicates, with one token of look-ahead. The words are those of Apple's Predicate
// Format String Syntax (Predicate Programming Guide), as far as they apply to assets and collections:
//
//     predicate   = conjunction *( ( "OR" | "||" ) conjunction )
//     conjunction = negation *( ( "AND" | "&&" ) negation )
//     negation    = ( "NOT" | "!" ) negation | comparison
//     comparison  = operand relation [ "[c]" ] operand
//                 | operand "BETWEEN" [ "[c]" ] "{" value "," value "}"
//                 | operand "IN" [ "[c]" ] "{" [ value *( "," value ) ] "}"
//                 | operand ( "BEGINSWITH" | "ENDSWITH" | "CONTAINS" | "LIKE" ) [ "[c]" ] string
//                 | "TRUEPREDICATE" | "FALSEPREDICATE" | "(" predicate ")"
//     operand     = primary *( ( "&" | "|" ) primary )
//     primary     = key | value | "(" operand ")" | "CAST" "(" date "," '"NSDate"' ")"
//
// Apple's parser does not check types. This one does, once both operands are known, so that an error has a position. A
// parenthesis may open a predicate or an operand, and only its content shows which. The same functions therefore parse
// both, and no text is parsed twice.

import PhotoModel

extension FetchPredicate {
  /// Parses a predicate.
  ///
  /// Linear in the text. Keys that need the scope `location` do not exist for a principal without it.
  package init(
    _ text: String, schema: PropertySchema, principal: Principal, limits: PredicateLimits = PredicateLimits()
  ) throws(PredicateError) {
    var parser = try PredicateParser(text, schema: schema, principal: principal, limits: limits)
    self = try parser.parse()
  }
}

struct PredicateParser {
  /// The content of a pair of parentheses.
  private enum ParseResult {
    case predicate(FetchPredicate)
    case operand(Operand)
  }

  private enum Operand {
    case subject(PredicateComparison.Subject, Range<Int>)
    case literal(Literal)

    /// The context of the other operand of a comparison.
    var contextOfOtherSide: OperandContext {
      switch self {
      case .subject(let subject, _): .opposite(subject.key)
      case .literal: .oppositeValue
      }
    }
  }

  /// The context of an operand: what it may be, and what an error reports as expected.
  private enum OperandContext {
    /// A predicate is also allowed here.
    case first
    /// Compared with a key, so the names of its values are valid.
    case opposite(PropertyKey)
    /// Compared with a value, so it must be a key.
    case oppositeValue
  }

  private var lexer: Lexer
  private var token: Token
  private let schema: PropertySchema
  private let principal: Principal
  private let limits: PredicateLimits
  private var depth = 0
  private var openParentheses = 0
  private var termCount = 0

  init(
    _ text: String, schema: PropertySchema, principal: Principal, limits: PredicateLimits
  ) throws(PredicateError) {
    lexer = try Lexer(text, limits: limits)
    token = try lexer.next()
    self.schema = schema
    self.principal = principal
    self.limits = limits
  }

  mutating func parse() throws(PredicateError) -> FetchPredicate {
    let parsed = try disjunction()
    let predicate = try predicate(parsed)
    guard token.kind == .end else { throw unexpected(endOfComparison) }
    return predicate
  }

  // MARK: AND, OR, NOT

  private mutating func disjunction() throws(PredicateError) -> ParseResult {
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

  private mutating func conjunction() throws(PredicateError) -> ParseResult {
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

  private mutating func negation() throws(PredicateError) -> ParseResult {
    guard isNext(.not, or: .exclamation) else { return try comparison() }
    try descend()
    try advance()
    let negated = try negation()
    depth -= 1
    return .predicate(.not(try predicate(negated)))
  }

  private func isNext(_ keyword: Keyword, or sign: Sign) -> Bool {
    token.kind == .keyword(keyword) || token.kind == .sign(sign)
  }

  /// An operand alone is not a predicate: its operator is missing.
  private func predicate(_ parsed: ParseResult) throws(PredicateError) -> FetchPredicate {
    switch parsed {
    case .predicate(let predicate): return predicate
    case .operand(.subject(let subject, _)): throw unexpected(.oneOf(operators(of: subject)))
    case .operand(.literal): throw unexpected(.oneOf(PredicateComparison.Relation.allCases.map(\.rawValue)))
    }
  }

  private mutating func descend() throws(PredicateError) {
    depth += 1
    guard depth <= limits.depth else { throw unexpected(.atMost(limits.depth, of: "( and NOT within each other")) }
  }

  private var endOfComparison: Expectation { .oneOf(["AND", "OR", openParentheses > 0 ? ")" : "the end"]) }

  // MARK: Comparisons

  private mutating func comparison() throws(PredicateError) -> ParseResult {
    let start = token
    let left: Operand
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

  private mutating func countTerm(at start: Token) throws(PredicateError) {
    termCount += 1
    guard termCount <= limits.terms else {
      throw lexer.error(at: start.range, .atMost(limits.terms, of: "comparisons"))
    }
  }

  private mutating func relation(
    _ relation: PredicateComparison.Relation, of left: Operand
  ) throws(PredicateError) -> PredicateComparison {
    let sign = token
    if case .subject(let subject, _) = left { try check(relation, of: subject, at: sign) }
    try advance()
    let option = try caseOption()
    let (start, context) = (token, left.contextOfOtherSide)
    guard case .operand(let right) = try operand(context) else {
      throw lexer.error(at: start.range, expectation(context))
    }
    switch (left, right) {
    case (.literal(let literal), .subject(let subject, _)):
      try check(relation, of: subject, at: sign)
      return try self.relation(relation.flipped, of: subject, literal, option: option)
    case (.subject(let subject, _), .literal(let literal)):
      return try self.relation(relation, of: subject, literal, option: option)
    case (.subject(let subject, _), .subject(let other, let range)):
      guard subject.key.type.isComparable(with: other.key.type) else {
        throw lexer.error(at: range, .value(of: subject.key, orNil: false))
      }
      try check(option, for: subject)
      return PredicateComparison(subject, .property(relation, other), foldsCase: option != nil)
    case (.literal(let literal), .literal):
      throw lexer.error(at: literal.range, .key(schema.names(for: principal)))
    }
  }

  private func relation(
    _ relation: PredicateComparison.Relation, of subject: PredicateComparison.Subject, _ literal: Literal,
    option: Token?
  ) throws(PredicateError) -> PredicateComparison {
    try check(option, for: subject)
    let takesNil = subject.isNullable && subject.mask == nil && !relation.isOrdering
    if case .null = literal.kind, takesNil { return PredicateComparison(subject, .isNil(relation == .equal)) }
    let value = try value(of: literal, for: subject, orNil: takesNil)
    return PredicateComparison(subject, .relation(relation, value), foldsCase: option != nil)
  }

  private mutating func between(_ subject: PredicateComparison.Subject) throws(PredicateError) -> PredicateComparison {
    guard subject.key.type.isOrdered else { throw unexpected(.oneOf(operators(of: subject))) }
    try advance()
    let option = try caseOption()
    try check(option, for: subject)
    try take(.openBrace, else: .list(of: subject.key))
    let lower = try listed(for: subject)
    try take(.comma, else: .oneOf([","]))
    let upper = try listed(for: subject)
    try take(.closeBrace, else: .oneOf(["}"]))
    return PredicateComparison(subject, .between(lower, upper), foldsCase: option != nil)
  }

  private mutating func oneOf(_ subject: PredicateComparison.Subject) throws(PredicateError) -> PredicateComparison {
    try advance()
    let option = try caseOption()
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
    return PredicateComparison(subject, .oneOf(values), foldsCase: option != nil)
  }

  private mutating func listed(for subject: PredicateComparison.Subject) throws(PredicateError) -> PropertyValue {
    let start = token
    guard case .operand(.literal(let literal)) = try operand(.opposite(subject.key)) else {
      throw lexer.error(at: start.range, .value(of: subject.key, orNil: false))
    }
    return try value(of: literal, for: subject, orNil: false)
  }

  private mutating func string(
    _ comparison: PredicateComparison.StringOperator, _ subject: PredicateComparison.Subject
  ) throws(PredicateError) -> PredicateComparison {
    guard subject.key.type == .string else { throw unexpected(.oneOf(operators(of: subject))) }
    try advance()
    let option = try caseOption()
    let start = token
    guard case .string(let text) = try listed(for: subject) else { preconditionFailure("a string's value is a string") }
    if comparison == .like, LikePattern.wildcardCount(text) > limits.wildcards {
      throw lexer.error(at: start.range, .atMost(limits.wildcards, of: "* and ? in a pattern"))
    }
    return PredicateComparison(subject, .string(comparison, text), foldsCase: option != nil)
  }

  /// `[c]`, if present: its first token.
  private mutating func caseOption() throws(PredicateError) -> Token? {
    guard token.kind == .sign(.openBracket) else { return nil }
    let bracket = token
    try advance()
    guard case .name(let name) = token.kind, name == "c" || name == "C" else { throw unexpected(.caseOption) }
    try advance()
    guard token.kind == .sign(.closeBracket) else { throw unexpected(.oneOf(["]"])) }
    try advance()
    return bracket
  }

  private func check(_ option: Token?, for subject: PredicateComparison.Subject) throws(PredicateError) {
    guard let option, subject.key.type != .string else { return }
    throw lexer.error(at: option.range, .value(of: subject.key, orNil: false))
  }

  private func check(
    _ relation: PredicateComparison.Relation, of subject: PredicateComparison.Subject, at sign: Token
  ) throws(PredicateError) {
    guard relation.isOrdering, !subject.key.type.isOrdered else { return }
    throw lexer.error(at: sign.range, .oneOf(operators(of: subject)))
  }

  /// The operators that may follow a key.
  private func operators(of subject: PredicateComparison.Subject) -> [String] {
    let type = subject.key.type
    let relations = PredicateComparison.Relation.allCases.filter { type.isOrdered || !$0.isOrdering }.map(\.rawValue)
    return relations + (type.isOrdered ? ["BETWEEN"] : []) + ["IN"]
      + (type == .string ? PredicateComparison.StringOperator.allCases.map(\.rawValue) : [])
      + (type.hasBits ? ["&"] : [])
  }

  /// The left operand of an operator that requires a key there.
  private func subject(_ left: Operand) throws(PredicateError) -> PredicateComparison.Subject {
    switch left {
    case .subject(let subject, _): return subject
    case .literal(let literal): throw lexer.error(at: literal.range, .key(schema.names(for: principal)))
    }
  }

  private func value(
    of literal: Literal, for subject: PredicateComparison.Subject, orNil: Bool
  ) throws(PredicateError) -> PropertyValue {
    do throws(Literal.TypeMismatch) {
      return try literal.value(for: subject.key)
    } catch {
      throw lexer.error(at: error.range, .value(of: subject.key, orNil: orNil))
    }
  }

  // MARK: Operands

  private mutating func operand(_ context: OperandContext) throws(PredicateError) -> ParseResult {
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
  private mutating func masked(_ left: Operand) throws(PredicateError) -> Operand {
    switch left {
    case .subject(let subject, let range):
      guard subject.key.type.hasBits else { throw unexpected(.oneOf(operators(of: subject))) }
      try advance()
      let start = token
      guard case .operand(.literal(let literal)) = try primary(.opposite(subject.key)) else {
        throw lexer.error(at: start.range, .value(of: subject.key, orNil: false))
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
        throw lexer.error(at: start.range, .key(schema.names(for: principal, where: \.type.hasBits)))
      }
      return try masked(subject, by: literal, literal.range.lowerBound..<range.upperBound)
    }
  }

  private func masked(
    _ subject: PredicateComparison.Subject, by literal: Literal, _ range: Range<Int>
  ) throws(PredicateError) -> Operand {
    guard case .integer(let mask) = try value(of: literal, for: subject, orNil: false) else {
      throw lexer.error(at: literal.range, .value(of: subject.key, orNil: false))
    }
    var subject = subject
    subject.mask = mask & (subject.mask ?? -1)
    return .subject(subject, range)
  }

  /// `bits | bits`.
  private mutating func union(_ left: Operand, _ context: OperandContext) throws(PredicateError) -> Operand {
    let first: Literal
    switch left {
    case .subject(let subject, _): throw unexpected(.oneOf(operators(of: subject)))
    case .literal(let literal): first = literal
    }
    try advance()
    let start = token
    guard case .operand(.literal(let second)) = try primary(context) else { throw lexer.error(at: start.range, .bits) }
    return .literal(
      Literal(kind: .union(first.parts + second.parts), range: first.range.lowerBound..<second.range.upperBound))
  }

  private mutating func primary(_ context: OperandContext) throws(PredicateError) -> ParseResult {
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
      guard schema.isEnumerationValue(name) else { throw unexpected(.key(schema.names(for: principal))) }
    default: throw unexpected(expectation(context))
    }
    try advance()
    return .operand(.literal(Literal(kind: kind, range: start.range)))
  }

  /// The key with that name, if it exists. Location keys do not exist for a principal without the scope `location`.
  private func key(named name: String) -> PropertyKey? {
    schema.key(named: name).flatMap { !$0.needsLocationScope || principal.may(.location) ? $0 : nil }
  }

  private mutating func parenthesized(_ context: OperandContext) throws(PredicateError) -> ParseResult {
    let start = token
    try descend()
    openParentheses += 1
    try advance()
    let parsed = if case .first = context { try disjunction() } else { try operand(context) }
    guard token.kind == .sign(.closeParenthesis) else {
      switch parsed {
      case .predicate: throw unexpected(endOfComparison)
      case .operand(.subject(let subject, _)): throw unexpected(.oneOf(operators(of: subject) + [")"]))
      case .operand(.literal): throw unexpected(.oneOf(["|", ")"]))
      }
    }
    let range = start.range.lowerBound..<token.range.upperBound
    try advance()
    openParentheses -= 1
    depth -= 1
    switch parsed {
    case .predicate: return parsed
    case .operand(.subject(let subject, _)): return .operand(.subject(subject, range))
    case .operand(.literal(var literal)):
      literal.isEnclosed = true
      return .operand(.literal(literal))
    }
  }

  /// `CAST("2024-05-06T07:08:09Z", "NSDate")`, or with seconds since 2001, the form of dates in Apple's
  /// `predicateFormat`.
  private mutating func cast() throws(PredicateError) -> Literal {
    let start = token
    try advance()
    try take(.openParenthesis, else: .oneOf(["("]))
    guard let date = try castDate() else { throw unexpected(.castDate) }
    try advance()
    try take(.comma, else: .oneOf([","]))
    guard token.kind == .string("NSDate") else { throw unexpected(.oneOf(["\"NSDate\""])) }
    try advance()
    let range = start.range.lowerBound..<token.range.upperBound
    try take(.closeParenthesis, else: .oneOf([")"]))
    return Literal(kind: .date(date), range: range)
  }

  private func castDate() throws(PredicateError) -> Timestamp? {
    switch token.kind {
    case .string(let text):
      do throws(Literal.TypeMismatch) {
        return try Literal(kind: .string(text), range: token.range).date(text)
      } catch {
        throw lexer.error(at: error.range, .castDate)
      }
    case .integer(let seconds): return Timestamp(secondsSince2001: Double(seconds))
    case .real(let seconds), .outOfRangeInteger(let seconds): return Timestamp(secondsSince2001: seconds)
    default: return nil
    }
  }

  // MARK: Tokens

  private mutating func advance() throws(PredicateError) { token = try lexer.next() }

  private mutating func take(_ sign: Sign, else expected: Expectation) throws(PredicateError) {
    guard token.kind == .sign(sign) else { throw unexpected(expected) }
    try advance()
  }

  private func unexpected(_ expected: Expectation) -> PredicateError { lexer.error(at: token.range, expected) }

  private func expectation(_ context: OperandContext) -> Expectation {
    switch context {
    case .first: .comparison
    case .opposite(let key): .value(of: key, orNil: false)
    case .oppositeValue: .key(schema.names(for: principal))
    }
  }
}

extension PropertyType {
  fileprivate var isOrdered: Bool { self != .boolean }

  fileprivate var hasBits: Bool {
    switch self {
    case .integer, .options: true
    default: false
    }
  }

  /// Whether two properties may be compared with each other.
  fileprivate func isComparable(with other: PropertyType) -> Bool {
    switch (self, other) {
    case (.enumeration, _), (_, .enumeration): false
    case (.integer, .real), (.real, .integer): true
    default: self == other
    }
  }
}

extension Timestamp {
  /// `nil` outside of the years 0000 to 9999.
  fileprivate init?(secondsSince2001 seconds: Double) {
    let milliseconds = (seconds * 1000).rounded() + 978_307_200_000
    guard abs(milliseconds) < 1e15 else { return nil }
    self.init(milliseconds: Int64(milliseconds))
    guard Timestamp.rfc3339Range.contains(self) else { return nil }
  }
}
