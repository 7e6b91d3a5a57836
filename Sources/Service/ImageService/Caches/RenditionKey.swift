import ImageCodec
import ImageRender
import PhotoModel

/// Identifies a picture: the asset's content, the part of it that is shown, how it is shown, and the version of the
/// rendering code.
///
/// Equivalent requests have the same key, however they were written: the key contains the result of the size rules, not
/// the requested target size. It is the same for every principal. Made once for each request, by ``ResolvedRequest``.
package struct RenditionKey: Sendable, Hashable {
  /// Without the digest of regions that a user set: a crop to these regions is already part of `sizes`.
  let contentVersion: ContentVersion
  private let sizes: SizeRules
  /// A frame of a fast size has other pixels than one whose exact size is the same, and may be coded in another way.
  private let hasFastSize: Bool
  private var format: OutputFormat
  private let quality: Int?
  private let colorSpace: ColorSpace
  private let rotation: Orientation
  private let tone: Tone
  private let isAnimated: Bool
  private let dynamicRange: DynamicRange
  private let resampling: Resampling
  private let bitDepth: Int

  init(_ contentVersion: ContentVersion, _ wanted: SizedRequest) {
    self.contentVersion = contentVersion.pixels
    sizes = wanted.sizes
    hasFastSize = wanted.request.hasFastSize
    format = wanted.request.format
    quality = wanted.request.format.isLossy ? wanted.request.quality ?? JPEGEncoder.defaultQuality : nil
    colorSpace = wanted.request.colorSpace
    rotation = wanted.request.rotation
    tone = wanted.request.tone
    isAnimated = wanted.request.isAnimated
    dynamicRange = wanted.request.dynamicRange
    resampling = wanted.request.resampling
    bitDepth = wanted.request.format == .png ? wanted.request.bitDepth : 8
  }

  /// The key of the same picture in another lossy format.
  func inFormat(_ format: OutputFormat) -> RenditionKey {
    var copy = self
    copy.format = format
    return copy
  }

  /// The whole key and the renderer's epoch, on one line.
  var text: String {
    func text(_ rect: PixelRect) -> String { "\(rect.x),\(rect.y),\(rect.width),\(rect.height)" }
    return "\(RenderPlanner.epoch)|\(contentVersion)|\(text(sizes.crop))|\(sizes.scaled.width)x\(sizes.scaled.height)"
      + "|\(text(sizes.outputRect))|\(format.rawValue)|\(quality.map(String.init) ?? "")|\(colorSpace.rawValue)"
      + (sizes.bounds == sizes.crop ? "" : "|joined") + (hasFastSize ? "|fast" : "")
      + (rotation == .topLeft && tone == .color ? "" : "|\(rotation.rawValue)|\(tone.rawValue)")
      + (isAnimated ? "|animated" : "") + (dynamicRange == .preserve ? "|gain map" : "")
      + (dynamicRange == .high ? "|high" : "")
      + (resampling == .linear ? "|linear" : "") + (bitDepth == 8 ? "" : "|\(bitDepth) bit")
  }

  /// The strong entity tag of a frame of this picture, for one way of making it.
  package func entityTag(_ derivation: Derivation) -> String {
    EntityTag.strong(over: Array("\(text)|\(derivation.text)".utf8))
  }
}
