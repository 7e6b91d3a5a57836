import HTTPCore
import LibraryCatalogue
import PhotoModel

/// The parsed query of an asset list: `GET /v1/assets` and `GET /v1/collections/{id}/assets`.
struct AssetListQuery: Sendable {
  enum Layout: String, CaseIterable { case objects, columns, buckets }

  let layout: Layout
  let unit: DateBucket.Unit
  /// The fetch. For a collection, its scope is set after the collection has been looked up.
  var fetch: AssetFetch
  let page: FetchPageRequest
  /// The properties of objects; `nil`: all.
  let fields: AssetFields?
  /// The properties of columns.
  let columns: Set<AssetColumns.Field>
  /// The query parameters as sent.
  private let parameters: [String: String]

  init(
    _ target: RequestTarget, _ tokens: TokenCodec, until end: ContinuousClock.Instant, for principal: Principal
  ) throws(Problem) {
    var query = try QueryReader(target)
    layout = try query.word("layout", default: .objects)
    let unit: DateBucket.Unit? = try query.optionalWord("by")
    let sizes = layout == .columns ? FetchQuery.columnSizes : FetchQuery.pageSizes
    fetch = try FetchQuery(&query, .library, for: principal).fetch
    var page = FetchPageRequest(limit: 1, deadline: end)
    page.limit = try query.number("limit", in: sizes) ?? (layout == .columns ? sizes.upperBound : 100)
    page.cursor = query.cursor(tokens)
    page.includesCount = try query.flag("count")
    self.page = page
    let names = query.text("fields")
    fields = try (layout == .objects ? names : nil).map { text throws(Problem) in try AssetFields(text) }
    columns =
      try (layout == .columns ? names : nil).map { text throws(Problem) in try QueryReader.names("fields", text) }
      ?? Set(AssetColumns.Field.allCases)
    try query.finish()
    self.unit = unit ?? .day
    parameters = query.values
    if let name = unsupportedParameter {
      throw QueryReader.invalid(name, "can't be combined with layout=\(layout.rawValue)")
    }
  }

  /// A given parameter that the layout does not support.
  private var unsupportedParameter: String? {
    let others: [String] =
      switch layout {
      case .objects: ["by"]
      case .columns: ["by", "count"]
      case .buckets: ["count", "cursor", "fields", "limit"]
      }
    return others.first { parameters[$0] != nil }
  }

  /// Whether the request may scan every asset. It then runs on the fetch queue.
  func needsFullScan(for principal: Principal) -> Bool {
    let hasStoredCount = fetch.isUnfiltered && fetch.scope.hasStoredCount
    return fetch.needsFullScan(for: principal) || (page.includesCount || layout == .buckets) && !hasStoredCount
      || layout == .buckets && (fetch.scope != .library || fetch.fetchLimit != nil)
  }
}
