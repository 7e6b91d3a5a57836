import PhotoModel

/// A response of an operation in the OpenAPI document.
struct APIResponse: Sendable {
  /// The fields that a client acts on. CEmbeddedFiles/components.json describes them.
  enum Header: String, Sendable {
    case acceptRanges = "Accept-Ranges"
    case cacheControl = "Cache-Control"
    case contentDisposition = "Content-Disposition"
    case contentEncoding = "Content-Encoding"
    case contentRange = "Content-Range"
    case contentSecurityPolicy = "Content-Security-Policy"
    case entityTag = "ETag"
    case imageResult = "Image-Result"
    case lastModified = "Last-Modified"
    case link = "Link"
    case location = "Location"
    case referrerPolicy = "Referrer-Policy"
    case serverTiming = "Server-Timing"
    case setCookie = "Set-Cookie"
    case uploadComplete = "Upload-Complete"
    case uploadLength = "Upload-Length"
    case uploadLimit = "Upload-Limit"
    case uploadOffset = "Upload-Offset"
    case vary = "Vary"
  }

  enum Content: Sendable {
    case none
    /// JSON of one of these schemas of CEmbeddedFiles/components.json.
    case json([String])
    case problem
    /// Any of these media types.
    case media([String])
  }

  private enum Form: Sendable {
    case own(String, Content, [Header])
    case component(String)
  }

  let status: Int
  private let form: Form

  /// - Parameter headers: the fields besides `Vary`, which every response may have.
  init(_ status: Int, _ description: String, _ content: Content = .none, _ headers: [Header] = []) {
    self.status = status
    form = .own(description, content, headers)
  }

  /// A response of CEmbeddedFiles/components.json.
  init(_ status: Int, component: String) {
    self.status = status
    form = .component(component)
  }

  /// JSON of one of these schemas, which no cache stores.
  static func json(_ status: Int, _ description: String, _ schemas: String...) -> APIResponse {
    APIResponse(status, description, .json(schemas), [.cacheControl])
  }

  /// 201 with the path of the new resource.
  static func created(_ description: String, _ schemas: String...) -> APIResponse {
    APIResponse(201, description, .json(schemas), [.cacheControl, .location])
  }

  /// The response object (OpenAPI 3.1 §4.8.17), or a reference to one.
  var json: JSONValue {
    switch form {
    case .component(let name): return .reference("responses", name)
    case .own(let description, let content, let headers):
      var object: [String: JSONValue] = ["description": .string(description)]
      var fields: [String: JSONValue] = [:]
      for header in headers + [.vary] { fields[header.rawValue] = .reference("headers", header.rawValue) }
      object["headers"] = .object(fields)
      object["content"] = content.json
      if case .json(let schemas) = content { object["links"] = APILink.json(schemas) }
      return .object(object)
    }
  }
}

extension [APIResponse] {
  /// 200, 304 and 412 of a representation with an entity tag.
  static func validated(
    _ description: String, _ content: APIResponse.Content, _ headers: [APIResponse.Header] = [.contentEncoding],
    notModified: String = "The response matches If-None-Match."
  ) -> [APIResponse] {
    let validators: [APIResponse.Header] = [.entityTag, .cacheControl]
    let kept = headers.filter { $0 == .lastModified || $0 == .link }
    return [
      APIResponse(200, description, content, validators + headers),
      APIResponse(304, notModified, .none, validators + kept),
      APIResponse(412, component: "Problem"),
    ]
  }
}

extension APIResponse.Content {
  /// The content map of a response. `nil`: there is no body.
  fileprivate var json: JSONValue? {
    switch self {
    case .none: return nil
    case .json(let schemas):
      let references = schemas.map { JSONValue.reference("schemas", $0) }
      let schema: JSONValue = references.count == 1 ? references[0] : ["oneOf": .array(references)]
      return .object([JSONBody.mediaType: ["schema": schema]])
    case .problem: return .object([Problem.mediaType: ["schema": .reference("schemas", "Problem")]])
    case .media(let types): return .object(Dictionary(uniqueKeysWithValues: types.map { ($0, JSONValue.object([:])) }))
    }
  }
}

extension JSONValue {
  /// A reference to an entry of CEmbeddedFiles/components.json.
  static func reference(_ section: String, _ name: String) -> JSONValue {
    ["$ref": .string("#/components/\(section)/\(name)")]
  }
}
