// Host, origin and proxy checks, before authentication. Every page in a browser on this machine can send requests to a
// daemon on loopback; only these rules keep such pages from reading or changing the library.

import AccessControl
import HTTPCore
import HTTPServer

struct AccessPolicy: Sendable {
  /// Header fields that show that a proxy forwarded the request.
  static let forwardedFields = HeaderNames(
    .forwarded, .xForwardedFor, .xForwardedHost, .xForwardedProto, .xRealIP, .via)

  let origins: OriginRules
  let access: AccessRegistry
  let failedAttempts: FailedAttemptThrottle
  let proxies: PeerSet
  /// The setting `allowAnonymous`: see ``allowsAllOrigins(_:)``.
  private let allowsAnonymous: Bool
  /// Whether the library hides the names of people from callers without the scope `people`.
  let namesNeedScope: Bool

  /// - Parameters:
  ///   - proxies: reverse proxies. Their forwarding headers are trusted. If there is a proxy, no request gets the
  ///     rights of the local administrator.
  ///   - allowsAnonymous: the setting `allowAnonymous`: until the first token is created, pages of every origin may
  ///     read public resources.
  ///   - namesNeedScope: whether the library hides the names of people from callers without the scope `people`.
  init(
    proxies: PeerSet, origins: OriginRules, access: AccessRegistry, failedAttempts: FailedAttemptThrottle,
    allowsAnonymous: Bool, namesNeedScope: Bool
  ) {
    self.allowsAnonymous = allowsAnonymous
    self.namesNeedScope = namesNeedScope
    self.access = access
    self.failedAttempts = failedAttempts
    self.proxies = proxies
    self.origins = origins
  }

  /// Whether the request comes directly from this machine: a loopback peer, no configured proxy, no forwarding
  /// headers. Such a request gets the rights of the local administrator.
  func isLocal(_ head: RequestHead, from peer: Peer) -> Bool {
    peer.isLoopback && proxies.isEmpty && head.names.isDisjoint(with: Self.forwardedFields)
  }

  /// Whether pages of every origin may read a resource as callers without a credential. Only with the setting
  /// `allowAnonymous`: otherwise every page that a user visits could read the library of a daemon on loopback.
  func allowsAllOrigins(_ route: Route?) -> Bool {
    allowsAnonymous && !access.requiresCredential && route?.group.allowsAllOrigins == true
  }

  /// Scheme and authority as the client sees them, such as `https://photos.example`. Empty without a host.
  func base(_ head: RequestHead, _ target: RequestTarget, from peer: Peer) -> String {
    guard let authority = authority(head, target, from: peer) else { return "" }
    return (isSecure(head, from: peer) ? "https://" : "http://") + authority
  }

  /// The `Vary` field of every response: two users of one browser cache may be two callers.
  var varyFields: [(name: String, value: String)] {
    access.requiresCredential ? [("Vary", "Authorization, Cookie")] : []
  }

  /// Whether the client's connection to the proxy uses TLS. The daemon itself does not terminate TLS.
  func isSecure(_ head: RequestHead, from peer: Peer) -> Bool {
    guard proxies.contains(peer) else { return false }
    let forwarded = head.value(of: .forwarded).flatMap { Forwarded.scheme(in: $0) }
    return (forwarded ?? head.value(of: .xForwardedProto).flatMap(Forwarded.first))?.lowercased() == "https"
  }

  /// Whether a request comes from the daemon's own pages, or from no page. A request without `Origin` counts as such.
  func isSameOrigin(_ head: RequestHead, _ target: RequestTarget, from peer: Peer) -> Bool {
    guard let origin = head.value(of: .origin) else { return true }
    return authority(head, target, from: peer).map { Self.originMatchesHost(origin, $0) } ?? false
  }

  /// Checks host and origin of a request by its head, before any other processing.
  ///
  /// - Returns: what the requesting origin may do; the request itself is within that.
  func checkHostAndOrigin(
    _ head: RequestHead, _ target: RequestTarget, _ route: Route?, _ rules: OriginRules.Version, from peer: Peer
  ) throws(Problem) -> CORSPolicy.Reach {
    let authority = authority(head, target, from: peer)
    guard Self.allowsHost(authority, rules.allowedHosts) else {
      throw Problem(
        421, "host-not-allowed", "Host not allowed",
        detail: "Use localhost, an IP address, or a host name that is listed in the setting allowedHosts.")
    }
    let reach = Self.reach(of: head, authority, rules.cors)
    guard reach.allows(head.method, on: route?.group) else {
      throw Problem(
        403, "cross-site-request", "Cross-site request",
        detail: reach == .reading
          ? "Pages of this origin may only read. The setting corsWriteOrigins lists the origins whose pages may write."
          : "Origin not allowed. The settings are corsOrigins (pages may read) and corsWriteOrigins (also write).")
    }
    return reach
  }

