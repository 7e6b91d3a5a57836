import PhotoModel

/// The formats in which frames are prepared if the client leaves the format open (`format=auto`): those of its first
/// responses.
package struct PreparedFormats: Sendable, Hashable {
  package var opaque: OutputFormat
  /// The format of pictures with alpha.
  package var alpha: OutputFormat
  /// Whether animations are prepared as WebP. Otherwise their first frame is prepared, as of a still picture.
  package var hasAnimations: Bool

  /// By default the formats for a client that lists none.
  package init(opaque: OutputFormat = .jpeg, alpha: OutputFormat = .png, hasAnimations: Bool = true) {
    self.opaque = opaque
    self.alpha = alpha
    self.hasAnimations = hasAnimations
  }
}
