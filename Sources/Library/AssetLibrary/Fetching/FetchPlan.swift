// The plan of a fetch: which index it reads along, or that it must read every asset.
//
// SQLite has no statistics about the values of a library, and it can't match a bound parameter with the condition of a
// partial index. So the plan chooses: it writes a term that has an index exactly as the index declares it, and names
// the index. SQLite tests the rest of the predicate on each row along that index.

import PhotoModel
import PhotoPredicate

struct FetchPlan {
  /// The rows that a fetch reads, and their order.
  private struct AccessPath {
    /// The FROM clause, for example `asset INDEXED BY …`.
    var source: String
    /// The index of assets that the path uses, if any.
    var index: AssetIndex?
    /// The smart album whose rule holds for every row of the path.
    var album: SmartAlbum?
    /// Replaces the condition on `listing` where the index declares it in another form.
    var listed: String?
    /// The key that orders the rows; `nil`: no key that a sort descriptor can name.
    var key: String?
    /// The path has so few rows that reading and sorting all of them is cheap.
    var isShort = false
  }

  /// The FROM clause.
  let source: String
  /// The WHERE clause, without the part for a cursor.
  let condition: String
  /// The values for the `?` of `source` and `condition`, in this order.
  let values: [SQLValue]
  /// The sort order of the rows.
  let order: [Ordering]
  /// The fetch may read every asset.
  let needsFullScan: Bool

  struct Ordering: Sendable, Hashable {
    let expression: String
    let isAscending: Bool
    let isNullable: Bool
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
  ///   - part: the part of the library that the principal may see.
  ///   - isGrid: reads only columns that the index `gridByDate` holds.
  ///   - rows: restricts the fetch to these row numbers, without an index. They are bound as the first of `values`, in
  ///     the format of ``list(_:)``. Not allowed for a fetch whose scope is a list of rows.
  init(_ fetch: AssetFetch, in part: LibraryPart = .whole, isGrid: Bool = false, among rows: [UInt32]? = nil) {
    let predicate = fetch.predicate?.normalized
    var listings = ListingFilter(
      includesHidden: fetch.includesHidden, includesAllBurstAssets: fetch.includesAllBurstAssets)
    var conditions: [String] = []
    var values: [SQLValue] = []
    var sort = fetch.sort ?? Self.newestFirst
    var columns = SQLColumns(of: part)
    // The scope's own order, if it is not a property of an asset.
    var scopeOrder: String?
    var listing = part.column("listing")
    var hasDateRange = false
    var path: AccessPath
    switch fetch.scope {
    case .library: path = Self.path(for: predicate, sort, listings, in: part)
    case .dates(let range):
      hasDateRange = true
      path = Self.path(for: predicate, sort, listings, in: part)
      conditions.append("\(part.column("creationDate")) BETWEEN \(range.lowerBound) AND \(range.upperBound)")
    case .smartAlbum(let album):
      listings = album.listings(listings, includesAllBurstAssets: fetch.includesAllBurstAssets)
      if fetch.sort == nil, album == .recentlyAdded { sort = Self.recentlyAddedFirst }
      path = Self.path(of: album, in: part) ?? Self.path(for: predicate, sort, listings, in: part)
    case .album(let row):
      columns = .member
      listing = "member.listing"
      if fetch.sort == nil { scopeOrder = "member.position" }
      // The album's date index for a sort by date; otherwise SQLite uses the primary key (collection, position).
      let hint = scopeOrder == nil && sort.isByDate ? "INDEXED BY memberByDate " : ""
      path = AccessPath(source: "member \(hint)CROSS JOIN asset ON asset.id = member.asset", key: "creationDate")
      conditions.append("member.collection = \(row)")
      // The members of an album in a limited library are all in the library, so it is enough to check the album.
      if part != .whole {
        conditions.append(
          "EXISTS (SELECT 1 FROM limitedCollection WHERE \(part.condition) AND limitedCollection.collection = \(row))")
      }
    case .rows(let rows):
      if fetch.sort == nil { scopeOrder = "listed.key" }
      path = AccessPath(source: part.assets(in: "json_each(?) AS listed"), isShort: rows.count <= Self.shortListLimit)
      values.append(.text(Self.list(rows)))
    }
    if let rows {
      precondition(!fetch.scope.isList)
      path.index = nil
      path.source = part.assets(in: "json_each(?) AS listed")
      if fetch.scope.isAlbum { path.source += " CROSS JOIN member INDEXED BY memberByAsset ON member.asset = asset.id" }
      values.insert(.text(Self.list(rows)), at: 0)
    }
    // This index covers the statement: SQLite reads no row of the table, not even to check whether an asset is listed.
    if isGrid, part == .whole, path.index == .visibleByDate {
      path.source = "asset INDEXED BY gridByDate"
      path.listed = CatalogueSchema.listed
    }
    if part != .whole, !fetch.scope.isAlbum { conditions.append(part.condition) }
    if let album = path.album { conditions.append(part.condition(of: album)) }
    conditions.append(path.listed ?? "\(listing) \(listings.sql)")
    if let predicate {
      let compiled = SQLCondition(predicate, columns: columns)
      conditions.append("(\(compiled.sql))")
      values += compiled.values
    }
    source = path.source
    condition = conditions.joined(separator: " AND ")
    self.values = values
    if let scopeOrder {
      order = [Ordering(expression: scopeOrder, isAscending: true, isNullable: false)]
    } else {
      order = sort.total.map { descriptor in
        Ordering(
          expression: columns.orderingExpression(for: descriptor.key), isAscending: descriptor.isAscending,
          // PhotoKit's schema allows missing dates, but the catalogue's are NOT NULL; so their indexes can be used.
          isNullable: ["burstIdentifier", "latitude", "longitude"].contains(descriptor.key.name))
      }
    }
    let isInOrder = scopeOrder != nil || sort.total.first?.key.name == path.key
    let sorted = scopeOrder == nil && isInOrder ? path.key : nil
    let isCoveredByIndex =
      isInOrder && (!hasDateRange || sorted == "creationDate")
      && (predicate?.conjuncts ?? []).allSatisfy { Self.isCoveredByIndex($0, by: path.album, sorted: sorted) }
    needsFullScan = !path.isShort && (!isCoveredByIndex || fetch.scope.isList)
  }

