// The path of a request:
//
//     preparedResponse -> ResponseCache; preparedRange -> OriginalResponseCache
//     handle -> HeadCheck: the resource of the path; host and origin    421, 403
//            -> AccessPolicy: authentication
//            -> no resource 404, no endpoint 405, OPTIONS 204
//            -> AccessPolicy: authorization            401, 403, 429
//            -> the content coding of a body           415
//            -> a query, where the endpoint has none   400
//            -> the library of a caller that sees only some collections, if it does not exist
//            -> the endpoint's handler, on the queue that the endpoint table names -> Reply
//
// A problem that any step throws is the response. Nothing here blocks a connection: work that queries the catalogue
// runs on the lookup queue or a longer one.

import AccessControl
import HTTPCore
import HTTPServer
import PhotoModel

extension PhotoAPI: HTTPHandler {
  package func preparedResponse(to request: borrowing HTTPRequest, from peer: Peer) -> PreparedResponse? {
    blockedImages.note(request.head, accessPolicy.origins)
    guard let access = accessPolicy.accessClass(request.head) else { return nil }
    let rules = accessPolicy.origins.state
    return responseCache.answer(
      to: request.head, access: access, variesByOrigin: rules.variesByOrigin, rules: rules.number,
      library: queries.library)
  }

  package func preparedRange(of request: borrowing HTTPRequest, from peer: Peer) -> PreparedRange? {
    guard let access = accessPolicy.accessClass(request.head) else { return nil }
    return originalResponses.range(
      for: request.head, access: access,
      generation: .init(asset: .library(queries.library.generation), rules: accessPolicy.origins.state.number))
  }

