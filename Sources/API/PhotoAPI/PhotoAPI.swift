// The HTTP handler of the API. It checks and routes each HTTP request, calls the library or the image pipeline, and
// turns the result into an HTTP response.
//
//     preparedResponse -> ResponseCache
//     handle -> AccessPolicy (host, origin, authentication) -> Route -> AccessPolicy (authorization)
//            -> AuthorizationRoutes | HealthRoutes | MetricsRoute | AssetRoutes | CollectionRoutes | FetchResultRoutes
//             | MetadataRoute | ImageRoute | RequestRoutes | ChangeRoutes -> Reply
//
// Nothing here blocks a connection: work that queries the catalogue runs on the lookup queue or a longer one.

import AccessControl
import AssetLibrary
import HTTPCore
import HTTPServer
import ImageCodec
import ImageService
import Logging
import PhotoModel
import Telemetry

package struct PhotoAPI: HTTPHandler {
  /// The settings of the API.
  package struct Options: Sendable {
    /// Host names of the daemon that are accepted in addition to loopback names and IP addresses.
    package var allowedHosts: [String] = []
    /// Peers that are reverse proxies: their forwarding headers are trusted.
    package var proxies: PeerSet
    /// Origins whose pages may send read requests.
    package var corsOrigins: [String] = []
    /// Origins whose pages may send all requests, including writes.
    package var corsWriteOrigins: [String] = []
    /// Maximum number of byte ranges in one request. A request with more ranges gets the whole representation.
    package var maximumRanges = 16
    /// Accept requests without a credential from any peer, as long as no token was ever made.
    package var allowsAnonymous = false
    /// Let shared caches store images that are visible without a credential.
    package var allowsPublicCaching = false
    /// Limits for reading image files, here for reading metadata.
    package var codec: CodecLimits
    /// Maximum duration of one fetch.
    package var fetchDeadline: Duration
    /// Limits for uploads.
    package var uploads: UploadLimits

    package init(
      allowedHosts: [String], proxies: PeerSet, corsOrigins: [String], corsWriteOrigins: [String], maximumRanges: Int,
      allowsAnonymous: Bool, allowsPublicCaching: Bool, codec: CodecLimits, fetchDeadline: Duration,
      uploads: UploadLimits = UploadLimits()
    ) {
      self.allowedHosts = allowedHosts
      self.proxies = proxies
      self.corsOrigins = corsOrigins
      self.corsWriteOrigins = corsWriteOrigins
      self.maximumRanges = maximumRanges
      self.allowsAnonymous = allowsAnonymous
      self.allowsPublicCaching = allowsPublicCaching
      self.codec = codec
      self.fetchDeadline = fetchDeadline
      self.uploads = uploads
    }
  }

  private let accessPolicy: AccessPolicy
  private let library: any LibraryFetcher
  private let lookups: WorkQueue
  private let fetches: WorkQueue
  private let frameResponses: FrameResponses
  private let authorization: AuthorizationRoutes
  private let health: HealthRoutes
  private let metrics: MetricsRoute
  private let queries: QueryService
  private let assets: AssetRoutes
  private let collections: CollectionRoutes
  private let fetchResults: FetchResultRoutes
  private let fetchResultChanges: FetchResultChangeRoute
  private let metadata: MetadataRoute
  private let image: ImageRoute
  private let requests: RequestRoutes
  private let batch: BatchRoute
  private let caching: CachingRoutes
  private let changeServices: ChangeServices
  private let changes: ChangeRoutes
  private let uploads: UploadRoute
  private let trash: TrashRoute

  /// - Parameters:
  ///   - access: tokens, sessions and signed URLs.
  ///   - originals: opens the files that metadata is read from.
  ///   - lookups: queue for catalogue lookups and for reading metadata.
  ///   - fetches: queue for work that may scan every asset, so that lookups do not wait for it.
  ///   - batches: queue for responses with many images. It needs no length limit, because the number of connections is
  ///     limited.
  ///   - frameResponses: prepared responses. The frame cache reports evicted frames to it.
  ///   - metrics: the metrics that `/metrics` returns.
  ///   - scrapes: queue that builds the `/metrics` response.
  ///   - files: stores uploaded files.
  ///   - uploads: queue that writes uploaded files.
  package init(
    library: any LibraryFetcher, changeServices: ChangeServices, access: AccessRegistry, results: FetchResultStore,
    originals: OriginalStore,
    images: ImageManager, caching managers: CachingManagerRegistry, lookups: WorkQueue, fetches: WorkQueue,
    batches: WorkQueue, frameResponses: FrameResponses,
    metrics: MetricsRegistry, scrapes: WorkQueue, files: LibraryFiles, uploads: WorkQueue, options: Options,
    logger: Logger
  ) {
    accessPolicy = AccessPolicy(
      allowedHosts: options.allowedHosts, proxies: options.proxies,
      cors: CORSPolicy(reading: options.corsOrigins, writing: options.corsWriteOrigins),
      access: access, failedAttempts: FailedAttemptThrottle(capacity: access.limits.throttledPeers, logger: logger))
    self.library = library
    self.lookups = lookups
    self.fetches = fetches
    self.frameResponses = frameResponses
    health = HealthRoutes(library: library, logger: logger)
    self.metrics = MetricsRoute(registry: metrics, queue: scrapes, allowsAnonymous: options.allowsAnonymous)
    queries = QueryService(library: library, results: results, timeLimit: options.fetchDeadline, logger: logger)
    authorization = AuthorizationRoutes(access: access, accessPolicy: accessPolicy, queries: queries)
    assets = AssetRoutes(queries: queries)
    collections = CollectionRoutes(queries: queries)
    fetchResults = FetchResultRoutes(queries: queries)
    fetchResultChanges = FetchResultChangeRoute(queries: queries)
    metadata = MetadataRoute(library: library, originals: originals, limits: options.codec, logger: logger)
    image = ImageRoute(
      library: library, images: images, responseCache: frameResponses.cache, cors: accessPolicy.cors,
      allowsPublicCaching: options.allowsPublicCaching, maximumRanges: options.maximumRanges, logger: logger)
    requests = RequestRoutes(images: images)
    batch = BatchRoute(library: library, images: images, queue: batches, logger: logger)
    caching = CachingRoutes(managers: managers, queries: queries)
    self.changeServices = changeServices
    changes = ChangeRoutes(
      catalogue: changeServices.catalogue, lists: changeServices.lists, fetchResultChanges: fetchResultChanges,
      fetches: fetches,
      logger: logger)
    trash = TrashRoute(files: files, queries: queries)
    self.uploads = UploadRoute(files: files, limits: options.uploads, queue: uploads, logger: logger)
  }

  package func preparedResponse(to request: borrowing HTTPRequest, from peer: Peer) -> PreparedResponse? {
    guard let access = accessPolicy.accessClass(request.head) else { return nil }
    return frameResponses.cache.answer(
      to: request.head, access: access, variesByOrigin: accessPolicy.cors.isConfigured,
      generation: library.generation)
  }

  package func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
    let reply = Reply(
      responder: responder, commonFields: accessPolicy.cors.fields(for: request.head) + accessPolicy.varyFields)
    let target = request.target
    do throws(Problem) {
      let route = Route(target.segments)
      let reach = try accessPolicy.checkHostAndOrigin(request.head, target, route, from: peer)
      // `OPTIONS *` is about the server as a whole (RFC 9110 §9.3.7).
      if target.isAsterisk { return reply.send(HTTPResponse(204, [("Allow", "GET, HEAD, OPTIONS")])) }
      let identity = accessPolicy.authenticate(request.head, target, route, from: peer)
      guard let route else {
        _ = try accessPolicy.authorize(request.head, identity, .authenticated, from: peer)
        throw Problem(404, "not-found", "No such resource", detail: "GET /openapi.json lists all resources.")
      }
      guard route.methods.contains(request.method) else {
        throw Problem(
          405, "method-not-allowed", "Method not allowed", detail: "This resource supports \(route.allow).",
          fields: ["Allow": route.allow])
      }
      if request.method == .options {
        let commonFields = accessPolicy.cors.fields(forOptions: request.head, on: route) + accessPolicy.varyFields
        return Reply(responder: responder, commonFields: commonFields).send(HTTPResponse(204, [("Allow", route.allow)]))
      }
      try answer(route, request, target, identity, reach, peer, reply)
    } catch {
      reply.send(error.response)
    }
  }

  /// Whether the body is streamed: for uploads, and for requests that can be rejected by their head.
  package func streamsBody(_ head: RequestHead, from peer: Peer) -> Bool {
    if UploadRoute.streamsBody(head) { return true }
    let target = head.parsedTarget
    do throws(Problem) {
      try accessPolicy.checkHostAndOrigin(head, target, Route(target.segments), from: peer)
      return false
    } catch {
      return true
    }
  }

  /// Handles an upload, or a request that is rejected by its head. A rejection is sent before the body is requested.
  package func handle(_ head: RequestHead, _ body: StreamedBody, from peer: Peer, _ responder: Responder) {
    let reply = Reply(responder: responder, commonFields: accessPolicy.cors.fields(for: head) + accessPolicy.varyFields)
    let target = head.parsedTarget
    do throws(Problem) {
      try accessPolicy.checkHostAndOrigin(head, target, Route(target.segments), from: peer)
      precondition(UploadRoute.streamsBody(head), "every other body that comes in pieces is refused by its head")
      let identity = accessPolicy.authenticate(head, target, .assets, from: peer)
      let caller = try accessPolicy.authorize(head, identity, Route.assets.requirement(head.method), from: peer)
      guard let caller else { throw .unauthorized }
      try uploads.receive(head, target, body, caller.principal, reply)
    } catch {
      reply.send(error.response)
    }
  }

  package func response(to error: ParseError) -> HTTPResponse { serverResponse(Problem(error)) }

  package func unansweredResponse() -> HTTPResponse {
    serverResponse(
      Problem(
        500, "internal-error", "Internal error",
        detail: "The daemon did not produce a response. This is a bug in photod."))
  }

  package func overloadedResponse() -> HTTPResponse {
    serverResponse(
      Problem(
        503, "overloaded", "Too many responses are pending",
        detail: "Other clients read their responses too slowly, and their buffers are full. Retry after a moment.",
        fields: ["Retry-After": "1"]))
  }

  /// A response that does not belong to a routed request, so it carries no CORS fields of its origin.
  private func serverResponse(_ problem: Problem) -> HTTPResponse {
    var response = problem.response
    response.head.fields.append(("Cross-Origin-Resource-Policy", "same-origin"))
    return response
  }

  /// Handles the routes that need no caller, and dispatches all other routes after authorization.
  private func answer(
    _ route: Route, _ request: HTTPRequest, _ target: RequestTarget, _ identity: AuthenticationResult,
    _ reach: CORSPolicy.Reach,
    _ peer: Peer, _ reply: Reply
  ) throws(Problem) {
    var caller = try accessPolicy.authorize(request.head, identity, route.requirement(request.method), from: peer)
    // A page with read-only reach may delete its caller's own resources, but not those of other callers.
    if reach == .reading, request.method == .delete { caller = caller?.without(.admin) }
    switch route {
    case .health: return reply.send(try health.health(request))
    case .readiness:
      // Only callers that may read or administer see the number of assets.
      let isCounting = caller.map { $0.principal.may(.read) || $0.principal.may(.admin) } ?? false
      let reader = isCounting ? caller?.principal : nil
      return try respond(reply) { () throws(Problem) in try health.readiness(request, reader) }
    case .authorization: return reply.send(try authorization.authorization(request, identity))
    case .session:
      return reply.send(
        request.method == .delete
          ? try authorization.signOut(request, from: peer) : try authorization.signIn(request, from: peer))
    default: break
    }
    guard let caller else { throw .unauthorized }
    guard let condition = caller.condition else { return try dispatch(route, request, target, caller, peer, reply) }
    // The issuer of this signed URL sees only some collections, and may have lost access to this one since signing.
    try runOnQueue(reply) { () throws(Problem) in
      let collection = try queries.run { library throws(AssetSourceError) in
        try library.collection(condition.collection, CollectionQuery(), for: condition.issuer)
      }
      guard collection != nil else { throw Problem(.revoked, .signature) }
      try dispatch(route, request, target, caller, peer, reply)
    }
  }

  private func dispatch(
    _ route: Route, _ request: HTTPRequest, _ target: RequestTarget, _ caller: Caller, _ peer: Peer, _ reply: Reply
  ) throws(Problem) {
    let principal = caller.principal
    switch route {
    case .health, .readiness, .authorization, .session: preconditionFailure("handled before dispatch")
    case .signedURLs: try respond(reply) { () throws(Problem) in try authorization.sign(request, caller) }
    case .openAPI: reply.send(try health.openAPI(request))
    case .metrics: try metrics.answer(request, principal, reply)
    case .assets where request.method == .post:
      throw Problem(
        400, "malformed-request", "Bad Request",
        detail: "The request has no body. Send the image itself as the body.")
    case .assets: try list(in: nil, request, principal, reply)
    case .collectionAssets(let identifier): try list(in: LocalIdentifier(identifier), request, principal, reply)
    case .collections: try listCollections(in: nil, request, principal, reply)
    case .collection(let identifier):
      try respond(reply) { () throws(Problem) in try collections.get(LocalIdentifier(identifier), request, principal) }
    case .collectionChildren(let identifier):
      try listCollections(in: LocalIdentifier(identifier), request, principal, reply)
    case .transientCollections:
      let end = queries.deadline
      try respond(reply, on: fetches) { () throws(Problem) in
        try collections.createTransient(request, until: end, principal)
      }
    case .fetchResults:
      let end = queries.deadline
      try respond(reply, on: fetches) { () throws(Problem) in
        try fetchResults.create(request, until: end, principal)
      }
    case .fetchResult(let id):
      try respond(reply) { () throws(Problem) in
        request.method == .delete
          ? try fetchResults.delete(id, request, principal) : try fetchResults.get(id, request, principal)
      }
    case .fetchResultAssets(let id):
      try respond(reply) { () throws(Problem) in try fetchResults.assets(id, request, principal) }
    case .fetchResultChanges(let id): try respondWithChanges(of: id, request, principal, reply)
    case .asset(let identifier):
      try respond(reply) { () throws(Problem) in try assets.get(LocalIdentifier(identifier), request, principal) }
    case .metadata(let identifier):
      try respond(reply) { () throws(Problem) in try metadata.answer(LocalIdentifier(identifier), request, principal) }
    case .changes:
      guard request.method == .post else {
        return try respond(reply) { () throws(Problem) in try changes.history(request, principal) }
      }
      try respond(reply, on: changeServices.queue) { () throws(Problem) in try changes.perform(request, principal) }
    case .changeStream:
      try runOnQueue(reply) { () throws(Problem) in
        try changes.stream(request, principal, changeServices.streams, reply) { [accessPolicy] in
          // The credential may have been revoked since the stream began.
          guard case .caller(let now) = accessPolicy.authenticate(request.head, target, .changeStream, from: peer)
          else {
            return false
          }
          return now.principal == principal
        }
      }
    case .trash: try respond(reply) { () throws(Problem) in try trash.list(request, principal) }
    case .requests: reply.send(try requests.list(request, principal))
    case .request(let requestID):
      reply.send(
        request.method == .delete
          ? try requests.cancel(requestID, request, principal) : try requests.get(requestID, request, principal))
    case .images:
      try runOnQueue(reply) { () throws(Problem) in try batch.answer(request, principal, reply) }
    case .cachingManagers:
      try respond(reply) { () throws(Problem) in
        request.method == .post ? try caching.create(request, principal) : try caching.list(request, principal)
      }
    case .cachingManager(let id):
      try respond(reply) { () throws(Problem) in
        request.method == .delete
          ? try caching.delete(id, request, principal) : try caching.get(id, request, principal)
      }
    case .startCaching(let id):
      try respond(reply) { () throws(Problem) in try caching.start(id, request, principal) }
    case .stopCaching(let id):
      try respond(reply) { () throws(Problem) in try caching.stop(id, request, principal) }
    case .stopCachingAllImages(let id):
      try respond(reply) { () throws(Problem) in try caching.stopAll(id, request, principal) }
    case .window(let id): try moveWindow(id, request, principal, reply)
    case .image(let identifier):
      // Reject a malformed query before any lookup.
      let query = try ImageQuery(target)
      try runOnQueue(reply) { () throws(Problem) in
        try image.answer(LocalIdentifier(identifier), query, request, caller, reply)
      }
    }
  }

  /// Lists assets: on the lookup queue, or on the fetch queue if the query may scan every asset.
  private func list(
    in collection: LocalIdentifier?, _ request: HTTPRequest, _ principal: Principal, _ reply: Reply
  ) throws(Problem) {
    let query = try AssetListQuery(request.target, until: queries.deadline, for: principal)
    guard let collection else {
      return try respond(reply, on: query.needsFullScan ? fetches : nil) { () throws(Problem) in
        try assets.list(query, request, principal)
      }
    }
    // Whether this needs a full scan is known only after the collection has been looked up.
    try runOnQueue(reply) { () throws(Problem) in
      var query = query
      query.fetch.scope = try queries.scope(of: collection, principal)
      guard query.needsFullScan else { return reply.send(try assets.list(query, request, principal)) }
      let scoped = query
      try respond(reply, on: fetches) { () throws(Problem) in try assets.list(scoped, request, principal) }
    }
  }

  /// Moves a window. Its asset list is known already, or must be fetched, which may scan every asset.
  private func moveWindow(
    _ id: String, _ request: HTTPRequest, _ principal: Principal, _ reply: Reply
  ) throws(Problem) {
    try runOnQueue(reply) { () throws(Problem) in
      let window = try caching.window(id, request, principal)
      guard window.needsFullScan else { return reply.send(try caching.move(window, principal)) }
      try respond(reply, on: fetches) { () throws(Problem) in try caching.move(window, principal) }
    }
  }

  private func respondWithChanges(
    of id: String, _ request: HTTPRequest, _ principal: Principal, _ reply: Reply
  ) throws(Problem) {
    let end = queries.deadline
    try runOnQueue(reply) { () throws(Problem) in
      let answer = try fetchResultChanges.answer(id, request, mayReadAll: false, until: end, principal)
      if let answer { return reply.send(answer) }
      try runOnQueue(reply, fetches) { () throws(Problem) in
        let answer = try fetchResultChanges.answer(id, request, mayReadAll: true, until: end, principal)
        guard let answer else { preconditionFailure("with mayReadAll, the list is always read") }
        reply.send(answer)
      }
    }
  }

  private func listCollections(
    in parent: LocalIdentifier?, _ request: HTTPRequest, _ principal: Principal, _ reply: Reply
  ) throws(Problem) {
    let query = try CollectionListQuery(request.target, in: parent, for: principal)
    let end = queries.deadline
    try respond(reply, on: query.fetch.needsFullScan ? fetches : nil) { () throws(Problem) in
      try collections.list(query, until: end, request, principal)
    }
  }

  /// Runs `answer` on a queue (by default the lookup queue) and sends its response.
  private func respond(
    _ reply: Reply, on queue: WorkQueue? = nil, _ answer: @escaping @Sendable () throws(Problem) -> HTTPResponse
  ) throws(Problem) {
    try runOnQueue(reply, queue) { () throws(Problem) in reply.send(try answer()) }
  }

  private func runOnQueue(
    _ reply: Reply, _ queue: WorkQueue? = nil, _ work: @escaping @Sendable () throws(Problem) -> Void
  ) throws(Problem) {
    let isAccepted = (queue ?? lookups).submit {
      do throws(Problem) { try work() } catch { reply.send(error.response) }
    }
    if !isAccepted { throw Problem(ImageServiceError.queueFull) }
  }
}

/// The services that change the library and report its changes.
package struct ChangeServices: Sendable {
  let catalogue: Catalogue
  let lists: ChangeListExecutor
  let streams: ChangeStreams
  /// Serial queue that executes change lists.
  let queue: WorkQueue

  package init(catalogue: Catalogue, lists: ChangeListExecutor, streams: ChangeStreams, queue: WorkQueue) {
    self.catalogue = catalogue
    self.lists = lists
    self.streams = streams
    self.queue = queue
  }
}

/// Responses prepared from cached frames. Created before the frame cache, which reports evicted frames to it.
package struct FrameResponses: Sendable {
  let cache: ResponseCache

  /// - Parameter capacity: maximum number of cached responses. Each takes up to 3 KB in addition to its frame.
  package init(capacity: Int) { cache = ResponseCache(capacity: capacity) }

  package func framesWereEvicted(_ frames: [CachedFrame]) { cache.framesWereEvicted(frames) }
}
