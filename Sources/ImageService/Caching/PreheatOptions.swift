import ImageCodec
import PhotoModel

/// What frames are prepared: target size, content mode and options, as one who asks for them says it. With the asset,
/// that is what PhotoKit matches by.
package struct PreheatOptions: Sendable, Hashable {
  /// `nil`: what the asset needs.
  private let format: OutputFormat?
  private let request: ImageRequest

  /// - Parameter format: `nil`: what the asset needs, as one gets it who accepts anything.
  package init(_ request: ImageRequest, format: OutputFormat?) {
    var request = request
    // None of these makes another frame.
    request.deliveryMode = .highQualityFormat
    request.allowsSecondaryDegradedImage = false
    request.format = format ?? .jpeg
    // What says a default is what says nothing.
    if request.normalizedCropRect == UnitRect(x: 0, y: 0, width: 1, height: 1) { request.normalizedCropRect = nil }
    request.quality = format == .png ? nil : request.quality ?? JPEGEncoder.defaultQuality
    self.request = request
    self.format = format
  }

  /// What is asked of an asset.
  package func request(for asset: Asset) -> ImageRequest {
    var request = request
    request.format = format ?? (asset.hasAlpha ? .png : .jpeg)
    return request
  }
}
