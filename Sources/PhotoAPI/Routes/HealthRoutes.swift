import HTTPCore
import ImageService
import Logging
import PhotoModel

/// `/healthz`, `/readyz` and `/openapi.json`.
struct HealthRoutes: Sendable {
  private static let openAPITag = EntityTag.strong(over: PackageResources.openapi_json)
  private static let openAPIInGzip = ContentCoding.gzipped(PackageResources.openapi_json)

  let library: any AssetSource
  let logger: Logger

  /// The process answers; nothing more is asked.
  func health(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    return HTTPResponse(
      .ok, [("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store")],
      body: Array("{\"status\":\"ok\"}".utf8))
  }

  /// Whether requests can be served, and how far the first scan has come.
  ///
  /// - Parameter principal: whose assets are counted; `nil`: nobody's, for whom there are none.
  func readiness(_ request: HTTPRequest, _ principal: Principal?) throws(Problem) -> HTTPResponse {
    struct Shape: Encodable {
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
      let scan = Shape.FirstScan(
        complete: state.isFirstScanComplete, indexed: principal == nil ? 0 : state.indexedCount)
      return HTTPResponse(.ok, fields, body: JSONBody.encode(Shape(ready: true, firstScan: scan)))
    } catch {
      logger.error("the catalogue can't be read", metadata: ["error": "\(error)"])
      return HTTPResponse(
        503, fields, body: JSONBody.encode(Shape(ready: false, reason: "the catalogue can't be read")))
    }
  }

  func openAPI(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    return JSONAnswer(PackageResources.openapi_json, tag: Self.openAPITag, cacheControl: "no-cache")
      .response(to: request.head) { Self.openAPIInGzip }
  }
}
