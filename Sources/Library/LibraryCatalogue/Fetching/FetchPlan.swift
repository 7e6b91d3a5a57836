// The plan of a fetch: which index it reads along, or that it must read every asset.
//
// SQLite has no statistics about the values of a library, and it can't match a bound parameter with the condition of a
// partial index. So the plan chooses: it writes a term that has an index exactly as the index declares it, and names
// the index. SQLite tests the rest of the predicate on each row along that index.
//
// Words and names have the full-text index, whose rows are numbered by date: see SearchAccess. It returns them in that
// order, so a fetch by date needs only the rows up to the end of its page: see `dateStream`.

import PhotoModel
import PhotoPredicate

struct FetchPlan {
  /// The rows that a fetch reads, and their order.
  struct AccessPath {
    /// The FROM clause without `asset`, for example `libraryAsset INDEXED BY …`.
    var source: String
    /// The asset's row number, in SQL.
    var row = "libraryAsset.asset"
    /// The table with the asset's columns that listings and grids read.
    var table = "libraryAsset"
    var columns = SQLColumns.libraryAsset
    /// The smart album whose rule holds for every row of the path.
    var album: SmartAlbum?
    /// The key that orders the rows; `nil`: no key that a sort descriptor can name.
    var key: String?
    /// The path has so few rows that reading and sorting all of them is cheap.
    var isShort = false
    /// The rows come from the search index.
    var isSearch = false

    /// The number of the asset's document in the search index, in SQL: the table that has the row number has the date.
    var document: String { CatalogueSchema.document("\(row.prefix { $0 != "." }).creationDate", row) }
  }

  /// The FROM clause without `asset`: see ``source(joiningAsset:)``.
  let source: String
  /// The asset's row number, in SQL.
  let row: String
  /// The table with the asset's columns that listings and grids read: `libraryAsset`, or `asset` for rows that come
  /// from an album or a list.
  let table: String
  /// The WHERE clause, without the part for a cursor.
  let condition: String
  /// The values for the `?` of `source` and `condition`, in this order.
  let values: [SQLValue]
  /// The number of the asset's document in the search index, in SQL.
  let document: String
  /// The sort order of the rows.
  let order: [Ordering]
  /// The fetch may read every asset.
  let needsFullScan: Bool
  /// The rows come from the search index, which is numbered by date, and the fetch orders them by date.
  let dateStream: DateStream?

  /// The order in which a fetch reads the numbers of documents.
  enum DateStream: Sendable { case newestFirst, oldestFirst }

  struct Ordering: Sendable, Hashable {
    let expression: String
    let isAscending: Bool
    let isNullable: Bool

    init(_ expression: String, isAscending: Bool, isNullable: Bool = false) {
      (self.expression, self.isAscending, self.isNullable) = (expression, isAscending, isNullable)
    }
  }

  static let newestFirst = descending("creationDate")
  private static let recentlyAddedFirst = descending("addedDate")
  /// Longer lists of rows count as expensive, because each page reads and sorts the whole list.
  private static let shortListLimit = 10_000

  private static func descending(_ name: String) -> FetchSortDescriptors {
    guard let key = PropertySchema.asset.keys.first(where: { $0.name == name }) else { preconditionFailure(name) }
    return FetchSortDescriptors([FetchSortDescriptor(key, isAscending: false)], schema: .asset)
  }

