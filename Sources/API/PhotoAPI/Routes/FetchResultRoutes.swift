import HTTPCore
import LibraryCatalogue
import PhotoModel

/// `GET` and `POST /v1/fetchResults`, `GET` and `DELETE /v1/fetchResults/{id}`, and `GET /v1/fetchResults/{id}/assets`
/// and `/collections`.
struct FetchResultRoutes: Sendable {
  /// Maximum number of assets or collections in one range.
  private static let maximumMembers = 1000

  let queries: QueryService
  private var results: FetchResultStore { queries.results }

  init(queries: QueryService) { self.queries = queries }

  func create(
    _ request: HTTPRequest, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    let body = try FetchResultBody(request, queries, principal)
    results.expire()
    let result: any LeasedFetchResult
    switch body {
    case .assets(let fetch, let collection):
      let found = try queries.run { library throws(AssetSourceError) in
        try library.rows(fetch, atMost: results.assetCapacity(for: principal), deadline: end, for: principal)
      }
      result = FetchResult(
        rows: found.rows, changeToken: found.changeToken, fetch: fetch, collection: collection)
    case .collections(let fetch):
      do throws(Problem) {
        result = try queries.run { library throws(AssetSourceError) in
          try library.collectionFetchResult(
            fetch, atMost: results.collectionCapacity(for: principal), deadline: end, for: principal)
        }
      } catch {
        throw error.ofCollectionList(parent: "parent")
      }
    }
    let id: String
    do {
      id = try results.keep(result, owner: principal)
    } catch {
      throw Problem(error)
    }
    return .json(FetchResultJSON(id, result, queries), status: 201, location: "/v1/fetchResults/\(id)")
  }

  /// Lists the caller's fetch results; for a caller who sees all owners, those of all callers. Renews no lease.
  func list(_ request: HTTPRequest, _ principal: Principal) -> HTTPResponse {
    struct Payload: Encodable {
      let fetchResults: [FetchResultJSON]
    }
    let found = queries.handles(in: results.handles, principal)
      .filter { $0.value.isReadable(by: principal) }
    return QueryService.response(
      JSONBody.encode(Payload(fetchResults: found.map { FetchResultJSON($0.name, $0.value, queries) })), to: request)
  }

  func get(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    return QueryService.response(
      JSONBody.encode(FetchResultJSON(id, try queries.anyFetchResult(id, principal), queries)), to: request)
  }

  func delete(_ id: String, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try queries.deleteHandle(id, in: results.handles, orThrow: .fetchResultNotFound, principal)
  }

  /// A range of members, or the index of one member.
  func assets(_ id: String, _ routed: RoutedRequest) throws(Problem) -> HTTPResponse {
    let (request, principal) = (routed.request, try routed.principal)
    var query = try QueryReader(routed.target)
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
    let row = try queries.run { library throws(AssetSourceError) in try library.row(of: identifier, for: principal)
    }
    return QueryService.response(JSONBody.encode(IndexJSON(index: row.flatMap(handle.index(ofRow:)))), to: request)
  }

  private func members(
    _ text: String, of handle: FetchResult, _ fields: AssetFields?, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      let range: [Int]
      let assets: [MemberJSON]
    }
    let range = try Self.range(text, count: handle.count)
    let rows = handle.rows(in: range)
    let members = try queries.run { library throws(AssetSourceError) in try library.members(rows, for: principal) }
    return QueryService.response(
      JSONBody.encode(
        Payload(
          range: Self.ends(of: range),
          assets: members.map { MemberJSON($0, queries, fields) })), to: request)
  }

  /// A range of the members of a fetch result over collections, or the index of one member.
  func collections(_ id: String, _ routed: RoutedRequest) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      let range: [Int]
      let collections: [CollectionMemberJSON]
    }
    let (request, principal) = (routed.request, try routed.principal)
    var query = try QueryReader(routed.target)
    let text = query.text("range")
    let wanted = try query.identifier("indexOf")
    try query.finish()
    let handle = try queries.collectionFetchResult(id, principal)
    if let wanted {
      if text != nil { throw QueryReader.invalid("range", "can't be combined with indexOf") }
      return QueryService.response(JSONBody.encode(IndexJSON(index: handle.index(of: wanted))), to: request)
    }
    let range = try Self.range(text ?? "0-99", count: handle.count)
    let identifiers = handle.members[range].map(\.identifier)
    let found = try queries.run { library throws(AssetSourceError) in
      try library.collections(named: identifiers, handle.fetch.query, deadline: queries.deadline, for: principal)
    }
    return QueryService.response(
      JSONBody.encode(
        Payload(
          range: Self.ends(of: range),
          collections: zip(identifiers, found).map { CollectionMemberJSON($0, $1, queries.tokens) })), to: request)
  }

  /// The positions that a `range` parameter asks for, without those past the end: a window may be larger than the list.
  private static func range(_ text: String, count: Int) throws(Problem) -> Range<Int> {
    let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { part in
      part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(part) : nil
    }
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last - first < maximumMembers else {
      throw QueryReader.invalid(
        "range", "must be FIRST-LAST, both counted from 0 and included, and at most \(maximumMembers) members")
    }
    return min(first, count)..<min(last, count - 1) + 1
  }

  /// The first and the last position; empty for an empty range.
  private static func ends(of range: Range<Int>) -> [Int] {
    range.isEmpty ? [] : [range.lowerBound, range.upperBound - 1]
  }
}

/// A fetch result handle as clients see it.
struct FetchResultJSON: Encodable {
  let id: String
  let count: Int
  let changeToken: String
  let leaseSeconds: Int64

  init(_ id: String, _ result: any LeasedFetchResult, _ queries: QueryService) {
    self.id = id
    count = result.count
    changeToken = queries.tokens.text(of: result.changeToken)
    leaseSeconds = queries.results.limits.lease.components.seconds
  }
}

/// The position of a member; null if the list does not contain it.
private struct IndexJSON: Encodable {
  let index: Int?

  private enum Key: String, CodingKey { case index }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(index, forKey: .index)
  }
}

/// A member of a fetch result over collections: the current collection, or a placeholder for a deleted one.
private struct CollectionMemberJSON: Encodable {
  private let identifier: LocalIdentifier
  private let collection: AssetCollection?
  private let tokens: TokenCodec

  init(_ identifier: LocalIdentifier, _ collection: AssetCollection?, _ tokens: TokenCodec) {
    self.identifier = identifier
    self.collection = collection
    self.tokens = tokens
  }

  func encode(to encoder: any Encoder) throws {
    if let collection { return try CollectionJSON(collection, tokens).encode(to: encoder) }
    try DeletedMemberJSON(identifier).encode(to: encoder)
  }
}

/// A member that no longer exists for the caller.
struct DeletedMemberJSON: Encodable {
  private let localIdentifier: String
  private let deleted = true

  init(_ identifier: LocalIdentifier) { localIdentifier = identifier.rawValue }
}

/// A member of a fetch result: the current asset, or a placeholder for a deleted one.
struct MemberJSON: Encodable {
  private let member: FetchResultMember
  private let queries: QueryService
  private let fields: AssetFields?

  init(_ member: FetchResultMember, _ queries: QueryService, _ fields: AssetFields?) {
    self.member = member
    self.queries = queries
    self.fields = fields
  }

  func encode(to encoder: any Encoder) throws {
    switch member {
    case .asset(let asset): try queries.json(asset, fields: fields).encode(to: encoder)
    case .deleted(let identifier): try DeletedMemberJSON(identifier).encode(to: encoder)
    }
  }
}
