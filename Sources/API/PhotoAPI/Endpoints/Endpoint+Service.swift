import HTTPCore
import PhotoModel
import Telemetry

extension Endpoint {
  static let service: [Endpoint] = [
    Endpoint(
      .get, "/healthz", "getHealth", needs: .open,
      APIOperation("Liveness: the process responds.", responses: [APIResponse(200, component: "Health")]),
      handler: .immediate { api, _ throws(Problem) in api.health.health() }),

    Endpoint(
      .get, "/readyz", "getReadiness", needs: .open,
      APIOperation(
        "Readiness: whether requests can be served, and the progress of the first scan.",
        responses: [APIResponse(200, component: "Readiness"), APIResponse(503, component: "Readiness")]),
      handler: .lookup { api, routed throws(Problem) in
        api.health.readiness(routed.caller?.principal)
      }),

    // `MetricsRoute` decides who may read them: the rule depends on more than a scope if no token was ever made.
    Endpoint(
      .get, "/metrics", "getMetrics", needs: .authenticated,
      APIOperation(
        "The daemon's metrics, in the Prometheus text format.",
        description: """
          Needs the scope admin and a token that is not limited to collections. If no token was ever made: for \
          requests from this machine that no proxy forwarded, while `trustedProxies` is empty.
          """,
        responses: [APIResponse(200, "The metrics.", .media([MetricsRegistry.mediaType]), [.cacheControl])]),
      handler: .custom { api, routed throws(Problem) in
        try api.metrics.answer(routed.principal, routed.reply)
      }),

    Endpoint(
      .post, "/v1/scan", "requestScan", needs: .scope(.admin), isReading: false,
      APIOperation(
        "Start a full scan of the library.",
        description: """
          The scan runs in the background. If one is running, another one follows it: files that change during a scan \
          are found. `GET /v1/changes` and its stream show what it finds. The body is optional.
          """,
        body: "RequestedScan",
        responses: [APIResponse(202, "The scan runs, or waits for the running one.")]),
      handler: .immediate { api, routed throws(Problem) in try api.health.scan(routed.request, api.requestScan) }),

    Endpoint(
      .get, "/openapi.json", "getOpenAPI", needs: .authenticated,
      APIOperation(
        "This document.", responses: .validated("The document.", .media([JSONBody.mediaType]))),
      handler: .immediate { api, routed throws(Problem) in api.health.openAPI(routed.request) }),
  ]
}
