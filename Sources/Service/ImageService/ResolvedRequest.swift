import PhotoModel

/// A request for one asset with everything that follows from the two: the sizes and the key of the frame. Made once,
/// where the asset was looked up, then passed down to the caches, the job and the renderer.
package struct ResolvedRequest: Sendable, Hashable {
  package let asset: Asset
  package let sized: SizedRequest
  /// The key of the final frame.
  package let key: RenditionKey

  /// The frame of a video at a time of its own is a content of its own: it shares nothing with other frames.
  package init(_ request: ImageRequest, for asset: Asset) {
    var (request, asset) = (request, asset.withoutDescription)
    if request.version != .current { asset = asset.unadjusted }
    if asset.mediaType != .video { request.posterTime = nil }
    if let time = request.posterTime {
      asset.contentVersion = ContentVersion("\(asset.contentVersion.rawValue)@\(time)")
    }
    self.asset = asset
    sized = SizedRequest(request, upright: asset.pixelSize, adjustments: asset.adjustments)
    key = RenditionKey(asset.contentVersion, sized)
  }

  package var request: ImageRequest { sized.request }
}
