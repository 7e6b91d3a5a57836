// GET /openapi.json: the OpenAPI 3.1 document, made once from the endpoint table and CEmbeddedFiles/components.json.
// The table has the operations; the file has schemas, headers and request bodies. The keys of the operations are
// sorted, so the bytes are the same in every run.

import HTTPCore
import ImageService
import PhotoModel

enum OpenAPIDocument {
  static let bytes = make()
  static let entityTag = EntityTag.strong(over: bytes)
  static let gzipped = ContentCoding.gzip(bytes)

  private static func make() -> [UInt8] {
    let members: JSONValue = [
      "openapi": "3.1.0", "info": info, "servers": [["url": "/"]],
      "security": security([.token, .session, .signedURL, .none]), "paths": paths,
    ]
    // The components are copied as they are; parsing them would take longer than all the rest.
    var bytes = Array("{\"components\":".utf8) + EmbeddedFiles.file("components.json")
    bytes.append(UInt8(ascii: ","))
    bytes += JSONBody.encode(members).dropFirst()
    return bytes
  }

  private static let info: JSONValue = [
    "title": "photod",
    "version": "0.1.0",
    "summary": "A photo library over HTTP, modelled on PhotoKit's PHImageManager.",
    "description": .string(
      """
      Responses of every resource: 204 with Allow to OPTIONS; 421 if Host is not a name of the daemon; 403 to an \
      unsafe method from a page of another origin (origins in corsOrigins may use methods that change nothing in the \
      library, origins in corsWriteOrigins all methods); 405 with Allow to an unsupported method. A malformed or \
      oversized message gets 400, 408, 413, 414, 417, 431, 501 or 505, and the connection closes. A body with a \
      Content-Encoding other than identity gets 415 with Accept-Encoding: identity. These resources need no \
      credentials: \(openPaths.joined(separator: ", ")). Once a token was made, all others also respond with 401 and \
      WWW-Authenticate: Bearer if the credential is missing or invalid, 403 with insufficient_scope if the token \
      lacks a scope, 403 if a signed URL was changed, and 429 after too many failed attempts. JSON of one kilobyte or \
      more is compressed with gzip if the client accepts it; the compressed form has its own entity tag.
      """),
    "license": ["name": "Apache-2.0", "identifier": "Apache-2.0"],
  ]

  /// The paths of the resources that are open without a credential.
  private static var openPaths: [String] {
    EndpointGroup.all.filter { group in group.endpoints.allSatisfy { $0.requirement == .open } }.map(\.path.text)
  }

  private static var paths: JSONValue {
    var paths: [String: JSONValue] = [:]
    for group in EndpointGroup.all {
      var item: [String: JSONValue] = [:]
      for endpoint in group.endpoints {
        let members = operation(of: endpoint)
        item[endpoint.method.name.lowercased()] = .object(members)
        if endpoint.method == .get { item["head"] = .object(headOperation(members, of: endpoint)) }
      }
      paths[group.path.text] = .object(item)
    }
    return .object(paths)
  }

  /// The operation object (OpenAPI 3.1 §4.8.10).
  private static func operation(of endpoint: Endpoint) -> [String: JSONValue] {
    let operation = endpoint.operation
    var object: [String: JSONValue] = [
      "operationId": .string(endpoint.operationID), "summary": .string(operation.summary),
      "responses": .object(responses(of: endpoint)),
    ]
    if let description = operation.description { object["description"] = .string(description) }
    let parameters = endpoint.path.parameters.map(pathParameter) + operation.query.map(\.json)
    if !parameters.isEmpty { object["parameters"] = .array(parameters) }
    if let body = operation.body { object["requestBody"] = .reference("requestBodies", body) }
    if let credentials = operation.credentials { object["security"] = security(credentials) }
    if operation.isEndless { object["x-streaming"] = true }
    return object
  }

  /// HEAD of a resource, derived from its GET: the responses have no bodies.
  private static func headOperation(_ get: [String: JSONValue], of endpoint: Endpoint) -> [String: JSONValue] {
    var object = get
    object["operationId"] = .string("\(endpoint.operationID)Head")
    object["summary"] = "The fields of the response to GET, without its body."
    object["responses"] = .object(
      responses(of: endpoint).mapValues { response in
        guard case .object(var members) = response else { return response }
        members.removeValue(forKey: "content")
        members.removeValue(forKey: "links")
        return .object(members)
      })
    return object
  }

  private static func pathParameter(_ name: String) -> JSONValue {
    var object: [String: JSONValue] = [
      "name": .string(name), "in": "path", "required": true, "schema": ["type": "string"],
    ]
    if name == "cachingManager" { object["description"] = "default, or the id of a created manager." }
    return .object(object)
  }

  private static func responses(of endpoint: Endpoint) -> [String: JSONValue] {
    let operation = endpoint.operation
    var responses: [String: JSONValue] = [:]
    for status in commonProblems(of: endpoint) { responses[String(status)] = problem(status) }
    for status in operation.problems {
      responses[String(status)] = operation.problemComponent.map { .reference("responses", $0) } ?? problem(status)
    }
    for response in operation.responses { responses[String(response.status)] = response.json }
    return responses
  }

  /// The statuses of problems that follow from the endpoint's requirement and body.
  private static func commonProblems(of endpoint: Endpoint) -> [Int] {
    // A malformed query; a forbidden origin, scope or signed URL; an unknown Host; failed attempts; overload.
    var statuses = [400, 403, 421, 429, 503]
    if endpoint.requirement != .open { statuses.append(401) }
    if endpoint.operation.body != nil { statuses += [408, 413, 415] }
    return statuses
  }

  private static func problem(_ status: Int) -> JSONValue {
    switch status {
    case 401: .reference("responses", "Unauthorized")
    case 416: .reference("responses", "RangeNotSatisfiable")
    case 403: .reference("responses", "Forbidden")
    case 429, 503: .reference("responses", "RetryLater")
    default: .reference("responses", "Problem")
    }
  }

  /// The security requirements (OpenAPI 3.1 §4.8.30): any one of these credentials.
  private static func security(_ credentials: [APIOperation.SecurityScheme]) -> JSONValue {
    .array(
      credentials.map { credential in
        credential == .none ? [:] : .object([credential.rawValue: []])
      })
  }
}
