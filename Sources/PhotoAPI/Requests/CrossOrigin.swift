import HTTPCore

/// What pages of other origins may do (Fetch §3.2; Resource Timing §4.5.1): nothing, but for the configured ones.
struct CrossOrigin: Sendable {
  /// Fields of answers that a page may read beside those that are always open to it.
  private static let exposed = [
    "Accept-Ranges", "Content-Encoding", "Content-Location", "Content-Range", "ETag", "Image-Result", "Link",
    "Retry-After",
    "Server-Timing",
  ].joined(separator: ", ")
  /// Fields that a page may send beside those that are always allowed.
  private static let sendable = [
    "Authorization", "Cache-Control", "Content-Type", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range",
    "If-Unmodified-Since", "Last-Event-ID", "Range",
  ].joined(separator: ", ")
  private static let preflightSeconds = 600

  private let origins: Set<String>

  /// - Parameter origins: as browsers write them: `https://photos.example`, with a port where it is not the scheme's own.
  init(origins: [String]) {
    self.origins = Set(origins.map { $0.lowercased() })
  }

  /// Whether answers differ by who asks.
  var isConfigured: Bool { !origins.isEmpty }

  func allows(_ origin: String) -> Bool { origins.contains(origin.lowercased()) }

  /// What every answer says to the page that asked.
  func fields(for head: RequestHead) -> [(name: String, value: String)] {
    guard isConfigured else { return Self.sameOrigin }
    let vary = [(name: "Vary", value: "Origin")]
    guard let origin = head.value(of: .origin), allows(origin) else { return Self.sameOrigin + vary }
    return [
      ("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", Self.exposed),
      ("Timing-Allow-Origin", origin), ("Cross-Origin-Resource-Policy", "cross-origin"),
    ] + vary
  }

  /// What a preflight is told, beside the above.
  func preflight(_ head: RequestHead, methods: String) -> [(name: String, value: String)] {
    guard head.has(.accessControlRequestMethod), let origin = head.value(of: .origin), allows(origin) else { return [] }
    var fields = [
      (name: "Access-Control-Allow-Methods", value: methods), ("Access-Control-Allow-Headers", Self.sendable),
      ("Access-Control-Max-Age", String(Self.preflightSeconds)),
    ]
    if head.has(.accessControlRequestPrivateNetwork) { fields.append(("Access-Control-Allow-Private-Network", "true")) }
    return fields
  }

  private static let sameOrigin = [(name: "Cross-Origin-Resource-Policy", value: "same-origin")]
}
