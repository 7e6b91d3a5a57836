import HTTPCore
import ImageService
import PhotoModel
import Primitives

/// `GET /v1/requests`, and `GET` and `DELETE /v1/requests/{requestID}`: active image requests, and for one minute the
/// results of ended ones.
struct RequestRoutes: Sendable {
  let images: ImageManager

  func list(_ principal: Principal) -> HTTPResponse {
    struct Payload: Encodable {
      let requests: [RequestJSON]
    }
    let owner = principal.seesAllOwners ? nil : principal.name
    return .json(Payload(requests: images.activeRequests(owner: owner).map(RequestJSON.init)))
  }

  func get(_ requestID: String, _ principal: Principal) throws(Problem) -> HTTPResponse {
    guard let state = images.request(requestID, owner: principal.name, includingOtherOwners: principal.seesAllOwners)
    else {
      throw .requestNotFound
    }
    return .json(RequestJSON(state))
  }

  func cancel(_ requestID: String, _ principal: Principal) throws(Problem) -> HTTPResponse {
    let seesAllOwners = principal.seesAllOwners
    guard images.cancelRequest(requestID, owner: principal.name, includingOtherOwners: seesAllOwners) else {
      let ended = images.request(requestID, owner: principal.name, includingOtherOwners: seesAllOwners)
      throw ended == nil ? Problem.requestNotFound : Problem.requestEnded
    }
    return HTTPResponse(204, [("Cache-Control", "no-store")])
  }
}

/// The stage of a request in `GET /v1/requests`.
package enum RequestStage: String, Encodable, CaseIterable {
  case opening, downloading, queued, rendering
  /// Active, but in none of the stages above.
  case finishing
  case finished, cancelled, failed

  fileprivate init(_ state: RequestState) {
    switch state.phase {
    case .active:
      switch state.stage {
      // The contract does not say where derivatives are.
      case .opening, .awaitingDerivatives: self = .opening
      case .downloading: self = .downloading
      case .queued: self = .queued
      case .rendering: self = .rendering
      case nil: self = .finishing
      }
    case .finished: self = .finished
    case .cancelled: self = .cancelled
    case .failed: self = .failed
    }
  }
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
  let stage: RequestStage
  let priority: String
  /// Seconds from the start of the request until now, or until its end.
  let age: Double
  /// The share of the original that has been received, 0 to 1, while it is downloaded.
  let progress: Double?
  /// The frames delivered so far.
  let frames: [Frame]
  /// The cause of a failure.
  let problem: ProblemJSON?

  init(_ state: RequestState) {
    requestID = state.requestID
    asset = state.asset.rawValue
    parameters = state.parameters
    priority = "\(state.priority)"
    age = state.age.seconds
    frames = state.frames.map(Frame.init)
    progress = state.downloadProgress.map { ($0 * 1000).rounded(.down) / 1000 }
    stage = RequestStage(state)
    if case .failed(let error) = state.phase { problem = ProblemJSON(Problem(error)) } else { problem = nil }
  }
}
