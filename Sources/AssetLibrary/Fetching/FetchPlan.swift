// How a fetch is carried out: which index it runs along, or that it has none and looks at everything.
//
// SQLite knows nothing of how a library's values are spread, and a value that is bound tells it nothing of which partial
// index holds all that is asked for. So the plan says it: a term that an index was made for is written as that index is,
// and the index is named. What is left of the predicate is asked of each row on the way.

import PhotoModel
import PhotoPredicate

struct FetchPlan {
  /// What a fetch runs along, and in which order that is.
  private struct Path {
    /// `asset INDEXED BY …`, or what else follows FROM.
    var source: String
    /// True of every row that is wanted, in literals.
    var condition: String?
    /// The key that rows come in the order of.
    var key: String
  }

  /// What follows FROM. The first value of `values` is bound to a `?` of it where it has one.
  let source: String
  /// What follows WHERE, without a cursor's part.
  let condition: String
  /// What is bound to the `?` of `source` and `condition`, in this order.
  let values: [SQLValue]
  /// What rows are ordered by.
  let order: [Ordering]
  /// It may look at every asset.
  let isFree: Bool

  struct Ordering: Sendable, Hashable {
    let expression: String
    let isAscending: Bool
    let isNullable: Bool
  }

  static let newestFirst = descending("creationDate")
  private static let lastAddedFirst = descending("addedDate")

  private static func descending(_ name: String) -> FetchSortDescriptors {
    guard let key = PropertySchema.asset.keys.first(where: { $0.name == name }) else { preconditionFailure(name) }
    return FetchSortDescriptors([FetchSortDescriptor(key, isAscending: false)], schema: .asset)
  }

  init(_ fetch: AssetFetch) {
    var listings = Listings(includesHidden: fetch.includesHidden, includesAllBurstAssets: fetch.includesAllBurstAssets)
    var conditions: [String] = []
    var values: [SQLValue] = []
    var sort = fetch.sort ?? Self.newestFirst
    var path: Path
    var isAlbumsOwnOrder = false
    switch fetch.scope {
    case .library: path = Self.path(for: fetch.predicate, sort, listings)
    case .dates(let range):
      path = Self.path(for: fetch.predicate, sort, listings)
      conditions.append("asset.creationDate BETWEEN \(range.lowerBound) AND \(range.upperBound)")
    case .smartAlbum(let album):
      listings = album.listings(listings, includesAllBurstAssets: fetch.includesAllBurstAssets)
      if fetch.sort == nil, album == .recentlyAdded { sort = Self.lastAddedFirst }
      path = Self.path(of: album) ?? Self.path(for: fetch.predicate, sort, listings)
    case .album(let row):
      isAlbumsOwnOrder = fetch.sort == nil
      path = Path(source: "member CROSS JOIN asset ON asset.id = member.asset", condition: nil, key: "creationDate")
      conditions.append("member.collection = \(row) AND member.listing \(listings.sql)")
    case .rows(let rows):
      isAlbumsOwnOrder = fetch.sort == nil
      path = Path(
        source: "json_each(?) AS listed CROSS JOIN asset ON asset.id = listed.value", condition: nil, key: "")
      values.append(.text("[\(rows.map(String.init).joined(separator: ","))]"))
    }
    if let condition = path.condition { conditions.append(condition) }
    conditions.append("asset.listing \(listings.sql)")
    var isIndexed = true
    if let predicate = fetch.predicate {
      isIndexed = Self.isServed(predicate, by: path.condition)
      let compiled = SQLCondition(predicate, columns: .asset)
      conditions.append("(\(compiled.sql))")
      values += compiled.values
    }
    source = path.source
    condition = conditions.joined(separator: " AND ")
    self.values = values
    if isAlbumsOwnOrder {
      let place = if case .rows = fetch.scope { "listed.key" } else { "member.position" }
      order = [Ordering(expression: place, isAscending: true, isNullable: false)]
    } else {
      order = sort.total.map { descriptor in
        Ordering(
          expression: SQLColumns.asset.orderingExpression(for: descriptor.key), isAscending: descriptor.isAscending,
          // PhotoKit's dates may be absent, ours never are; so an index on them serves.
          isNullable: ["burstIdentifier", "latitude", "longitude"].contains(descriptor.key.name))
      }
    }
    let isInOrder = isAlbumsOwnOrder || sort.total.first?.key.name == path.key
    isFree = !(isIndexed && isInOrder)
  }

