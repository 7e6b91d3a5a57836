import HTTPCore
import HTTPServer
import PhotoModel

/// Decides who is asking, and refuses what a page in a browser must not be able to ask.
struct Gatekeeper: Sendable {
  /// Fields by which a proxy says that somebody else is asking.
  private static let forwardingFields: [StaticString] = [
    "forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via",
  ]

  private let allowedHosts: Set<String>
  private let isBehindProxy: Bool

  /// - Parameters:
  ///   - allowedHosts: names, beside loopback names and addresses, under which the daemon may be asked for.
  ///   - isBehindProxy: a loopback peer is a proxy, and says nothing of who is asking.
  init(allowedHosts: [String], isBehindProxy: Bool) {
    self.isBehindProxy = isBehindProxy
    self.allowedHosts = Set(allowedHosts.map { $0.lowercased() })
  }

  func principal(_ request: HTTPRequest, from peer: Peer) -> Principal {
    let isForwarded = Self.forwardingFields.contains { request.head.has($0) }
    return peer.isLoopback && !isBehindProxy && !isForwarded ? .local : .anonymous
  }

  /// A name in Host that we don't go by is how a page reaches a daemon that it has no business with (DNS rebinding).
  /// Addresses can't be rebound.
  func admits(_ target: RequestTarget) -> Bool {
    guard let authority = target.authority else { return true }
    let host = Self.hostName(authority)
    return host == "localhost" || host.hasSuffix(".localhost") || Self.isAddress(host) || allowedHosts.contains(host)
      || allowedHosts.contains(authority)
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
