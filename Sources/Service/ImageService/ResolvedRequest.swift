import ImageCodec
import PhotoModel

/// A request for one asset, with the values that follow from request and asset: the sizes and the key of the frame.
/// Made once, where the asset was looked up, then passed down to the caches, the job and the renderer.
package struct ResolvedRequest: Sendable, Hashable {
  package let asset: Asset
  package let sized: SizedRequest
  /// The key of the final frame.
  package let key: RenditionKey

  /// The frame of a video at a given time has a content version of its own, so it shares nothing with other frames.
  package init(_ request: ImageRequest, for asset: Asset) {
    var (request, asset) = (request, asset.withoutDescription)
    if request.version != .current { asset = asset.unadjusted }
    if asset.mediaType != .video { request.posterTime = nil }
    // Frames of an animation are cropped and turned, but their pixels are not adjusted: only the first frame is.
    if !asset.isAnimated || asset.adjustments?.onlyMovesPixels == false { request.isAnimated = false }
    if let time = request.posterTime {
      asset.contentVersion = asset.contentVersion.showing("\(time)")
    }
    if request.cropAnchor == .auto {
      request.cropAnchor = .automatic(asset.regions, saliency: asset.saliency)
    }
    self.asset = asset
    let sized = SizedRequest(request, upright: asset.pixelSize, adjustments: asset.adjustments).encodedIfUnscaled
    // If the asset has nothing beyond standard range, use the standard-range request, so that both share a frame.
    let hasHighRange = (sized.mayKeepGainMap && asset.mayHaveGainMap) || (sized.mayBeHDR && asset.mayBeHDR)
    self.sized = hasHighRange ? sized : sized.inStandardRange
    key = RenditionKey(asset.contentVersion, self.sized)
  }

  package var request: ImageRequest { sized.request }
}

extension Asset {
  /// Whether the original may have a gain map, as far as the catalogue knows: pictures that were merged from several
  /// exposures have the same subtype.
  package var mayHaveGainMap: Bool { mediaType == .image && mediaSubtypes.contains(.photoHDR) && !isRAW }

  /// Whether the original may have high dynamic range, as far as the catalogue knows: by a gain map, or because its format
  /// can have the curves PQ and HLG.
  var mayBeHDR: Bool {
    let standard: [SourceFormat] = [.jpeg, .gif, .bmp, .tiff, .webp]
    return mayHaveGainMap
      || (!isRAW && !standard.contains { $0.uniformTypeIdentifier == uniformTypeIdentifier })
  }
}

extension ImageRequest {
  /// Whether the crop will change when the asset's placeholder is made. That does not change the content version.
  package func awaitsSaliency(of asset: Asset) -> Bool {
    cropAnchor == .auto && contentMode == .aspectFill && asset.regions.isEmpty && asset.placeholder == nil
  }
}
