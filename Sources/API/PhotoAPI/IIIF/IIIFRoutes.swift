// The IIIF Image API 3.0, level 2 (https://iiif.io/api/image/3.0/): an asset as an image service. Its pictures come
// from the same pipeline and the same caches as `/v1/assets/{id}/image`.

import HTTPCore
import ImageService
import PhotoModel

struct IIIFRoutes: Sendable {
  let queries: QueryService
  let image: ImageRoute
  let limits: IIIFLimits
  let accessPolicy: AccessPolicy

  /// `/iiif/3/{id}`: redirects to info.json (§2.2).
  func redirect(_ routed: RoutedRequest) throws(Problem) -> HTTPResponse {
    let asset = try renderableAsset(routed)
    let query = routed.target.query.map { "?\($0)" } ?? ""
    return HTTPResponse(
      303,
      [
        ("Location", "/iiif/3/\(asset.localIdentifier)/info.json\(query)"),
        ("Cache-Control", QueryService.cacheControl),
      ])
  }

  /// `/iiif/3/{id}/info.json`.
  func info(_ routed: RoutedRequest) throws(Problem) -> HTTPResponse {
    let asset = try renderableAsset(routed)
    let info = IIIFInfo(
      id: base(routed) + "/iiif/3/\(asset.localIdentifier)", size: asset.pixelSize,
      encoders: image.upgrades.formats, limits)
    return LinkedDataResponse(info, context: IIIFInfo.context).response(to: routed.request.head)
  }

  /// `/iiif/3/{id}/{region}/{size}/{rotation}/{file}`.
  func image(_ routed: RoutedRequest) throws(Problem) {
    let identifier = routed.identifier("localIdentifier")
    let query = try Self.query(routed.route, identifier, routed.target, limits)
    try image.answer(identifier, query, routed)
  }

  /// Parses an image request; throws 400 or 501.
  static func query(
    _ route: Route, _ identifier: LocalIdentifier, _ target: RequestTarget, _ limits: IIIFLimits
  ) throws(Problem) -> IIIFImageQuery {
    try IIIFImageQuery(
      identifier,
      path: (route["region"], route["size"], route["rotation"], route["file"]), target, limits: limits)
  }

  private func renderableAsset(_ routed: RoutedRequest) throws(Problem) -> Asset {
    let asset = try queries.asset(routed.identifier("localIdentifier"), routed.principal)
    if let problem = Problem(unrenderable: asset) { throw problem }
    return asset
  }

  /// Scheme and authority, as the client sees them.
  private func base(_ routed: RoutedRequest) -> String {
    accessPolicy.base(routed.request.head, routed.target, from: routed.peer)
  }
}

/// A JSON-LD document: as JSON, or with its own media type if `Accept` names it (Image API 3.0 §5.1).
struct LinkedDataResponse {
  private let body: [UInt8]
  private let context: String
  private let link: String?

  /// - Parameter link: the value of `Link`.
  init(_ value: some Encodable, context: String, link: String? = nil) {
    self.link = link
    body = JSONBody.encode(value)
    self.context = context
  }

  func response(to head: RequestHead) -> HTTPResponse {
    let isNamed = Accept(head.value(of: .accept)).namesExplicitly("application/ld+json")
    let mediaType = isNamed ? "application/ld+json;profile=\"\(context)\"" : JSONBody.mediaType
    return JSONResponse(
      body, tag: EntityTag.strong(over: body + Array(mediaType.utf8)), cacheControl: QueryService.cacheControl,
      link: link, mediaType: mediaType, more: [("Vary", "Accept")]
    ).response(to: head)
  }
}
