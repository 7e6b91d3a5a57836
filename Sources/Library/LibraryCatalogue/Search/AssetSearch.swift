import PhotoModel
import PhotoPredicate

/// The search of a fetch.
package struct AssetSearch: Sendable, Hashable {
  /// The maximum number of matches that are ranked by relevance: the newest ones. So a fetch by relevance has at most
  /// this many results.
  package static let maximumRanked = 5000

  let query: SearchQuery
  /// The names of places are searched too: the principal has the scope `location`.
  let includesPlaces: Bool
  /// The names of people are searched too: the principal may read them.
  let includesNames: Bool
  /// The best matches come first, and equally good ones newest first.
  package var isByRelevance = false

  package init(_ query: SearchQuery, for principal: Principal) {
    self.query = query
    includesPlaces = principal.may(.location)
    includesNames = principal.mayReadNames
  }

  /// The marks of the words that are searched.
  var marks: [String] {
    [""] + (includesNames ? [SearchDocument.nameMark] : []) + (includesPlaces ? [SearchDocument.placeMark] : [])
  }

  /// Approximate memory in bytes.
  var bytes: Int { query.terms.reduce(64) { $1.words.reduce($0 + 64) { $0 + 32 + $1.utf8.count } } }
}
