import HTTPCore
import ImageService
import LibraryCatalogue
import PhotoModel

/// `GET /v1/assets`, `GET /v1/collections/{id}/assets` and `GET /v1/assets/{localIdentifier}`.
struct AssetRoutes: Sendable {
  let queries: QueryService

  /// Lists assets of the library, or of a collection: on the lookup queue, or on the fetch queue if the query may read
  /// every asset.
  func list(in collection: LocalIdentifier?, _ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    let query = try AssetListQuery(routed.target, queries.tokens, until: queries.deadline, for: principal)
    guard let collection else {
      let queue = query.needsFullScan(for: principal) ? queries.fetches : queries.lookups
      return try routed.respond(on: queue) { () throws(Problem) in try list(query, routed, principal) }
    }
    // Whether this may read every asset is known only after the collection has been looked up.
    try routed.run(on: queries.lookups) { () throws(Problem) in
      var query = query
      try queries.limit(&query.fetch, to: collection, principal)
      guard query.needsFullScan(for: principal) else {
        return routed.reply.send(try list(query, routed, principal))
      }
      let scoped = query
      try routed.respond(on: queries.fetches) { () throws(Problem) in
        try list(scoped, routed, principal)
      }
    }
  }

  /// Objects, columns, or counts by date.
  private func list(
    _ query: AssetListQuery, _ routed: RoutedRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    switch query.layout {
    case .objects: return try objects(query, routed, principal)
    case .columns: return try columns(query, routed, principal)
    case .buckets: return try buckets(query, routed, principal)
    }
  }

  private func objects(
    _ query: AssetListQuery, _ routed: RoutedRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      let changeToken: String
      let assets: [AssetJSON]
      let next: String?
      let count: Int?

      private enum Key: String, CodingKey { case changeToken, assets, next, count }

      // `next` is null on the last page; `count` is written only if the request asked for it.
      func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(changeToken, forKey: .changeToken)
        try object.encode(assets, forKey: .assets)
        try object.encode(next, forKey: .next)
        try object.encodeIfPresent(count, forKey: .count)
      }
    }
    let page = try queries.run { library throws(AssetSourceError) in
      try library.assets(query.fetch, query.page, for: principal)
    }
    let next = page.nextCursor.map { queries.nextPagePath(routed.target, cursor: $0) }
    let body = JSONBody.encode(
      Payload(
        changeToken: queries.tokens.text(of: page.changeToken),
        assets: page.assets.map { queries.json($0, fields: query.fields) }, next: next, count: page.count))
    return QueryService.response(body, next: next, to: routed.request)
  }

  private func columns(
    _ query: AssetListQuery, _ routed: RoutedRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    let columns = try queries.run { library throws(AssetSourceError) in
      try library.columns(query.fetch, query.page, fields: query.columns, for: principal)
    }
    let next = columns.nextCursor.map { queries.nextPagePath(routed.target, cursor: $0) }
    let body = AssetColumnsJSON.body(
      columns, query.columns, changeToken: queries.tokens.text(of: columns.changeToken), next: next)
    return QueryService.response(body, next: next, to: routed.request)
  }

  private func buckets(
    _ query: AssetListQuery, _ routed: RoutedRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      struct Bucket: Encodable {
        let date: String
        let count: Int
      }
      let by: String
      let buckets: [Bucket]
      let count: Int
    }
    let buckets = try queries.run { library throws(AssetSourceError) in
      try library.dateBuckets(query.fetch, by: query.unit, deadline: query.page.deadline, for: principal)
    }
    let body = JSONBody.encode(
      Payload(
        by: query.unit.rawValue, buckets: buckets.map { Payload.Bucket(date: $0.name, count: $0.count) },
        count: buckets.reduce(0) { $0 + $1.count }))
    return QueryService.response(body, to: routed.request)
  }

  func get(
    _ identifier: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    let asset = try queries.asset(identifier, principal)
    let answer = queries.json(asset)
    return JSONResponse(
      JSONBody.encode(answer), tag: entityTag(of: asset, answer, principal), cacheControl: QueryService.cacheControl
    ).response(to: request.head)
  }

  /// The strong entity tag of an asset, as of the uncoded representation.
  func entityTag(_ identifier: LocalIdentifier, _ principal: Principal) throws(Problem) -> String {
    let asset = try queries.asset(identifier, principal)
    return entityTag(of: asset, queries.json(asset), principal)
  }

  private func entityTag(of asset: Asset, _ answer: AssetJSON, _ principal: Principal) -> String {
    // The representation of a revision also depends on the scopes for places and names, and on whether the placeholder
    // exists, a picture can be made, and the original is local.
    var tag = queries.tokens.text(of: asset.revision)
    if principal.may(.location) { tag += "-l" }
    if !principal.mayReadNames { tag += "-n" }
    if !asset.isRenderable { tag += "-u" }
    if queries.originals.isInCloud(asset.original) { tag += "-c" }
    if let placeholder = answer.placeholder { tag += "-\(placeholder)" }
    return "\"\(tag)\""
  }
}
