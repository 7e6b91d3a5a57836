import HTTPCore
import HTTPServer

/// What the head of a request decides before its body is read and its caller is known: the resource, and whether host
/// and origin allow the request. For a streamed body it is made once and kept with the request, so that rules that are
/// replaced meanwhile can't change the decision.
struct HeadCheck: Sendable {
  let target: RequestTarget
  /// `nil`: no such resource.
  let route: Route?
  /// The rules of the decision.
  let rules: OriginRules.Version
  /// What the request may do because of the page that sent it, or why it is rejected.
  let reach: Result<CORSPolicy.Reach, Problem>

  init(_ head: RequestHead, from peer: Peer, _ policy: AccessPolicy) {
    let target = head.parsedTarget
    let route = Route(target.segments)
    let rules = policy.origins.current
    (self.target, self.route, self.rules) = (target, route, rules)
    reach = Result { () throws(Problem) in
      try policy.checkHostAndOrigin(head, target, route, rules, from: peer)
    }
  }

  var isRejected: Bool { if case .failure = reach { true } else { false } }
}
