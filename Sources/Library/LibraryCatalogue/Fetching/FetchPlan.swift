// The plan of a fetch: which index it reads along, or that it must read every asset.
//
// SQLite has no statistics about the values of a library, and it can't match a bound parameter with the condition of a
// partial index. So the plan chooses the index: it writes the indexed term exactly as the index declares it, and names
// the index. SQLite tests the rest of the predicate on each row along that index.
//
// Words and names are in the full-text index, whose rows are numbered by date: see SearchAccess. It returns them in
// that order, so a fetch by date reads only the rows up to the end of its page: see `dateStream`.

import PhotoPredicate

struct FetchPlan {
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
  static let recentlyAddedFirst = descending("addedDate")

  private static func descending(_ name: String) -> FetchSortDescriptors {
    guard let key = PropertySchema.asset.keys.first(where: { $0.name == name }) else { preconditionFailure(name) }
    return FetchSortDescriptors([FetchSortDescriptor(key, isAscending: false)], schema: .asset)
  }

  /// - Parameters:
  ///   - library: the library that the principal may see.
  ///   - rows: restricts the fetch to these row numbers, without an index. They are bound as the first of `values`, in
  ///     the format of ``RowNumbers``. Not allowed for a fetch whose scope is a list of rows.
  ///   - search: how to find the searched words.
  init(_ fetch: AssetFetch, in library: LibraryID = .whole, among rows: [UInt32]? = nil, search: SearchAccess) {
    if fetch.search?.isByRelevance == true, fetch.sort == nil {
      self = FetchPlan(ranking: fetch, in: library, search)
      return
    }
    var clauses = FetchClauses(fetch, in: library, search)
    clauses.addScope()
    if let rows { clauses.restrict(to: rows) } else { clauses.readAlongSearchIndex() }
    clauses.addLibrary()
    clauses.addDates()
    clauses.addListing()
    clauses.addSearch()
    clauses.addPredicate()
    let path = clauses.path
    source = path.source
    row = path.row
    table = path.table
    condition = clauses.conditions.joined(separator: " AND ")
    values = clauses.values
    document = path.isSearch ? "search.rowid" : path.document
    order = clauses.order
    needsFullScan = clauses.needsFullScan
    dateStream = clauses.isSearchByDate ? order[0].isAscending ? .oldestFirst : .newestFirst : nil
  }

  /// The FROM clause.
  ///
  /// - Parameter joinsAsset: whether the statement reads columns of `asset`; otherwise it reads no row of that table.
  func source(joiningAsset joinsAsset: Bool) -> String {
    joinsAsset && source != Self.allAssets ? "\(source) CROSS JOIN asset ON asset.id = \(row)" : source
  }
}
