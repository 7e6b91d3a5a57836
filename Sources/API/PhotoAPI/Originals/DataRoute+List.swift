import HTTPCore
import ImageService
import PhotoModel

// `GET /v1/assets/{localIdentifier}/resources`: the files of an asset, and those that its adjustments add.

extension DataRoute {
  /// Lists the files of an asset. Runs on the lookup queue.
  func list(_ identifier: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal) throws(Problem)
    -> HTTPResponse
  {
    let found = try files(of: identifier, includesSidecars: true, principal)
    var resources = found.resources.map { resource in
      ResourceJSON(
        type: resource.type.rawValue, uti: resource.uniformTypeIdentifier, filename: resource.filename,
        size: resource.size, isLocal: !queries.originals.isInCloud(resource.file))
    }
    for resource in try edited(found, principal) {
      // A user's adjustments come before those in sidecars: `index` counts in this order.
      let place = resources.firstIndex { resource.type == .adjustmentData && $0.type == resource.type.rawValue }
      resources.insert(
        ResourceJSON(
          type: resource.type.rawValue, uti: resource.uniformTypeIdentifier, filename: resource.filename,
          size: resource.size, isLocal: resource.isLocal), at: place ?? resources.endIndex)
    }
    let body = JSONBody.encode(ResourceListJSON(resources: resources))
    return JSONResponse(body, tag: EntityTag.strong(over: body), cacheControl: QueryService.cacheControl)
      .response(to: request.head)
  }

  /// A resource that exists because of adjustments.
  private struct EditedResource {
    let type: AssetResourceType
    let uniformTypeIdentifier: String?
    let filename: String
    /// `nil`: not known before it is rendered.
    let size: Int64?
    /// Whether it can be sent without the network. The render of an original in the cloud may be on this machine, but
    /// only a request for the render looks for it.
    let isLocal: Bool
  }

  /// The resources that an adjusted asset has besides its files: the render, the adjustments, and the file that they
  /// start from.
  private func edited(_ found: AssetFiles, _ principal: Principal) throws(Problem) -> [EditedResource] {
    guard found.asset.hasAdjustments, let primary = found.resources.first(where: \.isPrimary) else { return [] }
    let data = try adjustmentData(of: found, principal)?.bytes
    let isLocal = !queries.originals.isInCloud(primary.file)
    var resources: [EditedResource] = []
    if found.asset.adjustments != nil {
      resources.append(
        EditedResource(
          type: .fullSizePhoto, uniformTypeIdentifier: AdjustedPhotoSender.uniformTypeIdentifier(of: found.asset),
          filename: AdjustedPhotoSender.filename(of: found.asset), size: nil, isLocal: isLocal))
    }
    if let data {
      resources.append(
        EditedResource(
          type: .adjustmentData, uniformTypeIdentifier: nil, filename: Self.adjustmentDataName, size: Int64(data.count),
          isLocal: true))
    }
    resources.append(
      EditedResource(
        type: .adjustmentBasePhoto, uniformTypeIdentifier: primary.uniformTypeIdentifier, filename: primary.filename,
        size: primary.size, isLocal: isLocal))
    return resources
  }
}
