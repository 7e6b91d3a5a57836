// The lists that preheat windows move over: a fetch result, a collection as it is now, or assets by name.

import AssetLibrary
import HTTPCore
import ImageService
import PhotoModel

/// A fetch result that a client holds. It stands still; a window renews its lease as any other use does.
struct FetchResultSource: PreheatSource {
  private let fetching: Fetching
  private let id: String
  private let principal: Principal

  init(_ id: String, _ fetching: Fetching, _ principal: Principal) {
    self.id = id
    self.fetching = fetching
    self.principal = principal
  }

  var name: String { "fetchResult:\(id)" }
  private var result: FetchResult? { fetching.results.handles.value(id, owner: principal) }
  var isThere: Bool { result != nil }
  var count: Int { result?.count ?? 0 }

  func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?] {
    guard let result else { return positions.map { _ in nil } }
    let rows = positions.flatMap { result.rows(in: $0..<$0 + 1) }
    return try fetching.library.members(rows[...], for: principal).map { member in
      if case .asset(let asset) = member { asset } else { nil }
    }
  }

  func refreshed() -> (any PreheatSource)? { isThere ? self : nil }
  func end() {}
}

/// A collection's assets in its own order, fetched anew when the library has changed.
struct CollectionSource: PreheatSource {
  let collection: LocalIdentifier
  private let fetching: Fetching
  private let principal: Principal
  /// A fetch result of our own, which nobody else knows.
  private let handle: String
  private let rows: FetchResultSource

  /// - Parameter fetch: of the collection.
  init(
    _ collection: LocalIdentifier, _ fetch: AssetFetch, _ fetching: Fetching, _ principal: Principal
  ) throws(AssetSourceError) {
    self.collection = collection
    self.fetching = fetching
    self.principal = principal
    let results = fetching.results
    results.expire()
    let found = try fetching.library.rows(
      fetch, atMost: results.mostAssets, deadline: fetching.end, for: principal)
    let result = FetchResult(rows: found.rows, changeToken: found.changeToken, fetch: fetch)
    do {
      handle = try results.handles.keep(result, bytes: result.bytes, owner: principal)
    } catch {
      throw .tooManyAssets(limit: results.mostAssets)
    }
    rows = FetchResultSource(handle, fetching, principal)
  }

  var name: String { "collection:\(collection.rawValue):\(handle)" }
  var count: Int { rows.count }
  /// Its lease may end where the window does not move for long.
  var isThere: Bool { rows.isThere }

  func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?] { try rows.assets(at: positions) }

  func refreshed() throws(AssetSourceError) -> (any PreheatSource)? {
    guard let fetch = try Self.fetch(of: collection, fetching, principal) else { return nil }
    return try CollectionSource(collection, fetch, fetching, principal)
  }

  func end() { _ = fetching.results.handles.end(handle, owner: principal) }

  /// `nil`: there is no such collection.
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
  let name: String
  private let identifiers: [LocalIdentifier]
  private let library: any AssetFetching
  private let principal: Principal

  init(_ identifiers: [LocalIdentifier], _ library: any AssetFetching, _ principal: Principal) {
    self.identifiers = identifiers
    self.library = library
    self.principal = principal
    name = "assets:" + EntityTag.strong(over: Array(identifiers.map(\.rawValue).joined(separator: " ").utf8))
  }

  var count: Int { identifiers.count }

  func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?] {
    try library.assets(named: positions.map { identifiers[$0] }, for: principal)
  }

  func refreshed() -> (any PreheatSource)? { self }
  func end() {}
}