  /// Row numbers as JSON, for `json_each`.
  static func list(_ rows: [UInt32]) -> String { "[\(rows.map(String.init).joined(separator: ","))]" }

  /// The access path for a fetch of the whole library: the shortest index that contains all matching assets.
  private static func path(
    for predicate: FetchPredicate?, _ sort: FetchSortDescriptors, _ listings: ListingFilter, in part: LibraryPart
  ) -> AccessPath {
    let terms = predicate?.conjuncts ?? []
    if terms.contains(where: { $0.isOneOf("localIdentifier") }) {
      return AccessPath(source: part.assets(by: .byIdentifier), isShort: true)
    }
    if terms.contains(where: { $0.isOneOf("burstIdentifier") }) {
      return AccessPath(source: part.assets(by: .byBurst), isShort: true)
    }
    for album in SmartAlbum.allCases where terms.contains(where: album.isImplied) {
      if let path = path(of: album, in: part) { return path }
    }
    if sort.total.first?.key.name == "addedDate" {
      return AccessPath(source: part.assets(by: .byAddition), key: "addedDate")
    }
    let index = listings.indexByDate
    if sort.isByDate || part != .whole {
      return AccessPath(source: part.assets(by: index), index: index, key: "creationDate")
    }
    // No index has the requested order, so SQLite chooses.
    return AccessPath(source: "asset", key: "creationDate")
  }

  private static func path(of album: SmartAlbum, in part: LibraryPart) -> AccessPath? {
    album.index.map { AccessPath(source: part.assets(by: $0), index: $0, album: album, key: "creationDate") }
  }

  /// Whether rows that match the term are dense along the path, so that a page is found after few rows. True for the
  /// path's own condition, and for a range of the key that orders the path.
  private static func isCoveredByIndex(_ term: FetchPredicate, by album: SmartAlbum?, sorted key: String?) -> Bool {
    guard case .comparison(let comparison) = term else { return false }
    if comparison.subject.key.name == key { return comparison.isRange }
    // These terms match nearly all assets, so a page costs about as much as a page without them.
    guard let album else { return comparison.matchesMostAssets }
    return album.isImplied(by: term)
  }
}

extension FetchSortDescriptors {
  fileprivate var isByDate: Bool { total.first?.key.name == "creationDate" }
}

extension AssetScope {
  fileprivate var isList: Bool { if case .rows = self { true } else { false } }
  fileprivate var isAlbum: Bool { if case .album = self { true } else { false } }
}

extension FetchPredicate {
  /// Whether the term limits a key to a few listed values.
  fileprivate func isOneOf(_ key: String) -> Bool {
    guard case .comparison(let comparison) = self, comparison.subject.key.name == key, !comparison.foldsCase else {
      return false
    }
    switch comparison.test {
    case .relation(.equal, _), .oneOf: return true
    default: return false
    }
  }
}

extension PredicateComparison {
  /// Whether the comparison is a range of values.
  fileprivate var isRange: Bool {
    switch test {
    case .relation(let relation, _): relation != .notEqual
    case .between: true
    case .property, .isNil, .oneOf, .string: false
    }
  }

  fileprivate var matchesMostAssets: Bool {
    guard case .relation(.equal, let value) = test else { return false }
    return switch subject.key.name {
    case "mediaType": value == .name(MediaType.image.rawValue)
    case "isFavorite", "isHidden": value == .boolean(false)
    default: false
    }
  }
}

extension SmartAlbum {
  /// The partial index that contains exactly the assets of this album.
  var index: AssetIndex? {
    switch self {
    case .userLibrary, .recentlyAdded: nil
    case .favorites: .favorites
    case .videos: .videos
    case .panoramas: .panoramas
    case .bursts: .bursts
    case .screenshots: .screenshots
    case .hdr: .hdr
    case .depthEffect: .depth
    case .livePhotos: .live
    case .raw: .raw
    case .allHidden: .hidden
    }
  }

  /// Whether the term holds only for assets of this album.
  func isImplied(by term: FetchPredicate) -> Bool {
    guard case .comparison(let comparison) = term, case .relation(let relation, let value) = comparison.test else {
      return false
    }
    let key = comparison.subject.key.name
    func isTrue(_ name: String) -> Bool { key == name && relation == .equal && value == .boolean(true) }
    func hasBit(_ subtype: MediaSubtypes) -> Bool {
      key == "mediaSubtypes" && comparison.subject.mask == subtype.rawValue
        && (relation == .notEqual && value == .integer(0) || relation == .equal && value == .integer(subtype.rawValue))
    }
    switch self {
    case .userLibrary, .recentlyAdded: return false
    case .favorites: return isTrue("isFavorite")
    case .videos: return key == "mediaType" && relation == .equal && value == .name(MediaType.video.rawValue)
    case .panoramas: return hasBit(.photoPanorama)
    case .bursts: return isTrue("representsBurst")
    case .screenshots: return hasBit(.photoScreenshot)
    case .hdr: return hasBit(.photoHDR)
    case .depthEffect: return hasBit(.photoDepthEffect)
    case .livePhotos: return hasBit(.photoLive)
    case .raw: return isTrue("isRAW")
    case .allHidden: return isTrue("isHidden")
    }
  }
}
