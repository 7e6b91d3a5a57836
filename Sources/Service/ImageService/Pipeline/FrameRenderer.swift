// Turns source bytes into frames: the pixel work of every pipeline step. This type knows nothing of tasks, queues or
// caches.

import ImageCodec
import ImageRender
import Logging
import MediaMetadata
import PhotoModel

struct FrameRenderer: Sendable {
  let limits: CodecLimits
  let workers: (any CodedPictureDecoder)?
  let transforms: ColorTransforms
  let logger: Logger
  let planner: RenderPlanner
  let ladder = DerivativeLadder.standard

  /// - Parameter workers: decode formats whose decoder runs in a process of its own; `nil` if there are none.
  init(limits: CodecLimits, workers: (any CodedPictureDecoder)?, logger: Logger) {
    self.limits = limits
    self.workers = workers
    self.logger = logger
    transforms = ColorTransforms(capacityBytes: limits.colorTransformBytes)
    planner = RenderPlanner(axes: ResampleAxes(capacityBytes: limits.resampleAxisBytes))
  }

  /// Renders a frame. `plan` must have been made for `source`.
  func frame(
    _ plan: RenderPlan, from source: any ByteSource, _ attributes: FrameAttributes, stop: StopFlag
  ) throws(ImageServiceError) -> ImageFrame {
    let image = try codec { () throws(CodecError) in
      try Renderer(
        plan, source: source, workers: workers, transforms: transforms, limits: limits, stop: stop
      ).render()
    }
    for warnings in image.warnings { log(warnings, of: attributes.asset) }
    return attributes.frame(image)
  }

  /// The plan of an animation; `nil` if the file has no frames, or only one.
  func animationPlan(_ original: OpenedOriginal, _ wanted: SizedRequest) throws(ImageServiceError) -> AnimationPlan? {
    let animation = try codec { () throws(CodecError) in
      try Animation.read(from: original.source, header: original.header, limits: limits)
    }
    return animation.map { AnimationPlan($0, original.header, wanted) }
  }

  /// Renders all frames of an animation.
  func frame(
    _ plan: AnimationPlan, from source: any ByteSource, _ attributes: FrameAttributes, stop: StopFlag
  ) throws(ImageServiceError) -> ImageFrame {
    let image = try codec { () throws(CodecError) in
      try AnimationRenderer(
        plan, source: source, workers: workers, transforms: transforms, limits: limits, stop: stop
      ).render()
    }
    return attributes.frame(image)
  }

  /// Makes a JPEG XL of a finished JPEG.
  func transcode(
    _ jpeg: FinishedJPEG, _ attributes: FrameAttributes, stop: StopFlag
  ) throws(ImageServiceError) -> ImageFrame {
    guard let workers else { throw .codec(.encoderUnavailable(.jxl)) }
    let began = ContinuousClock.now
    let bytes = try codec { () throws(CodecError) in
      try workers.transcode(jpeg.transcoding, from: jpeg.source, stop: stop)
    }
    return attributes.frame(
      unchanged: bytes, jpeg.transcoding.size, .jxl, encodeTime: ContinuousClock.now - began)
  }

  /// Whether libjxl shows an original in JPEG in the colours that its pixels are rendered in. libjxl does not check a
  /// profile, and joins its parts in the order of the file.
  func canTranscode(_ original: OpenedOriginal) -> Bool {
    let header = original.header
    guard header.jpegComponents?.canBeTranscoded == true, header.embeddedProfile?.isInFileOrder != false else {
      return false
    }
    do throws(CodecError) {
      return try transforms.acceptsProfile(of: header, in: original.source, limits: limits)
    } catch {
      // The render reports it.
      return false
    }
  }

  /// Renders a frame that tasks don't need, such as a degraded one; `nil` if it can't be rendered.
  func optionalFrame(
    _ plan: RenderPlan, from source: any ByteSource, _ attributes: FrameAttributes, stop: StopFlag
  ) -> ImageFrame? {
    do throws(ImageServiceError) {
      return try frame(plan, from: source, attributes, stop: stop)
    } catch {
      logger.debug(
        "thumbnail not used", metadata: ["asset": "\(attributes.asset.localIdentifier)", "reason": "\(error)"])
      return nil
    }
  }

