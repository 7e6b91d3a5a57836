import PhotoModel

/// Links of the OpenAPI document: which operations take the identifiers and tokens that a response contains. Test
/// programs follow them from operation to operation (OpenAPI 3.1 §4.8.20).
enum APILink {
  /// A value in a JSON body.
  private struct Source {
    /// A JSON pointer (RFC 6901).
    let pointer: String
    /// The parameter that takes the value: `since` of ``changes``, or a path parameter, in every path that has it.
    let parameter: String
  }

  /// The operation that takes a change token, and its parameter.
  private static let changes = (operationID: "listChanges", parameter: "since")

  /// By the schema of the body.
  private static let sources: [String: [Source]] = [
    "Asset": [Source(pointer: "/localIdentifier", parameter: "localIdentifier")],
    "AssetPage": [
      Source(pointer: "/assets/0/localIdentifier", parameter: "localIdentifier"),
      Source(pointer: "/changeToken", parameter: changes.parameter),
    ],
    "UploadedAsset": [Source(pointer: "/localIdentifier", parameter: "localIdentifier")],
    "Collection": [Source(pointer: "/localIdentifier", parameter: "collection")],
    "CollectionPage": [Source(pointer: "/collections/0/localIdentifier", parameter: "collection")],
    "TransientCollection": [
      Source(pointer: "/localIdentifier", parameter: "collection"),
      Source(pointer: "/localIdentifier", parameter: "transientCollection"),
    ],
    "TransientCollectionList": [Source(pointer: "/collections/0/localIdentifier", parameter: "transientCollection")],
    "FetchResults": [Source(pointer: "/fetchResults/0/id", parameter: "fetchResult")],
    "CachingManagerList": [Source(pointer: "/cachingManagers/0/id", parameter: "cachingManager")],
    "FetchResult": [
      Source(pointer: "/id", parameter: "fetchResult"),
      Source(pointer: "/changeToken", parameter: changes.parameter),
    ],
    "FetchResultChanges": [Source(pointer: "/fetchResultAfterChanges/id", parameter: "fetchResult")],
    "CachingManager": [Source(pointer: "/id", parameter: "cachingManager")],
    "StagedUpload": [Source(pointer: "/upload", parameter: "upload")],
    "RequestList": [Source(pointer: "/requests/0/requestID", parameter: "requestID")],
    "ChangeOutcome": [Source(pointer: "/changeToken", parameter: changes.parameter)],
    "Changes": [Source(pointer: "/changeToken", parameter: changes.parameter)],
  ]

  /// The link objects of a response with one of these schemas, by name. `nil`: none.
  static func json(_ schemas: [String]) -> JSONValue? {
    var links: [String: JSONValue] = [:]
    for source in schemas.flatMap({ sources[$0] ?? [] }) {
      let targets =
        source.parameter == changes.parameter
        ? [changes.operationID]
        : Endpoint.all.filter { $0.path.parameters.contains(source.parameter) }.map(\.operationID)
      for target in targets {
        links[target] = [
          "operationId": .string(target),
          "parameters": .object([source.parameter: .string("$response.body#\(source.pointer)")]),
        ]
      }
    }
    return links.isEmpty ? nil : .object(links)
  }
}
