import AssetLibrary
import HTTPCore
import ImageService
import PhotoModel

/// `GET /v1/fetchResults/{id}/changes`, and the same for the stream of changes.
struct FetchResultChangeRoute: Sendable {
  let fetching: Fetching
  private var results: FetchResults { fetching.results }

  init(fetching: Fetching) { self.fetching = fetching }

  /// - Parameter mayReadAll: see ``changes(of:mayReadAll:until:_:)``.
  func answer(
    _ id: String, _ request: HTTPRequest, mayReadAll: Bool, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> HTTPResponse? {
    try QueryReader(request.target).finish()
    guard let changes = try changes(of: id, mayReadAll: mayReadAll, until: end, principal) else { return nil }
    let body = JSONBody.encode(changes)
    return JSONAnswer(body, tag: EntityTag.strong(over: body), cacheControl: Fetching.cacheControl)
      .response(to: request.head)
  }

  /// What changed of a fetch result, and a handle for the list after that. The one that is asked about stays as it is.
  ///
  /// - Parameter mayReadAll: whether a long list may be read anew, which is for the queue of fetches; `nil` is given where it
  ///   would have to be. Most changes are told without that, in milliseconds.
  /// - Throws: 404, 429 where there is no room for another handle, 503 at the deadline.
  func changes(
    of id: String, mayReadAll: Bool, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> FetchResultChangesJSON? {
    guard let result = results.handles.value(id, owner: principal) else { throw .fetchResultNotFound }
    results.expire()
    // Room for it is taken where it is kept; most share the list that there is.
    let most = result.count + results.mostAssets
    let delta = try fetching.asking { library throws(AssetSourceError) in
      try library.changes(of: result, mayReadAll: mayReadAll, atMost: most, deadline: end, for: principal)
    }
    guard let delta else { return nil }
    do {
      let after = try results.keep(delta.after, after: result, named: id, owner: principal)
      return FetchResultChangesJSON(delta.details, FetchResultJSON(after.name, after.result, results.limits))
    } catch {
      throw Problem(error)
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
  let fetchResultAfterChanges: FetchResultJSON

  /// - Parameter details: `nil`: the list is to be read anew.
  init(_ details: FetchResultChangeDetails?, _ after: FetchResultJSON) {
    hasIncrementalChanges = details != nil
    removedIndexes = details?.removedIndexes ?? []
    insertedIndexes = details?.insertedIndexes ?? []
    changedIndexes = details?.changedIndexes ?? []
    moves = (details?.moves ?? []).map { Move(from: $0.from, to: $0.to) }
    fetchResultAfterChanges = after
  }

  /// Whether there is nothing to tell.
  var isEmpty: Bool {
    hasIncrementalChanges && removedIndexes.isEmpty && insertedIndexes.isEmpty && changedIndexes.isEmpty
      && moves.isEmpty
  }
}
