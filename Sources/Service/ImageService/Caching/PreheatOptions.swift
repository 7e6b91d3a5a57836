import ImageCodec
import PhotoModel

/// Which frames are prepared: target size, content mode and options, as in a request. Together with the asset, these
/// are the values that PhotoKit matches by.
package struct PreheatOptions: Sendable, Hashable {
  /// `nil`: the format that the asset needs.
  private let format: OutputFormat?
  private let request: ImageRequest

  /// - Parameter format: `nil` for the format that the asset needs, as for a client that accepts any format.
  package init(_ request: ImageRequest, format: OutputFormat?) {
    var request = request
    // None of these options changes the frame.
    request.deliveryMode = .highQualityFormat
    request.allowsSecondaryDegradedImage = false
    request.format = format ?? .jpeg
    // An explicit default is equal to an absent option.
    if request.normalizedCropRect == UnitRect(x: 0, y: 0, width: 1, height: 1) { request.normalizedCropRect = nil }
    if request.contentMode != .aspectFill || request.resizeMode != .exact { request.cropAnchor = .center }
    request.quality = format == .png ? nil : request.quality ?? JPEGEncoder.defaultQuality
    self.request = request
    self.format = format
  }

  /// The request for an asset.
  package func request(for asset: Asset) -> ImageRequest {
    var request = request
    request.format = isAnimation(asset) ? .webp : format ?? (asset.hasAlpha ? .png : .jpeg)
    return request
  }

  /// Whether the client leaves the format open, so that a smaller encoding may replace the frame. There is none of an
  /// animation.
  func isAutomatic(for asset: Asset) -> Bool { format == nil && !isAnimation(asset) }

  /// Only WebP has animations. Other assets have the frame that a request without `animated` gets.
  private func isAnimation(_ asset: Asset) -> Bool { request.isAnimated && asset.isAnimated }

  /// Whether a grid with these frames has its pictures in the same places.
  func hasSameSize(as other: PreheatOptions) -> Bool {
    request.targetSize == other.request.targetSize && request.contentMode == other.request.contentMode
  }

  func resolved(for asset: Asset) -> ResolvedRequest { ResolvedRequest(request(for: asset), for: asset) }
}
