import HTTPCore

/// The endpoints with one path: a resource of HTTP.
package final class EndpointGroup: Sendable {
  package let path: PathTemplate
  package let endpoints: [Endpoint]
  /// The supported methods, in the order of the table, with HEAD after GET and OPTIONS last.
  package let methods: [HTTPMethod]
  /// The value of `Allow`.
  let allow: String
  /// How a signed URL opens the resource. `nil`: not at all.
  let signedAccess: SignedAccess?
  /// Whether pages of every origin may read it: see ``Endpoint/allowsAllOrigins``.
  package let allowsAllOrigins: Bool

  private init(_ path: PathTemplate, _ endpoints: [Endpoint]) {
    self.path = path
    self.endpoints = endpoints
    var methods: [HTTPMethod] = []
    for endpoint in endpoints {
      methods.append(endpoint.method)
      if endpoint.method == .get { methods.append(.head) }
    }
    methods.append(.options)
    self.methods = methods
    allow = methods.map(\.name).joined(separator: ", ")
    signedAccess = endpoints.compactMap(\.signedAccess).first
    allowsAllOrigins = endpoints.allSatisfy(\.allowsAllOrigins)
  }

  /// The endpoint for a method; HEAD is answered by GET. `nil` for OPTIONS and for methods that are not supported.
  package func endpoint(for method: HTTPMethod) -> Endpoint? {
    let method = method == .head ? .get : method
    return endpoints.first { $0.method == method }
  }

  /// Whether a page of a read-only origin may use a method. False for a method that is not supported.
  package func isReading(_ method: HTTPMethod) -> Bool {
    method == .options || endpoint(for: method)?.isReading ?? false
  }

  // MARK: Table

  /// All resources, in the order of the endpoint table.
  package static let all: [EndpointGroup] = {
    var paths: [PathTemplate] = []
    for endpoint in Endpoint.all where !paths.contains(endpoint.path) { paths.append(endpoint.path) }
    return paths.map { path in EndpointGroup(path, Endpoint.all.filter { $0.path == path }) }
  }()

  /// All resources, by the number of segments of their paths.
  fileprivate static let byLength: [[EndpointGroup]] = {
    let longest = all.map(\.path.count).max() ?? 0
    return (0...longest).map { count in all.filter { $0.path.count == count } }
  }()
}

/// The resource that a request addresses, with the values of its path parameters.
package struct Route: Sendable {
  package let group: EndpointGroup
  private let segments: [String]

  /// Finds the resource of a path by its decoded segments. `nil`: no such resource.
  package init?(_ segments: [String]) {
    guard segments.count < EndpointGroup.byLength.count,
      let group = EndpointGroup.byLength[segments.count].first(where: { $0.path.matches(segments) })
    else { return nil }
    self.group = group
    self.segments = segments
  }

  /// The value of a path parameter. The path must have the parameter.
  package subscript(_ parameter: String) -> String {
    guard let index = group.path.index(of: parameter) else {
      preconditionFailure("\(group.path.text) has no parameter \(parameter)")
    }
    return segments[index]
  }
}
