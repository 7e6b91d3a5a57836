import HTTPCore
import ImageService
import LibraryCatalogue
import Logging
import PhotoModel

/// `GET` and `POST /v1/changes`, and `GET /v1/changes/stream`.
struct ChangeRoutes: Sendable {
  static let pageSizes = 1...10_000
  static let pageSize = 1000

  private let catalogue: Catalogue
  private let lists: ChangeListExecutor
  private let streams: ChangeStreams
  private let fetchResultChanges: FetchResultChangeRoute
  private let queries: QueryService
  private let accessPolicy: AccessPolicy
  private let onAssetsAdded: @Sendable () -> Void
  private let onPicturesEdited: @Sendable () -> Void
  private let logger: Logger

  /// - Parameters:
  ///   - onAssetsAdded: called after a commit that has added assets.
  ///   - onPicturesEdited: called after a commit that may have edited pictures.
  init(
    services: ChangeServices, fetchResultChanges: FetchResultChangeRoute, queries: QueryService,
    accessPolicy: AccessPolicy, onAssetsAdded: @escaping @Sendable () -> Void,
    onPicturesEdited: @escaping @Sendable () -> Void, logger: Logger
  ) {
    self.onAssetsAdded = onAssetsAdded
    self.onPicturesEdited = onPicturesEdited
    catalogue = services.catalogue
    lists = services.lists
    streams = services.streams
    self.fetchResultChanges = fetchResultChanges
    self.queries = queries
    self.accessPolicy = accessPolicy
    self.logger = logger
  }

  /// The changes since a change token.
  func history(_ routed: RoutedRequest) throws(Problem) -> HTTPResponse {
    let principal = try routed.principal
    var query = try QueryReader(routed.target)
    let since = query.text("since")
    let limit = try query.number("limit", in: Self.pageSizes) ?? Self.pageSize
    let filter = try ChangeFilter(&query)
    try query.finish()
    guard let since else { throw QueryReader.invalid("since", "is missing; give the changeToken of a response") }
    let start = try changeToken(since)
    let changes: LibraryChanges
    do throws(ChangeHistoryError) {
      changes = try catalogue.changes(since: start, filter, limit: limit, for: principal)
    } catch {
      throw problem(error, parameter: "since")
    }
    let body = ChangesJSON.encode(changes, queries.tokens)
    return JSONResponse(body, tag: EntityTag.strong(over: body), cacheControl: QueryService.cacheControl)
      .response(to: routed.request.head)
  }

  /// Executes a change list.
  func perform(_ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    let body = try ChangeListBody(request, lists.limits, queries.tokens, for: principal)
    // A list has no tag, so only `*` matches.
    if let field = request.head.value(of: .ifMatch), !EntityTagList.matches(nil, in: field, weakly: false) {
      throw .changeListHasNoTag
    }
    let outcome: ChangeOutcome
    do throws(ChangeListError) {
      outcome = try lists.perform(body.requests, for: principal)
    } catch {
      throw problem(error)
    }
    if body.requests.contains(where: \.addsPictures) { onAssetsAdded() }
    if body.requests.contains(where: \.editsPictures) { onPicturesEdited() }
    struct Payload: Encodable {
      let changeToken: String
      let created: [String: String]
    }
    return .json(
      Payload(
        changeToken: queries.tokens.text(of: outcome.changeToken), created: outcome.created.mapValues(\.rawValue)))
  }

  /// Executes a change list of one entry. A problem names the path parameter of an object that does not exist, and no
  /// entry.
  func perform(_ change: ChangeRequest, _ principal: Principal) throws(Problem) {
    do throws(ChangeListError) {
      _ = try lists.perform([change], for: principal)
    } catch {
      var problem = problem(error)
      problem.index = nil
      problem.parameter =
        switch error.reason {
        case .noSuchAsset: "localIdentifier"
        case .noSuchCollection: "collection"
        default: nil
        }
      throw problem
    }
    if change.editsPictures { onPicturesEdited() }
  }

