import HTTPCore
import PhotoModel

extension Endpoint {
  static let changes: [Endpoint] = [
    Endpoint(
      .get, "/v1/changes", "listChanges", needs: .scope(.read),
      APIOperation(
        """
        The changes since a state of the library, each object once. Applied to that state, they give the state at \
        changeToken.
        """,
        query: [
          .text("since", "The changeToken of any response.", isRequired: true),
          .number(
            "limit", ChangeRoutes.pageSizes, default: ChangeRoutes.pageSize,
            """
            Maximum number of objects in one response. A commit is not split, so a large commit may exceed the limit.
            """),
          types, ofCollection, ofAsset,
        ],
        responses: .validated("The changes. If more is true, continue from changeToken.", .json(["Changes"])) + [
          APIResponse(410, "The token has expired: fetch again.", .problem, [.cacheControl])
        ],
        problems: [404, 500]),
      handler: .lookup { api, routed throws(Problem) in
        try api.changes.history(routed)
      }),

    // The entries refer to existing assets and collections, so the caller needs read access too.
    Endpoint(
      .post, "/v1/changes", "performChanges", needs: .scope(.write), isReading: false,
      APIOperation(
        "Executes a change list (performChanges), as a whole or not at all.",
        description: "Needs the scopes read and write.", body: "ChangeList",
        responses: [.json(200, "The change is made and durable.", "ChangeOutcome")],
        problems: [400, 403, 404, 409, 412, 415, 422, 500, 502, 504, 507], problemComponent: "ChangeProblem"),
      handler: .change { api, routed throws(Problem) in
        try api.changes.perform(routed.request, routed.principal)
      }),

    Endpoint(
      .get, "/v1/changes/stream", "streamChanges", needs: .scope(.read),
      APIOperation(
        """
        Changes as they are made, as Server-Sent Events. Events of type change have the response of GET /v1/changes as \
        data and its changeToken as id. An event of type reload means that the client lags too far behind and must \
        fetch again. With fetchResult, the data is the response of GET /v1/fetchResults/{fetchResult}/changes, from \
        the last sent handle to a new one, and the id is its changeToken, a dot, and its id.
        """,
        query: [
          .text(
            "since",
            """
            The start: the changeToken of any response. Default: now. A Last-Event-ID field overrides it; one that is \
            no changeToken of this library begins the stream with an event of type reload.
            """),
          types, ofCollection, ofAsset,
          .text(
            "fetchResult",
            """
            Only changes of this fetch result, starting from its own state. Can't be combined with since, types, \
            collection or asset. A Last-Event-ID field names a later list that the client shows.
            """),
        ],
        isEndless: true,
        responses: [APIResponse(200, "The stream.", .media(["text/event-stream"]), [.cacheControl])],
        problems: [404, 500]),
      handler: .custom { api, routed throws(Problem) in
        try api.changes.stream(routed)
      }),
  ]

  private static let types: QueryParameter = .text(
    "types", "The kinds of objects, separated by commas.", default: "asset,collection", example: "asset")

  private static let ofCollection: QueryParameter = .text(
    "collection",
    """
    Only changes of one collection. For an album or folder: its own changes, added members (inserted), removed members \
    (deleted), and changed members. For other collections, whose assets are computed from the library: the changes of \
    every asset.
    """,
    example: "x")

  private static let ofAsset: QueryParameter = .text(
    "asset",
    "Only changes of this asset, including that it is deleted or restored. Can't be combined with collection.",
    example: "x")
}