  /// The host that the client requested: from the request target or `Host`; behind a trusted proxy, from its
  /// forwarding headers.
  private func authority(_ head: RequestHead, _ target: RequestTarget, from peer: Peer) -> String? {
    guard proxies.contains(peer) else { return target.authority }
    let forwarded = head.value(of: .forwarded).flatMap { Forwarded.host(in: $0) }
    return (forwarded ?? head.value(of: .xForwardedHost).flatMap(Forwarded.first) ?? target.authority)?.lowercased()
  }

  /// Rejects unknown names in `Host`: with DNS rebinding, a page reaches the daemon under its own host name. Addresses
  /// can't be rebound. A proxy may forward a text that is not a host, which must not become a part of URLs.
  private static func allowsHost(_ authority: String?, _ allowedHosts: Set<String>) -> Bool {
    guard let authority else { return true }
    guard RequestTarget.isHost(authority) else { return false }
    let host = hostName(authority)
    return host == "localhost" || host.hasSuffix(".localhost") || isAddress(host) || allowedHosts.contains(host)
      || allowedHosts.contains(authority)
  }

  /// The reach of a request because of its origin. Requests from the daemon's own pages, or from no page, may do
  /// everything.
  private static func reach(of head: RequestHead, _ authority: String?, _ cors: CORSPolicy) -> CORSPolicy.Reach {
    let isCrossSite = head.value(of: .secFetchSite)?.lowercased() == "cross-site"
    guard let origin = head.value(of: .origin) else { return isCrossSite ? .none : .everything }
    if !isCrossSite, let authority, originMatchesHost(origin, authority) { return .everything }
    return cors.reach(of: origin)
  }

  /// Whether an origin (RFC 6454 §6.2) matches the requested host. Both schemes match, because a proxy may terminate
  /// TLS.
  private static func originMatchesHost(_ origin: String, _ authority: String) -> Bool {
    let origin = origin.lowercased()
    for (scheme, port) in [("http://", ":80"), ("https://", ":443")] where origin.hasPrefix(scheme) {
      func plain(_ text: Substring) -> Substring { text.hasSuffix(port) ? text.dropLast(port.count) : text }
      return plain(origin.dropFirst(scheme.count)) == plain(authority[...])
    }
    return false
  }

  /// The host without its port.
  private static func hostName(_ authority: String) -> String {
    if authority.hasPrefix("[") { return String(authority.prefix { $0 != "]" }) + "]" }
    return String(authority.prefix { $0 != ":" })
  }

  /// Whether a host is an address. In brackets it may have a zone after `%25` (RFC 6874 §2), or after `%`, as some
  /// clients write it.
  private static func isAddress(_ host: String) -> Bool {
    guard host.hasPrefix("[") else { return IPAddress(host) != nil }
    return IPAddress(String(host.dropFirst().dropLast().prefix { $0 != "%" })) != nil
  }
}

/// Parses the forwarding headers of proxies.
enum Forwarded {
  /// `host` of the first element of `Forwarded` (RFC 7239 §4): the host of the client's own request.
  static func host(in value: String) -> String? {
    HTTPGrammar.elements(of: value).first.flatMap { pair("host", in: $0) }
  }

  /// `proto` of the first element: the scheme of the client's own request.
  static func scheme(in value: String) -> String? {
    HTTPGrammar.elements(of: value).first.flatMap { pair("proto", in: $0) }
  }

  /// The forwarded client addresses, nearest proxy last. An element without an address becomes a text that is not an
  /// address.
  static func clients(_ head: RequestHead) -> [String] {
    if let forwarded = head.value(of: .forwarded) {
      return HTTPGrammar.elements(of: forwarded).map { node(pair("for", in: $0) ?? "") }
    }
    // X-Forwarded-For has no quoted strings: each proxy appends a comma and its peer to whatever its client sent.
    return head.valueBytes(of: .xForwardedFor).split(separator: UInt8(ascii: ","))
      .map { HTTPGrammar.trimmed(String(decoding: $0, as: UTF8.self)) }.filter { !$0.isEmpty }.map(node)
  }

  /// An address without its port and brackets (RFC 7239 §6).
  private static func node(_ text: String) -> String {
    if text.hasPrefix("[") { return String(text.dropFirst().prefix { $0 != "]" }) }
    let colons = text.utf8.count { $0 == UInt8(ascii: ":") }
    return colons == 1 ? String(text.prefix { $0 != ":" }) : text
  }

  private static func pair(_ name: String, in element: String) -> String? {
    for pair in HTTPGrammar.elements(of: element, separatedBy: UInt8(ascii: ";")) {
      let parts = pair.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, HTTPGrammar.trimmed(parts[0]).lowercased() == name else { continue }
      let value = HTTPGrammar.trimmed(parts[1])
      return value.hasPrefix("\"") && value.hasSuffix("\"") && value.utf8.count > 1
        ? String(value.dropFirst().dropLast()) : value
    }
    return nil
  }

  /// The first element of a list, which the proxy nearest to the client wrote.
  static func first(_ list: String) -> String? { HTTPGrammar.elements(of: list).first }
}
