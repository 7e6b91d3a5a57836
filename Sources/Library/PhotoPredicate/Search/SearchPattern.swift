// Derives from a comparison the words that every matching text contains. The search index finds the few texts that
// contain them, and then the comparison itself decides.

/// Consecutive words that are in every text for which a comparison is true.
package struct SearchPattern: Sendable, Hashable {
  /// At least one.
  package let words: [String]
  /// The first word may be the end of a word of the text.
  package let isFirstOpen: Bool
  /// The last word may be the beginning of a word of the text.
  package let isLastOpen: Bool
  /// The comparison is with the whole text, so only few texts have these words.
  package let isWhole: Bool

  /// - Returns: `nil` if the comparison says nothing about consecutive words.
  package init?(_ predicate: FetchPredicate, of keys: Set<String>) {
    guard case .comparison(let comparison) = predicate, keys.contains(comparison.subject.key.name) else { return nil }
    let text: String
    switch comparison.test {
    case .relation(.equal, .string(let value)):
      (text, isWhole) = (value, true)
      (isFirstOpen, isLastOpen) = (false, false)
    case .string(.beginsWith, let prefix):
      (text, isWhole) = (prefix, false)
      (isFirstOpen, isLastOpen) = (false, Self.continuesWord(prefix + "a", prefix))
    case .string(.contains, let part):
      (text, isWhole) = (part, false)
      (isFirstOpen, isLastOpen) = (Self.continuesWord("a" + part, part), Self.continuesWord(part + "a", part))
    default: return nil
    }
    words = SearchText.words(of: text)
    if words.isEmpty { return nil }
  }

  /// Whether a letter that is added at one end of a text becomes part of a word of it.
  private static func continuesWord(_ extended: String, _ text: String) -> Bool {
    SearchText.words(of: extended).count == SearchText.words(of: text).count
  }
}
