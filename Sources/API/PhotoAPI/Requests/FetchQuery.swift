import LibraryCatalogue
import PhotoModel
import PhotoPredicate

/// PHFetchOptions, read from a query or a JSON object.
struct FetchQuery: Sendable {
  /// The allowed page sizes for objects and for columns.
  static let pageSizes = 1...1000
  static let columnSizes = 1...10_000
  /// Larger than any possible number of rows.
  private static let fetchLimits = 1...1_000_000_000
  /// Instead of sort descriptors, with a search.
  private static let relevance = "relevance"

  var fetch = AssetFetch()

  init(_ query: inout QueryReader, _ scope: AssetScope, for principal: Principal) throws(Problem) {
    fetch.scope = scope
    try read(
      query.text("predicate"), query.text("sortDescriptors"), query.number("fetchLimit", in: Self.fetchLimits),
      query.flag("includeHiddenAssets"), query.flag("includeAllBurstAssets"), principal)
    try read(search: query.text("search"), principal)
  }

  init(_ body: inout JSONObjectReader, _ scope: AssetScope, for principal: Principal) throws(Problem) {
    fetch.scope = scope
    try read(
      body.text("predicate"), body.text("sortDescriptors"), body.number("fetchLimit", in: Self.fetchLimits),
      body.flag("includeHiddenAssets"), body.flag("includeAllBurstAssets"), principal)
    try read(search: body.text("search"), principal)
  }

  private var isByRelevance = false

  private mutating func read(
    _ predicate: String?, _ sort: String?, _ limit: Int?, _ includesHidden: Bool, _ includesAllBurstAssets: Bool,
    _ principal: Principal
  ) throws(Problem) {
    fetch.predicate = try predicate.map { text throws(Problem) in
      try FetchPredicate(parameter: text, .asset, principal)
    }
    isByRelevance = sort == Self.relevance
    fetch.sort = try (isByRelevance ? nil : sort).map { text throws(Problem) in
      try FetchSortDescriptors(parameter: text, .asset, principal)
    }
    fetch.fetchLimit = limit
    fetch.includesHidden = includesHidden
    fetch.includesAllBurstAssets = includesAllBurstAssets
  }

  private mutating func read(search text: String?, _ principal: Principal) throws(Problem) {
    guard let text else {
      if isByRelevance { throw QueryReader.invalid("sortDescriptors", "can be \(Self.relevance) only with search") }
      return
    }
    do throws(SearchError) {
      fetch.search = AssetSearch(try SearchQuery(text), for: principal)
    } catch {
      throw QueryReader.invalid("search", error.description)
    }
    guard isByRelevance else { return }
    fetch.search?.isByRelevance = true
    fetch.fetchLimit = min(fetch.fetchLimit ?? .max, AssetSearch.maximumRanked)
  }
}
