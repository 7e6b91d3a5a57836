/// A request with the result of its size rules for one picture: worked out once, then passed down to the renderer.
package struct SizedRequest: Sendable, Hashable {
  package private(set) var request: ImageRequest
  /// The size of the upright, adjusted picture for which `sizes` was worked out, before any crop.
  package let upright: PixelSize
  package let sizes: SizeRules
  /// The adjustments to apply before the size rules; `nil` if there are none.
  package let adjustments: Adjustments?

  /// The size of the finished picture: the output of the size rules, turned.
  package var outputSize: PixelSize { request.rotation.apply(to: sizes.output) }

  /// - Parameter upright: the size of the upright, adjusted picture, before any crop of the request.
  package init(_ request: ImageRequest, upright: PixelSize, adjustments: Adjustments? = nil) {
    self.request = request
    self.upright = upright
    self.adjustments = adjustments
    sizes = SizeRules(request, upright: upright)
  }

  /// The sizes for the picture that is actually in the file. They are worked out again only if its size differs from
  /// the expected one, for example because an older version of this code has read the file for the catalogue.
  package func sizes(of upright: PixelSize) -> SizeRules {
    upright == self.upright ? sizes : SizeRules(request, upright: upright)
  }

  /// The request of a degraded frame: `fastFormat`, because it must be made quickly. A format whose encoder runs in a
  /// process of its own would delay it: it is a JPEG then, or a PNG if the picture has alpha.
  package func forDegradedFrame(hasAlpha: Bool) -> SizedRequest {
    var copy = self
    copy.request.deliveryMode = .fastFormat
    copy.request.isAnimated = false
    copy.request.dynamicRange = .standard
    copy.request.resampling = .encoded
    copy.request.bitDepth = 8
    if request.format.needsWorker { copy.request.format = hasAlpha ? .png : .jpeg }
    return copy
  }

  /// The longer side of the smallest picture that keeps a gain map. In a grid of small pictures, bright ones distract,
  /// and the map's head would be a large part of their bytes.
  package static let minimumGainMapSide = 256

  /// Whether the picture is one that keeps its original's gain map, judging by the request. Only JPEG has a place for
  /// it that readers know. Gray and bitonal pictures have other light than the map was made for.
  package var mayKeepGainMap: Bool {
    request.dynamicRange == .preserve && request.format == .jpeg && request.tone == .color && !request.isAnimated
      && max(sizes.output.width, sizes.output.height) >= Self.minimumGainMapSide
  }

  /// Whether the picture has high dynamic range itself if its original has, judging by the request.
  package var mayBeHDR: Bool { request.mayBeHDR }

  /// The same picture without a gain map, and of standard range.
  package var inStandardRange: SizedRequest {
    var copy = self
    copy.request.dynamicRange = .standard
    return copy
  }

  /// The same picture, with the resampling `encoded` if it is not scaled: both ways of resampling then give the same
  /// picture.
  package var encodedIfUnscaled: SizedRequest {
    guard adjustments == nil, sizes.scaled == sizes.crop.size else { return self }
    var copy = self
    copy.request.resampling = .encoded
    return copy
  }

  /// The same picture in another format.
  package func inFormat(_ format: OutputFormat) -> SizedRequest {
    var copy = self
    copy.request.format = format
    return copy
  }

  /// The same picture in sRGB.
  package var inSRGB: SizedRequest {
    var copy = self
    copy.request.colorSpace = .srgb
    return copy
  }

  /// The request of only the final frame. Its size, and therefore its key, does not depend on the delivery mode.
  package var forFinalFrame: SizedRequest {
    var copy = self
    copy.request.deliveryMode = .highQualityFormat
    copy.request.allowsSecondaryDegradedImage = false
    return copy
  }
}
