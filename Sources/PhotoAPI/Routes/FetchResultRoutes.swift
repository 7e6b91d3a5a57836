import AssetLibrary
import HTTPCore
import ImageService
import PhotoModel

/// `POST /v1/fetchResults`, `GET` and `DELETE /v1/fetchResults/{id}`, and `GET /v1/fetchResults/{id}/assets`.
struct FetchResultRoutes: Sendable {
  /// The assets of one range.
  private static let mostAssets = 1000

  let fetching: Fetching
  private var results: FetchResults { fetching.results }

  init(fetching: Fetching) { self.fetching = fetching }

  func make(
    _ request: HTTPRequest, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    let (fetch, collection) = try fetch(request, principal)
    results.expire()
    let found = try fetching.asking { library throws(AssetSourceError) in
      try library.rows(fetch, atMost: results.mostAssets, deadline: end, for: principal)
    }
    let result = FetchResult(
      rows: found.rows, changeToken: found.changeToken, fetch: fetch, collection: collection)
    let id: String
    do {
      id = try results.keep(result, owner: principal)
    } catch {
      throw Problem(error)
    }
    return .created(JSONBody.encode(FetchResultJSON(id, result, results.limits)), at: "/v1/fetchResults/\(id)")
  }

  func one(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    return answer(
      JSONBody.encode(FetchResultJSON(id, try fetching.fetchResult(id, principal), results.limits)), request)
  }

  func end(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    guard results.handles.end(id, owner: principal) else { throw .fetchResultNotFound }
    return HTTPResponse(204)
  }

  /// A range of members, or where one stands.
  func assets(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    var query = try QueryReader(request.target)
    let range = query.text("range")
    let wanted = try query.identifier("indexOf")
    let fields = try query.text("fields").map { text throws(Problem) in try AssetFields(text) }
    try query.finish()
    let handle = try fetching.fetchResult(id, principal)
    guard let wanted else { return try members(range ?? "0-99", of: handle, fields, request, principal) }
    if range != nil { throw QueryReader.invalid("range", "does not go with indexOf") }
    if fields != nil { throw QueryReader.invalid("fields", "does not go with indexOf") }
    return try index(of: wanted, in: handle, request, principal)
  }

  private func index(
    of identifier: LocalIdentifier, in handle: FetchResult, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    struct Shape: Encodable {
      let index: Int?

      private enum Key: String, CodingKey { case index }

      func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(index, forKey: .index)
      }
    }
    let row = try fetching.asking { library throws(AssetSourceError) in try library.row(of: identifier, for: principal)
    }
    return answer(JSONBody.encode(Shape(index: row.flatMap(handle.index(ofRow:)))), request)
  }

  private func members(
    _ text: String, of handle: FetchResult, _ fields: AssetFields?, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    struct Shape: Encodable {
      let range: [Int]
      let assets: [MemberJSON]
    }
    let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { part in
      part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(part) : nil
    }
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last - first < Self.mostAssets else {
      throw QueryReader.invalid(
        "range", "is FIRST-LAST, both counted from 0 and included, and at most \(Self.mostAssets) assets")
    }
    // What lies beyond the end is not there: a window may be larger than what it shows.
    let range = min(first, handle.count)..<min(last + 1, handle.count)
    let rows = handle.rows(in: range)
    let members = try fetching.asking { library throws(AssetSourceError) in try library.members(rows, for: principal) }
    return answer(
      JSONBody.encode(
        Shape(
          range: range.isEmpty ? [] : [range.lowerBound, range.upperBound - 1],
          assets: members.map { MemberJSON($0, fields) })), request)
  }

  /// What a body asks for, and the collection that it names, where that is one of the library's.
  private func fetch(
    _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> (AssetFetch, LocalIdentifier?) {
    var body = try JSONObjectReader(request)
    var fetch = try FetchQuery(&body, .library, for: principal).fetch
    let collection = try body.text("collection").map { text throws(Problem) in
      try LocalIdentifier(parameter: text, "collection")
    }
    try body.finish()
    if let collection { fetch.scope = try fetching.scope(of: collection, principal) }
    if case .rows = fetch.scope { return (fetch, nil) }
    return (fetch, collection)
  }

  private func answer(_ body: [UInt8], _ request: HTTPRequest) -> HTTPResponse {
    JSONAnswer(body, tag: EntityTag.strong(over: body), cacheControl: Fetching.cacheControl).response(to: request.head)
  }
}

/// A handle.
struct FetchResultJSON: Encodable {
  let id: String
  let count: Int
  let changeToken: String
  let leaseSeconds: Int64

  init(_ id: String, _ result: FetchResult, _ limits: FetchResults.Limits) {
    self.id = id
    count = result.count
    changeToken = result.changeToken
    leaseSeconds = limits.lease.components.seconds
  }
}

/// A member of a fetch result: an asset as it is now, or what is left of one that is gone.
struct MemberJSON: Encodable {
  private struct Deleted: Encodable {
    let localIdentifier: String
    let deleted = true
  }

  private let member: FetchedMember
  private let fields: AssetFields?

  init(_ member: FetchedMember, _ fields: AssetFields?) {
    self.member = member
    self.fields = fields
  }

  func encode(to encoder: any Encoder) throws {
    switch member {
    case .asset(let asset): try AssetJSON(asset, fields: fields).encode(to: encoder)
    case .deleted(let identifier): try Deleted(localIdentifier: identifier.rawValue).encode(to: encoder)
    }
  }
}

extension HTTPResponse {
  /// 201, for what was made.
  static func created(_ body: [UInt8], at path: String) -> HTTPResponse {
    HTTPResponse(
      HTTPStatus(201), [("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store"), ("Location", path)],
      body: body)
  }
}

extension Problem {
  static let fetchResultNotFound = Problem(
    404, "fetch-result-not-found", "No such fetch result",
    detail: "You have no fetch result of that name, or its lease has ended; POST /v1/fetchResults makes one.")

  init<Value>(_ refusal: LeaseTable<Value>.Refusal) {
    switch refusal {
    case .tooMany(let limit):
      self.init(
        429, "too-many-handles", "Too many of these",
        detail: "There are \(limit) already; end some that you no longer need, or let their leases end.",
        fields: ["Retry-After": "60"])
    case .tooLarge(let bytes):
      self.init(
        429, "too-many-handles", "Too many of these",
        detail: "Together they would take more than \(bytes) bytes; end some that you no longer need, or ask for less.",
        fields: ["Retry-After": "60"])
    }
  }
}
