import HTTPCore
import ImageService
import Logging
import PhotoModel

/// `/healthz`, `/readyz` and `/openapi.json`.
struct HealthRoutes: Sendable {
  private static let openAPITag = EntityTag.strong(over: PackageResources.openapi_json)
  private static let gzippedOpenAPI = ContentCoding.gzip(PackageResources.openapi_json)

  let library: any AssetSource
  let logger: Logger

  /// Liveness: the process responds. Checks nothing else.
  func health(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    return HTTPResponse(
      .ok, [("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store")],
      body: Array("{\"status\":\"ok\"}".utf8))
  }

  /// Readiness: whether requests can be served, and the progress of the first scan.
  ///
  /// - Parameter principal: counts the assets that it may see. `nil`: reports a count of 0.
  func readiness(_ request: HTTPRequest, _ principal: Principal?) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      struct FirstScan: Encodable {
        let complete: Bool
        let indexed: Int
      }
      let ready: Bool
      var reason: String?
      var firstScan: FirstScan?
    }
    try QueryReader(request.target).finish()
    let fields = [("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store")]
    do throws(AssetSourceError) {
      let state = try library.scanState(for: principal ?? .local)
      let scan = Payload.FirstScan(
        complete: state.isFirstScanComplete, indexed: principal == nil ? 0 : state.indexedCount)
      return HTTPResponse(.ok, fields, body: JSONBody.encode(Payload(ready: true, firstScan: scan)))
    } catch {
      logger.error("catalogue read failed", metadata: ["error": "\(error)"])
      return HTTPResponse(
        503, fields, body: JSONBody.encode(Payload(ready: false, reason: "the catalogue can't be read")))
    }
  }

  func openAPI(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    return JSONResponse(PackageResources.openapi_json, tag: Self.openAPITag, cacheControl: "no-cache")
      .response(to: request.head) { Self.gzippedOpenAPI }
  }
}
