import PhotoPredicate

/// The clauses of a fetch while its plan is built: the access path, the conditions that the path does not guarantee,
/// and the values of their `?`. The steps append values, so their order is the order of the `?`.
struct FetchClauses {
  private let fetch: AssetFetch
  private let library: LibraryID
  private let predicate: FetchPredicate?
  private let search: SearchAccess
  private let sort: FetchSortDescriptors
  /// The scope's own order, if it is not a property of an asset.
  private let scopeOrder: String?
  private(set) var path: FetchPlan.AccessPath
  private(set) var conditions: [String] = []
  /// The values of the path's source come first.
  private(set) var values: [SQLValue] = []

  /// Chooses the path of the scope.
  init(_ fetch: AssetFetch, in library: LibraryID, _ search: SearchAccess) {
    self.fetch = fetch
    self.library = library
    self.search = search
    predicate = fetch.predicate?.normalized
    // A search that is not by relevance is by date.
    let requested: FetchSortDescriptors? = fetch.sort ?? (fetch.search == nil ? nil : FetchPlan.newestFirst)
    sort = requested ?? fetch.scope.defaultSort
    scopeOrder = requested == nil ? fetch.scope.order : nil
    path = FetchPlan.path(
      of: fetch.scope, predicate, sort, hasScopeOrder: scopeOrder != nil, in: library)
  }

  // MARK: Steps

  mutating func addScope() {
    switch fetch.scope {
    case .library, .smartAlbum, .dates: break
    // The members of an album of a library are all in the library, so it is enough to check the album.
    case .album(let row): addCollection("member.collection = ?", row)
    case .folder(let row): addCollection("member.folder = ?", row)
    case .rows(let rows): values.append(.text(RowNumbers.json(rows)))
    }
  }

  private mutating func addCollection(_ condition: String, _ row: Int64) {
    conditions += [
      condition, "EXISTS (SELECT 1 FROM libraryCollection WHERE collection = ? AND library = \(library.row))",
    ]
    values += [.integer(row), .integer(row)]
  }

  /// Restricts the fetch to these rows. Not for a scope that is a list.
  mutating func restrict(to rows: [UInt32]) {
    precondition(!fetch.scope.isList)
    switch fetch.scope {
    case .album:
      path.source = "json_each(?) AS listed CROSS JOIN member INDEXED BY memberByAsset ON member.asset = listed.value"
    case .folder:
      path.source = """
        json_each(?) AS listed CROSS JOIN folderAsset AS member INDEXED BY folderAssetByAsset
          ON member.asset = listed.value
        """
    case .library, .smartAlbum, .dates, .rows:
      let list = FetchPlan.path(ofListIn: library)
      (path.source, path.row, path.table, path.columns) = (list.source, list.row, list.table, list.columns)
    }
    values.insert(.text(RowNumbers.json(rows)), at: 0)
  }

  /// Reads along the search index, if the index can be used and the chosen path is not short.
  mutating func readAlongSearchIndex() {
    guard let expression = search.expression, library.isWhole, !path.isShort, !fetch.scope.isList,
      !path.row.hasPrefix("member.")
    else { return }
    path = FetchPlan.searchPath(of: path.album)
    path.isShort = search.isShort
    conditions.append("search MATCH ?")
    values.append(.text(expression))
    if let range = FetchPlan.documents(of: fetch.scope, predicate) {
      conditions.append("search.rowid BETWEEN ? AND ?")
      values += [.integer(range.lowerBound), .integer(range.upperBound)]
    }
  }

  mutating func addLibrary() {
    if path.table == "libraryAsset" { conditions.append("libraryAsset.library = \(library.row)") }
  }

  mutating func addDates() {
    guard case .dates(let range, let days) = fetch.scope else { return }
    conditions.append("\(path.table).creationDate BETWEEN ? AND ?")
    values += [.integer(range.lowerBound), .integer(range.upperBound)]
    if let days {
      conditions.append("\(path.table).localDay BETWEEN ? AND ?")
      values += [.integer(Int64(days.lowerBound)), .integer(Int64(days.upperBound))]
    }
  }

