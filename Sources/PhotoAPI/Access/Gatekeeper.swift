// Decides who is asking, and refuses what a page in a browser must not be able to ask. A daemon on loopback is reached by
// every page that a browser shows; these rules are all that stands between them and the library.

import AccessControl
import HTTPCore
import HTTPServer
import PhotoModel

struct Gatekeeper: Sendable {
  /// Fields by which a proxy says that somebody else is asking.
  static let forwardingFields = HeaderNames(
    .forwarded, .xForwardedFor, .xForwardedHost, .xForwardedProto, .xRealIP, .via)
  private static let safeMethods: Set<HTTPMethod> = [.get, .head, .options]

  let origins: CrossOrigin
  let access: AccessRegistry
  let failures: FailureLog
  let proxies: PeerSet
  private let allowedHosts: Set<String>

  /// - Parameters:
  ///   - allowedHosts: names, beside loopback names and addresses, under which the daemon may be asked for.
  ///   - proxies: peers that pass on what others ask. What they say of those is believed, and nobody is the person at this
  ///     machine any more.
  init(
    allowedHosts: [String], proxies: PeerSet, origins: CrossOrigin, access: AccessRegistry, failures: FailureLog
  ) {
    self.access = access
    self.failures = failures
    self.proxies = proxies
    self.origins = origins
    self.allowedHosts = Set(allowedHosts.map { $0.lowercased() })
  }

  /// A loopback peer that nobody forwarded is the person at this machine.
  func isLocal(_ head: RequestHead, from peer: Peer) -> Bool {
    peer.isLoopback && proxies.isEmpty && head.names.isDisjoint(with: Self.forwardingFields)
  }

  /// What every answer says of whom it is for: two browsers of one cache may be two callers.
  var vary: [(name: String, value: String)] { access.isGuarded ? [("Vary", "Authorization, Cookie")] : [] }

  /// Whether the client came over TLS, which is a proxy's work.
  func isSecure(_ head: RequestHead, from peer: Peer) -> Bool {
    guard proxies.contains(peer) else { return false }
    let forwarded = head.value(of: .forwarded).flatMap { Forwarded.scheme(in: $0) }
    return (forwarded ?? head.value(of: .xForwardedProto).flatMap(Forwarded.first))?.lowercased() == "https"
  }

  /// Whether a request comes from a page of ours, or from no page, as far as it says where from.
  func isOwnPage(_ head: RequestHead, _ target: RequestTarget, from peer: Peer) -> Bool {
    guard let origin = head.value(of: .origin) else { return true }
    return authority(head, target, from: peer).map { Self.isSame(origin, $0) } ?? false
  }

  /// Checks a request before anything is made of it.
  func check(_ head: RequestHead, _ target: RequestTarget, from peer: Peer) throws(Problem) {
    let authority = authority(head, target, from: peer)
    guard admits(authority) else {
      throw Problem(
        421, "host-not-allowed", "Not a host of this daemon",
        detail: "Ask for it as localhost, by address, or by a name that is listed in allowedHosts.")
    }
    guard Self.safeMethods.contains(head.method) || isOfOurOwn(head, authority) else {
      throw Problem(
        403, "cross-site-request", "Asked for by another site",
        detail: "A page of another origin may not change anything here, unless its origin is listed in corsOrigins.")
    }
  }

  /// The host that the client asked for: what the target or Host says, or, from a proxy, what it was told.
  private func authority(_ head: RequestHead, _ target: RequestTarget, from peer: Peer) -> String? {
    guard proxies.contains(peer) else { return target.authority }
    let forwarded = head.value(of: .forwarded).flatMap { Forwarded.host(in: $0) }
    return (forwarded ?? head.value(of: .xForwardedHost).flatMap(Forwarded.first) ?? target.authority)?.lowercased()
  }

  /// A name in Host that we don't go by is how a page reaches a daemon that it has no business with (DNS rebinding).
  /// Addresses can't be rebound.
  private func admits(_ authority: String?) -> Bool {
    guard let authority else { return true }
    let host = Self.hostName(authority)
    return host == "localhost" || host.hasSuffix(".localhost") || Self.isAddress(host) || allowedHosts.contains(host)
      || allowedHosts.contains(authority)
  }

  /// Whether a request that changes something comes from a page of ours, or from no page.
  private func isOfOurOwn(_ head: RequestHead, _ authority: String?) -> Bool {
    if let origin = head.value(of: .origin) {
      if origins.allows(origin) { return true }
      guard let authority, Self.isSame(origin, authority) else { return false }
    }
    return head.value(of: .secFetchSite)?.lowercased() != "cross-site"
  }

  /// Whether an origin (RFC 6454 §6.2) names the host that was asked. Its scheme is the proxy's affair where there is one.
  private static func isSame(_ origin: String, _ authority: String) -> Bool {
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

  private static func isAddress(_ host: String) -> Bool {
    if host.hasPrefix("["), host.hasSuffix("]") { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
  }
}

/// What proxies say of whom they ask for.
enum Forwarded {
  /// `host` of the first element of `Forwarded` (RFC 7239 §4): that of the client's own request.
  static func host(in value: String) -> String? { Text.elements(of: value).first.flatMap { pair("host", in: $0) } }

  /// `proto` of the first element: how the client itself came.
  static func scheme(in value: String) -> String? { Text.elements(of: value).first.flatMap { pair("proto", in: $0) } }

  /// Those who were asked for, as addresses, the one nearest to us last; empty where something else is said of one.
  static func clients(_ head: RequestHead) -> [String] {
    if let forwarded = head.value(of: .forwarded) {
      return Text.elements(of: forwarded).map { node(pair("for", in: $0) ?? "") }
    }
    return head.value(of: .xForwardedFor).map { Text.elements(of: $0).map(node) } ?? []
  }

  /// An address without its port and brackets (RFC 7239 §6).
  private static func node(_ text: String) -> String {
    if text.hasPrefix("[") { return String(text.dropFirst().prefix { $0 != "]" }) }
    let colons = text.utf8.count { $0 == UInt8(ascii: ":") }
    return colons == 1 ? String(text.prefix { $0 != ":" }) : text
  }

  private static func pair(_ name: String, in element: String) -> String? {
    for pair in Text.elements(of: element, separatedBy: ";") {
      let parts = pair.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, Text.trimmed(parts[0]).lowercased() == name else { continue }
      let value = Text.trimmed(parts[1])
      return value.hasPrefix("\"") && value.hasSuffix("\"") && value.utf8.count > 1
        ? String(value.dropFirst().dropLast()) : value
    }
    return nil
  }

  /// The first of a list: what the proxy nearest to the client said.
  static func first(_ list: String) -> String? { Text.elements(of: list).first }
}
