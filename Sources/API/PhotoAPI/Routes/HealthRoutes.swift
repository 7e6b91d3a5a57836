import AccessControl
import HTTPCore
import PhotoModel

/// `/healthz`, `/readyz`, `/openapi.json` and `/v1/scan`.
struct HealthRoutes: Sendable {
  let queries: QueryService
  let access: AccessRegistry

  /// Liveness: the process responds. Checks nothing else.
  func health() -> HTTPResponse {
    .json(body: Array("{\"status\":\"ok\"}".utf8))
  }

  /// Readiness: whether requests can be served, and the progress of the first scan.
  ///
  /// - Parameter principal: the assets that it may see are counted. The count is 0 if it is `nil` or may neither read
  ///   nor administer.
  func readiness(_ principal: Principal?) -> HTTPResponse {
    struct Payload: Encodable {
      struct FirstScan: Encodable {
        let complete: Bool
        /// Absent for callers that may not count assets.
        let indexed: Int?
      }
      let ready: Bool
      var reason: String?
      var firstScan: FirstScan?
    }
    let reader = principal.flatMap { $0.may(.read) || $0.may(.admin) ? $0 : nil }
    do throws(AssetSourceError) {
      let state = try queries.library.scanState(for: reader ?? .local)
      let scan = Payload.FirstScan(
        complete: state.isFirstScanComplete, indexed: reader == nil ? nil : state.indexedCount)
      guard access.isCurrent else {
        let reason =
          access.isReplaced
          ? "the file of the tokens was moved, deleted or replaced" : "the file of the tokens can't be read"
        return .json(Payload(ready: false, reason: reason), status: 503)
      }
      return .json(Payload(ready: true, firstScan: scan))
    } catch {
      queries.log(error)
      return .json(Payload(ready: false, reason: error.readiness), status: 503)
    }
  }

  /// Requests a full scan. The body is empty, or an empty JSON object.
  func scan(_ request: HTTPRequest, _ requestScan: @Sendable () -> Void) throws(Problem) -> HTTPResponse {
    if !request.body.isEmpty { try JSONObjectReader(request).finish() }
    requestScan()
    return HTTPResponse(202)
  }

  func openAPI(_ request: HTTPRequest) -> HTTPResponse {
    JSONResponse(OpenAPIDocument.bytes, tag: OpenAPIDocument.entityTag, cacheControl: "no-cache")
      .response(to: request.head) { OpenAPIDocument.gzipped }
  }
}

extension AssetSourceError {
  /// Why no request can be served, without details that only the operator should read.
  fileprivate var readiness: String {
    switch self {
    case .storageFailed(.damaged, _): "the catalogue is damaged"
    case .storageFailed(.replaced, _): "the catalogue was moved, deleted or replaced"
    default: "the catalogue can't be read"
    }
  }
}