  /// The path along which a fetch of the library runs: the shortest that holds all of it.
  private static func path(
    for predicate: FetchPredicate?, _ sort: FetchSortDescriptors, _ listings: Listings
  ) -> Path {
    let terms: [FetchPredicate] =
      switch predicate {
      case .and(let terms): terms
      case let term?: [term]
      case nil: []
      }
    for album in SmartAlbum.allCases where terms.contains(where: album.isImplied) {
      if let path = path(of: album) { return path }
    }
    if sort.total.first?.key.name == "addedDate", listings.sql == "= 0" {
      return Path(source: "asset INDEXED BY visibleAssetByAddition", condition: nil, key: "addedDate")
    }
    let index = listings.sql == "= 0" ? "visibleAssetByDate" : "assetByDate"
    // Where nothing is in the order of an index, SQLite chooses: an equality may have one.
    let isByDate = sort.total.first?.key.name == "creationDate"
    return Path(source: isByDate ? "asset INDEXED BY \(index)" : "asset", condition: nil, key: "creationDate")
  }

  private static func path(of album: SmartAlbum) -> Path? {
    album.index.map { Path(source: "asset INDEXED BY \($0)", condition: album.condition, key: "creationDate") }
  }

  /// Whether a predicate lets so much of the path through that a page is found near where it is looked for: each of its
  /// terms is the path's own condition, or a bound of the date that the path is in the order of.
  private static func isServed(_ predicate: FetchPredicate, by condition: String?) -> Bool {
    switch predicate {
    case .constant(true): true
    case .and(let terms): terms.allSatisfy { isServed($0, by: condition) }
    case .comparison(let comparison) where comparison.subject.key.name == "creationDate": comparison.isRange
    case .comparison where SmartAlbum.allCases.contains { $0.condition == condition && $0.isImplied(by: predicate) }:
      true
    // Nearly everything: a page of it is a page of the library.
    case .comparison(let comparison): comparison.isOfMostAssets
    default: false
    }
  }
}

extension PredicateComparison {
  /// A stretch of values.
  fileprivate var isRange: Bool {
    switch test {
    case .relation(let relation, _): relation != .notEqual
    case .between: true
    case .property, .isNil, .oneOf, .string: false
    }
  }

  fileprivate var isOfMostAssets: Bool {
    guard case .relation(let relation, let value) = test, subject.mask == nil else { return false }
    switch (subject.key.name, value) {
    case ("mediaType", .name(let name)): return relation == .equal && name == MediaType.image.rawValue
    case ("isFavorite", .boolean(let flag)), ("isHidden", .boolean(let flag)):
      return (relation == .equal) != flag
    default: return false
    }
  }
}

extension SmartAlbum {
  /// The index that holds what is in it and nothing else.
  var index: String? {
    switch self {
    case .userLibrary, .recentlyAdded: nil
    case .favorites: "favoriteByDate"
    case .videos: "videoByDate"
    case .panoramas: "panoramaByDate"
    case .bursts: "burstByDate"
    case .screenshots: "screenshotByDate"
    case .hdr: "hdrByDate"
    case .depthEffect: "depthByDate"
    case .livePhotos: "liveByDate"
    case .raw: "rawByDate"
    case .allHidden: "hiddenByDate"
    }
  }

  /// Whether a term of a predicate is true of nothing outside.
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
