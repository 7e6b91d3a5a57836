import AssetLibrary
import HTTPCore
import PhotoModel

/// What a listing of assets is asked for: `GET /v1/assets` and `GET /v1/collections/{id}/assets`.
struct AssetListQuery: Sendable {
  enum Layout: String, CaseIterable { case objects, columns, buckets }

  let layout: Layout
  let unit: DateBucket.Unit
  /// In the library; in a collection, once that is known.
  var fetch: AssetFetch
  let page: FetchPageRequest
  let countsAll: Bool
  let fields: AssetFields?
  /// As they were given, for the next page.
  let parameters: [String: String]

  init(_ target: RequestTarget, until end: ContinuousClock.Instant, for principal: Principal) throws(Problem) {
    var query = try QueryReader(target)
    layout = try query.word("layout", default: .objects)
    let unit: DateBucket.Unit? = try query.optionalWord("by")
    let sizes = layout == .columns ? FetchQuery.columnSizes : FetchQuery.pageSizes
    fetch = try FetchQuery(&query, .library, for: principal).fetch
    var page = FetchPageRequest(limit: 1, deadline: end)
    page.limit = try query.number("limit", in: sizes) ?? (layout == .columns ? sizes.upperBound : 100)
    page.cursor = query.text("cursor")
    self.page = page
    countsAll = try query.flag("count")
    fields = try query.text("fields").map { text throws(Problem) in try AssetFields(text) }
    try query.finish()
    self.unit = unit ?? .day
    parameters = query.values.merging(query.signature) { $1 }
    if let name = misplaced { throw QueryReader.invalid(name, "does not go with layout=\(layout.rawValue)") }
  }

  /// A parameter that the layout has no use for.
  private var misplaced: String? {
    let others: [String] =
      switch layout {
      case .objects: ["by"]
      case .columns: ["by", "count", "fields"]
      case .buckets: ["count", "cursor", "fields", "limit"]
      }
    return others.first { parameters[$0] != nil }
  }

  /// Whether answering may take as long as a fetch may: then it waits in a line of its own.
  var isFree: Bool {
    let isCounted = fetch.predicate == nil && fetch.scope.isCounted
    return fetch.isFree || (countsAll || layout == .buckets) && !isCounted
      || layout == .buckets && (fetch.scope != .library || fetch.fetchLimit != nil)
  }
}
