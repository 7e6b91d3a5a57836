import ImageCodec
import ImageRender
import PhotoModel

/// What makes two frames the same picture: the asset's content, what is shown of it and how, and the code that shows it.
///
/// Requests that come to the same picture have the same key, however they were put: the size rules' result is in it, not
/// the target. It is the same for every principal.
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

  /// All of it, and the renderer's epoch, in one line.
  var text: String {
    func text(_ rect: PixelRect) -> String { "\(rect.x),\(rect.y),\(rect.width),\(rect.height)" }
    return "\(RenderPlanner.epoch)|\(contentVersion)|\(text(rules.frame))|\(rules.scaled.width)x\(rules.scaled.height)"
      + "|\(text(rules.window))|\(format.rawValue)|\(quality.map(String.init) ?? "")|\(colorSpace.rawValue)"
  }

  /// The strong entity tag of a frame of this picture.
  package func entityTag(_ derivation: Derivation) -> String {
    EntityTag.strong(over: Array("\(text)|\(derivation.text)".utf8))
  }
}
