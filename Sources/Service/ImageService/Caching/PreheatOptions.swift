import ImageCodec
import PhotoModel

/// Which frames are prepared: target size, content mode and options, as in a request. Together with the asset, these
/// are the values that PhotoKit matches by.
package struct PreheatOptions: Sendable, Hashable {
  /// `nil`: one of `automaticFormats`.
  private let format: OutputFormat?
  private let automaticFormats: PreparedFormats
  private let request: ImageRequest

  /// - Parameters:
  ///   - format: `nil` for the format that the asset needs.
  ///   - automaticFormats: these formats. They have no effect if `format` is given.
  package init(
    _ request: ImageRequest, format: OutputFormat?, automaticFormats: PreparedFormats = PreparedFormats()
  ) {
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
    self.automaticFormats = format == nil ? automaticFormats : PreparedFormats()
  }

  /// The request for an asset.
  package func request(for asset: Asset) -> ImageRequest {
    var request = request
    request.format = isAnimation(asset) ? .webp : format ?? automaticFormats.format(of: request, for: asset)
    if request.format != .webp { request.isAnimated = false }
    return request
  }

  /// Whether the client leaves the format open, so that a smaller encoding may replace the frame. There is none of an
  /// animation.
  func isAutomatic(for asset: Asset) -> Bool { format == nil && !isAnimation(asset) }

  /// Only WebP has animations. Other assets have the frame that a request without `animated` gets.
  private func isAnimation(_ asset: Asset) -> Bool {
    request.isAnimated && asset.isAnimated && automaticFormats.hasAnimations
  }

  /// Whether a grid with these frames has its pictures in the same places.
  func hasSameSize(as other: PreheatOptions) -> Bool {
    request.targetSize == other.request.targetSize && request.contentMode == other.request.contentMode
  }

  func resolved(for asset: Asset) -> ResolvedRequest { ResolvedRequest(request(for: asset), for: asset) }
}
