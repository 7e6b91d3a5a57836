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
    /// The index of assets that it is, where it is one.
    var index: AssetIndex?
    /// What holds of every row of it.
    var album: SmartAlbum?
    /// What stands for the condition that it is listed, where that is written in another way than elsewhere.
    var listed: String?
    /// The key that rows come in the order of; `nil`: in none that a sort descriptor can ask for.
    var key: String?
    /// It holds so few rows that all of them are looked at, in whatever order.
    var isShort = false
  }

  /// What follows FROM.
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
  /// A list of rows that is longer is read anew for each page, which takes its time.
  private static let shortList = 10_000

  private static func descending(_ name: String) -> FetchSortDescriptors {
    guard let key = PropertySchema.asset.keys.first(where: { $0.name == name }) else { preconditionFailure(name) }
    return FetchSortDescriptors([FetchSortDescriptor(key, isAscending: false)], schema: .asset)
  }

  /// - Parameters:
  ///   - part: what of the library there is for whoever asks.
  ///   - isGrid: only what `gridByDate` holds is read of each row.
  ///   - rows: looks at these alone, each by its number, whatever index there is; they are the first of `values`, as
  ///     ``list(_:)`` writes them. Not for a fetch of a list of rows.
  init(_ fetch: AssetFetch, in part: LibraryPart = .whole, isGrid: Bool = false, among rows: [UInt32]? = nil) {
    let predicate = fetch.predicate?.normalized
    var listings = Listings(includesHidden: fetch.includesHidden, includesAllBurstAssets: fetch.includesAllBurstAssets)
    var conditions: [String] = []
    var values: [SQLValue] = []
    var sort = fetch.sort ?? Self.newestFirst
    var columns = SQLColumns(of: part)
    // The scope's own order, where it has one that is no property of an asset.
    var place: String?
    var listing = part.column("listing")
    var isOfDates = false
    var path: Path
    switch fetch.scope {
    case .library: path = Self.path(for: predicate, sort, listings, in: part)
    case .dates(let range):
      isOfDates = true
      path = Self.path(for: predicate, sort, listings, in: part)
      conditions.append("\(part.column("creationDate")) BETWEEN \(range.lowerBound) AND \(range.upperBound)")
    case .smartAlbum(let album):
      listings = album.listings(listings, includesAllBurstAssets: fetch.includesAllBurstAssets)
      if fetch.sort == nil, album == .recentlyAdded { sort = Self.lastAddedFirst }
      path = Self.path(of: album, in: part) ?? Self.path(for: predicate, sort, listings, in: part)
    case .album(let row):
      columns = .member
      listing = "member.listing"
      if fetch.sort == nil { place = "member.position" }
      // By its primary key, or by date.
      let hint = place == nil && sort.isByDate ? "INDEXED BY memberByDate " : ""
      path = Path(source: "member \(hint)CROSS JOIN asset ON asset.id = member.asset", key: "creationDate")
      conditions.append("member.collection = \(row)")
      // What is in an album of a limited library is in the library.
      if part != .whole {
        conditions.append(
          "EXISTS (SELECT 1 FROM limitedCollection WHERE \(part.condition) AND limitedCollection.collection = \(row))")
      }
    case .rows(let rows):
      if fetch.sort == nil { place = "listed.key" }
      path = Path(source: part.assets(in: "json_each(?) AS listed"), isShort: rows.count <= Self.shortList)
      values.append(.text(Self.list(rows)))
    }
    if let rows {
      precondition(!fetch.scope.isList)
      path.index = nil
      path.source = part.assets(in: "json_each(?) AS listed")
      if fetch.scope.isAlbum { path.source += " CROSS JOIN member INDEXED BY memberByAsset ON member.asset = asset.id" }
      values.insert(.text(Self.list(rows)), at: 0)
    }
    // Nothing is looked for outside of the index, not even whether a row is listed.
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
    if let place {
      order = [Ordering(expression: place, isAscending: true, isNullable: false)]
    } else {
      order = sort.total.map { descriptor in
        Ordering(
          expression: columns.orderingExpression(for: descriptor.key), isAscending: descriptor.isAscending,
          // PhotoKit's dates may be absent, ours never are; so an index on them serves.
          isNullable: ["burstIdentifier", "latitude", "longitude"].contains(descriptor.key.name))
      }
    }
    let isInOrder = place != nil || sort.total.first?.key.name == path.key
    let sorted = place == nil && isInOrder ? path.key : nil
    let isServed =
      isInOrder && (!isOfDates || sorted == "creationDate")
      && (predicate?.conjuncts ?? []).allSatisfy { Self.isServed($0, by: path.album, sorted: sorted) }
    isFree = !path.isShort && (!isServed || fetch.scope.isList)
  }

  /// Row numbers as JSON, for `json_each`.
  static func list(_ rows: [UInt32]) -> String { "[\(rows.map(String.init).joined(separator: ","))]" }

  /// The path along which a fetch of the library runs: the shortest that holds all of it.
  private static func path(
    for predicate: FetchPredicate?, _ sort: FetchSortDescriptors, _ listings: Listings, in part: LibraryPart
  ) -> Path {
    let terms = predicate?.conjuncts ?? []
    if terms.contains(where: { $0.isOneOf("localIdentifier") }) {
      return Path(source: part.assets(by: .byIdentifier), isShort: true)
    }
    if terms.contains(where: { $0.isOneOf("burstIdentifier") }) {
      return Path(source: part.assets(by: .byBurst), isShort: true)
    }
    for album in SmartAlbum.allCases where terms.contains(where: album.isImplied) {
      if let path = path(of: album, in: part) { return path }
    }
    if sort.total.first?.key.name == "addedDate" {
      return Path(source: part.assets(by: .byAddition), key: "addedDate")
    }
    let index = listings.indexByDate
    if sort.isByDate || part != .whole {
      return Path(source: part.assets(by: index), index: index, key: "creationDate")
    }
    // Where nothing is in the order of an index, SQLite chooses.
    return Path(source: "asset", key: "creationDate")
  }

  private static func path(of album: SmartAlbum, in part: LibraryPart) -> Path? {
    album.index.map { Path(source: part.assets(by: $0), index: $0, album: album, key: "creationDate") }
  }

  /// Whether a term lets so much of the path through that a page is found near where it is looked for: it is the path's own
  /// condition, or a bound of the key that the path is in the order of.
  private static func isServed(_ term: FetchPredicate, by album: SmartAlbum?, sorted key: String?) -> Bool {
    guard case .comparison(let comparison) = term else { return false }
    if comparison.subject.key.name == key { return comparison.isRange }
    // Nearly everything: a page of it is a page of the library.
    guard let album else { return comparison.isOfMostAssets }
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
  /// Whether it names the few values that a key may have.
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
  /// A stretch of values.
  fileprivate var isRange: Bool {
    switch test {
    case .relation(let relation, _): relation != .notEqual
    case .between: true
    case .property, .isNil, .oneOf, .string: false
    }
  }

  fileprivate var isOfMostAssets: Bool {
    guard case .relation(.equal, let value) = test else { return false }
    return switch subject.key.name {
    case "mediaType": value == .name(MediaType.image.rawValue)
    case "isFavorite", "isHidden": value == .boolean(false)
    default: false
    }
  }
}

extension SmartAlbum {
  /// The index that holds what is in it and nothing else.
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