  /// - Parameters:
  ///   - library: the library that the principal may see.
  ///   - rows: restricts the fetch to these row numbers, without an index. They are bound as the first of `values`, in
  ///     the format of ``RowNumbers``. Not allowed for a fetch whose scope is a list of rows.
  ///   - search: how to find the searched words; `nil` if only the cost of the fetch is of interest.
  init(
    _ fetch: AssetFetch, in library: LibraryID = .whole, among rows: [UInt32]? = nil, search: SearchAccess? = nil
  ) {
    let search = search ?? SearchAccess(estimating: fetch)
    if fetch.search?.isByRelevance == true, fetch.sort == nil {
      self = FetchPlan(ranking: fetch, in: library, search)
      return
    }
    let predicate = fetch.predicate?.normalized
    var listings = ListingFilter(
      includesHidden: fetch.includesHidden, includesAllBurstAssets: fetch.includesAllBurstAssets)
    var conditions: [String] = []
    var values: [SQLValue] = []
    var fetch = fetch
    if fetch.search != nil { fetch.sort = fetch.sort ?? Self.newestFirst }
    var sort = fetch.sort ?? Self.newestFirst
    // The scope's own order, if it is not a property of an asset.
    var scopeOrder: String?
    var hasDateRange = false
    var path: AccessPath
    switch fetch.scope {
    case .library: path = Self.path(for: predicate, sort, in: library)
    case .dates:
      hasDateRange = true
      path = Self.path(for: predicate, sort, in: library)
    case .smartAlbum(let album):
      listings = album.listings(listings, includesAllBurstAssets: fetch.includesAllBurstAssets)
      if fetch.sort == nil, album == .recentlyAdded { sort = Self.recentlyAddedFirst }
      path = Self.path(of: album) ?? Self.path(for: predicate, sort, in: library)
    case .album(let row):
      if fetch.sort == nil { scopeOrder = "member.position" }
      // The album's date index for a sort by date; otherwise SQLite uses the primary key (collection, position).
      let hint = scopeOrder == nil && sort.isByDate ? " INDEXED BY memberByDate" : ""
      path = AccessPath(
        source: "member\(hint)", row: "member.asset", table: "asset", columns: .member, key: "creationDate")
      // The members of an album of a library are all in the library, so it is enough to check the album.
      conditions += ["member.collection = ?", Self.isCollection(of: library)]
      values += [.integer(row), .integer(row)]
    case .folder(let row):
      // The alias gives the copies of columns the same names as in an album.
      path = AccessPath(
        source: "folderAsset AS member\(sort.isByDate ? " INDEXED BY folderAssetByDate" : "")", row: "member.asset",
        table: "asset", columns: .member, key: "creationDate")
      conditions += ["member.folder = ?", Self.isCollection(of: library)]
      values += [.integer(row), .integer(row)]
    case .rows(let rows):
      if fetch.sort == nil { scopeOrder = "listed.key" }
      path = Self.path(ofListIn: library)
      path.isShort = rows.count <= Self.shortListLimit
      values.append(.text(RowNumbers.json(rows)))
    }
    if let rows {
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
        let list = Self.path(ofListIn: library)
        (path.source, path.row, path.table, path.columns) = (list.source, list.row, list.table, list.columns)
      }
      values.insert(.text(RowNumbers.json(rows)), at: 0)
    }
    if let expression = search.expression, library.isWhole, rows == nil, !path.isShort, !fetch.scope.isList,
      !path.row.hasPrefix("member.")
    {
      path = Self.searchPath(of: path.album)
      path.isShort = search.isShort
      conditions.append("search MATCH ?")
      values.append(.text(expression))
      if let range = Self.documents(of: fetch.scope, predicate) {
        conditions.append("search.rowid BETWEEN ? AND ?")
        values += [.integer(range.lowerBound), .integer(range.upperBound)]
      }
    }
    if path.table == "libraryAsset" { conditions.append("libraryAsset.library = \(library.row)") }
    if case .dates(let range, let days) = fetch.scope {
      conditions.append("\(path.table).creationDate BETWEEN ? AND ?")
      values += [.integer(range.lowerBound), .integer(range.upperBound)]
      if let days {
        conditions.append("\(path.table).localDay BETWEEN ? AND ?")
        values += [.integer(Int64(days.lowerBound)), .integer(Int64(days.upperBound))]
      }
    }
    if let album = path.album { conditions.append(album.condition(on: path.table)) }
    conditions.append("\(fetch.scope.hasMembers ? "member" : path.table).listing \(listings.sql)")
    if fetch.search != nil, !path.isSearch {
      conditions.append(search.test(document: path.document, asset: path.row, &values))
    }
    if let predicate {
      let compiled = SQLCondition(predicate, columns: path.columns)
      conditions.append("(\(compiled.sql))")
      values += compiled.values
    }
    source = path.source
    row = path.row
    table = path.table
    condition = conditions.joined(separator: " AND ")
    self.values = values
    if let scopeOrder {
      order = [Ordering(scopeOrder, isAscending: true)]
    } else {
      order = sort.total.map { descriptor in
        Ordering(
          path.columns.orderingExpression(for: descriptor.key), isAscending: descriptor.isAscending,
          // PhotoKit's schema allows missing dates, but the catalogue's are NOT NULL; so their indexes can be used.
          isNullable: descriptor.key.isNullable && descriptor.key.type != .date)
      }
    }
    let isInOrder = scopeOrder != nil || sort.total.first?.key.name == path.key
    let sorted = scopeOrder == nil && isInOrder ? path.key : nil
    // The search index finds assets that match the search, but does not know the album.
    let isSearchCovered = path.isSearch ? path.album == nil : fetch.search == nil
    let isCoveredByIndex =
      isInOrder && (!hasDateRange || sorted == "creationDate") && isSearchCovered
      && (predicate?.conjuncts ?? []).allSatisfy { term in
        path.isSearch && search.covered.contains(term) || Self.isCoveredByIndex(term, by: path.album, sorted: sorted)
      }
    needsFullScan = !path.isShort && (!isCoveredByIndex || fetch.scope.isList)
    document = path.isSearch ? "search.rowid" : path.document
    dateStream = path.isSearch && sorted == "creationDate" ? order[0].isAscending ? .oldestFirst : .newestFirst : nil
  }

  /// The FROM clause.
  ///
  /// - Parameter joinsAsset: whether the statement reads columns of `asset`; otherwise it reads no row of that table.
  func source(joiningAsset joinsAsset: Bool) -> String {
    joinsAsset && source != Self.allAssets ? "\(source) CROSS JOIN asset ON asset.id = \(row)" : source
  }

  private static let allAssets = "asset"

  /// The access path for a fetch of a library: the shortest index that contains all matching assets.
  private static func path(
    for predicate: FetchPredicate?, _ sort: FetchSortDescriptors, in library: LibraryID
  ) -> AccessPath {
    let terms = predicate?.conjuncts ?? []
    // SQLite tests a false constant once, before it reads a row.
    if terms.contains(where: { $0 == .constant(false) || $0.isOneOf("localIdentifier") }) {
      return AccessPath(source: LibraryAssetIndex.byIdentifier.source, isShort: true)
    }
    if terms.contains(where: { $0.isOneOf("burstIdentifier") }) {
      return AccessPath(source: LibraryAssetIndex.byBurst.source, isShort: true)
    }
    for album in SmartAlbum.allCases where terms.contains(where: album.isImplied) {
      if let path = path(of: album) { return path }
    }
    if sort.total.first?.key.name == "addedDate" {
      return AccessPath(source: LibraryAssetIndex.byAddition.source, key: "addedDate")
    }
    // No index has the requested order, so the rows of all assets are read one after the other. In a limited library
    // that would read invisible ones.
    if !sort.isByDate, library.isWhole {
      return AccessPath(source: allAssets, row: "asset.id", table: "asset", columns: .asset, key: "creationDate")
    }
    return AccessPath(source: LibraryAssetIndex.byDate.source, key: "creationDate")
  }

  /// A condition for a collection, whose row number is bound to its `?`.
  private static func isCollection(of library: LibraryID) -> String {
    "EXISTS (SELECT 1 FROM libraryCollection WHERE collection = ? AND library = \(library.row))"
  }

  private static func path(of album: SmartAlbum) -> AccessPath? {
    album.index.map { AccessPath(source: $0.source, album: album, key: "creationDate") }
  }

  /// The path for a list of row numbers with the alias `listed`. It reads the columns of `asset`, whose rows are needed
  /// in any case.
  private static func path(ofListIn library: LibraryID) -> AccessPath {
    AccessPath(
      source: """
        json_each(?) AS listed CROSS JOIN libraryAsset INDEXED BY libraryAssetByAsset
          ON libraryAsset.asset = listed.value AND libraryAsset.library = \(library.row)
        """, table: "asset", columns: .asset)
  }

  /// Whether rows that match the term are dense along the path, so that a page is found after few rows. True for the
  /// path's own condition, and for a range of the key that orders the path.
  private static func isCoveredByIndex(_ term: FetchPredicate, by album: SmartAlbum?, sorted key: String?) -> Bool {
    guard case .comparison(let comparison) = term else { return false }
    if comparison.subject.key.name == key { return comparison.isRange }
    // Such terms match nearly all assets, so a page costs about as much as a page without them.
    guard let album else { return comparison.matchesMostAssets }
    return album.isImplied(by: term)
  }
}

extension FetchSortDescriptors {
  fileprivate var isByDate: Bool { total.first?.key.name == "creationDate" }
}

extension AssetScope {
  fileprivate var isList: Bool { if case .rows = self { true } else { false } }
  /// Whether the path's table has the alias `member`, with copies of the asset's date and listing.
  fileprivate var hasMembers: Bool {
    switch self {
    case .album, .folder: true
    case .library, .smartAlbum, .dates, .rows: false
    }
  }
}
