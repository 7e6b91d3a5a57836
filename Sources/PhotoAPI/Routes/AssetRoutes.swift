import AssetLibrary
import HTTPCore
import ImageService
import PhotoModel

/// `GET /v1/assets`, `GET /v1/collections/{id}/assets` and `GET /v1/assets/{localIdentifier}`.
struct AssetRoutes: Sendable {
  let fetching: Fetching

  /// The assets of the library, or of a collection: objects, columns, or counts by date.
  func list(_ query: AssetListQuery, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    switch query.layout {
    case .objects: return try objects(query, request, principal)
    case .columns: return try columns(query, request, principal)
    case .buckets: return try buckets(query, request, principal)
    }
  }

  private func objects(
    _ query: AssetListQuery, _ request: HTTPRequest, _ principal: Principal
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
    _ query: AssetListQuery, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    let columns = try fetching.asking { library throws(AssetSourceError) in
      try library.columns(query.fetch, query.page, for: principal)
    }
    let next = columns.nextCursor.map { Fetching.next(request.target.path, query.parameters, cursor: $0) }
    return answer(AssetColumnsJSON.body(columns, next: next), next: next, request)
  }

  private func buckets(
    _ query: AssetListQuery, _ request: HTTPRequest, _ principal: Principal
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

  private func count(_ query: AssetListQuery, _ principal: Principal) throws(Problem) -> Int? {
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
