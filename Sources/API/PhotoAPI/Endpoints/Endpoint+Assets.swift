import HTTPCore
import LibraryCatalogue
import LibraryFiles
import PhotoModel

extension Endpoint {
  static let assets: [Endpoint] = [
    Endpoint(
      .get, "/v1/assets", "listAssets", needs: .scope(.read),
      APIOperation(
        "Lists the assets that match a predicate, sorted and in pages.", query: assetListQuery,
        responses: assetListResponses, problems: [500]),
      handler: .custom { api, routed throws(Problem) in try api.assets.list(in: nil, routed) }),

    Endpoint(
      .post, "/v1/assets", "uploadAssets", needs: .scope(.add), isReading: false,
      APIOperation(
        "Uploads files as new assets.",
        description: """
          One picture or video as the body, or several as multipart/form-data, each part a file with a filename; parts \
          without one are form fields and are ignored. Or the JSON object {"upload": ID}, for a complete staged \
          upload. The content determines the type; upload.template determines the path. The response is sent after the \
          file has been checked and stored so that it survives a power cut. If the same content exists as an asset \
          that the caller may see, that asset is returned. For several files, each has its own result; if none became \
          an asset, the response is the first file's problem, with results. A caller with the scope add and not read \
          gets 201 and a new asset for each file, and for a repeated {"upload": ID} the asset that it made; and only \
          its localIdentifier and contentVersion, for several files as assets. A body that does not match the sha-256 \
          of its Content-Digest is refused; of a form, no file is stored then. Needs the scope add, which write \
          includes.
          """,
        query: [
          .text(
            "filename",
            """
            The file's name. Default: from Content-Disposition. The name is sanitized and can't lead out of its folder.
            """,
            example: "IMG_1.jpg")
        ],
        body: "Upload",
        responses: [
          APIResponse(
            200, "No new asset: the content existed already.", .json(["Asset", "UploadedAsset", "UploadResults"]),
            [.cacheControl, .location]),
          .created(
            "The asset, or the result of each file.", "Asset", "UploadedAsset", "UploadResults",
            "AddedAssets"),
        ],
        problems: [400, 404, 408, 409, 413, 415, 422, 500, 502, 504, 507], problemComponent: "UploadProblem"),
      handler: .upload { api, routed, body throws(Problem) in
        guard let body else { throw .missingUpload }
        try api.uploads.receive(body, routed)
      }),

    Endpoint(
      .get, "/v1/assets/{localIdentifier}", "getAsset", needs: .scope(.read), signedAccess: .albumAsset,
      APIOperation("One asset.", responses: .validated("The asset.", .json(["Asset"])), problems: [404, 500]),
      handler: .lookup { api, routed throws(Problem) in
        try api.assets.get(routed.identifier("localIdentifier"), routed.request, routed.principal)
      }),

    Endpoint(
      .get, "/v1/assets/{localIdentifier}/metadata", "getMetadata", needs: .scope(.read), signedAccess: .albumAsset,
      APIOperation(
        "All metadata of the original, by name.",
        description: """
          Read from the file. Callers without the scope location get no section, entry, property or field that \
          contains a location.
          """,
        query: [.networkAccess],
        responses: .validated(
          "The metadata.", .json(["Metadata"]),
          notModified: "The metadata matches If-None-Match. The file was not opened."),
        problems: [404, 415, 422, 500, 502, 504, 507]),
      handler: .custom { api, routed throws(Problem) in
        try api.metadata.answer(routed.identifier("localIdentifier"), routed)
      }),

    Endpoint(
      .get, "/v1/trash", "listTrash", needs: .scope(.write),
      APIOperation(
        "Lists deleted assets that can be restored, last deleted first, in pages.",
        description: """
          Needs the scope write. A change list can restore an asset; at purgeDate it is deleted permanently.
          """,
        query: [.number("limit", 1...1000, default: 100, "Assets per page."), .cursor],
        responses: .validated("A page.", .json(["TrashPage"])), problems: [500]),
      handler: .lookup { api, routed throws(Problem) in
        try api.trash.list(routed)
      }),
  ]

  /// The query of an asset list, of the library or of a collection.
  static let assetListQuery: [QueryParameter] = [
    .word(
      "layout", AssetListQuery.Layout.self, default: .objects,
      """
      objects: assets. columns: one array per property, for thousands of assets at once. buckets: the number of assets \
      per day, month or year at each asset's UTC offset, or else in the library's time zone, newest first.
      """),
    .word("by", DateBucket.Unit.self, default: .day, "Only with layout=buckets.", needs: "layout=buckets"),
    .text(
      "predicate", "NSPredicate's format language over the keys of an asset; HTTP.md documents it.",
      example: "isFavorite == NO AND (mediaSubtypes & photoPanorama) == 0"),
    .text(
      "search",
      """
      Words, and phrases in quotation marks, over file name, path, title, caption, keywords, people, camera, lens and \
      album titles, and over place names with the scope location. All must match; case and accents are ignored, and \
      the last word may be the beginning of one, in a phrase only with an asterisk after it. At most 1024 bytes and 32 \
      words.
      """,
      example: "beach"),
    .text(
      "sortDescriptors",
      """
      Keys separated by commas, with - before descending ones; ties are ordered by localIdentifier. Default: newest \
      first, or without search the collection's own order. With search also relevance: the best of the newest 5000 \
      matches first.
      """,
      example: "-creationDate,originalFilename"),
    .number("fetchLimit", 1...1_000_000_000, "The maximum number of results on all pages together."),
    .includeHiddenAssets,
    .includeAllBurstAssets,
    .number(
      "limit", FetchQuery.pageSizes, default: 100,
      "Assets per page. With layout=columns 1...10000, default 10000."),
    .cursor,
    .flag("count", "Include the total count. Only with layout=objects."),
    .text(
      "fields",
      """
      Only these properties, separated by commas. With layout=columns, of: \
      \(AssetColumns.Field.allCases.map(\.rawValue).joined(separator: ", ")). Default: all.
      """,
      example: "localIdentifier,creationDate"),
  ]

  static let assetListResponses: [APIResponse] = .validated(
    "A page, or the buckets.", .json(["AssetPage", "AssetColumns", "DateBuckets"]), [.contentEncoding, .link])
}
