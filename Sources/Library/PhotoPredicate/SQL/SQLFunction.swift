/// An SQL function that must be registered on each connection before a condition is evaluated: deterministic, without
/// side effects. The same code evaluates predicates in memory, so both agree.
package struct SQLFunction: Sendable {
  package let name: String
  package let argumentCount: Int
  package let body: @Sendable ([SQLValue]) -> SQLValue

  package static let all = [fold(.letterCase), fold(.diacritics), fold([.letterCase, .diacritics]), like, text]

  /// `photod_fold_c(text)`, `photod_fold_d(text)`, `photod_fold_cd(text)`: see ``TextFolding``. NULL for a value that
  /// is not text.
  private static func fold(_ folding: TextFolding) -> SQLFunction {
    SQLFunction(name: name(of: folding), argumentCount: 1) { arguments in
      guard case .text(let text) = arguments[0] else { return .null }
      return .text(folding.folded(text))
    }
  }

  static func name(of folding: TextFolding) -> String { "photod_fold_\(folding.name)" }

  /// `photod_text(text)`: the text with U+FFFD in place of bytes that are not UTF-8, as it reaches Swift. NULL for a value
  /// that is not text.
  package static let text = SQLFunction(name: "photod_text", argumentCount: 1) { arguments in
    guard case .text(let text) = arguments[0] else { return .null }
    return .text(text)
  }

  /// `photod_like(text, pattern)`: 1 or 0, see ``LikePattern``. NULL if either is not text.
  static let like = SQLFunction(name: "photod_like", argumentCount: 2) { arguments in
    guard case .text(let text) = arguments[0], case .text(let pattern) = arguments[1] else { return .null }
    return .integer(LikePattern.matches(text, pattern: pattern) ? 1 : 0)
  }
}
