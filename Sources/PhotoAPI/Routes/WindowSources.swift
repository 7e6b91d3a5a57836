// The lists that preheat windows move over: a fetch result, a collection as it is now, or assets by name.

import AssetLibrary
import HTTPCore
import ImageService
import PhotoModel

/// A fetch result that a client holds. Its order stands still, so a window stays where it is; it is there for as long as
/// the client's lease, which each move of the window renews.
struct FetchResultSource: PreheatSource {
  private let result: FetchResult
  private let id: String
  private let fetching: Fetching
  private let principal: Principal

  /// `nil`: there is none of that name. It renews the lease.
  init?(_ id: String, _ fetching: Fetching, _ principal: Principal) {
    guard let result = fetching.heldFetchResult(id, principal) else { return nil }
    self.result = result
    self.id = id
    self.fetching = fetching
    self.principal = principal
  }

  var name: String { "fetchResult:\(id)" }
  var version: String { "" }
  var count: Int { result.count }
  var isThere: Bool { fetching.results.handles.holds(id, owner: principal) }

  func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?] {
    try fetching.assets(at: positions, of: result, for: principal)
  }

  var isCurrent: Bool { true }

  func followed(visible: Range<Int>, known: [Int], mayReadAll: Bool) -> PreheatListChange {
    isThere ? .same(self) : .gone
  }
}

/// A collection's assets in its own order, followed by what changed of them.
struct CollectionSource: PreheatSource {
  let collection: LocalIdentifier
  private let fetching: Fetching
  private let principal: Principal
  /// A fetch result of our own, which has no name.
  private let result: FetchResult
  /// The library as it was when that was looked at.
  private let generation: UInt64
  private let isTransient: Bool
  /// The state of the library in which its order came to be.
  let version: String

  /// - Parameter fetch: of the collection.
  init(
    _ collection: LocalIdentifier, _ fetch: AssetFetch, _ fetching: Fetching, _ principal: Principal
  ) throws(AssetSourceError) {
    let generation = fetching.library.generation
    let isTransient = fetching.results.transients.holds(collection.rawValue, owner: principal)
    let results = fetching.results
    results.expire()
    let found = try fetching.library.rows(
      fetch, atMost: results.mostAssets, deadline: fetching.end, for: principal)
    let result = FetchResult(
      rows: found.rows, changeToken: found.changeToken, fetch: fetch, collection: isTransient ? nil : collection)
    self = try CollectionSource(
      collection, result, version: found.changeToken, generation, isTransient, fetching, principal)
  }

  private init(
    _ collection: LocalIdentifier, _ result: FetchResult, version: String, _ generation: UInt64, _ isTransient: Bool,
    _ fetching: Fetching, _ principal: Principal
  ) throws(AssetSourceError) {
    do {
      try fetching.results.reserve(result)
    } catch {
      throw .tooManyAssets(limit: fetching.results.mostAssets)
    }
    self.collection = collection
    self.result = result
    self.generation = generation
    self.isTransient = isTransient
    self.fetching = fetching
    self.principal = principal
    self.version = version
  }

  var name: String { "collection:\(collection.rawValue)" }
  var count: Int { result.count }
  var isThere: Bool { !isTransient || fetching.results.transients.holds(collection.rawValue, owner: principal) }
  var isCurrent: Bool { fetching.library.generation == generation }

  /// Whether it is current and there, its lease renewed where it has one.
  func renewed() -> Bool {
    isCurrent && (!isTransient || fetching.results.transients.value(collection.rawValue, owner: principal) != nil)
  }

  func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?] {
    try fetching.assets(at: positions, of: result, for: principal)
  }

  func followed(
    visible: Range<Int>, known: [Int], mayReadAll: Bool
  ) throws(AssetSourceError) -> PreheatListChange {
    if isCurrent { return isThere ? .same(self) : .gone }
    let generation = fetching.library.generation
    guard isThere else { return .gone }
    if !isTransient, try fetching.library.scope(of: collection, for: principal) == nil { return .gone }
    let delta = try fetching.library.changes(
      of: result, mayReadAll: mayReadAll, atMost: result.count + fetching.results.mostAssets,
      deadline: fetching.end, for: principal)
    guard let delta else { return .isLong }
    // What changed of its assets themselves is the library's to tell.
    let isSame = delta.details?.keepsOrder == true
    let source = try CollectionSource(
      collection, delta.after, version: isSame ? version : delta.after.changeToken, generation, isTransient,
      fetching, principal)
    if isSame { return .same(source) }
    guard let details = delta.details else {
      // Nobody knows what has become of which.
      return .other(source, visible: visible, moved: [:])
    }
    let positions = FetchResultPositions(details)
    let moved = known.compactMap { old in positions.position(of: old).map { (old, $0) } }
    return .other(
      source, visible: positions.visible(visible, count: source.count), moved: Dictionary(uniqueKeysWithValues: moved))
  }

  /// `nil`: there is no such collection. It renews the lease of one that nobody saved.
  static func fetch(
    of collection: LocalIdentifier, _ fetching: Fetching, _ principal: Principal
  ) throws(AssetSourceError) -> AssetFetch? {
    var fetch = AssetFetch()
    if let transient = fetching.results.transients.value(collection.rawValue, owner: principal) {
      fetch.scope = .rows(transient.rows)
      return fetch
    }
    guard let scope = try fetching.library.scope(of: collection, for: principal) else { return nil }
    fetch.scope = scope
    return fetch
  }
}

/// Assets by name, in the order in which they were given.
struct ListSource: PreheatSource {
  let version: String
  private let identifiers: [LocalIdentifier]
  private let library: any AssetFetching
  private let principal: Principal

  init(_ identifiers: [LocalIdentifier], _ library: any AssetFetching, _ principal: Principal) {
    self.identifiers = identifiers
    self.library = library
    self.principal = principal
    version = EntityTag.strong(over: Array(identifiers.map(\.rawValue).joined(separator: " ").utf8))
  }

  /// A client that gives names sends what it has so far: more of them, or others, is the same list further on.
  var name: String { "assets" }
  var count: Int { identifiers.count }
  var isThere: Bool { true }
  var isCurrent: Bool { true }

  func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?] {
    try library.assets(named: positions.map { identifiers[$0] }, for: principal)
  }

  func followed(visible: Range<Int>, known: [Int], mayReadAll: Bool) -> PreheatListChange { .same(self) }
}

extension Fetching {
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
