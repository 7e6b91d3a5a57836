import ImageCodec
import ImageRender
import PhotoModel

/// Makes a placeholder from a picture's bytes: decoded small, upright and in sRGB, then hashed.
package struct PlaceholderRenderer: Sendable {
  /// Increased whenever the code can make placeholders from more pictures than before, or a recorded failure may have
  /// been a temporary one, or none at all.
  private static let epoch = 6
  private static let side = ThumbHash.maximumSide

  private let limits: CodecLimits
  private let workers: (any CodedPictureDecoder)?
  private let transforms: ColorTransforms

  /// - Parameters:
  ///   - workers: decode formats whose decoder runs in a process of its own; `nil` if there are none.
  ///   - transforms: cache of colour conversions.
  package init(limits: CodecLimits, workers: (any CodedPictureDecoder)? = nil, transforms: ColorTransforms) {
    self.limits = limits
    self.workers = workers
    self.transforms = transforms
  }

  /// Identifies the versions that decide whether a placeholder can be made. A failure recorded under another value is
  /// ignored.
  var generatorVersion: String {
    "\(Self.epoch) \(limits.sourcePixels) \(limits.sourceSide) \(limits.jpegScans) \(limits.profileBytes)"
      + " \(limits.headerSegments)"
  }

  /// The placeholder of a whole picture. Blocks while the source is read.
  package func placeholder(of source: any ByteSource, stop: StopFlag) throws(CodecError) -> [UInt8] {
    // Only a thumbnail can turn out to show another picture.
    try placeholder(by: plan(ofWhole: source), stop: stop)?.hash ?? []
  }

  /// The placeholder from the best embedded thumbnail or preview; `nil` if none shows this picture.
  package func placeholder(
    ofThumbnailIn source: any ByteSource, stop: StopFlag
  ) throws(CodecError) -> [UInt8]? {
    guard let plan = try plan(ofThumbnailIn: source) else { return nil }
    return try placeholder(by: plan, stop: stop)?.hash
  }

  /// Reads the header and makes a plan; decodes nothing yet.
  func plan(ofWhole source: any ByteSource) throws(CodecError) -> PlaceholderPlan {
    let header = try ImageHeader.read(from: source, limits: limits)
    let renderPlan = RenderPlanner().pixelPlan(header, side: Self.side)
    return PlaceholderPlan(source: source, method: .whole(renderPlan), peakBytes: renderPlan.peakBytes)
  }

  /// The same for a picture with adjustments.
  func plan(ofWhole source: any ByteSource, _ adjustments: Adjustments) throws(CodecError) -> PlaceholderPlan {
    let header = try ImageHeader.read(from: source, limits: limits)
    let request = ImageRequest(
      targetSize: .size(PixelSize(width: Self.side, height: Self.side)), format: .png, colorSpace: .srgb)
    let renderPlan = RenderPlanner().plan(header, header.sized(request, adjustments))
    return PlaceholderPlan(source: source, method: .whole(renderPlan), peakBytes: renderPlan.peakBytes)
  }

  /// Plans with the best embedded thumbnail or preview, or with a thumbnail of the picture's own codec; `nil` if none
  /// shows this picture.
  func plan(ofThumbnailIn source: any ByteSource) throws(CodecError) -> PlaceholderPlan? {
    let header = try ImageHeader.read(from: source, limits: limits)
    let request = ImageRequest(targetSize: .size(PixelSize(width: Self.side, height: Self.side)))
    guard
      let thumbnail = EmbeddedThumbnail.best(for: header.sized(request), of: header, in: source, limits: limits)
    else {
      let smaller = header.thumbnails.first { max($0.storedSize.width, $0.storedSize.height) >= Self.side }
      return smaller.map { header in
        let renderPlan = RenderPlanner().pixelPlan(header, side: Self.side)
        return PlaceholderPlan(source: source, method: .whole(renderPlan), peakBytes: renderPlan.peakBytes)
      }
    }
    return PlaceholderPlan(
      source: source, method: .thumbnail(thumbnail, of: header),
      peakBytes: thumbnail.peakBytes(side: Self.side, of: header))
  }

  /// `nil` if the thumbnail shows another picture.
  func placeholder(by plan: PlaceholderPlan, stop: StopFlag) throws(CodecError) -> Placeholder? {
    let pixels: RenderedPixels?
    switch plan.method {
    case .thumbnail(let thumbnail, let header):
      pixels = try thumbnail.pixels(
        side: Self.side, of: header, in: plan.source, transforms: transforms, limits: limits, stop: stop)
    case .whole(let renderPlan):
      pixels = try Renderer.pixels(
        renderPlan, source: plan.source, workers: workers, transforms: transforms, limits: limits, stop: stop)
    }
    return pixels.map {
      Placeholder(
        hash: ThumbHash.encode(rgba: $0.rgba, size: $0.size), saliency: Saliency.point(rgba: $0.rgba, size: $0.size))
    }
  }
}

/// The values that are computed from the pixels for a placeholder.
struct Placeholder: Sendable {
  let hash: [UInt8]
  let saliency: UnitPoint?
}

/// A planned placeholder: source opened, memory estimated, nothing decoded yet.
struct PlaceholderPlan: Sendable {
  /// In an object of its own, because it is large: see ``Boxed``.
  indirect enum Method: Sendable {
    case thumbnail(EmbeddedThumbnail, of: ImageHeader)
    case whole(RenderPlan)
  }

  let source: any ByteSource
  let method: Method
  /// Memory to reserve first; 0 if so little is needed that no reservation is necessary.
  let peakBytes: Int
}
