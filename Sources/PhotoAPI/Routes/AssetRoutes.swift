import HTTPCore
import ImageService
import Logging
import PhotoModel

/// `GET /v1/assets` and `GET /v1/assets/{localIdentifier}`.
struct AssetRoutes: Sendable {
  private static let pageSizes = 1...1000
  private static let cacheControl = "private, max-age=0, must-revalidate"

  let library: any AssetSource
  let logger: Logger

  func list(_ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    var query = try QueryReader(request.target)
    let asked = AssetQuery(
      limit: try query.number("limit", in: Self.pageSizes) ?? 100, cursor: query.text("cursor"),
      includesHidden: try query.flag("includeHiddenAssets"),
      includesAllBurstAssets: try query.flag("includeAllBurstAssets"), countsAll: try query.flag("count"))
    try query.finish()
    struct Shape: Encodable {
      let changeToken: String
      let assets: [AssetJSON]
      let next: String?
      let count: Int?

      private enum Key: String, CodingKey { case changeToken, assets, next, count }

      // `next` is null on the last page; `count` is there only where it was asked for.
      func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(changeToken, forKey: .changeToken)
        try object.encode(assets, forKey: .assets)
        try object.encode(next, forKey: .next)
        try object.encodeIfPresent(count, forKey: .count)
      }
    }
    do throws(AssetSourceError) {
      let page = try library.assets(asked, for: principal)
      let next = page.nextCursor.map { cursor in
        var link = "/v1/assets?cursor=\(cursor)&limit=\(asked.limit)"
        if asked.includesHidden { link += "&includeHiddenAssets=true" }
        if asked.includesAllBurstAssets { link += "&includeAllBurstAssets=true" }
        if asked.countsAll { link += "&count=true" }
        return link
      }
      let count = asked.countsAll ? try library.assetCount(asked, for: principal) : nil
      let body = JSONBody.encode(
        Shape(changeToken: page.changeToken, assets: page.assets.map(AssetJSON.init), next: next, count: count))
      return JSONAnswer(
        body, tag: EntityTag.strong(over: body), cacheControl: Self.cacheControl,
        link: next.map { "<\($0)>; rel=\"next\"" }
      ).response(to: request.head)
    } catch {
      throw failed(error)
    }
  }

  func one(_ identifier: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal) throws(Problem)
    -> HTTPResponse
  {
    try QueryReader(request.target).finish()
    let asset: Asset?
    do throws(AssetSourceError) { asset = try library.asset(identifier, for: principal) } catch { throw failed(error) }
    guard let asset else { throw .assetNotFound }
    let answer = AssetJSON(asset)
    // The same revision reads differently to one who may see places, and once the placeholder is made.
    var tag = asset.revision
    if principal.may(.location) { tag += "-l" }
    if let placeholder = answer.placeholder { tag += "-\(placeholder)" }
    return JSONAnswer(JSONBody.encode(answer), tag: "\"\(tag)\"", cacheControl: Self.cacheControl)
      .response(to: request.head)
  }

  private func failed(_ error: AssetSourceError) -> Problem {
    switch error {
    case .catalogueFailed(let reason):
      logger.error("the catalogue can't be read", metadata: ["error": "\(reason)"])
    case .storageFailed(let fault, let reason):
      logger.error("the catalogue can't be read", metadata: ["error": "\(reason)", "fault": "\(fault)"])
    case .malformedCursor: break
    }
    return Problem(error)
  }
}

extension Problem {
  static let preconditionFailed = Problem(
    412, "precondition-failed", "Precondition failed",
    detail: "The resource is not what the request's conditions ask for; get it anew.")
}
