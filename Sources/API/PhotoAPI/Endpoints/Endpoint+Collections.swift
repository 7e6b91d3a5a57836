import HTTPCore
import PhotoModel

extension Endpoint {
  static let collections: [Endpoint] = [
    Endpoint(
      .get, "/v1/collections", "listCollections", needs: .scope([.read]),
      APIOperation(
        "Lists collections: smart albums, folders and albums, or moments and their lists by year and month.",
        query: collectionListQuery, responses: collectionListResponses, problems: [500]),
      handler: .custom { api, exchange throws(Problem) in try api.collections.list(in: nil, exchange) }),

    Endpoint(
      .get, "/v1/collections/{collection}", "getCollection", needs: .scope([.read]), signedAccess: .album,
      APIOperation(
        "One collection.", query: [.includeHiddenAssets, .includeAllBurstAssets],
        responses: .validated("The collection.", .json(["Collection"])), problems: [404, 500]),
      handler: .lookup { api, exchange throws(Problem) in
        try api.collections.get(exchange.identifier("collection"), exchange.request, exchange.principal)
      }),

    Endpoint(
      .get, "/v1/collections/{collection}/assets", "listCollectionAssets", needs: .scope([.read]),
      signedAccess: .album,
      APIOperation(
        "Lists the assets of a collection, by default in its own order.", query: assetListQuery,
        responses: assetListResponses, problems: [404, 500]),
      handler: .custom { api, exchange throws(Problem) in
        try api.assets.list(in: exchange.identifier("collection"), exchange)
      }),

    Endpoint(
      .get, "/v1/collections/{collection}/collections", "listCollectionChildren", needs: .scope([.read]),
      APIOperation(
        "Lists the collections in a folder or collection list.", query: collectionListQuery,
        responses: collectionListResponses, problems: [404, 500]),
      handler: .custom { api, exchange throws(Problem) in
        try api.collections.list(in: exchange.identifier("collection"), exchange)
      }),

    Endpoint(
      .post, "/v1/transientCollections", "createTransientCollection", needs: .scope([.read]),
      APIOperation(
        """
        Creates a transient collection, which is not saved in the library, from assets or fetch results, in the given \
        order.
        """,
        body: "TransientCollection", responses: [.created("Created.", "TransientCollection")], problems: [404, 500]),
      handler: .fetch { api, exchange, end throws(Problem) in
        try api.collections.createTransient(exchange.request, until: end, exchange.principal)
      }),
  ]

  private static let collectionListQuery: [QueryParameter] = [
    .word("type", CollectionType.self, "Default: smart albums, folders and albums."),
    .text(
      "subtype", "PhotoKit's name. Of folders: regularFolder, momentListYear, momentListCluster (months).",
      example: "smartAlbumFavorites"),
    .number("limit", 1...1000, default: 100, "Collections per page."),
    .cursor,
    .includeHiddenAssets,
    .includeAllBurstAssets,
    .text(
      "predicate",
      "A predicate over localIdentifier, title, type, subtype, startDate, endDate, estimatedAssetCount.",
      example: "estimatedAssetCount > 0 AND title CONTAINS[c] 'a'"),
    .text(
      "sortDescriptors", "Sort keys, from the same keys as predicate. Default: the list's own order.",
      example: "title,-endDate"),
  ]

  private static let collectionListResponses: [APIResponse] = .validated(
    "A page.", .json(["CollectionPage"]), [.contentEncoding, .link])
}
