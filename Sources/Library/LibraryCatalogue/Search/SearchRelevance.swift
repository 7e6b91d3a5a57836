// Scores how well an asset matches a search: for each term, the weight of the best field that contains it, and a bonus
// for a whole word. The frequency of words is ignored, because it would reveal invisible assets to a limited caller.

import GRDB
import PhotoPredicate

enum SearchRelevance {
  /// For the path, which is no `Field`, and for the file's name.
  private static let pathWeight = 6
  private static let wholeWordBonus = 1

  private static func weight(_ field: SearchDocument.Field) -> Int {
    switch field {
    case .title: 20
    case .person, .keyword: 16
    case .album: 12
    case .place: 10
    case .caption: 8
    case .name: pathWeight
    case .camera, .lens: 4
    }
  }

  /// Separators of the alternatives of a term, and of terms: characters that no word contains.
  private static let alternativeSeparator = UInt8(ascii: "\t")
  private static let termSeparator = UInt8(ascii: "\n")

  static func encoded(_ terms: [[String]]) -> String {
    terms.map { $0.joined(separator: "\t") }.joined(separator: "\n")
  }

  /// `photod_relevance(text, terms, albums)`: a whole number; more is better. Bit N of `albums` is set if the asset is
  /// in an album whose title the term N matches. NULL if an argument has another type.
  static let function = DatabaseFunction("photod_relevance", argumentCount: 3, pure: true) { arguments in
    guard let text = String.fromDatabaseValue(arguments[0]), let terms = String.fromDatabaseValue(arguments[1]),
      let albums = Int64.fromDatabaseValue(arguments[2])
    else { return nil }
    return Int64(relevance(of: Array(text.utf8), Array(terms.utf8), albums: albums))
  }

  private static func relevance(of text: [UInt8], _ terms: [UInt8], albums: Int64) -> Int {
    let fields = fields(of: text)
    var sum = 0
    for (number, term) in terms.split(separator: termSeparator).enumerated() {
      // The titles of albums are not in the text, so a match always gets the bonus.
      var best = albums >> number & 1 == 1 ? weight(.album) + wholeWordBonus : 0
      for part in term.split(separator: alternativeSeparator) {
        for field in fields where field.weight + wholeWordBonus > best {
          switch text[field.range].occurrence(of: part) {
          case .none: break
          case .partOfWord: best = max(best, field.weight)
          case .wholeWord: best = field.weight + wholeWordBonus
          }
        }
      }
      sum += best
    }
    return sum
  }

  /// The fields of a document's text, including the spaces around their words.
  private static func fields(of text: [UInt8]) -> [(range: Range<Int>, weight: Int)] {
    var fields: [(range: Range<Int>, weight: Int)] = []
    var (begin, weight) = (0, pathWeight)
    for index in text.indices.dropLast(2) where text[index] == 0xEE && text[index + 1] == 0x80 {
      guard let field = SearchDocument.Field(rawValue: text[index + 2] &- 0x90) else { continue }
      fields.append((begin..<index, weight))
      (begin, weight) = (index + 3, Self.weight(field))
    }
    fields.append((begin..<text.count, weight))
    return fields
  }
}

/// How a term occurs in a field.
private enum Occurrence {
  case none
  case partOfWord
  /// The term ends with a space or is followed by one.
  case wholeWord
}

extension ArraySlice<UInt8> {
  /// The best occurrence of a term.
  fileprivate func occurrence(of part: ArraySlice<UInt8>) -> Occurrence {
    guard let first = part.first, count >= part.count else { return .none }
    let space = UInt8(ascii: " ")
    let endsWithSpace = part.last == space
    var isFound = false
    var index = startIndex
    while index <= endIndex - part.count {
      let end = index + part.count
      if self[index] == first, self[index..<end].elementsEqual(part) {
        if endsWithSpace || end < endIndex && self[end] == space { return .wholeWord }
        isFound = true
      }
      index += 1
    }
    return isFound ? .partOfWord : .none
  }
}
