// The text of a search: words, and phrases in quotation marks. It is parsed here, and never passed to SQLite as a query
// in its own syntax.

/// A parsed search: all terms must match, each in any one field.
package struct SearchQuery: Sendable, Hashable {
  /// Consecutive words of one field.
  package struct Term: Sendable, Hashable {
    /// At least one, as ``SearchText`` makes them.
    package var words: [String]
    /// The last word may be the beginning of a word.
    package var isPrefix = false
  }

  /// At least one.
  package let terms: [Term]

  /// Parses a text. A word with punctuation within, such as `IMG_1234`, is a phrase. If the text does not end with a
  /// phrase in quotation marks, or if an asterisk follows that phrase, its last word may be the beginning of a word.
  package init(_ text: String, limits: SearchLimits = SearchLimits()) throws(SearchError) {
    guard text.utf8.count <= limits.bytes else { throw .tooLong(limit: limits.bytes) }
    var terms: [Term] = []
    var isAfterPhrase = false
    for part in Self.parts(of: text) {
      let words = SearchText.words(of: part.text)
      if isAfterPhrase, !part.isQuoted, part.text == "*" { terms[terms.count - 1].isPrefix = true }
      isAfterPhrase = part.isQuoted && !words.isEmpty
      if words.isEmpty { continue }
      if !terms.isEmpty { terms[terms.count - 1].isPrefix = false }
      terms.append(Term(words: words, isPrefix: !part.isQuoted))
    }
    guard !terms.isEmpty else { throw .noWord }
    guard terms.reduce(0, { $0 + $1.words.count }) <= limits.words else { throw .tooManyWords(limit: limits.words) }
    self.terms = terms
  }

  private static let quotationMarks: Set<Character> = ["\"", "\u{201C}", "\u{201D}", "\u{201E}"]

  /// Splits at spaces, except within quotation marks. A quotation mark that is not closed is closed by the end.
  private static func parts(of text: String) -> [(text: String, isQuoted: Bool)] {
    var parts: [(text: String, isQuoted: Bool)] = []
    var part = ""
    var isQuoted = false
    for character in text {
      if quotationMarks.contains(character) {
        parts.append((part, isQuoted))
        part = ""
        isQuoted.toggle()
      } else if character.isWhitespace && !isQuoted {
        parts.append((part, false))
        part = ""
      } else {
        part.append(character)
      }
    }
    parts.append((part, isQuoted))
    return parts
  }
}

/// Limits of a search's text.
package struct SearchLimits: Sendable, Hashable {
  var bytes = 1024
  var words = 32

  package init() {}
}

package enum SearchError: Error, Sendable, Hashable {
  case tooLong(limit: Int)
  case tooManyWords(limit: Int)
  /// Only punctuation, or nothing.
  case noWord
}

extension SearchError: CustomStringConvertible {
  /// The change to make; follows the parameter's name.
  package var description: String {
    switch self {
    case .tooLong(let limit): "must be at most \(limit) bytes of UTF-8"
    case .tooManyWords(let limit): "must be at most \(limit) words"
    case .noWord: "must contain a word: letters or digits"
    }
  }
}
