import HTTPCore
import LibraryCatalogue
import PhotoModel

/// `PUT /v1/assets/{localIdentifier}/keepOriginal` and `PUT /v1/collections/{collection}/keepOriginal`: changes of one
/// entry. `KeptOriginals` acts on them. `If-Match` and `If-None-Match` compare with the tags of the asset or
/// collection: both routes run on the queue of change lists, so no list changes it between the condition and the
/// change.
struct KeepOriginalRoutes: Sendable {
  let assets: AssetRoutes
  let collections: CollectionRoutes
  let changes: ChangeRoutes

  func put(asset: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    var update = AssetUpdate()
    update.keepsOriginal = try Self.keep(request)
    if request.head.hasChangeCondition {
      try request.head.checkChangeConditions(tag: assets.entityTag(asset, principal))
    }
    return try perform(.updateAsset(.existing(asset), update), principal)
  }

  func put(
    collection: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    var update = CollectionUpdate()
    update.keepsOriginals = try Self.keep(request)
    if request.head.hasChangeCondition {
      try request.head.checkChangeConditions(tag: collections.entityTag(collection, principal))
    }
    return try perform(.updateCollection(.existing(collection), update), principal)
  }

  private func perform(_ action: ChangeRequest.Action, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try changes.perform(ChangeRequest(action), principal)
    return HTTPResponse(204, [("Cache-Control", "no-store")])
  }

  private static func keep(_ request: HTTPRequest) throws(Problem) -> Bool {
    var body = try JSONObjectReader(request)
    let isGiven = body.value("keep") != nil
    let keep = try body.flag("keep")
    try body.finish()
    guard isGiven else { throw QueryReader.invalid("keep", "is missing; give true or false") }
    return keep
  }
}
