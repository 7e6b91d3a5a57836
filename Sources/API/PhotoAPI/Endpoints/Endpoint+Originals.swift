import HTTPCore
import PhotoModel

extension Endpoint {
  static let originals: [Endpoint] = [
    Endpoint(
      .get, "/v1/assets/{localIdentifier}/data", "getData", needs: .scope(.read), signedAccess: .albumAsset,
      APIOperation(
        "The file of an asset, or ranges of it.",
        description: """
          The bytes as they are, except for places, which are overwritten: the length, all offsets and the pixels stay \
          the same. A file whose places can't be removed gets 403. The version original of a photograph with a RAW \
          file is the RAW file. The version current of an adjusted asset is rendered at its full size; one that can't \
          be rendered gets 415 or 422.
          """,
        query: [
          .word("version", ImageVersion.self, default: .current, "The version of the asset.")
        ] + dataQuery, responses: dataResponses, problems: [404, 415, 416, 422, 500, 502, 504, 507]),
      handler: .custom { api, routed throws(Problem) in
        try api.data.send(.version, of: routed.identifier("localIdentifier"), routed)
      }),

    Endpoint(
      .get, "/v1/assets/{localIdentifier}/resources", "listResources", needs: .scope(.read),
      signedAccess: .albumAsset,
      APIOperation(
        "Lists the files of an asset, the primary one first.",
        responses: .validated("The files.", .json(["ResourceList"])), problems: [404, 500]),
      handler: .lookup { api, routed throws(Problem) in
        try api.data.list(routed.identifier("localIdentifier"), routed.request, routed.principal)
      }),

    Endpoint(
      .get, "/v1/assets/{localIdentifier}/resources/{type}/data", "getResourceData", needs: .scope(.read),
      signedAccess: .albumAsset,
      APIOperation(
        "A file of an asset by its type, or ranges of it.",
        description: "Like /v1/assets/{localIdentifier}/data. If several files have the type, index chooses one.",
        query: [
          .number(
            "index", ResourceChoice.indexes, default: 0, "Which of the files of the type, in the order of the list.")
        ] + dataQuery, responses: dataResponses, problems: [404, 415, 416, 422, 500, 502, 504, 507]),
      handler: .custom { api, routed throws(Problem) in
        try api.data.send(.resource(routed.route["type"]), of: routed.identifier("localIdentifier"), routed)
      }),

    Endpoint(
      .put, "/v1/assets/{localIdentifier}/keepOriginal", "keepOriginal", needs: .scope(.write), isReading: false,
      APIOperation(
        "Keeps the originals of an asset of a remote library on this machine, or no longer.",
        description: """
          They are downloaded in the background, and not evicted; see the guide RemoteLibraries for the limit. In a \
          library that is a folder this has no effect. Needs the scopes read and write.
          """,
        body: "KeepOriginal", responses: [APIResponse(204, "The asset has this value.", .none, [.cacheControl])],
        problems: [404, 409, 412, 500, 507]),
      handler: .change { api, routed throws(Problem) in
        try api.keepOriginal.put(asset: routed.identifier("localIdentifier"), routed.request, routed.principal)
      }),

    Endpoint(
      .put, "/v1/collections/{collection}/keepOriginal", "keepOriginals", needs: .scope(.write), isReading: false,
      APIOperation(
        "Keeps the originals of all assets of an album or folder on this machine, or no longer.",
        description: """
          The same as for each asset in it, now and later. Smart albums, moments and transient collections have no \
          such value.
          """,
        body: "KeepOriginal", responses: [APIResponse(204, "The collection has this value.", .none, [.cacheControl])],
        problems: [404, 409, 412, 422, 500, 507]),
      handler: .change { api, routed throws(Problem) in
        try api.keepOriginal.put(collection: routed.identifier("collection"), routed.request, routed.principal)
      }),
  ]

  private static let dataQuery: [QueryParameter] = [
    .flag("includeLocation", "Keep the places in the file. Needs the scope location."),
    .flag("download", "Ask the browser to save the file instead of showing it."),
    .networkAccess,
    .text(
      "v", "The asset's contentVersion. The response can then be cached forever; a version that is gone gets 404."),
  ]

  private static let dataResponses: [APIResponse] =
    .validated(
      "The whole file.", .media(["*/*"]),
      [.acceptRanges, .lastModified, .contentDisposition, .contentSecurityPolicy, .imageResult])
    + [
      APIResponse(
        206, "The ranges.", .media(["*/*", "multipart/byteranges"]),
        [
          .entityTag, .cacheControl, .acceptRanges, .contentRange, .lastModified, .contentDisposition,
          .contentSecurityPolicy, .imageResult,
        ])
    ]
}
