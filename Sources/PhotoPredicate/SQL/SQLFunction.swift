/// A function that SQLite has to be taught on each connection before a condition can be evaluated: deterministic, and without
/// side effects. The same code evaluates predicates in memory, so that both agree.
package struct SQLFunction: Sendable {
  package let name: String
  package let argumentCount: Int
  package let body: @Sendable ([SQLValue]) -> SQLValue

  package static let all = [fold, like]

  /// `photod_fold(text)`: see ``CaseFolding``. NULL of what is no text.
  package static let fold = SQLFunction(name: "photod_fold", argumentCount: 1) { arguments in
    guard case .text(let text) = arguments[0] else { return .null }
    return .text(CaseFolding.folded(text))
  }

  /// `photod_like(text, pattern)`: 1 or 0, see ``LikePattern``. NULL where either is no text.
  package static let like = SQLFunction(name: "photod_like", argumentCount: 2) { arguments in
    guard case .text(let text) = arguments[0], case .text(let pattern) = arguments[1] else { return .null }
    return .integer(LikePattern.matches(text, pattern: pattern) ? 1 : 0)
  }
}
