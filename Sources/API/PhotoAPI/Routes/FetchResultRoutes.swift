import HTTPCore
import ImageService
import LibraryCatalogue
import PhotoModel

/// `POST /v1/fetchResults`, `GET` and `DELETE /v1/fetchResults/{id}`, and `GET /v1/fetchResults/{id}/assets`.
struct FetchResultRoutes: Sendable {
  /// Maximum number of assets in one range.
  private static let maximumAssets = 1000

  let queries: QueryService
  private var results: FetchResultStore { queries.results }

  init(queries: QueryService) { self.queries = queries }

  func create(
    _ request: HTTPRequest, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    let (fetch, collection) = try fetch(request, principal)
    results.expire()
    let found = try queries.run { library throws(AssetSourceError) in
      try library.rows(fetch, atMost: results.assetCapacity, deadline: end, for: principal)
    }
    let result = FetchResult(
      rows: found.rows, changeToken: found.changeToken, fetch: fetch, collection: collection)
    let id: String
    do {
      id = try results.keep(result, owner: principal)
    } catch {
      throw Problem(error)
    }
    return .json(FetchResultJSON(id, result, queries), status: 201, location: "/v1/fetchResults/\(id)")
  }

  func get(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    return answer(
      JSONBody.encode(FetchResultJSON(id, try queries.fetchResult(id, principal), queries)), request)
  }

  func delete(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    guard results.handles.end(id, owner: principal) else { throw .fetchResultNotFound }
    return HTTPResponse(204)
  }

  /// A range of members, or the index of one member.
  func assets(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    var query = try QueryReader(request.target)
    let range = query.text("range")
    let wanted = try query.identifier("indexOf")
    let fields = try query.text("fields").map { text throws(Problem) in try AssetFields(text) }
    try query.finish()
    let handle = try queries.fetchResult(id, principal)
    guard let wanted else { return try members(range ?? "0-99", of: handle, fields, request, principal) }
    if range != nil { throw QueryReader.invalid("range", "can't be combined with indexOf") }
    if fields != nil { throw QueryReader.invalid("fields", "can't be combined with indexOf") }
    return try index(of: wanted, in: handle, request, principal)
  }

  private func index(
    of identifier: LocalIdentifier, in handle: FetchResult, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      let index: Int?

      private enum Key: String, CodingKey { case index }

      func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(index, forKey: .index)
      }
    }
    let row = try queries.run { library throws(AssetSourceError) in try library.row(of: identifier, for: principal)
    }
    return answer(JSONBody.encode(Payload(index: row.flatMap(handle.index(ofRow:)))), request)
  }

  private func members(
    _ text: String, of handle: FetchResult, _ fields: AssetFields?, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      let range: [Int]
      let assets: [MemberJSON]
    }
    let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { part in
      part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(part) : nil
    }
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last - first < Self.maximumAssets
    else {
      throw QueryReader.invalid(
        "range", "must be FIRST-LAST, both counted from 0 and included, and at most \(Self.maximumAssets) assets")
    }
    // Positions past the end are left out: a window may be larger than the list.
    let range = min(first, handle.count)..<min(last + 1, handle.count)
    let rows = handle.rows(in: range)
    let members = try queries.run { library throws(AssetSourceError) in try library.members(rows, for: principal) }
    return answer(
      JSONBody.encode(
        Payload(
          range: range.isEmpty ? [] : [range.lowerBound, range.upperBound - 1],
          assets: members.map { MemberJSON($0, queries.tokens, fields) })), request)
  }

  /// The fetch that a body describes, and its collection if it is one of the library's.
  private func fetch(
    _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> (AssetFetch, LocalIdentifier?) {
    var body = try JSONObjectReader(request)
    var fetch = try FetchQuery(&body, .library, for: principal).fetch
    let collection = try body.text("collection").map { text throws(Problem) in
      try LocalIdentifier(parameter: text, "collection")
    }
    try body.finish()
    if let collection { fetch.scope = try queries.scope(of: collection, principal) }
    if case .rows = fetch.scope { return (fetch, nil) }
    return (fetch, collection)
  }

  private func answer(_ body: [UInt8], _ request: HTTPRequest) -> HTTPResponse {
    JSONResponse(body, tag: EntityTag.strong(over: body), cacheControl: QueryService.cacheControl).response(
      to: request.head)
  }
}

/// A fetch result handle as clients see it.
struct FetchResultJSON: Encodable {
  let id: String
  let count: Int
  let changeToken: String
  let leaseSeconds: Int64

  init(_ id: String, _ result: FetchResult, _ queries: QueryService) {
    self.id = id
    count = result.count
    changeToken = queries.tokens.text(of: result.changeToken)
    leaseSeconds = queries.results.limits.lease.components.seconds
  }
}

/// A member of a fetch result: the current asset, or a placeholder for a deleted one.
struct MemberJSON: Encodable {
  private struct Deleted: Encodable {
    let localIdentifier: String
    let deleted = true
  }

  private let member: FetchResultMember
  private let tokens: TokenCodec
  private let fields: AssetFields?

  init(_ member: FetchResultMember, _ tokens: TokenCodec, _ fields: AssetFields?) {
    self.member = member
    self.tokens = tokens
    self.fields = fields
  }

  func encode(to encoder: any Encoder) throws {
    switch member {
    case .asset(let asset): try AssetJSON(asset, tokens, fields: fields).encode(to: encoder)
    case .deleted(let identifier): try Deleted(localIdentifier: identifier.rawValue).encode(to: encoder)
    }
  }
}