  /// Streams changes as they are made: those of the library since a token, or those of a fetch result.
  func stream(_ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    let (head, target, route, peer) = (routed.request.head, routed.target, routed.route, routed.peer)
    try routed.run(on: queries.lookups) { () throws(Problem) in
      try stream(routed, principal) { [accessPolicy] in
        // The credential may have ended since the stream began.
        guard case .caller(let caller) = accessPolicy.authenticate(head, target, route, from: peer) else {
          return false
        }
        return caller.principal == principal
      }
    }
  }

  private func stream(
    _ routed: RoutedRequest, _ principal: Principal, isAdmitted: @escaping @Sendable () -> Bool
  ) throws(Problem) {
    let (request, reply) = (routed.request, routed.reply)
    var query = try QueryReader(routed.target)
    let fetchResult = query.text("fetchResult")
    let since = query.text("since")
    let filter = try ChangeFilter(&query)
    try query.finish()
    let last = request.head.value(of: .lastEventID).flatMap { $0.isEmpty ? nil : $0 }
    let source: any ChangeStreamSource
    if let fetchResult {
      for other in ["since", "types", "collection", "asset"] where query.values[other] != nil {
        throw QueryReader.invalid(
          other, "can't be combined with fetchResult, whose own state is the start of the stream")
      }
      source = try FetchResultStream(fetchResult, lastEventID: last, fetchResultChanges, principal)
    } else {
      let start = try start(since, lastEventID: last, filter, principal)
      source = HistoryStream(
        catalogue: catalogue, filter: filter, principal: principal, since: start, queries: queries)
    }
    if request.method == .head { return reply.send(HTTPResponse(.ok, ChangeStreams.fields)) }
    try streams.add(source, for: principal.name, isAdmitted: isAdmitted, reply)
  }

  /// The start of a stream: the last event that the client received, which is newer than the token in its URL; without
  /// both, the current state. `nil` if the last event is unknown, because the catalogue was created again: a client
  /// that got 400 would not reconnect.
  private func start(
    _ since: String?, lastEventID last: String?, _ filter: ChangeFilter, _ principal: Principal
  ) throws(Problem) -> ChangeToken? {
    if let last {
      if let token = queries.tokens.changeToken(of: last), try isReached(token, filter, principal) { return token }
      // The collection of the filter must exist here, too.
      _ = try isReached(try currentToken(for: principal), filter, principal)
      return nil
    }
    let start: ChangeToken
    if let since { start = try changeToken(since) } else { start = try currentToken(for: principal) }
    guard try isReached(start, filter, principal) else { throw problem(.malformedToken, parameter: "since") }
    return start
  }

  private func currentToken(for principal: Principal) throws(Problem) -> ChangeToken {
    do throws(AssetSourceError) {
      return try catalogue.changeToken(for: principal)
    } catch {
      throw problem(.source(error), parameter: "since")
    }
  }

  /// Whether the library has reached the token's state.
  ///
  /// - Throws: 404 if the collection or the asset of the filter does not exist.
  private func isReached(
    _ token: ChangeToken, _ filter: ChangeFilter, _ principal: Principal
  ) throws(Problem) -> Bool {
    do throws(ChangeHistoryError) {
      _ = try catalogue.changes(since: token, filter, limit: 1, for: principal)
      return true
    } catch {
      switch error {
      // Reported by an event.
      case .expiredToken: return true
      case .malformedToken: return false
      case .noSuchCollection, .noSuchAsset, .source: throw problem(error, parameter: "since")
      }
    }
  }

  /// Throws 400 for text that is not a token of this library.
  private func changeToken(_ text: String) throws(Problem) -> ChangeToken {
    guard let token = queries.tokens.changeToken(of: text) else {
      throw problem(.malformedToken, parameter: "since")
    }
    return token
  }

  private func problem(_ error: ChangeHistoryError, parameter: String) -> Problem {
    if case .source(let error) = error { queries.log(error) }
    return Problem(error, parameter: parameter)
  }

  private func problem(_ error: ChangeListError) -> Problem {
    switch error.reason {
    case .source(let cause), .files(.catalogue(let cause)): queries.log(cause)
    case .files(let cause): logger.warning("file change failed", metadata: ["error": "\(cause)"])
    default: break
    }
    return Problem(error)
  }
}
