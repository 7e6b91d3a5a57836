// From bytes to one frame: what every step of a job does when it comes to pixels. It knows nothing of tasks, lines or
// caches.

import ImageCodec
import ImageRender
import Logging
import MediaMetadata
import PhotoModel
import Telemetry

struct FrameMaker: Sendable {
  let limits: CodecLimits
  let transforms: ColorTransforms
  let logger: Logger
  let planner = RenderPlanner()
  let ladder = DerivativeLadder.standard

  init(limits: CodecLimits, logger: Logger) {
    self.limits = limits
    self.logger = logger
    transforms = ColorTransforms(capacityBytes: limits.colorTransformBytes)
  }

  /// A frame by a plan, from the source that the plan is of.
  func frame(
    _ plan: RenderPlan, from source: any ByteSource, _ making: Making, stop: StopFlag
  ) throws(ImageServiceError) -> ImageFrame {
    let image = try codec { () throws(CodecError) in
      let renderer = try Renderer(plan, source: source, transforms: transforms, limits: limits, stop: stop)
      guard let image = try renderer.resume() else { throw .truncated(offset: source.size) }
      return image
    }
    for warnings in image.warnings { log(warnings, of: making.asset) }
    return making.frame(image)
  }

  /// A frame from a thumbnail that stands for a picture; `nil` where it shows something else, or is damaged.
  func frame(
    _ thumbnail: EmbeddedThumbnail, for request: ImageRequest, _ prospect: Prospect, _ making: Making, stop: StopFlag
  ) -> ImageFrame? {
    do throws(CodecError) {
      return try thumbnail.render(
        for: request, of: prospect.header, in: prospect.source, transforms: transforms, limits: limits, stop: stop
      ).map(making.frame)
    } catch {
      logger.debug(
        "a thumbnail was not used", metadata: ["asset": "\(making.asset.localIdentifier)", "reason": "\(error)"])
      return nil
    }
  }

  /// Several pictures of one original by one decode, each told as it is finished.
  ///
  /// - Parameter stops: one for each member of the plan.
  /// - Throws: what keeps every picture from being made.
  func render(
    _ plan: SharedPlan, from source: any ByteSource, of asset: Asset, stops: [StopFlag],
    deliver: (_ member: Int, Result<RenderedImage, ImageServiceError>) -> Void
  ) throws(ImageServiceError) {
    let isComplete = try codec { () throws(CodecError) in
      let renderer = try SharedRenderer(plan, source: source, transforms: transforms, limits: limits, stops: stops)
      return renderer.resume { member, result in
        if case .success(let image) = result { for warnings in image.warnings { log(warnings, of: asset) } }
        deliver(member, result.mapError { Self.error($0) })
      }
    }
    // A source that is all here never has to be asked again.
    if !isComplete { throw .codec(.truncated(offset: source.size)) }
  }

  func header(of source: any ByteSource) throws(ImageServiceError) -> ImageHeader {
    try codec { () throws(CodecError) in try ImageHeader.read(from: source, limits: limits) }
  }

  func log(_ warnings: CodecWarnings?, of asset: Asset) {
    guard let warnings else { return }
    logger.info(
      "a codec warned",
      metadata: [
        "asset": "\(asset.localIdentifier)", "library": "\(warnings.library)", "warnings": "\(warnings.count)",
        "first": "\(warnings.first)",
      ])
  }

  private func codec<Value>(_ body: () throws(CodecError) -> Value) throws(ImageServiceError) -> Value {
    do throws(CodecError) { return try body() } catch { throw Self.error(error) }
  }

  private static func error(_ error: CodecError) -> ImageServiceError { error == .stopped ? .cancelled : .codec(error) }
}
