import HTTPCore
import ImageService
import LibraryCatalogue
import PhotoModel

/// `GET`, `PUT` and `DELETE /v1/assets/{localIdentifier}/adjustments`: the same changes as those of a change list with
/// one entry.
struct AdjustmentRoutes: Sendable {
  let queries: QueryService
  let changes: ChangeRoutes

  func get(
    _ identifier: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    let found = try find(identifier, principal)
    guard let adjustments = found.adjustments else { throw .adjustmentsNotFound }
    let body = AdjustmentsJSON.body(adjustments, of: found)
    return JSONResponse(body, tag: EntityTag.strong(over: body), cacheControl: QueryService.cacheControl)
      .response(to: request.head)
  }

  /// Runs on the queue of change lists, so no other list changes the asset between the condition and the change.
  func put(
    _ identifier: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    let (adjustments, keepsForeign) = try AdjustmentsJSON.adjustments(JSONObjectReader(request))
    try checkConditions(identifier, request.head, principal)
    try changes.perform(
      ChangeRequest(.setAdjustments([.existing(identifier)], adjustments, keepsForeign: keepsForeign)), principal)
    let found = try find(identifier, principal)
    let body = AdjustmentsJSON.body(found.adjustments ?? adjustments, of: found)
    return HTTPResponse(
      .ok,
      [
        ("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store"),
        ("ETag", EntityTag.strong(over: body)),
      ], body: body)
  }

  /// Reverts to the original. Without adjustments this changes nothing.
  func delete(
    _ identifier: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    try checkConditions(identifier, request.head, principal)
    try changes.perform(ChangeRequest(.revertAdjustments([.existing(identifier)])), principal)
    return HTTPResponse(204, [("Cache-Control", "no-store")])
  }

  private func find(_ identifier: LocalIdentifier, _ principal: Principal) throws(Problem) -> AdjustedAsset {
    let found = try queries.run { library throws(AssetSourceError) in
      try library.adjustedAsset(identifier, for: principal)
    }
    guard let found else { throw .assetNotFound }
    return found
  }

  /// `If-Match` and `If-None-Match` compare with the tags of the current adjustments.
  private func checkConditions(
    _ identifier: LocalIdentifier, _ head: RequestHead, _ principal: Principal
  ) throws(Problem) {
    guard head.hasChangeCondition else { return }
    let found = try find(identifier, principal)
    try head.checkChangeConditions(
      tag: found.adjustments.map { EntityTag.strong(over: AdjustmentsJSON.body($0, of: found)) })
  }
}
