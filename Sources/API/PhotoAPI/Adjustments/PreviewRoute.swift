import HTTPCore
import ImageService
import Logging
import PhotoModel

/// `POST /v1/assets/{localIdentifier}/preview`: one JPEG of a picture with given operations, which are not saved.
struct PreviewRoute: Sendable {
  let queries: QueryService
  let previews: PreviewService
  /// Reads of the library: the first preview opens the original.
  let reads: WorkQueue

  func answer(_ identifier: LocalIdentifier, _ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    var client = try ClientName(routed.target)
    var body = try JSONObjectReader(routed.request)
    let operations = try AdjustmentsJSON.operations(&body)
    let targetSize = try ImageQuery.targetSize(body.text("targetSize"))
    try client.read(&body)
    try body.finish()
    let adjustments: Adjustments
    do throws(AdjustmentError) {
      adjustments = try Adjustments(operations ?? .null)
    } catch {
      throw Problem(error)
    }
    let (name, reply) = (client.name ?? "default", routed.reply)
    try routed.run(on: queries.lookups) { () throws(Problem) in
      let asset = try queries.asset(identifier, principal)
      if let problem = Problem(unrenderable: asset) { throw problem }
      guard asset.mediaType == .image else { throw .notAdjustable(asset.localIdentifier.rawValue) }
      let wanted = PreviewRequest(
        owner: principal.name, client: name, asset: asset, adjustments: adjustments, targetSize: targetSize)
      try routed.run(on: reads) { render(wanted, reply) }
    }
  }

  private func render(_ wanted: PreviewRequest, _ reply: Reply) {
    let task = previews.render(wanted) { result in
      switch result {
      case .failure(let error): reply.send(reply.problem(error, "preview failed", queries.logger).response)
      case .success(let image):
        let facts = ImageResult(
          requestID: reply.requestID, isDegraded: false, isIncomplete: image.isIncomplete, size: image.size,
          source: .memory)
        reply.send(
          HTTPResponse(
            .ok,
            [
              ("Content-Type", image.format.mediaType), ("Cache-Control", "no-store"),
              ("Image-Result", facts.fieldValue), ("X-Content-Type-Options", "nosniff"),
            ], body: image.bytes))
      }
    }
    reply.onClose { task.cancel() }
  }
}
