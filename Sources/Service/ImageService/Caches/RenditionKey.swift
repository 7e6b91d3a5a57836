import ImageCodec
import ImageRender
import PhotoModel

/// Identifies a picture: the asset's content, the part of it that is shown, how it is shown, and the version of the
/// rendering code.
///
/// Equivalent requests have the same key, however they were written: the key contains the result of the size rules, not
/// the requested target size. It is the same for every principal.
package struct RenditionKey: Sendable, Hashable {
  let contentVersion: ContentVersion
  private let rules: SizeRules
  private let format: OutputFormat
  private let quality: Int?
  private let colorSpace: ColorSpace

  package init(_ asset: Asset, _ request: ImageRequest) {
    contentVersion = asset.contentVersion
    rules = SizeRules(request, upright: asset.pixelSize)
    format = request.format
    quality = request.format == .jpeg ? request.quality ?? JPEGEncoder.defaultQuality : nil
    colorSpace = request.colorSpace
  }

  /// The whole key and the renderer's epoch, on one line.
  var text: String {
    func text(_ rect: PixelRect) -> String { "\(rect.x),\(rect.y),\(rect.width),\(rect.height)" }
    return "\(RenderPlanner.epoch)|\(contentVersion)|\(text(rules.crop))|\(rules.scaled.width)x\(rules.scaled.height)"
      + "|\(text(rules.outputRect))|\(format.rawValue)|\(quality.map(String.init) ?? "")|\(colorSpace.rawValue)"
  }

  /// The strong entity tag of a frame of this picture, for one way of making it.
  package func entityTag(_ derivation: Derivation) -> String {
    EntityTag.strong(over: Array("\(text)|\(derivation.text)".utf8))
  }
}
