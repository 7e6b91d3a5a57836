import HTTPCore
import ImageService
import PhotoModel

/// `GET /v1/requests`, and `GET` and `DELETE /v1/requests/{requestID}`: image requests that are under way, and for a minute
/// what became of those that are over.
struct RequestRoutes: Sendable {
  let images: ImageManager

  func list(_ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    struct Shape: Encodable {
      let requests: [RequestJSON]
    }
    let owner = principal.seesEverybodys ? nil : principal.name
    return answer(Shape(requests: images.activeRequests(owner: owner).map(RequestJSON.init)))
  }

  func one(_ requestID: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    guard let state = images.request(requestID, owner: principal.name, orAnybodys: principal.seesEverybodys) else {
      throw .requestNotFound
    }
    return answer(RequestJSON(state))
  }

  func cancel(_ requestID: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    guard images.cancelRequest(requestID, owner: principal.name, orAnybodys: principal.seesEverybodys) else {
      throw .requestNotFound
    }
    return HTTPResponse(204, [("Cache-Control", "no-store")])
  }

  private func answer(_ shape: some Encodable) -> HTTPResponse {
    HTTPResponse(
      .ok, [("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store")], body: JSONBody.encode(shape))
  }
}

extension Principal {
  /// Whether others' requests are shown to it. They tell of assets, so it takes more than the scope.
  var seesEverybodys: Bool { may(.admin) && visibility == .everything }
}

/// A request as `GET /v1/requests` shows it.
private struct RequestJSON: Encodable {
  struct Frame: Encodable {
    let degraded: Bool
    let incomplete: Bool
    let width: Int
    let height: Int
    let source: String

    init(_ result: ImageResult) {
      degraded = result.isDegraded
      incomplete = result.isIncomplete
      width = result.size.width
      height = result.size.height
      source = result.source.rawValue
    }
  }

  let requestID: String
  let asset: String
  let parameters: [String: String]
  /// `looking`, `waiting` or `rendering`; then `finished`, `cancelled` or `failed`.
  let stage: String
  let priority: String
  /// Seconds, from when it was asked until now or until it was over.
  let age: Double
  /// What was delivered so far.
  let frames: [Frame]
  /// Why it failed.
  let problem: ProblemJSON?

  init(_ state: RequestState) {
    requestID = state.requestID
    asset = state.asset.rawValue
    parameters = state.parameters
    priority = "\(state.priority)"
    age = Double(state.age / .milliseconds(1)) / 1000
    frames = state.frames.map(Frame.init)
    switch state.phase {
    // Between two stages it is answered already.
    case .active: (stage, problem) = (state.stage?.rawValue ?? "finishing", nil)
    case .finished: (stage, problem) = ("finished", nil)
    case .cancelled: (stage, problem) = ("cancelled", nil)
    case .failed(let error): (stage, problem) = ("failed", ProblemJSON(Problem(error)))
    }
  }
}
