import HTTPCore
import ImageService
import PhotoModel

// The adjustments of an asset as a file: of the type `adjustmentData`.

extension DataRoute {
  static let adjustmentDataName = "Adjustments.data"

  /// The bytes of the adjustments: another program's data unchanged, otherwise JSON. `nil` if the adjustments were
  /// imported from a sidecar, which is a resource of this type itself.
  func adjustmentData(
    of files: AssetFiles, _ principal: Principal
  ) throws(Problem) -> (type: String, bytes: [UInt8])? {
    let found = try queries.run { library throws(AssetSourceError) in
      try library.adjustedAsset(files.asset.localIdentifier, for: principal)
    }
    guard let adjustments = found?.adjustments else { throw .resourceNotFound }
    if adjustments.origin == .imported, files.resources.contains(where: { $0.type == .adjustmentData }) { return nil }
    if let data = adjustments.foreign?.data { return ("application/octet-stream", data) }
    return (JSONBody.mediaType, AdjustmentsJSON.document(adjustments))
  }

  func sendAdjustmentData(
    _ bytes: [UInt8], type: String, isDownload: Bool, _ head: RequestHead, _ reply: Reply
  ) throws(Problem) {
    let validators = Validators(entityTag: EntityTag.strong(over: bytes))
    let fields: [(name: String, value: String)] = [
      ("ETag", validators.entityTag ?? ""), ("Cache-Control", QueryService.cacheControl),
    ]
    if try reply.sendNotModified(to: head, validators, fields) { return }
    let disposition = ContentDisposition.value(isDownload ? .attachment : .inline, name: Self.adjustmentDataName)
    let whole = HTTPResponse(
      .ok,
      fields + sender.rangeFields + [
        ("Content-Type", type), ("Content-Disposition", disposition),
        ("X-Content-Type-Options", "nosniff"), ("Content-Security-Policy", "sandbox; default-src 'none'"),
      ], body: bytes)
    reply.send(
      whole.applyingByteRanges(
        for: head, validators: validators, limit: sender.maximumRanges, boundary: Boundary.make,
        unsatisfiable: { Problem.rangeNotSatisfiable(size: bytes.count).response }))
  }
}
