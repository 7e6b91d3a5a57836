import AssetLibrary
import HTTPCore
import ImageService
import PhotoModel

/// `GET /v1/collections`, `/v1/collections/{id}` and `/v1/collections/{id}/collections`, and
/// `POST /v1/transientCollections`.
struct CollectionRoutes: Sendable {
  private static let titleBytes = 1024

  let fetching: Fetching
  private var results: FetchResults { fetching.results }

  init(fetching: Fetching) { self.fetching = fetching }

  /// All of a type, or those in a folder or list.
  func list(
    _ query: CollectionListQuery, until end: ContinuousClock.Instant, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    struct Shape: Encodable {
      let collections: [CollectionJSON]
      let next: String?

      private enum Key: String, CodingKey { case collections, next }

      func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(collections, forKey: .collections)
        try object.encode(next, forKey: .next)
      }
    }
    let page = try fetching.asking { library throws(AssetSourceError) in
      try library.collections(query.fetch, deadline: end, for: principal)
    }
    let next = page.nextCursor.map { Fetching.next(request.target.path, query.parameters, cursor: $0) }
    return answer(
      JSONBody.encode(Shape(collections: page.collections.map(CollectionJSON.init), next: next)), next: next, request)
  }

  func one(
    _ identifier: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    var query = try QueryReader(request.target)
    var asked = CollectionQuery()
    asked.includesHidden = try query.flag("includeHiddenAssets")
    asked.includesAllBurstAssets = try query.flag("includeAllBurstAssets")
    try query.finish()
    let wanted = asked
    if let transient = results.transients.value(identifier.rawValue, owner: principal) {
      return answer(JSONBody.encode(CollectionJSON(transient, identifier)), next: nil, request)
    }
    let collection = try fetching.asking { library throws(AssetSourceError) in
      try library.collection(identifier, wanted, for: principal)
    }
    guard let collection else { throw .collectionNotFound }
    return answer(JSONBody.encode(CollectionJSON(collection)), next: nil, request)
  }

  /// A collection that nobody saves, of assets or of what handles hold, in the order in which they are named.
  func makeTransient(
    _ request: HTTPRequest, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    struct Shape: Encodable {
      let localIdentifier: String
      let type = "album"
      let subtype = "albumTransient"
      let title: String?
      let estimatedAssetCount: Int
      let leaseSeconds: Int64

      private enum Key: String, CodingKey {
        case localIdentifier, type, subtype, title, estimatedAssetCount, leaseSeconds
      }

      // `title` is null where there is none.
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
      throw QueryReader.invalid("title", "has at most \(Self.titleBytes) bytes")
    }
    guard (assets == nil) != (handles == nil) else {
      throw Problem(
        400, "invalid-parameter", "Invalid parameter", detail: "Give either assets or fetchResults.",
        parameter: "assets")
    }
    let named = try (assets ?? []).map { text throws(Problem) in try LocalIdentifier(parameter: text, "assets") }
    var rows = try fetching.asking { library throws(AssetSourceError) in
      try library.rows(of: named, deadline: end, for: principal)
    }
    for name in handles ?? [] {
      let handle = try fetching.fetchResult(name, principal)
      guard rows.count + handle.count <= results.limits.transientAssets else {
        throw QueryReader.invalid("fetchResults", "hold at most \(results.limits.transientAssets) assets together")
      }
      rows += handle.rows(in: 0..<handle.count)
    }
    // An asset is in a collection once, where it is named first.
    var seen: Set<UInt32> = []
    rows.removeAll { !seen.insert($0).inserted }
    let name: String
    do {
      name = try results.keep(FetchResults.TransientCollection(title: title, rows: rows), owner: principal)
    } catch {
      throw Problem(error)
    }
    let answer = JSONBody.encode(
      Shape(
        localIdentifier: name, title: title, estimatedAssetCount: rows.count,
        leaseSeconds: results.limits.lease.components.seconds))
    return .created(answer, at: "/v1/collections/\(name)")
  }

  private func answer(_ body: [UInt8], next: String?, _ request: HTTPRequest) -> HTTPResponse {
    JSONAnswer(
      body, tag: EntityTag.strong(over: body), cacheControl: Fetching.cacheControl,
      link: next.map { "<\($0)>; rel=\"next\"" }
    ).response(to: request.head)
  }
}

/// A collection as clients see it.
struct CollectionJSON: Encodable {
  private let collection: AssetCollection

  init(_ collection: AssetCollection) { self.collection = collection }

  init(_ transient: FetchResults.TransientCollection, _ identifier: LocalIdentifier) {
    collection = AssetCollection(
      localIdentifier: identifier, type: .album, subtype: "albumTransient", title: transient.title,
      estimatedAssetCount: transient.rows.count)
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
    try object.encode(
      collection.startDate.map { RFC3339Time.string(millisecondsSince1970: $0.milliseconds) }, forKey: .startDate)
    try object.encode(
      collection.endDate.map { RFC3339Time.string(millisecondsSince1970: $0.milliseconds) }, forKey: .endDate)
    try object.encode(collection.estimatedAssetCount, forKey: .estimatedAssetCount)
    try object.encode(collection.keyAssets.map(\.rawValue), forKey: .keyAssets)
    try object.encode(collection.revision, forKey: .revision)
  }
}
