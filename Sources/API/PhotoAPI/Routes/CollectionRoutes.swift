import HTTPCore
import ImageService
import LibraryCatalogue
import PhotoModel

/// `GET /v1/collections`, `/v1/collections/{id}` and `/v1/collections/{id}/collections`, and
/// `POST /v1/transientCollections`.
struct CollectionRoutes: Sendable {
  private static let titleBytes = 1024

  let queries: QueryService
  private var results: FetchResultStore { queries.results }

  init(queries: QueryService) { self.queries = queries }

  /// Lists the collections of a type, or those in a folder or collection list: on the lookup queue, or on the fetch
  /// queue if the query may read every asset.
  func list(in parent: LocalIdentifier?, _ exchange: Exchange) throws(Problem) {
    let principal = try exchange.principal
    let query = try CollectionListQuery(exchange.target, queries.tokens, in: parent, for: principal)
    let end = queries.deadline
    let queue = query.fetch.needsFullScan ? queries.fetches : queries.lookups
    try exchange.respond(on: queue) { () throws(Problem) in
      try list(query, until: end, exchange.request, principal)
    }
  }

  private func list(
    _ query: CollectionListQuery, until end: ContinuousClock.Instant, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      let collections: [CollectionJSON]
      let next: String?

      private enum Key: String, CodingKey { case collections, next }

      func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(collections, forKey: .collections)
        try object.encode(next, forKey: .next)
      }
    }
    let page = try queries.run { library throws(AssetSourceError) in
      try library.collections(query.fetch, deadline: end, for: principal)
    }
    let next = page.nextCursor.map { queries.nextPagePath(request.target.path, query.parameters, cursor: $0) }
    let collections = page.collections.map { CollectionJSON($0, queries.tokens) }
    return answer(JSONBody.encode(Payload(collections: collections, next: next)), next: next, request)
  }

  func get(
    _ identifier: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    var query = try QueryReader(request.target)
    var asked = CollectionQuery()
    asked.includesHidden = try query.flag("includeHiddenAssets")
    asked.includesAllBurstAssets = try query.flag("includeAllBurstAssets")
    try query.finish()
    let wanted = asked
    if let transient = results.transientCollections.value(identifier.rawValue, owner: principal) {
      return answer(JSONBody.encode(CollectionJSON(transient, identifier)), next: nil, request)
    }
    let collection = try queries.run { library throws(AssetSourceError) in
      try library.collection(identifier, wanted, for: principal)
    }
    guard let collection else { throw .collectionNotFound }
    return answer(JSONBody.encode(CollectionJSON(collection, queries.tokens)), next: nil, request)
  }

  /// Creates a transient collection, which is not saved in the library, from assets or from fetch results, in the
  /// given order.
  func createTransient(
    _ request: HTTPRequest, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      let localIdentifier: String
      let type = "album"
      let subtype = "albumTransient"
      let title: String?
      let estimatedAssetCount: Int
      let leaseSeconds: Int64

      private enum Key: String, CodingKey {
        case localIdentifier, type, subtype, title, estimatedAssetCount, leaseSeconds
      }

      // `title` is null if the collection has none.
      func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(localIdentifier, forKey: .localIdentifier)
        try object.encode(type, forKey: .type)
        try object.encode(subtype, forKey: .subtype)
        try object.encode(title, forKey: .title)
        try object.encode(estimatedAssetCount, forKey: .estimatedAssetCount)
        try object.encode(leaseSeconds, forKey: .leaseSeconds)
      }
    }
    try QueryReader(request.target).finish()
    var body = try JSONObjectReader(request)
    let title = try body.text("title")
    let assets = try body.texts("assets", atMost: results.limits.transientAssets)
    let handles = try body.texts("fetchResults", atMost: results.limits.handles)
    try body.finish()
    if let title, title.utf8.count > Self.titleBytes {
      throw QueryReader.invalid("title", "must have at most \(Self.titleBytes) bytes")
    }
    guard (assets == nil) != (handles == nil) else {
      throw Problem(
        400, "invalid-parameter", "Invalid parameter", detail: "Give either assets or fetchResults.",
        parameter: "assets")
    }
    let named = try (assets ?? []).map { text throws(Problem) in try LocalIdentifier(parameter: text, "assets") }
    var rows = try queries.run { library throws(AssetSourceError) in
      try library.rows(of: named, deadline: end, for: principal)
    }
    for name in handles ?? [] {
      let handle = try queries.fetchResult(name, principal)
      guard rows.count + handle.count <= results.limits.transientAssets else {
        throw QueryReader.invalid("fetchResults", "must have at most \(results.limits.transientAssets) assets in total")
      }
      rows += handle.rows(in: 0..<handle.count)
    }
    // A collection contains an asset once, at its first position.
    var seen: Set<UInt32> = []
    rows.removeAll { !seen.insert($0).inserted }
    let name: String
    do {
      name = try results.keep(FetchResultStore.TransientCollection(title: title, rows: rows), owner: principal)
    } catch {
      throw Problem(error)
    }
    return .json(
      Payload(
        localIdentifier: name, title: title, estimatedAssetCount: rows.count,
        leaseSeconds: results.limits.lease.components.seconds),
      status: 201, location: "/v1/collections/\(name)")
  }

  private func answer(_ body: [UInt8], next: String?, _ request: HTTPRequest) -> HTTPResponse {
    JSONResponse(
      body, tag: EntityTag.strong(over: body), cacheControl: QueryService.cacheControl,
      link: next.map { "<\($0)>; rel=\"next\"" }
    ).response(to: request.head)
  }
}

/// A collection as clients see it.
struct CollectionJSON: Encodable {
  /// The revision of collections that have no history.
  private static let noRevision = "0"

  private let collection: AssetCollection
  private let revision: String

  init(_ collection: AssetCollection, _ tokens: TokenCodec) {
    self.collection = collection
    revision = collection.revision.map { tokens.text(of: $0) } ?? Self.noRevision
  }

  init(_ transient: FetchResultStore.TransientCollection, _ identifier: LocalIdentifier) {
    collection = AssetCollection(
      localIdentifier: identifier, type: .album, subtype: "albumTransient", title: transient.title,
      estimatedAssetCount: transient.rows.count)
    revision = Self.noRevision
  }

  private enum Key: String, CodingKey {
    case localIdentifier, type, subtype, title, startDate, endDate, estimatedAssetCount, keyAssets, revision
  }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(collection.localIdentifier.rawValue, forKey: .localIdentifier)
    try object.encode(collection.type.rawValue, forKey: .type)
    try object.encode(collection.subtype, forKey: .subtype)
    try object.encode(collection.title, forKey: .title)
    try object.encode(collection.startDate?.rfc3339, forKey: .startDate)
    try object.encode(collection.endDate?.rfc3339, forKey: .endDate)
    try object.encode(collection.estimatedAssetCount, forKey: .estimatedAssetCount)
    try object.encode(collection.keyAssets.map(\.rawValue), forKey: .keyAssets)
    try object.encode(revision, forKey: .revision)
  }
}
