// A recursive descent parser for predicates, with one token of look-ahead. The words are those of Apple's Predicate
// Format String Syntax (Predicate Programming Guide), as far as they apply to assets and collections:
//
//     predicate   = conjunction *( ( "OR" | "||" ) conjunction )
//     conjunction = negation *( ( "AND" | "&&" ) negation )
//     negation    = ( "NOT" | "!" ) negation | comparison
//     comparison  = operand relation [ option ] operand
//                 | operand "BETWEEN" [ option ] "{" value "," value "}"
//                 | operand "IN" [ option ] "{" [ value *( "," value ) ] "}"
//                 | operand ( "BEGINSWITH" | "ENDSWITH" | "CONTAINS" | "LIKE" ) [ option ] string
//                 | "ANY" list relation-or-operator ...    (as for strings: true if any text of the list fulfils it)
//                 | list "CONTAINS" [ option ] string
//                 | "TRUEPREDICATE" | "FALSEPREDICATE" | "(" predicate ")"
//     option      = "[c]" | "[d]" | "[cd]"
//     operand     = primary *( ( "&" | "|" ) primary )
//     primary     = key | value | "(" operand ")" | "CAST" "(" date "," '"NSDate"' ")"
//
// Apple's parser does not check types. This one does, once both operands are known, so that an error has a position. A
// parenthesis may open a predicate or an operand, and only its content shows which. The same functions therefore parse
// both, and no text is parsed twice.
//
// The levels of the grammar are in PredicateParser+Compounds, +Comparisons, +Operands and +Casts. This file has what
// all of them use: the next token, errors and limits.

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

/// The state of a parser between two tokens.
struct PredicateParser {
  let schema: PropertySchema
  let principal: Principal
  let limits: PredicateLimits
  private var lexer: Lexer
  /// The token of look-ahead.
  private(set) var token: Token
  private var depth = 0
  private var termCount = 0
  private var openParentheses = 0

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

  // MARK: Tokens

  mutating func advance() throws(PredicateError) { token = try lexer.next() }

  mutating func take(_ sign: Sign, else expected: Expectation) throws(PredicateError) {
    guard token.kind == .sign(sign) else { throw unexpected(expected) }
    try advance()
  }

  // MARK: Errors

  /// An error at the next token.
  func unexpected(_ expected: Expectation) -> PredicateError { error(at: token.range, expected) }

  /// An error at a range in Unicode scalars of the text.
  func error(at range: Range<Int>, _ expected: Expectation) -> PredicateError { lexer.error(at: range, expected) }

  /// The tokens that may follow a comparison.
  var endOfComparison: Expectation { .oneOf(["AND", "OR", openParentheses > 0 ? ")" : "the end"]) }

  /// The keys that the principal may use.
  var anyKey: Expectation { .key(schema.names(for: principal)) }

  // MARK: Limits

  /// Enters `NOT` or a parenthesis, which is the next token.
  mutating func descend() throws(PredicateError) {
    depth += 1
    guard depth <= limits.depth else { throw unexpected(.atMost(limits.depth, of: "( and NOT within each other")) }
  }

  /// Leaves the innermost `NOT` or parenthesis.
  mutating func ascend() { depth -= 1 }

  /// Consumes `(`, which is the next token.
  mutating func openParenthesis() throws(PredicateError) {
    try descend()
    openParentheses += 1
    try advance()
  }

  /// Consumes `)`, which is the next token.
  mutating func closeParenthesis() throws(PredicateError) {
    try advance()
    openParentheses -= 1
    ascend()
  }

  /// Counts a comparison or a constant that began with `start`.
  mutating func countTerm(at start: Token) throws(PredicateError) {
    termCount += 1
    guard termCount <= limits.terms else {
      throw error(at: start.range, .atMost(limits.terms, of: "comparisons"))
    }
  }
}
