import HTTPCore
import HTTPServer
import ImageService
import PhotoModel

/// A request that was accepted by its head, with its caller and the means to respond.
struct RoutedRequest: Sendable {
  /// Its body is empty if it is streamed.
  let request: HTTPRequest
  /// The request's target, parsed once.
  let target: RequestTarget
  let route: Route
  let peer: Peer
  /// The rights of the request that follow from the page that sent it.
  let reach: CORSPolicy.Reach
  let identity: AuthenticationResult
  /// The authorized caller. `nil`: the endpoint is open, and the request has no valid credential.
  let caller: Caller?
  private(set) var reply: Reply

  /// The caller's principal.
  ///
  /// - Throws: 401 if there is no caller.
  var principal: Principal {
    get throws(Problem) { try authorizedCaller.principal }
  }

  /// The caller.
  ///
  /// - Throws: 401 if there is none.
  var authorizedCaller: Caller {
    get throws(Problem) {
      guard let caller else { throw .unauthorized }
      return caller
    }
  }

  /// The asset or collection that a path parameter names.
  func identifier(_ parameter: String) -> LocalIdentifier { LocalIdentifier(route[parameter]) }

  /// Responds to a request whose response depends on `Accept`: a cache must not give it, even if it is a problem, to a
  /// client that accepts something else.
  func varyingByAccept(_ answer: (RoutedRequest) throws(Problem) -> Void) {
    var routed = self
    routed.reply.varyByAccept()
    do throws(Problem) { try answer(routed) } catch { routed.reply.send(error.response) }
  }

  /// Responds from a queue.
  ///
  /// - Throws: 503 if the queue is full.
  func respond(
    on queue: WorkQueue, _ answer: @escaping @Sendable () throws(Problem) -> HTTPResponse
  ) throws(Problem) {
    try run(on: queue) { [reply] () throws(Problem) in reply.send(try answer()) }
  }

  /// Runs work on a queue. A problem that it throws is the response.
  ///
  /// - Throws: 503 if the queue is full.
  func run(on queue: WorkQueue, _ work: @escaping @Sendable () throws(Problem) -> Void) throws(Problem) {
    let isAccepted = queue.submit { [reply] in
      do throws(Problem) { try work() } catch { reply.send(error.response) }
    }
    if !isAccepted { throw Problem.overloaded }
  }
}
