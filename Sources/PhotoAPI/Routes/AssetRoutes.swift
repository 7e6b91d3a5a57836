import AssetLibrary
import HTTPCore
import ImageService
import PhotoModel

/// `GET /v1/assets`, `GET /v1/collections/{id}/assets` and `GET /v1/assets/{localIdentifier}`.
struct AssetRoutes: Sendable {
  private enum Layout: String, CaseIterable { case objects, columns, buckets }

  let fetching: Fetching

  /// The assets of the library, or of a collection: objects, columns, or counts by date.
  func list(
    _ request: HTTPRequest, in collection: LocalIdentifier?, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    let query = try ListQuery(request.target, in: collection, fetching, principal)
    switch query.layout {
    case .objects: return try objects(query, request, principal)
    case .columns: return try columns(query, request, principal)
    case .buckets: return try buckets(query, request, principal)
    }
  }

  /// Whether answering may take as long as a fetch may: then it waits in a line of its own.
  func isFree(
    _ request: HTTPRequest, in collection: LocalIdentifier?, _ principal: Principal
  ) throws(Problem) -> Bool {
    var query = try QueryReader(request.target)
    let fetch = try FetchQuery(&query, .library, for: principal).fetch
    let counts = query.values["count"] == "true" || query.values["layout"] == Layout.buckets.rawValue
    return fetch.isFree || counts && (fetch.predicate != nil || collection != nil)
  }

  private struct ListQuery {
    var layout: Layout
    var unit: DateBucket.Unit
    var fetch: AssetFetch
    var page: FetchPageRequest
    var countsAll: Bool
    var fields: AssetFields?
    /// As they were given, for the next page.
    var parameters: [String: String]

    init(
      _ target: RequestTarget, in collection: LocalIdentifier?, _ fetching: Fetching, _ principal: Principal
    ) throws(Problem) {
      var query = try QueryReader(target)
      layout = try query.word("layout", default: .objects)
      unit = layout == .buckets ? try query.word("by", default: .day) : .day
      let sizes = layout == .columns ? FetchQuery.columnSizes : FetchQuery.pageSizes
      fetch = try FetchQuery(&query, .library, for: principal).fetch
      countsAll = try query.flag("count")
      page = FetchPageRequest(limit: 1)
      if layout != .buckets {
        page = FetchPageRequest(
          limit: try query.number("limit", in: sizes) ?? (layout == .columns ? sizes.upperBound : 100),
          cursor: query.text("cursor"))
      }
      if layout == .objects { fields = try query.text("fields").map(AssetFields.init) }
      try query.finish()
      parameters = query.values
      if let collection { fetch.scope = try fetching.scope(of: collection, principal) }
      page.deadline = fetching.end
    }
  }

  private func objects(
    _ query: ListQuery, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    struct Shape: Encodable {
      let changeToken: String
      let assets: [AssetJSON]
      let next: String?
      let count: Int?

      private enum Key: String, CodingKey { case changeToken, assets, next, count }

      // `next` is null on the last page; `count` is there only where it was asked for.
      func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(changeToken, forKey: .changeToken)
        try object.encode(assets, forKey: .assets)
        try object.encode(next, forKey: .next)
        try object.encodeIfPresent(count, forKey: .count)
      }
    }
    let page = try fetching.asking { library throws(AssetSourceError) in
      try library.assets(query.fetch, query.page, for: principal)
    }
    let next = page.nextCursor.map { Fetching.next(request.target.path, query.parameters, cursor: $0) }
    let body = JSONBody.encode(
      Shape(
        changeToken: page.changeToken, assets: page.assets.map { AssetJSON($0, fields: query.fields) }, next: next,
        count: try count(query, principal)))
    return answer(body, next: next, request)
  }

  private func columns(
    _ query: ListQuery, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    let columns = try fetching.asking { library throws(AssetSourceError) in
      try library.columns(query.fetch, query.page, for: principal)
    }
    let next = columns.nextCursor.map { Fetching.next(request.target.path, query.parameters, cursor: $0) }
    return answer(AssetColumnsJSON.body(columns, next: next), next: next, request)
  }

  private func buckets(
    _ query: ListQuery, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    struct Shape: Encodable {
      struct Bucket: Encodable {
        let date: String
        let count: Int
      }
      let by: String
      let buckets: [Bucket]
      let count: Int
    }
    let buckets = try fetching.asking { library throws(AssetSourceError) in
      try library.dateBuckets(query.fetch, by: query.unit, deadline: query.page.deadline, for: principal)
    }
    let body = JSONBody.encode(
      Shape(
        by: query.unit.rawValue, buckets: buckets.map { Shape.Bucket(date: $0.name, count: $0.count) },
        count: buckets.reduce(0) { $0 + $1.count }))
    return answer(body, next: nil, request)
  }

  private func count(_ query: ListQuery, _ principal: Principal) throws(Problem) -> Int? {
    guard query.countsAll else { return nil }
    return try fetching.asking { library throws(AssetSourceError) in
      try library.count(query.fetch, deadline: query.page.deadline, for: principal)
    }
  }

  private func answer(_ body: [UInt8], next: String?, _ request: HTTPRequest) -> HTTPResponse {
    JSONAnswer(
      body, tag: EntityTag.strong(over: body), cacheControl: Fetching.cacheControl,
      link: next.map { "<\($0)>; rel=\"next\"" }
    ).response(to: request.head)
  }

  func one(
    _ identifier: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    let asset = try fetching.asking { library throws(AssetSourceError) in
      try library.asset(identifier, for: principal)
    }
    guard let asset else { throw .assetNotFound }
    let answer = AssetJSON(asset)
    // The same revision reads differently to one who may see places, and once the placeholder is made.
    var tag = asset.revision
    if principal.may(.location) { tag += "-l" }
    if let placeholder = answer.placeholder { tag += "-\(placeholder)" }
    return JSONAnswer(JSONBody.encode(answer), tag: "\"\(tag)\"", cacheControl: Fetching.cacheControl)
      .response(to: request.head)
  }
}

extension Problem {
  static let preconditionFailed = Problem(
    412, "precondition-failed", "Precondition failed",
    detail: "The resource is not what the request's conditions ask for; get it anew.")
}
