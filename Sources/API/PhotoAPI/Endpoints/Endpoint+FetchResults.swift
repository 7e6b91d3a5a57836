import HTTPCore
import PhotoModel

extension Endpoint {
  static let fetchResults: [Endpoint] = [
    Endpoint(
      .get, "/v1/fetchResults", "listFetchResults", needs: .scope(.read, .admin),
      APIOperation(
        "The caller's fetch results; for an administrator, those of all callers. Renews no lease.",
        responses: .validated("The fetch results.", .json(["FetchResults"]))),
      handler: .lookup { api, routed throws(Problem) in
        try api.fetchResults.list(routed.request, routed.principal)
      }),

    Endpoint(
      .post, "/v1/fetchResults", "createFetchResult", needs: .scope(.read),
      APIOperation(
        """
        Creates a fetch result over assets or collections: an ordered list whose identifiers and order stay fixed \
        while the library changes.
        """,
        body: "FetchResult", responses: [.created("Created.", "FetchResult")], problems: [404, 500]),
      handler: .fetch { api, routed, end throws(Problem) in
        try api.fetchResults.create(routed.request, until: end, routed.principal)
      }),

    Endpoint(
      .get, "/v1/fetchResults/{fetchResult}", "getFetchResult", needs: .scope(.read, .admin),
      APIOperation(
        "A fetch result. Renews its lease.", responses: .validated("The fetch result.", .json(["FetchResult"])),
        problems: [404]),
      handler: .lookup { api, routed throws(Problem) in
        try api.fetchResults.get(routed.route["fetchResult"], routed.request, routed.principal)
      }),

    Endpoint(
      .delete, "/v1/fetchResults/{fetchResult}", "deleteFetchResult", needs: .scope(.read, .admin),
      APIOperation("Deletes a fetch result.", responses: [APIResponse(204, "Deleted.")], problems: [404]),
      handler: .lookup { api, routed throws(Problem) in
        try api.fetchResults.delete(routed.route["fetchResult"], routed.principal)
      }),

    Endpoint(
      .get, "/v1/fetchResults/{fetchResult}/assets", "listFetchResultAssets", needs: .scope(.read),
      APIOperation(
        "A range of a fetch result's assets in their current state, or the index of one asset.",
        query: [
          .text(
            "range",
            "FIRST-LAST, counted from 0, both included; at most 1000. Positions past the end are left out.",
            default: "0-99", pattern: "^[0-9]+-[0-9]+$", example: "0-9"),
          .text("indexOf", "An asset's identifier. Can't be combined with range.", example: "x"),
          .fields,
        ],
        responses: .validated(
          """
          The assets; a deleted one has only its identifier and deleted: true. With indexOf, the asset's index, or \
          null if the list does not contain it.
          """,
          .json(["FetchResultRange", "FetchResultIndex"])),
        problems: [404, 500]),
      handler: .lookup { api, routed throws(Problem) in
        try api.fetchResults.assets(routed.route["fetchResult"], routed)
      }),

    Endpoint(
      .get, "/v1/fetchResults/{fetchResult}/collections", "listFetchResultCollections", needs: .scope(.read),
      APIOperation(
        "A range of the collections of a fetch result in their current state, or the index of one collection.",
        query: [
          .text(
            "range",
            "FIRST-LAST, counted from 0, both included; at most 1000. Positions past the end are left out.",
            default: "0-99", pattern: "^[0-9]+-[0-9]+$", example: "0-9"),
          .text("indexOf", "A collection's identifier. Can't be combined with range.", example: "x"),
        ],
        responses: .validated(
          """
          The collections; a deleted one has only its identifier and deleted: true. With indexOf, the collection's \
          index, or null if the list does not contain it.
          """,
          .json(["FetchResultCollectionRange", "FetchResultIndex"])),
        problems: [404, 500]),
      handler: .lookup { api, routed throws(Problem) in
        try api.fetchResults.collections(routed.route["fetchResult"], routed)
      }),

    Endpoint(
      .get, "/v1/fetchResults/{fetchResult}/changes", "getFetchResultChanges", needs: .scope(.read),
      APIOperation(
        """
        The changes of a fetch result since it was created, as in PHFetchResultChangeDetails, and a handle for the \
        list after them.
        """,
        description: """
          The given fetch result does not change until its lease ends. If nothing changed, the handle after the \
          changes is the same handle; a repeated request in the same state returns the same new handle.
          """,
        responses: .validated("The changes.", .json(["FetchResultChanges"])), problems: [404, 500]),
      handler: .custom { api, routed throws(Problem) in
        try api.fetchResultChanges.answer(routed.route["fetchResult"], routed)
      }),
  ]
}
