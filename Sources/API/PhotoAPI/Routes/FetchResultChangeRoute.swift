import HTTPCore
import LibraryCatalogue
import PhotoModel

/// `GET /v1/fetchResults/{id}/changes`, and the computation of deltas for streams of the same changes.
struct FetchResultChangeRoute: Sendable {
  let queries: QueryService
  private var results: FetchResultStore { queries.results }

  init(queries: QueryService) { self.queries = queries }

  /// Responds with the changes of a fetch result and a new handle for the list after them: on the lookup queue, or on
  /// the fetch queue if a long list must be read again. The given handle does not change.
  func answer(_ id: String, _ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    let end = queries.deadline
    try routed.run(on: queries.lookups) { () throws(Problem) in
      let answer = try self.answer(id, routed.request, mayReadAll: false, until: end, principal)
      if let answer { return routed.reply.send(answer) }
      try routed.respond(on: queries.fetches) { () throws(Problem) in
        guard let answer = try self.answer(id, routed.request, mayReadAll: true, until: end, principal) else {
          preconditionFailure("with mayReadAll, the list is always read")
        }
        return answer
      }
    }
  }

  /// - Parameter mayReadAll: see ``delta(of:mayReadAll:until:_:)``.
  /// - Throws: 404; 429 if there is no room for another handle; 503 at the deadline.
  private func answer(
    _ id: String, _ request: HTTPRequest, mayReadAll: Bool, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> HTTPResponse? {
    let result = try queries.anyFetchResult(id, principal)
    guard let delta = try delta(of: result, mayReadAll: mayReadAll, until: end, principal) else { return nil }
    let changes: FetchResultChangesJSON
    do {
      let after = try results.keep(delta.after, after: result, named: id, owner: principal)
      changes = FetchResultChangesJSON(delta.details, FetchResultJSON(after.name, after.result, queries))
    } catch {
      throw Problem(error)
    }
    return QueryService.response(JSONBody.encode(changes), to: request)
  }

  /// Computes the changes of a fetch result and the list after them. The new list is not stored here.
  ///
  /// - Parameter mayReadAll: whether a long list may be read again, which only the fetch queue should do. If false,
  ///   `nil` is returned when that would be needed. Most changes are found without it, in milliseconds.
  /// - Throws: 429 if there is no room for the list; 503 at the deadline.
  func delta(
    of result: any LeasedFetchResult, mayReadAll: Bool, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> ListDelta<any LeasedFetchResult>? {
    results.expire()
    // The memory is reserved when the list is stored; most deltas share the memory of the old list.
    let capacity =
      result is CollectionFetchResult
      ? results.collectionCapacity(for: principal) : results.assetCapacity(for: principal)
    let most = result.count + capacity
    return try queries.run { library throws(AssetSourceError) in
      switch result {
      case let result as FetchResult:
        try library.changes(of: result, mayReadAll: mayReadAll, atMost: most, deadline: end, for: principal)
          .map { ListDelta(details: $0.details, after: $0.after) }
      case let result as CollectionFetchResult:
        try library.changes(of: result, mayReadAll: mayReadAll, atMost: most, deadline: end, for: principal)
          .map { ListDelta(details: $0.details, after: $0.after) }
      default: preconditionFailure("a fetch result lists assets or collections")
      }
    }
  }
}

/// PHFetchResultChangeDetails.
struct FetchResultChangesJSON: Encodable {
  private struct Move: Encodable {
    let from: Int
    let to: Int
  }

  private let hasIncrementalChanges: Bool
  private let removedIndexes: [Int]
  private let insertedIndexes: [Int]
  private let changedIndexes: [Int]
  private let moves: [Move]
  private let fetchResultAfterChanges: FetchResultJSON

  /// - Parameter details: `nil`: the client must read the list again.
  init(_ details: FetchResultChangeDetails?, _ after: FetchResultJSON) {
    hasIncrementalChanges = details != nil
    removedIndexes = details?.removedIndexes ?? []
    insertedIndexes = details?.insertedIndexes ?? []
    changedIndexes = details?.changedIndexes ?? []
    moves = (details?.moves ?? []).map { Move(from: $0.from, to: $0.to) }
    fetchResultAfterChanges = after
  }
}
