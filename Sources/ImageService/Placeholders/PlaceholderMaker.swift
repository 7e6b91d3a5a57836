import ImageCodec
import ImageRender
import PhotoModel

/// Makes a placeholder of a picture's bytes: decoded small, upright and in sRGB, then hashed.
package struct PlaceholderMaker: Sendable {
  /// Goes up whenever something could be made a placeholder of that could not before.
  private static let epoch = 1
  private static let side = ThumbHash.maximumSide

  private let limits: CodecLimits
  private let transforms: ColorTransforms

  /// - Parameter transforms: where conversions that were made before are found.
  package init(limits: CodecLimits, transforms: ColorTransforms) {
    self.limits = limits
    self.transforms = transforms
  }

  /// What decides whether a placeholder can be made: a failure under another mark means nothing.
  var mark: String {
    "\(Self.epoch) \(limits.sourcePixels) \(limits.sourceSide) \(limits.jpegScans) \(limits.profileBytes)"
      + " \(limits.headerSegments)"
  }

  /// The placeholder of a whole JPEG or PNG. Blocks for as long as the source does.
  package func placeholder(of source: any ByteSource, stop: StopFlag) throws(CodecError) -> [UInt8] {
    // Only a thumbnail may turn out to be of another picture.
    try placeholder(by: render(ofWhole: source), stop: stop) ?? []
  }

  /// The same of the thumbnail or preview that serves best; `nil` where there is none of this picture.
  package func placeholder(
    ofThumbnailIn source: any ByteSource, stop: StopFlag
  ) throws(CodecError) -> [UInt8]? {
    guard let render = try render(ofThumbnailIn: source) else { return nil }
    return try placeholder(by: render, stop: stop)
  }

  /// Reads the header and plans, decodes nothing yet.
  func render(ofWhole source: any ByteSource) throws(CodecError) -> PlaceholderRender {
    let header = try ImageHeader.read(from: source, limits: limits)
    let plan = RenderPlanner().pixelPlan(header, side: Self.side)
    return PlaceholderRender(source: source, way: .whole(plan), peakBytes: plan.peakBytes)
  }

  /// The same with the thumbnail or preview that serves best; `nil` where there is none of this picture.
  func render(ofThumbnailIn source: any ByteSource) throws(CodecError) -> PlaceholderRender? {
    let header = try ImageHeader.read(from: source, limits: limits)
    let request = ImageRequest(targetSize: .size(PixelSize(width: Self.side, height: Self.side)))
    guard let thumbnail = EmbeddedThumbnail.best(for: request, of: header, in: source, limits: limits) else {
      return nil
    }
    return PlaceholderRender(
      source: source, way: .thumbnail(thumbnail, of: header),
      peakBytes: thumbnail.peakBytes(side: Self.side, of: header))
  }

  /// `nil`: the thumbnail is not one of this picture.
  func placeholder(by render: PlaceholderRender, stop: StopFlag) throws(CodecError) -> [UInt8]? {
    let pixels: RenderedPixels?
    switch render.way {
    case .thumbnail(let thumbnail, let header):
      pixels = try thumbnail.pixels(
        side: Self.side, of: header, in: render.source, transforms: transforms, limits: limits, stop: stop)
    case .whole(let plan):
      pixels = try Renderer.pixels(plan, source: render.source, transforms: transforms, limits: limits, stop: stop)
    }
    return pixels.map { ThumbHash.encode(rgba: $0.rgba, size: $0.size) }
  }
}

/// One way to a placeholder: opened, planned and priced, not decoded yet.
struct PlaceholderRender: Sendable {
  enum Way: Sendable {
    case thumbnail(EmbeddedThumbnail, of: ImageHeader)
    case whole(RenderPlan)
  }

  let source: any ByteSource
  let way: Way
  /// To be reserved before it is made; 0 for so little that it need not be.
  let peakBytes: Int
}
