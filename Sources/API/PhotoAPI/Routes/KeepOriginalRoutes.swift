import HTTPCore
import LibraryCatalogue
import PhotoModel

/// `PUT /v1/assets/{localIdentifier}/keepOriginal` and `PUT /v1/collections/{collection}/keepOriginal`: changes of one
/// entry. `KeptOriginals` acts on them.
struct KeepOriginalRoutes: Sendable {
  let changes: ChangeRoutes

  func put(asset: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    var update = AssetUpdate()
    update.keepsOriginal = try Self.keep(request)
    return try perform(.updateAsset(.existing(asset), update), principal)
  }

  func put(
    collection: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    var update = CollectionUpdate()
    update.keepsOriginals = try Self.keep(request)
    return try perform(.updateCollection(.existing(collection), update), principal)
  }

  private func perform(_ action: ChangeRequest.Action, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try changes.perform(ChangeRequest(action), principal)
    return HTTPResponse(204, [("Cache-Control", "no-store")])
  }

  private static func keep(_ request: HTTPRequest) throws(Problem) -> Bool {
    try QueryReader(request.target).finish()
    var body = try JSONObjectReader(request)
    let isGiven = body.hasMember("keep")
    let keep = try body.flag("keep")
    try body.finish()
    guard isGiven else { throw QueryReader.invalid("keep", "is missing; give true or false") }
    return keep
  }
}