  package func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
    handle(request, HeadCheck(request.head, from: peer, accessPolicy), identity: nil, body: nil, from: peer, responder)
  }

  /// Streams the bodies of uploads. A request that is refused because of its host, its origin or a missing credential
  /// is streamed too, so that its body is never received.
  package func streamHandler(for head: RequestHead, from peer: Peer) -> StreamHandler? {
    let check = HeadCheck(head, from: peer, accessPolicy)
    let endpoint = check.route?.group.endpoint(for: head.method)
    var identity: AuthenticationResult?
    if !check.isRejected, endpoint?.streamsBody != true {
      guard endpoint?.requirement != .open else { return nil }
      let found = accessPolicy.authenticate(head, check.target, check.route, from: peer)
      if case .caller = found { return nil }
      identity = found
    }
    return { [self, identity] body, responder in
      handle(HTTPRequest(head: head, body: []), check, identity: identity, body: body, from: peer, responder)
    }
  }

  /// - Parameter known: `nil` if the caller is not identified yet.
  private func handle(
    _ request: HTTPRequest, _ check: HeadCheck, identity known: AuthenticationResult?, body: StreamedBody?,
    from peer: Peer, _ responder: Responder
  ) {
    let (head, target) = (request.head, check.target)
    var reply = Reply(
      responder: responder, rules: check.rules,
      commonFields: check.rules.cors.fields(for: head) + accessPolicy.varyFields, trace: TraceParent(head))
    do throws(Problem) {
      let route = check.route
      let reach = try check.reach.get()
      // `OPTIONS *` is about the server as a whole (RFC 9110 §9.3.7).
      if target.isAsterisk { return reply.send(HTTPResponse(204, [("Allow", "GET, HEAD, OPTIONS")])) }
      var identity = known ?? accessPolicy.authenticate(head, target, route, from: peer)
      guard let route else {
        _ = try accessPolicy.authorize(head, identity, .authenticated, from: peer)
        throw .noSuchResource
      }
      if accessPolicy.allowsAllOrigins(route), case .caller(let caller) = identity, caller.sendsNoCredential {
        // A page must not get more because its user's browser runs on this machine.
        identity = .caller(Caller(withoutCredential: .anonymous))
        reply = Reply(
          responder: responder, rules: check.rules, commonFields: CORSPolicy.everyOrigin, trace: reply.trace)
      }
      if head.method == .options {
        return sendOptions(
          of: route.group, to: head, check.rules, isForAllOrigins: accessPolicy.allowsAllOrigins(route), responder)
      }
      guard let endpoint = route.group.endpoint(for: head.method) else {
        throw .methodNotAllowed(allow: route.group.allow)
      }
      var caller = try accessPolicy.authorize(head, identity, endpoint.requirement, from: peer)
      // A page with read-only reach may delete its caller's own resources, but not those of other callers.
      if reach == .reading, head.method == .delete { caller = caller?.without(.admin) }
      if endpoint.operation.body != nil { try Self.checkContentCoding(head) }
      // A query is read by the handler of an endpoint that has one.
      if endpoint.operation.query.isEmpty { try QueryReader(target).finish() }
      try start(
        endpoint,
        RoutedRequest(
          request: request, target: target, route: route, peer: peer, reach: reach, identity: identity, caller: caller,
          reply: reply),
        body)
    } catch {
      reply.send(error.response)
    }
  }

  /// Bodies are not decoded: those in a content coding would be stored or parsed as something else (RFC 9110 §8.4).
  private static func checkContentCoding(_ head: RequestHead) throws(Problem) {
    guard let field = head.value(of: .contentEncoding) else { return }
    let isIdentity = HTTPGrammar.elements(of: field).allSatisfy { $0.lowercased() == "identity" }
    if !isIdentity { throw .contentCodingUnsupported }
  }

  private func sendOptions(
    of group: EndpointGroup, to head: RequestHead, _ rules: OriginRules.Version, isForAllOrigins: Bool,
    _ responder: Responder
  ) {
    let fields =
      isForAllOrigins
      ? CORSPolicy.everyOriginOptions : rules.cors.fields(forOptions: head, on: group) + accessPolicy.varyFields
    Reply(responder: responder, rules: rules, commonFields: fields).send(HTTPResponse(204, [("Allow", group.allow)]))
  }

  /// Creates the library of a caller that sees only some collections, before a handler that may query it: that takes
  /// seconds for large collections, and is not part of a fetch's time.
  private func start(_ endpoint: Endpoint, _ routed: RoutedRequest, _ body: StreamedBody?) throws(Problem) {
    precondition(body == nil || endpoint.streamsBody, "HeadCheck has rejected every other streamed body")
    guard endpoint.handler.queriesLibrary, let principal = routed.caller?.principal,
      !queries.library.hasPreparedLibrary(of: principal)
    else { return try run(endpoint, routed, body) }
    try routed.run(on: queries.fetches) { [self] () throws(Problem) in
      // Its errors are ignored here: the handler's own query reports them.
      _ = try? queries.run { library throws(AssetSourceError) in try library.prepareLibrary(of: principal) }
      try run(endpoint, routed, body)
    }
  }

  private func run(_ endpoint: Endpoint, _ routed: RoutedRequest, _ body: StreamedBody?) throws(Problem) {
    switch endpoint.handler {
    case .immediate(let answer): routed.reply.send(try answer(self, routed))
    case .lookup(let answer):
      try routed.respond(on: queries.lookups) { [self] () throws(Problem) in try answer(self, routed) }
    case .fetch(let answer):
      let end = queries.deadline
      try routed.respond(on: queries.fetches) { [self] () throws(Problem) in try answer(self, routed, end) }
    case .change(let answer):
      try routed.respond(on: changeQueue) { [self] () throws(Problem) in try answer(self, routed) }
    case .custom(let answer): try answer(self, routed)
    case .upload(let receive): try receive(self, routed, body)
    }
  }

  // MARK: Responses of the server

  package func response(to error: ParseError) -> HTTPResponse { serverResponse(Problem(error)) }

  package func unansweredResponse() -> HTTPResponse { serverResponse(.unanswered) }

  package func overloadedResponse() -> HTTPResponse { serverResponse(.responseBufferFull) }

  /// A response that does not belong to a routed request, so it carries no CORS fields of its origin.
  private func serverResponse(_ problem: Problem) -> HTTPResponse {
    var response = problem.response
    response.head.fields.append(("Cross-Origin-Resource-Policy", "same-origin"))
    return response
  }
}
