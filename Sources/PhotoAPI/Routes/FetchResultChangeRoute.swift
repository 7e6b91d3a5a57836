import AssetLibrary
import HTTPCore
import ImageService
import PhotoModel

/// `GET /v1/fetchResults/{id}/changes`, and what a stream of the same needs.
struct FetchResultChangeRoute: Sendable {
  let fetching: Fetching
  private var results: FetchResults { fetching.results }

  init(fetching: Fetching) { self.fetching = fetching }

  /// What changed of a fetch result, and a handle for the list after that. The one that is asked about stays as it is.
  ///
  /// - Parameter mayReadAll: see ``delta(of:mayReadAll:until:_:)``.
  /// - Throws: 404, 429 where there is no room for another handle, 503 at the deadline.
  func answer(
    _ id: String, _ request: HTTPRequest, mayReadAll: Bool, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> HTTPResponse? {
    try QueryReader(request.target).finish()
    let result = try fetching.fetchResult(id, principal)
    guard let delta = try delta(of: result, mayReadAll: mayReadAll, until: end, principal) else { return nil }
    let changes: FetchResultChangesJSON
    do {
      let after = try results.keep(delta.after, after: result, named: id, owner: principal)
      changes = FetchResultChangesJSON(delta.details, FetchResultJSON(after.name, after.result, results.limits))
    } catch {
      throw Problem(error)
    }
    let body = JSONBody.encode(changes)
    return JSONAnswer(body, tag: EntityTag.strong(over: body), cacheControl: Fetching.cacheControl)
      .response(to: request.head)
  }

  /// What changed of a fetch result, and the list after that, which nobody keeps yet.
  ///
  /// - Parameter mayReadAll: whether a long list may be read anew, which is for the queue of fetches; `nil` is given where it
  ///   would have to be. Most changes are told without that, in milliseconds.
  /// - Throws: 429 where there is no room for the list, 503 at the deadline.
  func delta(
    of result: FetchResult, mayReadAll: Bool, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> FetchResultDelta? {
    results.expire()
    // Room for it is taken where it is kept; most share the list that there is.
    let most = result.count + results.mostAssets
    return try fetching.asking { library throws(AssetSourceError) in
      try library.changes(of: result, mayReadAll: mayReadAll, atMost: most, deadline: end, for: principal)
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

  /// - Parameter details: `nil`: the list is to be read anew.
  init(_ details: FetchResultChangeDetails?, _ after: FetchResultJSON) {
    hasIncrementalChanges = details != nil
    removedIndexes = details?.removedIndexes ?? []
    insertedIndexes = details?.insertedIndexes ?? []
    changedIndexes = details?.changedIndexes ?? []
    moves = (details?.moves ?? []).map { Move(from: $0.from, to: $0.to) }
    fetchResultAfterChanges = after
  }
}
