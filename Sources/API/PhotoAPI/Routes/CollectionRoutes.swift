import HTTPCore
import ImageService
import LibraryCatalogue
import PhotoModel

/// `GET /v1/collections`, `/v1/collections/{id}` and `/v1/collections/{id}/collections`.
struct CollectionRoutes: Sendable {
  /// Maximum number of members of a short transient list. Members of a longer list are looked up on the fetch queue.
  private static let shortListLimit = 1000

  let queries: QueryService

  init(queries: QueryService) { self.queries = queries }

  /// Lists the collections of a type, or those in a folder or collection list, which the path or the query names: on
  /// the lookup queue, or on the fetch queue if the query may read every asset.
  func list(in parent: LocalIdentifier?, _ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    let query = try CollectionListQuery(routed.target, queries.tokens, in: parent, for: principal)
    let end = queries.deadline
    let queue = query.fetch.needsFullScan ? queries.fetches : queries.lookups
    let transient = query.fetch.query.parent.flatMap { queries.transientCollection($0, principal) }
    if transient != nil, query.fetch.query.containing != nil {
      throw QueryReader.invalid("containing", "can't be used with a transient list")
    }
    try routed.respond(on: queue) { () throws(Problem) in
      try list(query, of: transient, until: end, routed, principal)
    }
  }

  /// - Parameter transient: the transient list to read instead of the library's.
  private func list(
    _ query: CollectionListQuery, of transient: FetchResultStore.TransientCollection?,
    until end: ContinuousClock.Instant, _ routed: RoutedRequest, _ principal: Principal
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
    let page: CollectionPage
    do throws(Problem) {
      page = try queries.run { library throws(AssetSourceError) in
        guard let transient else { return try library.collections(query.fetch, deadline: end, for: principal) }
        guard let members = transient.collections else { throw .noSuchCollection }
        return try library.collections(query.fetch, among: members, deadline: end, for: principal)
      }
    } catch {
      throw error.ofCollectionList(parent: query.parameters["parent"] == nil ? "collection" : "parent")
    }
    let next = page.nextCursor.map { queries.nextPagePath(routed.target, cursor: $0) }
    let collections = page.collections.map { CollectionJSON($0, queries.tokens) }
    return QueryService.response(
      JSONBody.encode(Payload(collections: collections, next: next)), next: next, to: routed.request)
  }

  /// Parses the query of one collection.
  static func query(_ target: RequestTarget) throws(Problem) -> CollectionQuery {
    var query = try QueryReader(target)
    var wanted = CollectionQuery()
    wanted.includesHidden = try query.flag("includeHiddenAssets")
    wanted.includesAllBurstAssets = try query.flag("includeAllBurstAssets")
    try query.finish()
    return wanted
  }

  /// One collection: on the lookup queue, or on the fetch queue if it is a long transient one, which must be counted.
  func get(_ identifier: LocalIdentifier, _ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    let request = routed.request
    let wanted = try Self.query(routed.target)
    let end = queries.deadline
    let transient = queries.transientCollection(identifier, principal)
    let members = transient?.collections
    let isLong =
      transient?.fetch(wanted).needsFullScan(for: principal) ?? false || (members?.count ?? 0) > Self.shortListLimit
    try routed.respond(on: isLong ? queries.fetches : queries.lookups) { () throws(Problem) in
      var found: AssetCollection?
      if let transient {
        let summary = try queries.summary(of: transient, wanted, until: end, principal)
        found = AssetCollection(transient, identifier, summary)
        if let members {
          found?.estimatedCollectionCount = try queries.run { library throws(AssetSourceError) in
            try library.collectionCount(among: members, wanted, deadline: end, for: principal)
          }
        }
      } else {
        found = try queries.run { library throws(AssetSourceError) in
          try library.collection(identifier, wanted, for: principal)
        }
      }
      guard let collection = found else { throw Problem.collectionNotFound }
      return QueryService.response(JSONBody.encode(CollectionJSON(collection, queries.tokens)), to: request)
    }
  }

  /// The strong entity tag of a collection of the library, as of the uncoded representation without parameters.
  func entityTag(_ identifier: LocalIdentifier, _ principal: Principal) throws(Problem) -> String {
    let found = try queries.run { library throws(AssetSourceError) in
      try library.collection(identifier, CollectionQuery(), for: principal)
    }
    guard let found else { throw .collectionNotFound }
    return EntityTag.strong(over: JSONBody.encode(CollectionJSON(found, queries.tokens)))
  }
}

extension Problem {
  /// The same problem for a list of collections, where the missing object is the asset of `containing` or the parent.
  ///
  /// - Parameter parent: the parameter that names the parent.
  func ofCollectionList(parent: String) -> Problem {
    switch kind {
    case "asset-not-found": naming("containing")
    case "collection-not-found": naming(parent)
    default: self
    }
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

  private enum Key: String, CodingKey {
    case localIdentifier, type, subtype, title, parent, day, startDate, endDate, estimatedAssetCount
    case estimatedCollectionCount, keyAssets, keepOriginal, revision
  }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(collection.localIdentifier.rawValue, forKey: .localIdentifier)
    try object.encode(collection.type.rawValue, forKey: .type)
    try object.encode(collection.subtype, forKey: .subtype)
    try object.encode(collection.title, forKey: .title)
    try object.encode(collection.parent?.rawValue, forKey: .parent)
    try object.encode(collection.day, forKey: .day)
    try object.encode(collection.startDate?.rfc3339, forKey: .startDate)
    try object.encode(collection.endDate?.rfc3339, forKey: .endDate)
    try object.encode(collection.estimatedAssetCount, forKey: .estimatedAssetCount)
    try object.encode(collection.estimatedCollectionCount, forKey: .estimatedCollectionCount)
    try object.encode(collection.keyAssets.map(\.rawValue), forKey: .keyAssets)
    try object.encode(collection.keepsOriginals, forKey: .keepOriginal)
    try object.encode(revision, forKey: .revision)
  }
}
