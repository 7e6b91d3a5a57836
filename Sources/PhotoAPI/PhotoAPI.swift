// Where the two wings meet: a request of HTTP becomes a question in PhotoKit's words, its answer a response.
//
//     handle -> Gatekeeper (host, principal) -> Route -> HealthRoutes | AssetRoutes | ImageRoute -> Responder
//
// Nothing here blocks a connection: whatever asks the catalogue runs on the lookup queue.

import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel

package struct PhotoAPI: HTTPHandler {
  /// What every answer says: no page of another origin has a use for it.
  package static let commonFields = [(name: "Cross-Origin-Resource-Policy", value: "same-origin")]

  private let gatekeeper: Gatekeeper
  private let lookups: WorkQueue
  private let health: HealthRoutes
  private let assets: AssetRoutes
  private let image: ImageRoute

  /// - Parameters:
  ///   - lookups: where questions to the catalogue run.
  ///   - isBehindProxy: loopback peers are a proxy's, and not trusted.
  ///   - allowedHosts: names that the daemon goes by, beside loopback names and addresses.
  package init(
    library: any AssetSource, images: ImageManager, lookups: WorkQueue, allowedHosts: [String], isBehindProxy: Bool,
    logger: Logger
  ) {
    gatekeeper = Gatekeeper(allowedHosts: allowedHosts, isBehindProxy: isBehindProxy)
    self.lookups = lookups
    health = HealthRoutes(library: library, logger: logger)
    assets = AssetRoutes(library: library, logger: logger)
    image = ImageRoute(library: library, images: images, logger: logger)
  }

  package func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
    do throws(Problem) {
      guard gatekeeper.admits(request.target) else {
        throw Problem(
          421, "host-not-allowed", "Not a host of this daemon",
          detail: "Ask for it as localhost, by address, or by a name that is listed in allowedHosts.")
      }
      let principal = gatekeeper.principal(request, from: peer)
      guard let route = Route(request.target.segments) else {
        throw Problem(404, "not-found", "No such resource", detail: "GET /openapi.json lists the resources there are.")
      }
      guard route.methods.contains(request.method) else {
        let names = route.methods.map(\.name).joined(separator: ", ")
        throw Problem(
          405, "method-not-allowed", "Method not allowed", detail: "This resource knows \(names).",
          fields: ["Allow": names])
      }
      try dispatch(route, request, principal, responder)
    } catch {
      responder.send(error.response)
    }
  }

  package func response(to error: ParseError) -> HTTPResponse { Problem(error).response }

  package func responseToAbandonment() -> HTTPResponse {
    Problem(500, "internal-error", "Internal error", detail: "The daemon did not answer; that is a bug of its own.")
      .response
  }

  private func dispatch(
    _ route: Route, _ request: HTTPRequest, _ principal: Principal, _ responder: Responder
  ) throws(Problem) {
    switch route {
    case .health: responder.send(try health.health(request))
    case .openAPI: responder.send(try health.openAPI(request))
    case .readiness: try lookUp(responder) { () throws(Problem) in try health.readiness(request) }
    case .assets:
      try lookUp(responder) { () throws(Problem) in try assets.list(request, principal) }
    case .asset(let identifier):
      try lookUp(responder) { () throws(Problem) in try assets.one(LocalIdentifier(identifier), request, principal) }
    case .image(let identifier):
      // What is wrong with the query alone is said before anything is looked up.
      let query = try ImageQuery(request.target)
      try onLookupQueue(responder) { () throws(Problem) in
        try image.answer(LocalIdentifier(identifier), query, request, principal, responder)
      }
    }
  }

  /// Answers with what a look-up gives.
  private func lookUp(
    _ responder: Responder, _ answer: @escaping @Sendable () throws(Problem) -> HTTPResponse
  ) throws(Problem) {
    try onLookupQueue(responder) { () throws(Problem) in responder.send(try answer()) }
  }

  private func onLookupQueue(
    _ responder: Responder, _ work: @escaping @Sendable () throws(Problem) -> Void
  ) throws(Problem) {
    let isAccepted = lookups.submit {
      do throws(Problem) { try work() } catch { responder.send(error.response) }
    }
    if !isAccepted { throw Problem(ImageServiceError.queueFull) }
  }
}