  mutating func addListing() {
    if let album = path.album { conditions.append(album.condition(on: path.table)) }
    conditions.append("\(fetch.scope.hasMembers ? "member" : path.table).listing \(listings.sql)")
  }

  private var listings: ListingFilter {
    let listings = ListingFilter(
      includesHidden: fetch.includesHidden, includesAllBurstAssets: fetch.includesAllBurstAssets)
    guard case .smartAlbum(let album) = fetch.scope else { return listings }
    return album.listings(listings, includesAllBurstAssets: fetch.includesAllBurstAssets)
  }

  /// Tests the words of the search on each asset, unless the path already guarantees them.
  mutating func addSearch() {
    guard fetch.search != nil, !path.isSearch else { return }
    let test = search.test(document: path.document, asset: path.row, &values)
    conditions.append(test)
  }

  mutating func addPredicate() {
    guard let predicate else { return }
    let compiled = SQLCondition(predicate, columns: path.columns)
    conditions.append("(\(compiled.sql))")
    values += compiled.values
  }

  // MARK: Results

  /// The sort order of the rows.
  var order: [FetchPlan.Ordering] {
    if let scopeOrder { return [FetchPlan.Ordering(scopeOrder, isAscending: true)] }
    return sort.total.map { descriptor in
      FetchPlan.Ordering(
        path.columns.orderingExpression(for: descriptor.key), isAscending: descriptor.isAscending,
        // PhotoKit's schema allows missing dates, but the catalogue's are NOT NULL; so their indexes can be used.
        isNullable: descriptor.key.isNullable && descriptor.key.type != .date)
    }
  }

  /// The rows come from the search index, and the fetch orders them by date.
  var isSearchByDate: Bool { path.isSearch && sortedKey == "creationDate" }

  /// Whether the fetch may read every asset.
  var needsFullScan: Bool { !path.isShort && (!isCoveredByIndex || fetch.scope.isList) }

  /// The path has the order of the fetch.
  private var isInOrder: Bool { scopeOrder != nil || sort.total.first?.key.name == path.key }

  /// The key that orders both the path and the fetch, if any.
  private var sortedKey: String? { scopeOrder == nil && isInOrder ? path.key : nil }

  private var isCoveredByIndex: Bool {
    // The search index finds assets that match the search, but does not know the album.
    let isSearchCovered = path.isSearch ? path.album == nil : fetch.search == nil
    return isInOrder && (!fetch.scope.isDates || sortedKey == "creationDate") && isSearchCovered
      && (predicate?.conjuncts ?? []).allSatisfy { term in
        path.isSearch && search.covered.contains(term)
          || Self.isDense(term, along: path.album, sorted: sortedKey)
      }
  }

  /// Whether a page is found after few rows of the path, although the term is tested on each row. True for the path's
  /// own condition, and for a range of the key that orders the path.
  private static func isDense(_ term: FetchPredicate, along album: SmartAlbum?, sorted key: String?) -> Bool {
    guard case .comparison(let comparison) = term else { return false }
    if comparison.subject.key.name == key { return comparison.isRange }
    // Terms that match nearly all assets hardly make a page more expensive.
    guard let album else { return comparison.matchesMostAssets }
    return album.isImplied(by: term)
  }
}

extension AssetScope {
  fileprivate var isList: Bool { if case .rows = self { true } else { false } }
  fileprivate var isDates: Bool { if case .dates = self { true } else { false } }

  /// Whether the path's table has the alias `member`, with copies of the asset's date and listing.
  fileprivate var hasMembers: Bool {
    switch self {
    case .album, .folder: true
    case .library, .smartAlbum, .dates, .rows: false
    }
  }

  /// The order that is not a property of an asset, in SQL.
  fileprivate var order: String? {
    switch self {
    case .album: "member.position"
    case .rows: "listed.key"
    case .library, .smartAlbum, .folder, .dates: nil
    }
  }

  fileprivate var defaultSort: FetchSortDescriptors {
    self == .smartAlbum(.recentlyAdded) ? FetchPlan.recentlyAddedFirst : FetchPlan.newestFirst
  }
}
