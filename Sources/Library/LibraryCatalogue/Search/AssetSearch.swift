import PhotoModel
import PhotoPredicate

/// The search of a fetch.
package struct AssetSearch: Sendable, Hashable {
  /// The maximum number of results of a fetch by relevance: only the newest matches are ranked.
  package static let maximumRanked = 5000

  let query: SearchQuery
  /// Whether the names of places are searched too: the principal has the scope `location`.
  let includesPlaces: Bool
  /// Whether the names of people are searched too: the principal may read them.
  let includesNames: Bool
  /// Whether the best matches come first, and equally good ones newest first.
  package var isByRelevance = false

  package init(_ query: SearchQuery, for principal: Principal) {
    self.query = query
    includesPlaces = principal.may(.location)
    includesNames = principal.mayReadNames
  }

  /// The prefixes of the indexed words that are searched: see ``SearchDocument``.
  var marks: [String] {
    [""] + (includesNames ? [SearchDocument.nameMark] : []) + (includesPlaces ? [SearchDocument.placeMark] : [])
  }

  /// Approximate memory in bytes.
  var bytes: Int { query.terms.reduce(64) { $1.words.reduce($0 + 64) { $0 + 32 + $1.utf8.count } } }
}
