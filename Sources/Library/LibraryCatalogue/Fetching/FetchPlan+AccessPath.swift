// The access paths along which fetches read their rows.

import PhotoPredicate

extension FetchPlan {
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
    /// The key that orders the rows; `nil` if no key of a sort descriptor does.
    var key: String?
    /// The path has so few rows that reading and sorting all of them is cheap.
    var isShort = false
    /// The rows come from the search index.
    var isSearch = false

    /// The number of the asset's document in the search index, in SQL. The table with the row number also has the date.
    var document: String { CatalogueSchema.document("\(row.prefix { $0 != "." }).creationDate", row) }
  }

  static let allAssets = "asset"
  /// Longer lists of rows count as expensive, because each page reads and sorts the whole list.
  private static let shortListLimit = 10_000

  /// The access path of a fetch that is not restricted to given rows.
  ///
  /// - Parameter hasScopeOrder: the rows keep the order of the album or the list, and `sort` is ignored.
  static func path(
    of scope: AssetScope, _ predicate: FetchPredicate?, _ sort: FetchSortDescriptors, hasScopeOrder: Bool,
    in library: LibraryID
  ) -> AccessPath {
    switch scope {
    case .library, .dates: return path(for: predicate, sort, in: library)
    case .smartAlbum(let album): return path(of: album) ?? path(for: predicate, sort, in: library)
    case .album:
      // The album's date index for a sort by date; otherwise SQLite uses the primary key (collection, position).
      let hint = !hasScopeOrder && sort.isByDate ? " INDEXED BY memberByDate" : ""
      return AccessPath(
        source: "member\(hint)", row: "member.asset", table: "asset", columns: .member, key: "creationDate")
    case .folder:
      // The alias gives the copies of columns the same names as in an album.
      return AccessPath(
        source: "folderAsset AS member\(sort.isByDate ? " INDEXED BY folderAssetByDate" : "")", row: "member.asset",
        table: "asset", columns: .member, key: "creationDate")
    case .rows(let rows):
      var path = path(ofListIn: library)
      path.isShort = rows.count <= shortListLimit
      return path
    }
  }

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
    // No index has the requested order, so all rows of `asset` are read. A limited library must not read invisible
    // ones.
    if !sort.isByDate, library.isWhole {
      return AccessPath(source: allAssets, row: "asset.id", table: "asset", columns: .asset, key: "creationDate")
    }
    return AccessPath(source: LibraryAssetIndex.byDate.source, key: "creationDate")
  }

  private static func path(of album: SmartAlbum) -> AccessPath? {
    album.index.map { AccessPath(source: $0.source, album: album, key: "creationDate") }
  }

  /// The path for a list of row numbers with the alias `listed`.
  static func path(ofListIn library: LibraryID) -> AccessPath {
    AccessPath(
      source: """
        json_each(?) AS listed CROSS JOIN libraryAsset INDEXED BY libraryAssetByAsset
          ON libraryAsset.asset = listed.value AND libraryAsset.library = \(library.row)
        """, table: "asset", columns: .asset)
  }
}

extension FetchSortDescriptors {
  fileprivate var isByDate: Bool { total.first?.key.name == "creationDate" }
}