  /// Renders a frame from an embedded thumbnail that stands in for the full picture. Returns `nil` if the thumbnail
  /// shows a different picture or is damaged.
  func frame(
    _ thumbnail: EmbeddedThumbnail, for wanted: SizedRequest, _ original: OpenedOriginal,
    _ attributes: FrameAttributes, stop: StopFlag
  ) -> ImageFrame? {
    do throws(CodecError) {
      return try thumbnail.render(
        for: wanted, of: original.header, in: original.source, transforms: transforms, limits: limits, stop: stop
      ).map(attributes.frame)
    } catch {
      logger.debug(
        "thumbnail not used", metadata: ["asset": "\(attributes.asset.localIdentifier)", "reason": "\(error)"])
      return nil
    }
  }

  /// Renders several pictures of one original in one decode, and calls `deliver` for each as soon as it is finished.
  ///
  /// - Parameters:
  ///   - isUrgent: whether a client waits, so that several workers may decode the original.
  ///   - stops: one flag for each member of the plan.
  /// - Throws: an error that prevents every picture from being made.
  func render(
    _ plan: SharedPlan, from source: any ByteSource, of asset: Asset, isUrgent: Bool, stops: [StopFlag],
    deliver: (_ member: Int, Result<RenderedImage, ImageServiceError>) -> Void
  ) throws(ImageServiceError) {
    let isComplete = try codec { () throws(CodecError) in
      let renderer = try SharedRenderer(
        plan, source: source, workers: isUrgent ? workers?.urgent : workers, transforms: transforms, limits: limits,
        stops: stops)
      return renderer.resume { member, result in
        if case .success(let image) = result { for warnings in image.warnings { log(warnings, of: asset) } }
        deliver(member, result.mapError { Self.error($0) })
      }
    }
    // The source is complete, so one `resume` call must finish every picture.
    if !isComplete { throw .codec(.truncated(offset: source.size)) }
  }

  /// Makes a renderer whose `resume` is called as bytes arrive.
  func resumableRenderer(
    _ plan: SharedPlan, from source: any ArrivingSource, stops: [StopFlag]
  ) throws(CodecError) -> SharedRenderer {
    try SharedRenderer(plan, source: source, workers: workers, transforms: transforms, limits: limits, stops: stops)
  }

  /// Cuts a picture into its tiles: see ``TilePass/run(source:workers:transforms:limits:stop:deliver:)``.
  func tiles(
    _ pass: TilePass, from source: any ByteSource, stop: StopFlag, deliver: (TileGrid.Tile, RenderedImage) -> Bool
  ) throws(ImageServiceError) -> Bool {
    try codec { () throws(CodecError) in
      try pass.run(
        source: source, workers: workers, transforms: transforms, limits: limits, stop: stop, deliver: deliver)
    }
  }

  /// - Parameter posterTime: chooses the frame of a video.
  func header(of source: any ByteSource, posterTime: Double? = nil) throws(ImageServiceError) -> ImageHeader {
    var header = try codec { () throws(CodecError) in
      try ImageHeader.read(from: source, limits: limits, posterTime: posterTime)
    }
    if workers?.developsRAW != true { header.raw?.sensor = nil }
    return header
  }

  /// The rungs of an asset, without those for which a RAW file's preview has too few pixels.
  func rungs(of asset: Asset, _ header: ImageHeader) -> [DerivativeLadder.Rung] {
    ladder.rungs(of: asset.pixelSize).filter {
      planner.hasPixels(header, ladder.sizedRequest(for: $0, of: asset))
    }
  }

  func log(_ warnings: CodecWarnings?, of asset: Asset) {
    guard let warnings else { return }
    logger.info(
      "codec warning",
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
