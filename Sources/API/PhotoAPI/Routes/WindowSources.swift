// The lists that preheat windows move over: a fetch result, the current contents of a collection, or assets by name.

import HTTPCore
import ImageService
import LibraryCatalogue
import PhotoModel

/// A client's fetch result. Its order is fixed, so a window keeps its positions. It lives for the client's lease,
/// which each move of its owner's window renews.
struct FetchResultWindowSource: PreheatSource {
  private let result: FetchResult
  private let id: String
  private let queries: QueryService
  private let principal: Principal

  /// Renews the lease. `nil`: the client has no such fetch result over assets.
  init?(_ id: String, _ queries: QueryService, _ principal: Principal) {
    guard let result = queries.leasedFetchResult(id, principal) as? FetchResult else { return nil }
    self.result = result
    self.id = id
    self.queries = queries
    self.principal = principal
  }

  var name: String { "fetchResult:\(id)" }
  var version: String { "" }
  var count: Int { result.count }
  var isAvailable: Bool {
    queries.results.handles.contains(id, owner: principal, includingOtherOwners: principal.seesAllOwners)
  }

  func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?] {
    try queries.assets(at: positions, of: result, for: principal)
  }

  var isCurrent: Bool { true }

  func changes(visible: Range<Int>, known: [Int], mayReadAll: Bool) -> PreheatListChange {
    isAvailable ? .unchanged(self) : .gone
  }
}

/// A collection's assets in its own order, updated as the collection changes.
struct CollectionWindowSource: PreheatSource {
  let collection: LocalIdentifier
  private let queries: QueryService
  private let principal: Principal
  /// A fetch result that only this source holds. It has no handle.
  private let result: FetchResult
  /// The library's generation when `result` was last checked.
  private let generation: UInt64
  private let isTransient: Bool
  /// The state that defined the current order.
  let version: String

  /// - Parameter fetch: the fetch of the collection's assets.
  init(
    _ collection: LocalIdentifier, _ fetch: AssetFetch, _ queries: QueryService, _ principal: Principal
  ) throws(AssetSourceError) {
    let generation = queries.library.generation
    let isTransient = queries.hasTransientCollection(collection, principal)
    let results = queries.results
    results.expire()
    let found = try queries.library.rows(
      fetch, atMost: results.assetCapacity(for: principal), deadline: queries.deadline, for: principal)
    let result = FetchResult(
      rows: found.rows, changeToken: found.changeToken, fetch: fetch, collection: isTransient ? nil : collection)
    self = try CollectionWindowSource(
      collection, result, version: Self.version(result), generation, isTransient, queries, principal)
  }

  private init(
    _ collection: LocalIdentifier, _ result: FetchResult, version: String, _ generation: UInt64, _ isTransient: Bool,
    _ queries: QueryService, _ principal: Principal
  ) throws(AssetSourceError) {
    do {
      try queries.results.reserve(result, owner: principal)
    } catch {
      throw .tooManyAssets(limit: queries.results.assetCapacity(for: principal))
    }
    self.collection = collection
    self.result = result
    self.generation = generation
    self.isTransient = isTransient
    self.queries = queries
    self.principal = principal
    self.version = version
  }

  /// The list of a moment changes with the moment's dates too, which may be later than its assets and without a token.
  private static func version(_ result: FetchResult) -> String {
    let number = result.changeToken.number
    return if case .dates(let dates, _) = result.fetch.scope {
      "\(number) \(dates.lowerBound) \(dates.upperBound)"
    } else {
      "\(number)"
    }
  }

  var name: String { "collection:\(collection.rawValue)" }
  var count: Int { result.count }
  var isAvailable: Bool { !isTransient || queries.hasTransientCollection(collection, principal) }
  var isCurrent: Bool { queries.library.generation == generation }

  /// Whether the source is current and available. Renews the lease of the principal's own transient collection.
  func renewed() -> Bool {
    isCurrent && (!isTransient || queries.transientCollection(collection, principal) != nil)
  }

  func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?] {
    try queries.assets(at: positions, of: result, for: principal)
  }

  func changes(
    visible: Range<Int>, known: [Int], mayReadAll: Bool
  ) throws(AssetSourceError) -> PreheatListChange {
    if isCurrent { return isAvailable ? .unchanged(self) : .gone }
    let generation = queries.library.generation
    guard isAvailable else { return .gone }
    // A year or month without assets does not exist, but comes back with the next one.
    if !isTransient, !collection.isMomentList,
      try queries.library.scope(of: collection, for: principal) == nil
    {
      return .gone
    }
    let delta = try queries.library.changes(
      of: result, mayReadAll: mayReadAll, atMost: result.count + queries.results.assetCapacity(for: principal),
      deadline: queries.deadline, for: principal)
    guard let delta else { return .needsFullRead }
    // Changes of the assets themselves are reported by the library; here only the order matters.
    let isSame = delta.details?.keepsOrder == true
    let source = try CollectionWindowSource(
      collection, delta.after, version: isSame ? version : Self.version(delta.after), generation, isTransient, queries,
      principal)
    if isSame { return .unchanged(source) }
    guard let details = delta.details else {
      // The old positions can't be mapped to new ones.
      return .changed(source, visible: visible, moved: [:])
    }
    let positions = FetchResultPositions(details)
    let moved = known.compactMap { old in positions.position(of: old).map { (old, $0) } }
    return .changed(
      source, visible: positions.visible(visible, count: source.count), moved: Dictionary(uniqueKeysWithValues: moved))
  }

  /// The fetch of a collection. Renews the lease of the principal's own transient collection. `nil`: no such
  /// collection.
  static func fetch(
    of collection: LocalIdentifier, _ queries: QueryService, _ principal: Principal
  ) throws(AssetSourceError) -> AssetFetch? {
    var fetch = AssetFetch()
    if let transient = queries.transientCollection(collection, principal) {
      guard transient.collections == nil else { return nil }
      transient.limit(&fetch)
      return fetch
    }
    guard let scope = try queries.library.scope(of: collection, for: principal) else { return nil }
    fetch.scope = scope
    return fetch
  }
}

/// Assets by name, in the order in which they were given.
struct AssetListWindowSource: PreheatSource {
  let version: String
  private let identifiers: [LocalIdentifier]
  private let library: Catalogue
  private let principal: Principal

  init(_ identifiers: [LocalIdentifier], _ library: Catalogue, _ principal: Principal) {
    self.identifiers = identifiers
    self.library = library
    self.principal = principal
    version = EntityTag.strong(over: Array(identifiers.map(\.rawValue).joined(separator: " ").utf8))
  }

  /// The name is the same for all lists: a client that sends identifiers sends what it has so far, and a different
  /// list counts as a later state of the same one.
  var name: String { "assets" }
  var count: Int { identifiers.count }
  var isAvailable: Bool { true }
  var isCurrent: Bool { true }

  func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?] {
    try library.assets(named: positions.map { identifiers[$0] }, for: principal)
  }

  func changes(visible: Range<Int>, known: [Int], mayReadAll: Bool) -> PreheatListChange { .unchanged(self) }
}

extension QueryService {
  /// The assets at some positions of a fetch result.
  fileprivate func assets(
    at positions: [Int], of result: FetchResult, for principal: Principal
  ) throws(AssetSourceError) -> [Asset?] {
    let rows = positions.flatMap { result.rows(in: $0..<$0 + 1) }
    return try library.members(rows[...], for: principal).map { member in
      if case .asset(let asset) = member { asset } else { nil }
    }
  }
}
