import Foundation

/// The options of a comparison of texts, `[c]`, `[d]` and `[cd]`: both sides are folded, then compared by code point.
package struct TextFolding: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// `c`: see ``CaseFolding``.
  package static let letterCase = TextFolding(rawValue: 1)
  /// `d`: accents, and all other marks that attach to the character before, also variation selectors. Composed and
  /// decomposed characters are equal.
  package static let diacritics = TextFolding(rawValue: 2)

  /// - Parameter name: the text in the brackets. `nil`: there is no such option.
  init?(name: String) {
    switch name.lowercased() {
    case "c": self = .letterCase
    case "d": self = .diacritics
    case "cd", "dc": self = [.letterCase, .diacritics]
    default: return nil
    }
  }

  /// The text in the brackets.
  var name: String { (contains(.letterCase) ? "c" : "") + (contains(.diacritics) ? "d" : "") }

  func folded(_ text: String) -> String {
    let base = contains(.diacritics) ? Self.withoutDiacritics(text) : text
    return contains(.letterCase) ? CaseFolding.folded(base) : base
  }

  /// The same marks are removed as from the words of the search index, which may therefore stand in for a comparison.
  private static func withoutDiacritics(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
    var bases = String.UnicodeScalarView()
    for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars
    where !scalar.isIgnoredMark {
      bases.append(scalar)
    }
    // Scripts whose characters are composed of letters, such as Hangul, keep their characters.
    return String(bases).precomposedStringWithCanonicalMapping
  }
}

extension Unicode.Scalar {
  /// Whether `[d]` and searches ignore it: a mark that attaches to the character before, such as an accent, the frame of
  /// a keycap, or the variation selector of an emoji.
  var isIgnoredMark: Bool {
    // The first mark is U+0300.
    if value < 0x300 { return false }
    if properties.canonicalCombiningClass != .notReordered { return true }
    return properties.generalCategory == .enclosingMark || properties.isVariationSelector
  }
}
