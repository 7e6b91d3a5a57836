import PhotoModel

/// The formats that a client's frames get in place of those that are quick to encode.
package struct UpgradeFormats: Sendable, Hashable {
  /// In place of JPEG; `nil` for none.
  package var opaque: OutputFormat?
  /// In place of PNG or WebP, for pictures with alpha; `nil` for none.
  package var alpha: OutputFormat?

  package init(opaque: OutputFormat? = nil, alpha: OutputFormat? = nil) {
    self.opaque = opaque
    self.alpha = alpha
  }

  package var isEmpty: Bool { opaque == nil && alpha == nil }

  /// The same picture in the client's smaller format; `nil` if it has none for this frame.
  func request(inPlaceOf prepared: ResolvedRequest) -> ResolvedRequest? {
    let format = prepared.asset.hasAlpha ? alpha : opaque
    guard let format else { return nil }
    var request = prepared.request
    request.format = format
    return ResolvedRequest(request, for: prepared.asset)
  }
}
