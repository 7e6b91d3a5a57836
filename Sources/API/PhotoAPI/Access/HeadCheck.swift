import HTTPCore
import HTTPServer

/// The decisions that need only the head of a request, before its body is read and its caller is known: the resource,
/// and whether host and origin allow the request. For a streamed body the check is made once and kept with the request,
/// so that rules that change while the body arrives can't change the decision.
struct HeadCheck: Sendable {
  let target: RequestTarget
  /// `nil`: no such resource.
  let route: Route?
  /// The rules by which the request was checked.
  let rules: OriginRules.Version
  /// The rights of the request that follow from the page that sent it, or the reason why it is rejected.
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
