import HTTPCore
import PhotoModel

extension Endpoint {
  static let collections: [Endpoint] = [
    Endpoint(
      .get, "/v1/collections", "listCollections", needs: .scope(.read),
      APIOperation(
        """
        Lists collections: smart albums, folders and albums, or moments and their lists by year and month; with parent \
        one level in its own order.
        """,
        query: [parent] + collectionListQuery, responses: collectionListResponses, problems: [404, 500]),
      handler: .custom { api, routed throws(Problem) in try api.collections.list(in: nil, routed) }),

    Endpoint(
      .get, "/v1/collections/{collection}", "getCollection", needs: .scope(.read), signedAccess: .album,
      APIOperation(
        "One collection.", query: [.includeHiddenAssets, .includeAllBurstAssets],
        responses: .validated("The collection.", .json(["Collection"])), problems: [404, 500]),
      handler: .custom { api, routed throws(Problem) in
        try api.collections.get(routed.identifier("collection"), routed)
      }),

    Endpoint(
      .get, "/v1/collections/{collection}/assets", "listCollectionAssets", needs: .scope(.read),
      signedAccess: .album,
      APIOperation(
        """
        Lists the assets of a collection, by default in its own order; of a folder or list everything below it, each \
        asset once, newest first. A transient list has none (404).
        """,
        query: assetListQuery,
        responses: assetListResponses, problems: [404, 500]),
      handler: .custom { api, routed throws(Problem) in
        try api.assets.list(in: routed.identifier("collection"), routed)
      }),

    Endpoint(
      .get, "/v1/collections/{collection}/collections", "listCollectionChildren", needs: .scope(.read),
      APIOperation(
        "Lists the collections in a folder or collection list.", query: collectionListQuery,
        responses: collectionListResponses, problems: [404, 500]),
      handler: .custom { api, routed throws(Problem) in
        try api.collections.list(in: routed.identifier("collection"), routed)
      }),

    Endpoint(
      .get, "/v1/transientCollections", "listTransientCollections", needs: .scope(.read, .admin),
      APIOperation(
        """
        Lists the caller's transient collections and lists, in no particular order; for admin with full visibility, \
        everybody's. Does not renew their leases.
        """,
        responses: .validated(
          "The transient collections.", .json(["TransientCollectionList"]), [.contentEncoding])),
      handler: .lookup { api, routed throws(Problem) in
        try api.transientCollections.list(routed.request, routed.principal)
      }),

    Endpoint(
      .post, "/v1/transientCollections", "createTransientCollection", needs: .scope(.read),
      APIOperation(
        """
        Creates a transient collection, which is not saved in the library, from assets or fetch results, or a \
        transient list from collections, in the given order.
        """,
        body: "TransientCollection", responses: [.created("Created.", "TransientCollection")], problems: [404, 500]),
      handler: .fetch { api, routed, end throws(Problem) in
        try api.transientCollections.create(routed.request, until: end, routed.principal)
      }),

    Endpoint(
      .delete, "/v1/transientCollections/{transientCollection}", "deleteTransientCollection",
      needs: .scope(.read, .admin),
      APIOperation(
        "Deletes a transient collection or list. Its members stay in the library.",
        responses: [APIResponse(204, "Deleted.")], problems: [404]),
      handler: .lookup { api, routed throws(Problem) in
        try api.transientCollections.delete(routed.route["transientCollection"], routed.principal)
      }),
  ]

  private static let parent = QueryParameter.text(
    "parent", "Only the collections directly in this folder or list; root for the user's top level.", example: "root")

  private static let collectionListQuery: [QueryParameter] = [
    .word("type", CollectionType.self, "Default: smart albums, folders and albums."),
    .text(
      "subtype", "PhotoKit's name. Of folders: regularFolder, momentListYear, momentListCluster (months).",
      example: "smartAlbumFavorites"),
    .number("limit", 1...1000, default: 100, "Collections per page."),
    .cursor,
    .text("containing", "Only collections that list this asset.", example: "q0X3mJk1SbaZ2n8vT5rYwA"),
    .includeHiddenAssets,
    .includeAllBurstAssets,
    .text(
      "predicate",
      """
      A predicate over localIdentifier, title, type, subtype, startDate, endDate, estimatedAssetCount, \
      estimatedCollectionCount.
      """,
      example: "estimatedAssetCount > 0 AND title CONTAINS[c] 'a'"),
    .text(
      "sortDescriptors", "Sort keys, from the same keys as predicate. Default: the list's own order.",
      example: "title,-endDate"),
  ]

  private static let collectionListResponses: [APIResponse] = .validated(
    "A page.", .json(["CollectionPage"]), [.contentEncoding, .link])
}
