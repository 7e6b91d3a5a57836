import HTTPCore
import ImageService
import LibraryCatalogue
import LibraryFiles
import PhotoModel

/// `GET /v1/trash`: deleted assets that can be restored.
struct TrashRoute: Sendable {
  let files: LibraryFiles
  let queries: QueryService

  func list(_ routed: RoutedRequest) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      struct Item: Encodable {
        let localIdentifier: String
        let deletedDate: String
        let purgeDate: String
        let originalFilename: String
        let mediaType: String
        let fileSize: Int64

        init(_ asset: TrashedAsset) {
          localIdentifier = asset.identifier.rawValue
          deletedDate = asset.deletedDate.rfc3339
          purgeDate = asset.purgeDate.rfc3339
          originalFilename = asset.originalFilename
          mediaType = asset.mediaType.rawValue
          fileSize = asset.fileSize
        }
      }

      let assets: [Item]
      let next: String?

      private enum Key: String, CodingKey { case assets, next }

      // `next` is null on the last page.
      func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(assets, forKey: .assets)
        try object.encode(next, forKey: .next)
      }
    }
    let principal = try routed.principal
    var query = try QueryReader(routed.target)
    let limit = try query.number("limit", in: 1...1000) ?? 100
    let text = query.text("cursor")
    try query.finish()
    let cursor = text.flatMap { queries.tokens.trashCursor(of: $0) }
    if text != nil, cursor == nil { throw Problem(AssetSourceError.malformedCursor) }
    let page = try queries.run { _ throws(AssetSourceError) in
      try files.trashed(after: cursor, limit: limit, for: principal)
    }
    let next = page.next.map { "/v1/trash?limit=\(limit)&cursor=\(queries.tokens.text(of: $0))" }
    let body = JSONBody.encode(Payload(assets: page.assets.map(Payload.Item.init), next: next))
    return JSONResponse(body, tag: EntityTag.strong(over: body), cacheControl: QueryService.cacheControl)
      .response(to: routed.request.head)
  }
}
