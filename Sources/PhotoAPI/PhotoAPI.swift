// Where the two wings meet: a request of HTTP becomes a question in PhotoKit's words, its answer a response.
//
//     preparedAnswer -> AnswerCache
//     handle -> Gatekeeper (host, site, who asks) -> Route -> Gatekeeper (may they?)
//            -> AuthorizationRoutes | HealthRoutes | MetricsRoute | AssetRoutes | CollectionRoutes | FetchResultRoutes
//             | MetadataRoute | ImageRoute | RequestRoutes | ChangeRoutes -> Reply
//
// Nothing here blocks a connection: whatever asks the catalogue runs on the lookup queue.

import AccessControl
import AssetLibrary
import HTTPCore
import HTTPServer
import ImageCodec
import ImageService
import Logging
import OriginalStore
import PhotoModel
import Telemetry

package struct PhotoAPI: HTTPHandler {
  /// How the API is set up, as the settings say.
  package struct Options: Sendable {
    /// Names that the daemon goes by, beside loopback names and addresses.
    package var allowedHosts: [String] = []
    /// Peers that pass on what others ask.
    package var proxies: PeerSet
    /// Origins whose pages may read answers.
    package var corsOrigins: [String] = []
    /// Byte ranges that one request may ask for; more are answered whole.
    package var maximumRanges = 16
    /// Serve anybody, without asking who it is, as long as there are no tokens.
    package var allowsAnonymous = false
    /// Shared caches may keep pictures that anybody may see.
    package var allowsPublic = false
    /// How much of a file's header is read.
    package var codec: CodecLimits
    /// How long a fetch may take.
    package var fetchDeadline: Duration
    /// What may be uploaded.
    package var uploads: UploadLimits

    package init(
      allowedHosts: [String], proxies: PeerSet, corsOrigins: [String], maximumRanges: Int, allowsAnonymous: Bool,
      allowsPublic: Bool, codec: CodecLimits, fetchDeadline: Duration, uploads: UploadLimits = UploadLimits()
    ) {
      self.allowedHosts = allowedHosts
      self.proxies = proxies
      self.corsOrigins = corsOrigins
      self.maximumRanges = maximumRanges
      self.allowsAnonymous = allowsAnonymous
      self.allowsPublic = allowsPublic
      self.codec = codec
      self.fetchDeadline = fetchDeadline
      self.uploads = uploads
    }
  }

  private let gatekeeper: Gatekeeper
  private let library: any AssetFetching
  private let lookups: WorkQueue
  private let fetches: WorkQueue
  private let answers: FrameAnswers
  private let authorization: AuthorizationRoutes
  private let health: HealthRoutes
  private let metrics: MetricsRoute
  private let fetching: Fetching
  private let assets: AssetRoutes
  private let collections: CollectionRoutes
  private let fetchResults: FetchResultRoutes
  private let fetchResultChanges: FetchResultChangeRoute
  private let metadata: MetadataRoute
  private let image: ImageRoute
  private let requests: RequestRoutes
  private let batch: BatchRoute
  private let caching: CachingRoutes
  private let changing: Changing
  private let changes: ChangeRoutes
  private let uploads: UploadRoute
  private let trash: TrashRoute

  /// - Parameters:
  ///   - access: who may come in.
  ///   - originals: what metadata is read from.
  ///   - lookups: where questions to the catalogue run, and reading of metadata.
  ///   - fetches: where those run that may look at every asset, so that none of the others waits for them.
  ///   - batches: where answers with many pictures are put together. Its line need have no limit: connections have.
  ///   - answers: what was made of cached frames; the frame cache tells it of those that go.
  ///   - metrics: what is told at `/metrics`.
  ///   - scrapes: where that is put together.
  ///   - files: what is uploaded goes there.
  ///   - uploads: where it is written.
  package init(
    library: any AssetFetching, changing: Changing, access: AccessRegistry, results: FetchResults,
    originals: OriginalStore,
    images: ImageManager, caching managers: CachingManagers, lookups: WorkQueue, fetches: WorkQueue,
    batches: WorkQueue, answers: FrameAnswers,
    metrics: MetricsRegistry, scrapes: WorkQueue, files: LibraryFiles, uploads: WorkQueue, options: Options,
    logger: Logger
  ) {
    gatekeeper = Gatekeeper(
      allowedHosts: options.allowedHosts, proxies: options.proxies, origins: CrossOrigin(origins: options.corsOrigins),
      access: access, failures: FailureLog(capacity: access.limits.failingPeers, logger: logger))
    self.library = library
    self.lookups = lookups
    self.fetches = fetches
    self.answers = answers
    health = HealthRoutes(library: library, logger: logger)
    self.metrics = MetricsRoute(registry: metrics, queue: scrapes, isOpen: options.allowsAnonymous)
    fetching = Fetching(library: library, results: results, deadline: options.fetchDeadline, logger: logger)
    authorization = AuthorizationRoutes(access: access, gatekeeper: gatekeeper, fetching: fetching)
    assets = AssetRoutes(fetching: fetching)
    collections = CollectionRoutes(fetching: fetching)
    fetchResults = FetchResultRoutes(fetching: fetching)
    fetchResultChanges = FetchResultChangeRoute(fetching: fetching)
    metadata = MetadataRoute(library: library, originals: originals, limits: options.codec, logger: logger)
    image = ImageRoute(
      library: library, images: images, answers: answers.cache, origins: gatekeeper.origins,
      allowsPublic: options.allowsPublic, maximumRanges: options.maximumRanges, logger: logger)
    requests = RequestRoutes(images: images)
    batch = BatchRoute(library: library, images: images, queue: batches, logger: logger)
    caching = CachingRoutes(managers: managers, fetching: fetching)
    self.changing = changing
    changes = ChangeRoutes(
      catalogue: changing.catalogue, lists: changing.lists, fetchResultChanges: fetchResultChanges, fetches: fetches,
      logger: logger)
    trash = TrashRoute(files: files, fetching: fetching)
    self.uploads = UploadRoute(files: files, limits: options.uploads, queue: uploads, logger: logger)
  }

  package func preparedAnswer(to request: borrowing HTTPRequest, from peer: Peer) -> PreparedAnswer? {
    guard let access = gatekeeper.accessClass(request.head) else { return nil }
    return answers.cache.answer(
      to: request.head, access: access, variesByOrigin: gatekeeper.origins.isConfigured,
      generation: library.generation)
  }

  package func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
    let reply = Reply(responder: responder, standing: gatekeeper.origins.fields(for: request.head) + gatekeeper.vary)
    let target = request.target
    do throws(Problem) {
      try gatekeeper.check(request.head, target, from: peer)
      // `OPTIONS *` asks what the server as a whole can do (RFC 9110 §9.3.7).
      if target.isAsterisk { return reply.send(HTTPResponse(204, [("Allow", "GET, HEAD, OPTIONS")])) }
      let route = Route(target.segments)
      let identity = gatekeeper.identity(request.head, target, route, from: peer)
      guard let route else {
        _ = try gatekeeper.admit(request.head, identity, .somebody, from: peer)
        throw Problem(404, "not-found", "No such resource", detail: "GET /openapi.json lists the resources there are.")
      }
      guard route.methods.contains(request.method) else {
        throw Problem(
          405, "method-not-allowed", "Method not allowed", detail: "This resource knows \(route.allow).",
          fields: ["Allow": route.allow])
      }
      if request.method == .options {
        let preflight = gatekeeper.origins.preflight(request.head, methods: route.allow)
        return reply.send(HTTPResponse(204, [("Allow", route.allow)] + preflight))
      }
      try answer(route, request, target, identity, peer, reply)
    } catch {
      reply.send(error.response)
    }
  }

  package func takesBodyInPieces(_ head: RequestHead) -> Bool { UploadRoute.takes(head) }

  /// An upload. Who may not send one is told before the body is asked for.
  package func handle(_ head: RequestHead, _ body: StreamedBody, from peer: Peer, _ responder: Responder) {
    let reply = Reply(responder: responder, standing: gatekeeper.origins.fields(for: head) + gatekeeper.vary)
    let target = head.parsedTarget
    do throws(Problem) {
      try gatekeeper.check(head, target, from: peer)
      let identity = gatekeeper.identity(head, target, .assets, from: peer)
      let caller = try gatekeeper.admit(head, identity, Route.assets.requirement(head.method), from: peer)
      guard let caller else { throw .unauthorized }
      try uploads.receive(head, target, body, caller.principal, reply)
    } catch {
      reply.send(error.response)
    }
  }

  package func response(to error: ParseError) -> HTTPResponse { ownAnswer(Problem(error)) }

  package func responseToAbandonment() -> HTTPResponse {
    ownAnswer(
      Problem(500, "internal-error", "Internal error", detail: "The daemon did not answer; that is a bug of its own."))
  }

  package func responseToSlowReaders() -> HTTPResponse {
    ownAnswer(
      Problem(
        503, "overloaded", "Too many answers are waiting",
        detail: "Other clients read their answers too slowly for there to be room for this one; ask again in a moment.",
        fields: ["Retry-After": "1"]))
  }

  /// An answer to nobody in particular.
  private func ownAnswer(_ problem: Problem) -> HTTPResponse {
    var response = problem.response
    response.head.fields.append(("Cross-Origin-Resource-Policy", "same-origin"))
    return response
  }

  /// Routes that a caller need not be anybody for; all others are for whoever may.
  private func answer(
    _ route: Route, _ request: HTTPRequest, _ target: RequestTarget, _ identity: Identity, _ peer: Peer, _ reply: Reply
  ) throws(Problem) {
    let caller = try gatekeeper.admit(request.head, identity, route.requirement(request.method), from: peer)
    switch route {
    case .health: return reply.send(try health.health(request))
    case .readiness:
      return try lookUp(reply) { () throws(Problem) in try health.readiness(request, caller?.principal) }
    case .authorization: return reply.send(try authorization.authorization(request, identity))
    case .session:
      return reply.send(
        request.method == .delete
          ? try authorization.signOut(request, from: peer) : try authorization.signIn(request, from: peer))
    default: break
    }
    guard let caller else { throw .unauthorized }
    guard let condition = caller.condition else { return try dispatch(route, request, target, caller, peer, reply) }
    // A signed URL of somebody who sees only a part: it may have left that part since.
    try onLookupQueue(reply) { () throws(Problem) in
      let collection = try fetching.asking { library throws(AssetSourceError) in
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
    case .health, .readiness, .authorization, .session: preconditionFailure("answered to anybody")
    case .signedURLs: try lookUp(reply) { () throws(Problem) in try authorization.sign(request, caller) }
    case .openAPI: reply.send(try health.openAPI(request))
    case .metrics: try metrics.answer(request, principal, reply)
    case .assets where request.method == .post:
      throw Problem(400, "malformed-request", "Bad Request", detail: "There is no body; an upload is the image itself.")
    case .assets: try list(in: nil, request, principal, reply)
    case .collectionAssets(let identifier): try list(in: LocalIdentifier(identifier), request, principal, reply)
    case .collections: try listCollections(in: nil, request, principal, reply)
    case .collection(let identifier):
      try lookUp(reply) { () throws(Problem) in try collections.one(LocalIdentifier(identifier), request, principal) }
    case .collectionChildren(let identifier):
      try listCollections(in: LocalIdentifier(identifier), request, principal, reply)
    case .transientCollections:
      let end = fetching.end
      try lookUp(reply, on: fetches) { () throws(Problem) in
        try collections.makeTransient(request, until: end, principal)
      }
    case .fetchResults:
      let end = fetching.end
      try lookUp(reply, on: fetches) { () throws(Problem) in
        try fetchResults.make(request, until: end, principal)
      }
    case .fetchResult(let id):
      try lookUp(reply) { () throws(Problem) in
        request.method == .delete
          ? try fetchResults.end(id, request, principal) : try fetchResults.one(id, request, principal)
      }
    case .fetchResultAssets(let id):
      try lookUp(reply) { () throws(Problem) in try fetchResults.assets(id, request, principal) }
    case .fetchResultChanges(let id): try tellChanges(of: id, request, principal, reply)
    case .asset(let identifier):
      try lookUp(reply) { () throws(Problem) in try assets.one(LocalIdentifier(identifier), request, principal) }
    case .metadata(let identifier):
      try lookUp(reply) { () throws(Problem) in try metadata.answer(LocalIdentifier(identifier), request, principal) }
    case .changes:
      guard request.method == .post else {
        return try lookUp(reply) { () throws(Problem) in try changes.history(request, principal) }
      }
      try lookUp(reply, on: changing.queue) { () throws(Problem) in try changes.perform(request, principal) }
    case .changeStream:
      try onLookupQueue(reply) { () throws(Problem) in
        try changes.stream(request, principal, changing.streams, reply) { [gatekeeper] in
          // It may have been revoked since.
          guard case .caller(let now) = gatekeeper.identity(request.head, target, .changeStream, from: peer) else {
            return false
          }
          return now.principal == principal
        }
      }
    case .trash: try lookUp(reply) { () throws(Problem) in try trash.list(request, principal) }
    case .requests: reply.send(try requests.list(request, principal))
    case .request(let requestID):
      reply.send(
        request.method == .delete
          ? try requests.cancel(requestID, request, principal) : try requests.one(requestID, request, principal))
    case .images:
      try onLookupQueue(reply) { () throws(Problem) in try batch.answer(request, principal, reply) }
    case .cachingManagers:
      try lookUp(reply) { () throws(Problem) in
        request.method == .post ? try caching.make(request, principal) : try caching.list(request, principal)
      }
    case .cachingManager(let id):
      try lookUp(reply) { () throws(Problem) in
        request.method == .delete
          ? try caching.end(id, request, principal) : try caching.one(id, request, principal)
      }
    case .startCaching(let id):
      try lookUp(reply) { () throws(Problem) in try caching.start(id, request, principal) }
    case .stopCaching(let id):
      try lookUp(reply) { () throws(Problem) in try caching.stop(id, request, principal) }
    case .stopCachingAllImages(let id):
      try lookUp(reply) { () throws(Problem) in try caching.stopAll(id, request, principal) }
    case .window(let id): try moveWindow(id, request, principal, reply)
    case .image(let identifier):
      // What is wrong with the query alone is said before anything is looked up.
      let query = try ImageQuery(target)
      try onLookupQueue(reply) { () throws(Problem) in
        try image.answer(LocalIdentifier(identifier), query, request, caller, reply)
      }
    }
  }

  /// A listing of assets: in the line of look-ups, or in that of fetches where it may look at every asset.
  private func list(
    in collection: LocalIdentifier?, _ request: HTTPRequest, _ principal: Principal, _ reply: Reply
  ) throws(Problem) {
    let query = try AssetListQuery(request.target, until: fetching.end, for: principal)
    guard let collection else {
      return try lookUp(reply, on: query.isFree ? fetches : nil) { () throws(Problem) in
        try assets.list(query, request, principal)
      }
    }
    // What it takes is known once it is known what the collection is.
    try onLookupQueue(reply) { () throws(Problem) in
      var query = query
      query.fetch.scope = try fetching.scope(of: collection, principal)
      guard query.isFree else { return reply.send(try assets.list(query, request, principal)) }
      let scoped = query
      try lookUp(reply, on: fetches) { () throws(Problem) in try assets.list(scoped, request, principal) }
    }
  }

  /// A window's list is known, or has to be fetched: perhaps by looking at every asset.
  private func moveWindow(
    _ id: String, _ request: HTTPRequest, _ principal: Principal, _ reply: Reply
  ) throws(Problem) {
    try onLookupQueue(reply) { () throws(Problem) in
      let window = try caching.window(id, request, principal)
      guard window.isFree else { return reply.send(try caching.move(window, principal)) }
      try lookUp(reply, on: fetches) { () throws(Problem) in try caching.move(window, principal) }
    }
  }

  private func tellChanges(
    of id: String, _ request: HTTPRequest, _ principal: Principal, _ reply: Reply
  ) throws(Problem) {
    let end = fetching.end
    try onLookupQueue(reply) { () throws(Problem) in
      let answer = try fetchResultChanges.answer(id, request, mayReadAll: false, until: end, principal)
      if let answer { return reply.send(answer) }
      try onLookupQueue(reply, fetches) { () throws(Problem) in
        let answer = try fetchResultChanges.answer(id, request, mayReadAll: true, until: end, principal)
        guard let answer else { preconditionFailure("a list that may be read is read") }
        reply.send(answer)
      }
    }
  }

  private func listCollections(
    in parent: LocalIdentifier?, _ request: HTTPRequest, _ principal: Principal, _ reply: Reply
  ) throws(Problem) {
    let query = try CollectionListQuery(request.target, in: parent, for: principal)
    let end = fetching.end
    try lookUp(reply, on: query.fetch.isFree ? fetches : nil) { () throws(Problem) in
      try collections.list(query, until: end, request, principal)
    }
  }

  /// Answers with what a look-up gives.
  private func lookUp(
    _ reply: Reply, on queue: WorkQueue? = nil, _ answer: @escaping @Sendable () throws(Problem) -> HTTPResponse
  ) throws(Problem) {
    try onLookupQueue(reply, queue) { () throws(Problem) in reply.send(try answer()) }
  }

  private func onLookupQueue(
    _ reply: Reply, _ queue: WorkQueue? = nil, _ work: @escaping @Sendable () throws(Problem) -> Void
  ) throws(Problem) {
    let isAccepted = (queue ?? lookups).submit {
      do throws(Problem) { try work() } catch { reply.send(error.response) }
    }
    if !isAccepted { throw Problem(ImageServiceError.queueFull) }
  }
}

/// What changes the library, and tells of it.
package struct Changing: Sendable {
  let catalogue: Catalogue
  let lists: ChangeLists
  let streams: ChangeStreams
  /// Where change lists are carried out, one after the other.
  let queue: WorkQueue

  package init(catalogue: Catalogue, lists: ChangeLists, streams: ChangeStreams, queue: WorkQueue) {
    self.catalogue = catalogue
    self.lists = lists
    self.streams = streams
    self.queue = queue
  }
}

/// Answers that were made of cached frames. Made before the frame cache, which tells it what goes.
package struct FrameAnswers: Sendable {
  let cache: AnswerCache

  /// - Parameter capacity: answers that are kept at most; each takes up to three kilobytes beside its frame.
  package init(capacity: Int) { cache = AnswerCache(capacity: capacity) }

  package func framesWereEvicted(_ frames: [CachedFrame]) { cache.framesWereEvicted(frames) }
}
