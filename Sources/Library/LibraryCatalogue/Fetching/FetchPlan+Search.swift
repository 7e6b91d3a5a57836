import PhotoPredicate

/// Fetches along the search index.
extension FetchPlan {
  /// The plan of a fetch by relevance: selects the newest matches, computes the relevance of each, and sorts them by
  /// it.
  init(ranking fetch: AssetFetch, in library: LibraryID, _ search: SearchAccess) {
    var newest = fetch
    newest.search?.isByRelevance = false
    newest.sort = Self.newestFirst
    let matches = FetchPlan(newest, in: library, search: search)
    let order = matches.dateStream == nil ? matches.order : [Ordering("search.rowid", isAscending: true)]
    let keys = order.map { $0.expression + ($0.isAscending ? "" : " DESC") }.joined(separator: ", ")
    let joinsAsset = FetchStatement.namesAsset([matches.condition, matches.row, keys])
    var ranking: [SQLValue] = []
    let relevance = search.relevance(document: matches.document, asset: matches.row, &ranking)
    source = """
      (SELECT \(matches.row) AS asset, \(relevance) AS relevance
        FROM \(matches.source(joiningAsset: joinsAsset)) WHERE \(matches.condition)
        ORDER BY \(keys) LIMIT \(AssetSearch.maximumRanked)) AS ranked
      CROSS JOIN libraryAsset INDEXED BY libraryAssetByAsset
        ON libraryAsset.asset = ranked.asset AND libraryAsset.library = \(library.row)
      """
    values = ranking + matches.values
    row = "libraryAsset.asset"
    table = "libraryAsset"
    condition = "1"
    self.order =
      [Ordering("ranked.relevance", isAscending: false)]
      + Self.newestFirst.total.map {
        Ordering(SQLColumns.libraryAsset.orderingExpression(for: $0.key), isAscending: $0.isAscending)
      }
    needsFullScan = matches.needsFullScan
    document = matches.document
    dateStream = nil
  }

  /// The path along the search index, which has the words of the whole library.
  ///
  /// - Parameter album: a smart album to which the rows are limited.
  static func searchPath(of album: SmartAlbum?) -> AccessPath {
    AccessPath(
      source: """
        search CROSS JOIN libraryAsset INDEXED BY libraryAssetByAsset
          ON libraryAsset.asset = (search.rowid & 4294967295) AND libraryAsset.library = 0
        """, album: album, key: "creationDate", isSearch: true)
  }

  /// The numbers of the documents with dates that the scope and the predicate allow; `nil`: all.
  static func documents(of scope: AssetScope, _ predicate: FetchPredicate?) -> ClosedRange<Int64>? {
    var dates: ClosedRange<Int64> = .min ... .max
    if case .dates(let range, _) = scope { dates = range }
    if let key = PropertySchema.asset.key(named: "creationDate"), let bounds = predicate?.requiredRange(of: key) {
      // For an empty range, the predicate itself matches nothing.
      guard !bounds.isEmpty, (bounds.lower...bounds.upper).overlaps(dates) else { return nil }
      dates = (bounds.lower...bounds.upper).clamped(to: dates)
    }
    if dates == .min ... .max { return nil }
    let (newest, oldest) = (SearchDocument.period(dates.upperBound), SearchDocument.period(dates.lowerBound))
    return SearchDocument.range(newest).lowerBound...SearchDocument.range(oldest).upperBound
  }
}
