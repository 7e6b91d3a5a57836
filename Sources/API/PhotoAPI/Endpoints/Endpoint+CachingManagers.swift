import HTTPCore
import PhotoModel

extension Endpoint {
  static let cachingManagers: [Endpoint] = [
    Endpoint(
      .get, "/v1/cachingManagers", "listCachingManagers", needs: .scope(.read, .admin),
      APIOperation(
        """
        The caller's caching managers. For an administrator who sees the whole library, those of other callers follow, \
        where a default manager has an identifier of its own, to be read and deleted.
        """,
        query: [ClientName.parameter],
        responses: [.json(200, "The caching managers, the default one first.", "CachingManagerList")]),
      handler: .lookup { api, routed throws(Problem) in
        try api.caching.list(routed)
      }),

    Endpoint(
      .post, "/v1/cachingManagers", "createCachingManager", needs: .scope(.read),
      APIOperation(
        "Creates a caching manager, which keeps frames ready until its lease ends. The body is optional.",
        body: "CachingManager", responses: [.created("Created.", "CachingManager")]),
      handler: .lookup { api, routed throws(Problem) in
        try api.caching.create(routed.request, routed.principal)
      }),

    Endpoint(
      .get, "/v1/cachingManagers/{cachingManager}", "getCachingManager", needs: .scope(.read, .admin),
      APIOperation(
        "The state of a caching manager. Renews its lease.", query: [ClientName.parameter],
        responses: [.json(200, "The caching manager.", "CachingManager")], problems: [404]),
      handler: .lookup { api, routed throws(Problem) in
        try api.caching.get(routed.route["cachingManager"], routed)
      }),

    Endpoint(
      .patch, "/v1/cachingManagers/{cachingManager}", "changeCachingManager", needs: .scope(.read),
      APIOperation(
        "Changes the quality or the lease of a caching manager. Ready frames stay. Renews its lease.",
        query: [ClientName.parameter], body: "CachingManagerChange",
        responses: [.json(200, "The caching manager.", "CachingManager")], problems: [404]),
      handler: .lookup { api, routed throws(Problem) in
        try api.caching.change(routed.route["cachingManager"], routed)
      }),

    Endpoint(
      .delete, "/v1/cachingManagers/{cachingManager}", "deleteCachingManager", needs: .scope(.read, .admin),
      APIOperation(
        "Deletes the manager and releases all its frames. The default manager starts again empty.",
        query: [ClientName.parameter], responses: [APIResponse(204, "Deleted.")], problems: [404]),
      handler: .lookup { api, routed throws(Problem) in
        try api.caching.delete(routed.route["cachingManager"], routed)
      }),

    Endpoint(
      .post, "/v1/cachingManagers/{cachingManager}/startCaching", "startCaching", needs: .scope(.read),
      APIOperation(
        "Prepares frames and keeps them until caching is stopped.", query: [ClientName.parameter],
        body: "CachedImages",
        responses: [
          .json(
            200, "The started assets, those left out for lack of room, and those that do not exist for the caller.",
            "StartedCaching")
        ],
        problems: [404, 500]),
      handler: .lookup { api, routed throws(Problem) in
        try api.caching.start(routed.route["cachingManager"], routed)
      }),

    Endpoint(
      .post, "/v1/cachingManagers/{cachingManager}/stopCaching", "stopCaching", needs: .scope(.read),
      APIOperation(
        "Stops caching that was started with the same size, mode and options.", query: [ClientName.parameter],
        body: "CachedImages",
        responses: [.json(200, "The number of stopped assets, and the counts of the manager.", "StoppedCaching")],
        problems: [404, 500]),
      handler: .lookup { api, routed throws(Problem) in
        try api.caching.stop(routed.route["cachingManager"], routed)
      }),

    Endpoint(
      .post, "/v1/cachingManagers/{cachingManager}/stopCachingAllImages", "stopCachingAllImages",
      needs: .scope(.read),
      APIOperation(
        "Stops all caching of the manager and ends its window. The body is optional.",
        query: [ClientName.parameter], body: "StoppedCachingAllImages",
        responses: [.json(200, "The caching manager.", "CachingManager")], problems: [404]),
      handler: .lookup { api, routed throws(Problem) in
        try api.caching.stopAll(routed.route["cachingManager"], routed)
      }),

    Endpoint(
      .put, "/v1/cachingManagers/{cachingManager}/window", "moveWindow", needs: .scope(.read),
      APIOperation(
        "Sets the visible range of a list. The daemon decides which frames to prepare and which to release.",
        query: [ClientName.parameter], body: "Window",
        responses: [.json(200, "The current window.", "Window")], problems: [404, 500]),
      handler: .custom { api, routed throws(Problem) in
        try api.caching.moveWindow(routed.route["cachingManager"], routed)
      }),
  ]
}
