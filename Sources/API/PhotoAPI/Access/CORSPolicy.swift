import HTTPCore

/// The rights of pages of other origins (Fetch §3.2; Resource Timing §4.5.1). By default they have none. Origins in
/// `corsOrigins` may read; origins in `corsWriteOrigins` may do everything.
struct CORSPolicy: Sendable {
  /// The rights of a request that follow from the page that sent it. Independent of the caller's scopes.
  enum Reach: Sendable, Hashable {
    /// A page of an unlisted origin. Safe methods get a response, but the browser does not let the page read it.
    case none
    /// Safe methods, and those for which ``Endpoint/isReading`` is true.
    case reading
    /// Everything: a page of a listed write origin, a page of the daemon's own, or no page.
    case everything

    func allows(_ method: HTTPMethod, on group: EndpointGroup?) -> Bool {
      switch self {
      case .none: Self.safeMethods.contains(method)
      case .reading: Self.safeMethods.contains(method) || group?.isReading(method) ?? false
      case .everything: true
      }
    }

    private static let safeMethods: Set<HTTPMethod> = [.get, .head, .options]
  }

  /// Response fields that a page may read in addition to the CORS-safelisted ones: all that the OpenAPI document
  /// describes, except `Set-Cookie`, which no browser shows to a page.
  private static let exposedHeaders = [
    "Accept-Encoding", "Accept-Patch", "Accept-Ranges", "Allow", "Content-Disposition", "Content-Encoding",
    "Content-Location", "Content-Range", "ETag", "Image-Result", "Link", "Location", "Retry-After", "Server-Timing",
    "Upload-Complete", "Upload-Length", "Upload-Limit", "Upload-Offset", "Vary", "WWW-Authenticate",
  ].joined(separator: ", ")
  /// Request fields that a page may send in addition to the CORS-safelisted ones: all that photod reads and that
  /// browsers let pages set.
  private static let allowedHeaders = [
    "Authorization", "Cache-Control", "Content-Digest", "Content-Disposition", "Content-Encoding", "Content-Type",
    "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Last-Event-ID", "Priority",
    "Range", "Repr-Digest", "Traceparent", "Upload-Complete", "Upload-Length", "Upload-Offset",
  ].joined(separator: ", ")
  private static let preflightSeconds = 600
  /// The fields of responses that pages of every origin may read. Browsers allow that only without credentials.
  static let everyOrigin = [
    (name: "Access-Control-Allow-Origin", value: "*"), ("Access-Control-Expose-Headers", exposedHeaders),
    ("Timing-Allow-Origin", "*"), ("Cross-Origin-Resource-Policy", "cross-origin"),
  ]
  /// The fields of a response to OPTIONS on such a resource.
  static let everyOriginOptions =
    everyOrigin + [
      ("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"), ("Access-Control-Allow-Headers", allowedHeaders),
      ("Access-Control-Max-Age", String(preflightSeconds)),
    ]
  private static let sameOrigin = [(name: "Cross-Origin-Resource-Policy", value: "same-origin")]
  private static let vary = [(name: "Vary", value: "Origin")]

  private let readers: Set<String>
  private let writers: Set<String>

  /// - Parameters:
  ///   - reading: origins in the form that browsers send: `https://photos.example`, with a port if it is not the
  ///     scheme's default.
  ///   - writing: the same form; these origins may also read.
  init(reading: [String], writing: [String]) {
    readers = Set(reading.map { $0.lowercased() })
    writers = Set(writing.map { $0.lowercased() })
  }

  /// Whether responses depend on the `Origin` field.
  var isConfigured: Bool { !readers.isEmpty || !writers.isEmpty }

  /// The rights of pages of an origin, if it is not the daemon's own.
  func reach(of origin: String) -> Reach {
    let origin = origin.lowercased()
    if writers.contains(origin) { return .everything }
    return readers.contains(origin) ? .reading : .none
  }

  /// The CORS fields of every response.
  func fields(for head: RequestHead) -> [(name: String, value: String)] {
    guard isConfigured else { return Self.sameOrigin }
    guard let origin = head.value(of: .origin), reach(of: origin) != .none else { return Self.sameOrigin + Self.vary }
    return [
      ("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", Self.exposedHeaders),
      ("Timing-Allow-Origin", origin), ("Cross-Origin-Resource-Policy", "cross-origin"),
    ] + Self.vary
  }

  /// The CORS fields of a response to OPTIONS. A preflight for a method that the origin may not use gets no permission
  /// fields at all: browsers do not look for POST in `Access-Control-Allow-Methods` (Fetch, CORS-preflight fetch).
  func fields(forOptions head: RequestHead, on group: EndpointGroup) -> [(name: String, value: String)] {
    let commonFields = fields(for: head)
    guard let wanted = head.value(of: .accessControlRequestMethod), let origin = head.value(of: .origin) else {
      return commonFields
    }
    let reach = reach(of: origin)
    guard reach != .none else { return commonFields }
    let methods = group.methods.filter { reach.allows($0, on: group) }.map(\.name)
    guard methods.contains(wanted) else { return Self.sameOrigin + Self.vary }
    var permission = [
      (name: "Access-Control-Allow-Methods", value: methods.joined(separator: ", ")),
      ("Access-Control-Allow-Headers", Self.allowedHeaders),
      ("Access-Control-Max-Age", String(Self.preflightSeconds)),
    ]
    if head.has(.accessControlRequestPrivateNetwork) {
      permission.append(("Access-Control-Allow-Private-Network", "true"))
    }
    return commonFields + permission
  }
}
