import AssetLibrary
import HTTPCore
import ImageService
import Logging
import PhotoModel

/// `GET` and `POST /v1/changes`.
struct ChangeRoutes: Sendable {
  static let pageSizes = 1...10_000
  static let pageSize = 1000

  let catalogue: Catalogue
  let lists: ChangeListExecutor
  let fetchResultChanges: FetchResultChangeRoute
  /// Queue that reads long lists again.
  let fetches: WorkQueue
  let logger: Logger

  /// The changes since a change token.
  func history(_ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    var query = try QueryReader(request.target)
    let since = query.text("since")
    let limit = try query.number("limit", in: Self.pageSizes) ?? Self.pageSize
    let filter = try ChangeFilter(&query)
    try query.finish()
    guard let since else { throw QueryReader.invalid("since", "is missing; give the changeToken of a response") }
    let changes: LibraryChanges
    do throws(ChangeHistoryError) {
      changes = try catalogue.changes(since: since, filter, limit: limit, for: principal)
    } catch {
      throw problem(error, parameter: "since")
    }
    return HTTPResponse(
      .ok, [("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store")], body: ChangesJSON.encode(changes))
  }

  /// Executes a change list.
  func perform(_ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    let body = try ChangeListBody(request, lists.limits, for: principal)
    let outcome: ChangeOutcome
    do throws(ChangeListError) {
      outcome = try lists.perform(body.requests, for: principal)
    } catch {
      throw problem(error)
    }
    struct Payload: Encodable {
      let changeToken: String
      let created: [String: String]
    }
    let shape = Payload(
      changeToken: outcome.changeToken, created: outcome.created.mapValues(\.rawValue))
    return HTTPResponse(
      .ok, [("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store")], body: JSONBody.encode(shape))
  }

  /// Streams changes as they are made: those of the library since a token, or those of a fetch result.
  func stream(
    _ request: HTTPRequest, _ principal: Principal, _ streams: ChangeStreams, _ reply: Reply,
    isAdmitted: @escaping @Sendable () -> Bool
  ) throws(Problem) {
    var query = try QueryReader(request.target)
    let fetchResult = query.text("fetchResult")
    let since = query.text("since")
    let filter = try ChangeFilter(&query)
    try query.finish()
    let last = request.head.value(of: .lastEventID).flatMap { $0.isEmpty ? nil : $0 }
    let source: any ChangeStreamSource
    if let fetchResult {
      for other in ["since", "types", "collection"] where query.values[other] != nil {
        throw QueryReader.invalid(
          other, "can't be combined with fetchResult, whose own state is the start of the stream")
      }
      source = try FetchResultStream(
        fetchResult, lastEventID: last, fetchResultChanges, fetches, principal, isAdmitted: isAdmitted)
    } else {
      // The last event that the client received is newer than the token in its URL.
      let start = try start(last ?? since, filter, principal)
      source = HistoryStream(
        catalogue: catalogue, filter: filter, principal: principal, since: start, logger: logger,
        isAdmitted: isAdmitted)
    }
    if request.method == .head { return reply.send(HTTPResponse(.ok, ChangeStreams.fields)) }
    try streams.add(source, reply)
  }

  /// The start of a stream: the given token if it is valid, otherwise now.
  private func start(
    _ token: String?, _ filter: ChangeFilter, _ principal: Principal
  ) throws(Problem) -> String {
    let start: String
    do throws(AssetSourceError) {
      if let token { start = token } else { start = try catalogue.changeToken(for: principal) }
    } catch {
      throw problem(.source(error), parameter: "since")
    }
    do throws(ChangeHistoryError) {
      // Checks that the token and the collection exist.
      _ = try catalogue.changes(since: start, filter, limit: 1, for: principal)
    } catch {
      // An expired token is reported by an event: after a response other than 200, a client does not reconnect.
      if error != .expiredToken { throw problem(error, parameter: "since") }
    }
    return start
  }

  func problem(_ error: ChangeHistoryError, parameter: String) -> Problem {
    if case .source(let error) = error { log(error) }
    return Problem(error, parameter: parameter)
  }

  private func problem(_ error: ChangeListError) -> Problem {
    switch error.reason {
    case .source(let cause), .files(.catalogue(let cause)): log(cause)
    case .files(let cause): logger.warning("file change failed", metadata: ["error": "\(cause)"])
    default: break
    }
    return Problem(error)
  }

  private func log(_ error: AssetSourceError) {
    logger.error("catalogue failed", metadata: ["error": "\(error)"])
  }
}

extension ChangeFilter {
  init(_ query: inout QueryReader) throws(Problem) {
    self.init()
    if let text = query.text("types") {
      types = []
      for word in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let type = ObjectType(rawValue: String(word)) else {
          throw QueryReader.invalid("types", "must be a list of the words asset and collection")
        }
        types.insert(type)
      }
    }
    collection = try query.identifier("collection")
  }
}

/// Changes as clients see them.
enum ChangesJSON {
  private struct Payload: Encodable {
    struct Objects: Encodable {
      struct Asset: Encodable {
        let localIdentifier: String
        let assetContentChanged: Bool
      }
      struct Collection: Encodable {
        let localIdentifier: String
      }
      let inserted: [String]
      let deleted: [String]
      let assets: [Asset]?
      let collections: [Collection]?

      private enum Key: String, CodingKey { case inserted, updated, deleted }

      func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(inserted, forKey: .inserted)
        if let assets { try object.encode(assets, forKey: .updated) }
        if let collections { try object.encode(collections, forKey: .updated) }
        try object.encode(deleted, forKey: .deleted)
      }
    }
    let changeToken: String
    let assets: Objects
    let collections: Objects
    let more: Bool
  }

  static func encode(_ changes: LibraryChanges) -> [UInt8] {
    JSONBody.encode(
      Payload(
        changeToken: changes.changeToken,
        assets: Payload.Objects(
          inserted: changes.assets.inserted.map(\.rawValue), deleted: changes.assets.deleted.map(\.rawValue),
          assets: changes.assets.updated.map {
            .init(localIdentifier: $0.localIdentifier.rawValue, assetContentChanged: $0.isContentChanged)
          }, collections: nil),
        collections: Payload.Objects(
          inserted: changes.collections.inserted.map(\.rawValue),
          deleted: changes.collections.deleted.map(\.rawValue), assets: nil,
          collections: changes.collections.updated.map { .init(localIdentifier: $0.localIdentifier.rawValue) }),
        more: changes.hasMore))
  }
}
