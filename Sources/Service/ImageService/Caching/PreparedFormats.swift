import PhotoModel

/// The formats in which frames are prepared if the client leaves the format open (`format=auto`): those of its first
/// responses.
package struct PreparedFormats: Sendable, Hashable {
  package var opaque: OutputFormat
  /// The format of pictures with alpha.
  package var alpha: OutputFormat

  /// By default the formats for a client that lists none.
  package init(opaque: OutputFormat = .jpeg, alpha: OutputFormat = .png) {
    self.opaque = opaque
    self.alpha = alpha
  }
}
