import HTTPCore
import LibraryCatalogue
import PhotoModel

/// `GET` and `POST /v1/transientCollections`, and `DELETE /v1/transientCollections/{id}`: collections of assets and
/// lists of collections that are not saved in the library. They are read at `/v1/collections/{id}`.
struct TransientCollectionRoutes: Sendable {
  private static let titleBytes = 1024

  let queries: QueryService
  private var results: FetchResultStore { queries.results }

  init(queries: QueryService) { self.queries = queries }

  /// Creates a transient collection from assets or from fetch results, or a transient list from collections, in the
  /// given order.
  func create(
    _ request: HTTPRequest, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    var body = try JSONObjectReader(request)
    let title = try body.text("title")
    let assets = try body.identifiers("assets", atMost: results.limits.transientAssets)
    let handles = try body.texts("fetchResults", atMost: results.limits.handles)
    let collections = try body.identifiers("collections", atMost: results.limits.transientAssets)
    try body.finish()
    if let title, title.utf8.count > Self.titleBytes {
      throw QueryReader.invalid("title", "must have at most \(Self.titleBytes) bytes")
    }
    guard [assets != nil, handles != nil, collections != nil].filter({ $0 }).count == 1 else {
      throw .invalidParameter("Give one of assets, fetchResults and collections.", parameter: "assets")
    }
    let transient: FetchResultStore.TransientCollection
    if let collections {
      transient = FetchResultStore.TransientCollection(
        title: title, collections: try members(collections, until: end, principal))
    } else {
      let (rows, scopes) = try self.rows(assets ?? [], handles ?? [], until: end, principal)
      transient = FetchResultStore.TransientCollection(title: title, rows: rows, neededScopes: scopes)
    }
    let summary = try queries.summary(of: transient, until: end, principal)
    let name: String
    do {
      name = try results.keep(transient, owner: principal)
    } catch {
      throw Problem(error)
    }
    return .json(
      TransientCollectionJSON(LocalIdentifier(name), transient, assetCount: summary.count, results), status: 201,
      location: "/v1/collections/\(name)")
  }

  /// Lists the caller's transient collections; for a caller who sees all owners, those of all callers. Their counts are
  /// the lengths of their lists, which cost nothing; looking up the members that still exist may take seconds.
  func list(_ request: HTTPRequest, _ principal: Principal) -> HTTPResponse {
    struct Payload: Encodable {
      let collections: [TransientCollectionJSON]
    }
    let found = queries.handles(in: results.transientCollections, principal)
      .filter { $0.value.isReadable(by: principal) }
    let collections = found.map {
      TransientCollectionJSON(LocalIdentifier($0.name), $0.value, assetCount: $0.value.rows.count, results)
    }
    return QueryService.response(JSONBody.encode(Payload(collections: collections)), to: request)
  }

  func delete(_ id: String, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try queries.deleteHandle(
      id, in: results.transientCollections, orThrow: .transientCollectionNotFound, principal)
  }

  /// The row numbers of assets, or of the assets of fetch results, each at its first position, and the scopes that the
  /// fetch results need.
  private func rows(
    _ assets: [LocalIdentifier], _ handles: [String], until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> (rows: [UInt32], scopes: Set<Scope>) {
    var scopes: Set<Scope> = []
    var rows = try queries.run { library throws(AssetSourceError) in
      try library.rows(of: assets, deadline: end, for: principal)
    }
    for name in handles {
      let handle: FetchResult
      do throws(Problem) {
        handle = try queries.fetchResult(name, principal)
      } catch {
        throw error.naming("fetchResults")
      }
      guard rows.count + handle.count <= results.limits.transientAssets else {
        throw QueryReader.invalid("fetchResults", "must have at most \(results.limits.transientAssets) assets in total")
      }
      rows += handle.rows(in: 0..<handle.count)
      scopes.formUnion(handle.fetch.neededScopes)
    }
    var seen: Set<UInt32> = []
    rows.removeAll { !seen.insert($0).inserted }
    return (rows, scopes)
  }

  /// Existing collections of the library, each at its first position.
  private func members(
    _ identifiers: [LocalIdentifier], until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> [LocalIdentifier] {
    var seen: Set<LocalIdentifier> = []
    let members = identifiers.filter { seen.insert($0).inserted }
    let found = try queries.run { library throws(AssetSourceError) in
      try library.collections(named: members, CollectionQuery(), deadline: end, for: principal)
    }
    if let missing = zip(members, found).first(where: { $0.1 == nil })?.0 {
      throw Problem(
        404, "collection-not-found", "No such collection",
        detail: "No collection of the library has the localIdentifier \(missing.rawValue).", parameter: "collections")
    }
    return members
  }
}

/// A transient collection or list as its creator sees it.
private struct TransientCollectionJSON: Encodable {
  private let collection: AssetCollection
  private let leaseSeconds: Int64

  init(
    _ identifier: LocalIdentifier, _ transient: FetchResultStore.TransientCollection, assetCount: Int,
    _ results: FetchResultStore
  ) {
    collection = AssetCollection(transient, identifier, FetchSummary(count: assetCount))
    leaseSeconds = results.limits.lease.components.seconds
  }

  private enum Key: String, CodingKey {
    case localIdentifier, type, subtype, title, estimatedAssetCount, estimatedCollectionCount, leaseSeconds
  }

  // `title` is null if the collection has none.
  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(collection.localIdentifier.rawValue, forKey: .localIdentifier)
    try object.encode(collection.type.rawValue, forKey: .type)
    try object.encode(collection.subtype, forKey: .subtype)
    try object.encode(collection.title, forKey: .title)
    try object.encode(collection.estimatedAssetCount, forKey: .estimatedAssetCount)
    try object.encode(collection.estimatedCollectionCount, forKey: .estimatedCollectionCount)
    try object.encode(leaseSeconds, forKey: .leaseSeconds)
  }
}

extension FetchResultStore.TransientCollection {
  /// The fetch of its assets that a query lists.
  func fetch(_ query: CollectionQuery) -> AssetFetch {
    var fetch = AssetFetch()
    limit(&fetch)
    fetch.includesHidden = query.includesHidden
    fetch.includesAllBurstAssets = query.includesAllBurstAssets
    return fetch
  }

  /// Limits a fetch to its assets. A fetch result of that fetch needs the same scopes.
  func limit(_ fetch: inout AssetFetch) {
    fetch.scope = .rows(rows)
    fetch.scopesOfRows = neededScopes
  }
}

extension QueryService {
  /// A summary of the assets of a transient collection that a query lists: without assets that no longer exist, that
  /// the principal does not see, or that the query leaves out.
  func summary(
    of transient: FetchResultStore.TransientCollection, _ query: CollectionQuery = CollectionQuery(),
    until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> FetchSummary {
    if transient.rows.isEmpty { return FetchSummary() }
    let fetch = transient.fetch(query)
    return try run { library throws(AssetSourceError) in try library.summary(of: fetch, deadline: end, for: principal) }
  }
}

extension AssetCollection {
  /// Its number of collections counts all members of the list, also those that no longer exist.
  init(_ transient: FetchResultStore.TransientCollection, _ identifier: LocalIdentifier, _ summary: FetchSummary) {
    let isList = transient.collections != nil
    self.init(
      localIdentifier: identifier, type: isList ? .folder : .album,
      subtype: isList ? "folderTransient" : "albumTransient", title: transient.title,
      startDate: summary.startDate, endDate: summary.endDate, estimatedAssetCount: summary.count,
      keyAssets: summary.keyAssets)
    estimatedCollectionCount = transient.collections?.count ?? 0
  }
}
