// A smaller encoding in place of the first frame of `format=auto`: of a single image, and of a part of a batch.

import ImageService
import PhotoModel

struct SmallerEncodings: Sendable {
  let images: ImageManager
  let upgrades: EncodingUpgrades

  /// The request for a smaller encoding that may replace a frame; `nil` if there is none.
  ///
  /// - Parameters:
  ///   - request: the request for the first frame.
  ///   - first: the same for the asset.
  func replacement(
    _ formats: FormatChoice, _ request: ImageRequest, for asset: Asset, replacing first: ResolvedRequest
  ) -> ResolvedRequest? {
    // If the response would be the original file, only a losslessly transcoded JPEG may replace it.
    guard let format = formats.smaller, !mayLoseGainMap(first),
      !OriginalAsImage.mayServe(first) || first.request.format == .jpeg && format == .jxl
    else { return nil }
    var request = request
    request.format = format
    return ResolvedRequest(request, for: asset)
  }

  /// The fields of the smaller encoding that has replaced a frame. `nil`: it is not made yet, or the client has the
  /// first frame. Counts a prepared first frame as used. Blocks while one file is read.
  ///
  /// - Parameter tags: lists of entity tags that the client has.
  func headers(
    of smaller: ResolvedRequest, replacing first: ImageHeaders, for tags: [String]
  ) -> ImageHeaders? {
    guard first.isReplaced(for: tags), let frame = upgrades.frame(smaller.key),
      // Only a transcoded file with the same pixels may replace the original file.
      !OriginalAsImage.mayServe(first.wanted) || frame.derivation == .transcoded(.file)
    else { return nil }
    images.markPreparedFrameUsed(first.key)
    return first.upgraded(to: smaller)
  }

  /// Requests the upgrade of a frame if the frame is cached, because this is then not the first request for it.
  ///
  /// - Returns: whether the upgrade runs, or has found no smaller encoding.
  func requestUpgrade(of first: ResolvedRequest, to smaller: ResolvedRequest) -> Bool {
    // The smaller frame was made after this request began: the next request gets it.
    if upgrades.isMade(smaller.key) { return false }
    guard let current = images.cachedFrame(first.key)?.cached else { return false }
    return upgrades.request(smaller, replacing: current)
  }

  /// Whether a frame in another format than JPEG would lose a gain map. Until the frame has been made, only the
  /// catalogue says whether there is one.
  private func mayLoseGainMap(_ first: ResolvedRequest) -> Bool {
    guard first.request.dynamicRange == .preserve else { return false }
    return images.cachedFrame(first.key)?.result.isHDR ?? first.asset.mediaSubtypes.contains(.photoHDR)
  }
}
