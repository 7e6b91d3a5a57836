import PhotoModel

/// The formats in which frames are prepared if the client leaves the format open (`format=auto`): those of its first
/// responses.
package struct PreparedFormats: Sendable, Hashable {
  package var opaque: OutputFormat
  /// The format of pictures with alpha.
  package var alpha: OutputFormat
  /// The format of pictures with alpha that are too large for the encoder of `alpha`.
  package var largeAlpha: OutputFormat
  /// Decides which pictures are too large; `nil`: none.
  package var encoders: AutomaticEncoders?
  /// Whether animations are prepared as WebP. Otherwise their first frame is prepared, as of a still picture.
  var hasAnimations: Bool

  /// By default the formats for a client that lists none.
  package init(opaque: OutputFormat = .jpeg, alpha: OutputFormat = .png, hasAnimations: Bool = true) {
    self.opaque = opaque
    self.alpha = alpha
    largeAlpha = alpha
    self.hasAnimations = hasAnimations
  }

  /// The format of an asset's frame, if it is not an animation.
  func format(of request: ImageRequest, for asset: Asset) -> OutputFormat {
    guard asset.hasAlpha else { return opaque }
    guard let encoders, largeAlpha != alpha else { return alpha }
    var request = request
    request.format = alpha
    request.isAnimated = false
    return encoders.canRender(ResolvedRequest(request, for: asset)) ? alpha : largeAlpha
  }
}
